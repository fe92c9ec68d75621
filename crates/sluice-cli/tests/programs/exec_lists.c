/* Becomes programs by lists of arguments that are on missing pages, short and long. */
#include "common.h"
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRINGS 9
#define PAGES 1024

static char *strings[STRINGS];
static volatile char *others;

/* Each on a page of its own, all of which have left when this returns. */
static void lose_strings(void) {
    static const char *const texts[STRINGS] = {
        "/bin/sh", "sh", "-c", "test \"$*\" = \"1 2 3 4\" && exit 7", "zero", "1", "2", "3", "4"};
    for (int at = 0; at < STRINGS; at++) {
        if (strings[at] == NULL)
            strings[at] = aligned_alloc(PAGE, PAGE);
        strcpy(strings[at], texts[at]);
    }
    for (int page = 0; page < PAGES; page++)
        others[page * PAGE]++;
}

static void become(int how) {
    char **s = strings;
    char *environment[] = {"A=1", NULL};
    switch (how) {
    case 0:
        execl(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], (char *)NULL);
        break;
    case 1:
        execlp(s[1], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], (char *)NULL);
        break;
    case 2:
        strcpy(s[3], "exit $((A + 6))");
        execle(s[0], s[1], s[2], s[3], (char *)NULL, environment);
        break;
    case 3:
        execl("/nowhere", s[1], (char *)NULL);
        _exit(errno == ENOENT ? 7 : 1);
    }
    _exit(100 + errno);
}

int main(void) {
    others = malloc(PAGES * PAGE);
    for (int how = 0; how < 4; how++) {
        lose_strings();
        pid_t child = fork();
        if (child == 0)
            become(how);
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
            printf("%d: %x\n", how, (unsigned)status);
    }
    puts("well");
    return 0;
}
