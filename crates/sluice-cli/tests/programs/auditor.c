/* A library that the loader asks about others (`LD_AUDIT`), and that has nothing to say. */
#define _GNU_SOURCE
#include <link.h>

unsigned la_version(unsigned version) {
    (void)version;
    return LAV_CURRENT;
}
