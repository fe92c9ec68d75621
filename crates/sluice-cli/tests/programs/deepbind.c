/* Loads a library by its name alone, which is found by this program's own search path, and bound to
 * the C library first. Hands memory to it, and frees what it made. */
#include "common.h"
#include <dlfcn.h>

int main(int count, char **arguments) {
    CHECK(count > 1);
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_DEEPBIND);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    void (*let_go)(void *) = dlsym(library, "let_go");
    void *(*make)(size_t) = dlsym(library, "make");
    CHECK(let_go && make);
    for (size_t bytes = 16; bytes < 64 * PAGE; bytes *= 2) {
        char *mine = malloc(bytes);
        memset(mine, 1, bytes);
        let_go(mine);
        char *its = make(bytes);
        memset(its, 2, bytes);
        free(its);
    }
    puts("well");
    return 0;
}
