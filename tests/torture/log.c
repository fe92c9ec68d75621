/* The log is a shared mapping of a file: children that have closed all they inherited write to it
 * as well, no call is made for it, and it is there after a crash. Behind it is the board. */
#include "torture.h"
#include <fcntl.h>
#include <stdarg.h>

#define LOG_BYTES (8ul << 20)
#define ALL_BYTES (LOG_BYTES + sizeof(struct board))

struct log {
    _Atomic uint64_t used;
    char text[];
};

static struct log *lines;

void open_log(int is_new) {
    int file = open(now.log_path, O_RDWR | O_CREAT | (is_new ? O_TRUNC : 0), 0600);
    MUST(file >= 0 && (!is_new || ftruncate(file, ALL_BYTES) == 0));
    char *at = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MUST(at != MAP_FAILED && close(file) == 0);
    lines = (struct log *)at;
    board = (struct board *)(at + LOG_BYTES);
}

static void append(const char *line, size_t length) {
    uint64_t at = atomic_fetch_add(&lines->used, length);
    if (at + length < LOG_BYTES - sizeof *lines)
        memcpy(lines->text + at, line, length);
}

static size_t compose(char *line, size_t room, const char *format, va_list values) {
    int head = snprintf(line, room, "%u.%u.%u ", now.generation, now.depth, now.step);
    int body = vsnprintf(line + head, room - (size_t)head - 2, format, values);
    size_t length = (size_t)head + (body > 0 ? (size_t)body : 0);
    length = length < room - 2 ? length : room - 2;
    line[length] = '\n';
    return length + 1;
}

void tell(const char *format, ...) {
    char line[512];
    va_list values;
    va_start(values, format);
    size_t length = compose(line, sizeof line, format, values);
    va_end(values);
    append(line, length);
}

void tell_call(const char *name, int failed) {
    if (failed)
        tell("%s: errno %d", name, errno);
    else
        tell("%s: done", name);
}

void fail(const char *format, ...) {
    char line[512];
    va_list values;
    va_start(values, format);
    size_t length = compose(line, sizeof line, format, values);
    va_end(values);
    if (lines)
        append(line, length);
    static const char head[] = "torture: ";
    ssize_t wrote = write(2, head, sizeof head - 1);
    wrote += write(2, line, length);
    _exit(wrote > 0 ? 3 : 4);
}
