/* Closes descriptors that it did not open, as daemons and shells do, and reuses their numbers. */
#include "abuse.h"
#include <fcntl.h>
#include <sys/syscall.h>

#define PAGES 2048u
#define LINES 500

/* The numbers from 3 on now belong to files of the program. It reads one of them line by line. */
static void files_are_the_programs_own(void) {
    char path[] = "/tmp/sluice-abuse-XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0 && unlink(path) == 0);
    for (int n = 0; n < LINES; n++)
        CHECK(dprintf(file, "line %d\n", n) > 0);
    for (int number = 3; number < 12; number++)
        CHECK(number == file || dup2(file, number) == number);
    uint64_t *more = filled(PAGES);
    CHECK(wrong(more, PAGES) == 0);
    CHECK(lseek(file, 0, SEEK_CUR) > 0 && lseek(file, 0, SEEK_SET) == 0);
    FILE *stream = fdopen(dup(file), "r");
    CHECK(stream);
    char line[100];
    int lines = 0;
    for (; fgets(line, sizeof line, stream); lines++)
        if (lines % 16 == 0)
            CHECK(more[lines * PER_PAGE] == mix(1ull << 40 | (uint64_t)lines * PER_PAGE));
    CHECK(lines == LINES);
    CHECK(wrong(more, PAGES) == 0);
    fclose(stream);
    free(more);
}

static void close_each(void) {
    for (int number = 3; number < 1024; number++)
        close(number);
}

static void close_by_range(void) { CHECK(close_range(3, ~0u, 0) == 0); }

static void close_by_raw_range(void) { CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0); }

static void close_from(void) { closefrom(3); }

static void cover(void) {
    for (int number = 3; number < 64; number++)
        CHECK(dup2(2, number) == number);
}

static void cover3(void) {
    for (int number = 3; number < 64; number++)
        CHECK(dup3(2, number, O_CLOEXEC) == number);
}

static const struct {
    const char *name;
    void (*act)(void);
} ways[] = {
    {"close", close_each}, {"close_range", close_by_range}, {"raw", close_by_raw_range},
    {"closefrom", close_from}, {"dup2", cover}, {"dup3", cover3},
};

/* A child, as daemon() makes it: a session of its own, no descriptor of its parent's. */
static void in_a_child(uint64_t *words, void (*act)(void)) {
    pid_t child = fork();
    if (child == 0) {
        limit(20);
        act();
        CHECK(wrong(words, PAGES) == 0);
        fill(words, PAGES * PER_PAGE / 2, 2);
        CHECK(wrong_words(words, PAGES * PER_PAGE / 2, 2) == 0);
        files_are_the_programs_own();
        _exit(0);
    }
    child_was_well(child);
}

int main(int count, char **arguments) {
    limit(25);
    CHECK(count == 3);
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        if (strcmp(ways[way].name, arguments[1]) != 0)
            continue;
        uint64_t *words = filled(PAGES);
        if (strcmp(arguments[2], "child") == 0) {
            in_a_child(words, ways[way].act);
        } else {
            ways[way].act();
            files_are_the_programs_own();
        }
        CHECK(wrong(words, PAGES) == 0);
        puts("well");
        return 0;
    }
    return 2;
}
