/* The first thread ends before the others do; the last of them ends the program. */
#include "abuse.h"
#include <pthread.h>
#include <sys/syscall.h>

#define PAGES 2048u

static void *outlive(void *unused) {
    (void)unused;
    usleep(200000);
    uint64_t *words = filled(PAGES);
    CHECK(wrong(words, PAGES) == 0);
    puts("well");
    fflush(stdout);
    return NULL;
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 2);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, outlive, NULL));
    if (strcmp(arguments[1], "pthread_exit") == 0) {
        pthread_exit(NULL);
    } else if (strcmp(arguments[1], "alone") == 0) {
        CHECK(!pthread_join(thread, NULL));
        pthread_exit(NULL);
    } else if (strcmp(arguments[1], "raw") == 0) {
        syscall(SYS_exit, 0);
    }
    return 2;
}
