/* The program has a clock of its own under the C library's name, as simulators and `faketime` have,
   and its time stands still. Built so that libraries find it. */
#include "abuse.h"

#define PAGES 2048u

int clock_gettime(clockid_t clock, struct timespec *time) {
    (void)clock;
    *time = (struct timespec){.tv_sec = 1000000000};
    return 0;
}

int main(void) {
    limit(25);
    struct timespec time;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0 && time.tv_sec == 1000000000);
    CHECK(wrong(filled(PAGES), PAGES) == 0);
    puts("well");
    return 0;
}
