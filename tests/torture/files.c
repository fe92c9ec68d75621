/* Descriptors that are closed without having been opened, and numbers that are used again. */
#include "torture.h"
#include <fcntl.h>
#include <sys/syscall.h>

#define LINES 400

static int data_file(void) {
    char path[4200];
    snprintf(path, sizeof path, "%s.lines", now.log_path);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    MUST(file >= 0 && unlink(path) == 0);
    for (int n = 0; n < LINES; n++)
        MUST(dprintf(file, "line %d of a file\n", n) > 0);
    MUST(lseek(file, 0, SEEK_SET) == 0);
    return file;
}

/* Misses between one line and the next. */
static void count_lines(int file) {
    FILE *stream = fdopen(file, "r");
    MUST(stream);
    char line[100], expected[100];
    int lines = 0;
    for (; fgets(line, sizeof line, stream); lines++) {
        snprintf(expected, sizeof expected, "line %d of a file\n", lines);
        if (strcmp(line, expected) != 0)
            fail("line %d of a file is %s", lines, line);
        if (lines % 40 == 0) {
            struct region *region = any_region();
            check_region(region, 0, region->pages / 4);
        }
    }
    tell("lines: %d", lines);
    MUST(fclose(stream) == 0);
}

static struct region *kept;

/* Contents that have left the cache before anything is closed. */
static void fill_first(void) {
    kept = whole_region(256);
    write_pages(kept, 0, kept->pages);
    thrash();
}

static void work_with(int file) {
    check_region(kept, 0, kept->pages);
    struct region *region = any_region();
    check_region(region, 0, region->pages);
    write_pages(region, 0, region->pages / 2);
    count_lines(file);
    thrash();
    check_region(region, 0, region->pages);
}

static void step_close(void) {
    fill_first();
    for (int number = 3; number < 1024; number++)
        close(number);
    work_with(data_file());
}

static void step_close_range(void) {
    fill_first();
    tell_call("close_range", close_range(3, ~0u, 0));
    work_with(data_file());
}

static void step_raw_close_range(void) {
    fill_first();
    tell_call("raw close_range", (int)syscall(SYS_close_range, 3, ~0u, 0));
    work_with(data_file());
}

static void step_closefrom(void) {
    fill_first();
    closefrom(3);
    work_with(data_file());
}

/* All numbers up to 63 are the same file for a while. */
static void step_dup2(void) {
    fill_first();
    int file = data_file(), top = 0;
    for (int number = 3; number < 64; number++)
        if (number != file && dup2(file, number) == number)
            top = number;
    work_with(top);
    for (int number = 3; number < 64; number++)
        if (number != file)
            close(number);
    MUST(lseek(file, 0, SEEK_SET) == 0);
    work_with(file);
}

/* The lowest number that is free is given. */
static void step_lowest(void) {
    fill_first();
    MUST(close_range(3, ~0u, 0) == 0);
    int file = data_file();
    tell("the first number is %d", file);
    int second = dup(file), high = fcntl(file, F_DUPFD, 10);
    tell("then %d and %d", second, high);
    close(second);
    close(high);
    work_with(file);
}

static void step_cloexec(void) {
    fill_first();
    tell_call("close_range at exec", close_range(3, ~0u, CLOSE_RANGE_CLOEXEC));
    work_with(data_file());
}

static void step_plain(void) { count_lines(data_file()); }

const struct step file_steps[] = {
    {"close", step_close, 1, 1},
    {"close-range", step_close_range, 1, 1},
    {"raw-close-range", step_raw_close_range, 1, 1},
    {"closefrom", step_closefrom, 1, 1},
    {"dup2-over", step_dup2, 1, 1},
    {"lowest-number", step_lowest, 1, 1},
    {"cloexec", step_cloexec, 1, 1},
    {"lines", step_plain, 2, 0},
    {0},
};
