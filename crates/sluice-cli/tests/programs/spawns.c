/* Starts programs whose actions, arguments and environment lie on the device, and are together
 * about as large as its cache: what is touched first has left when the last was touched. */
#include "common.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VARIABLES = 420, BYTES = 3000, ROUNDS = 8 };

static char **environment(void) {
    char **list = malloc((VARIABLES + 2) * sizeof *list);
    for (int i = 0; i < VARIABLES; i++) {
        list[i] = malloc(BYTES);
        memset(list[i], 'x', BYTES - 1);
        list[i][BYTES - 1] = 0;
        memcpy(list[i], "V000=", 5);
        list[i][1] += i / 100, list[i][2] += i / 10 % 10, list[i][3] += i % 10;
    }
    list[VARIABLES] = strdup("PATH=/bin:/usr/bin");
    list[VARIABLES + 1] = NULL;
    return list;
}

static posix_spawn_file_actions_t *actions(const char *folder) {
    posix_spawn_file_actions_t *list = malloc(sizeof *list);
    CHECK(posix_spawn_file_actions_init(list) == 0);
    CHECK(posix_spawn_file_actions_addchdir_np(list, folder) == 0);
    for (int i = 0; i < 200; i++)
        CHECK(posix_spawn_file_actions_addclose(list, 100 + i) == 0);
    const int flags = O_WRONLY | O_CREAT | O_APPEND;
    CHECK(posix_spawn_file_actions_addopen(list, 1, "out", flags, 0600) == 0);
    return list;
}

static int ended(pid_t child) {
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(int count, char **given) {
    CHECK(count == 2);
    char **variables = environment();
    /* The last variable has to be right: the whole of the environment came through. */
    char *script = strdup("[ ${#V419} = 2994 ] && printf %s $1 && exit 7");
    char *arguments[] = {strdup("sh"), strdup("-c"), script, strdup("sh"), strdup("+"), NULL};
    posix_spawn_file_actions_t *files = actions(given[1]);
    posix_spawnattr_t *attributes = malloc(sizeof *attributes);
    CHECK(posix_spawnattr_init(attributes) == 0);
    CHECK(posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child;
        CHECK(posix_spawn(&child, "/bin/sh", files, attributes, arguments, variables) == 0);
        CHECK(ended(child) == 7);
        CHECK(posix_spawnp(&child, arguments[0], files, NULL, arguments, variables) == 0);
        CHECK(ended(child) == 7);
        CHECK(posix_spawn(&child, "/no/such/program", files, NULL, arguments, variables) == 2);
    }
    char *path = malloc(BYTES), *text = malloc(BYTES);
    snprintf(path, BYTES, "%s/out", given[1]);
    FILE *out = fopen(path, "r");
    CHECK(out && fgets(text, BYTES, out));
    CHECK(strcmp(text, "++++++++++++++++") == 0);
    puts("well");
    return 0;
}
