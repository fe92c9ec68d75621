/* Processes that share a place in a file, and move more at once than other memory is kept for. */
#include "abuse.h"
#include <fcntl.h>
#include <sys/uio.h>

#define RECORD ((size_t)5000000)
#define ROUNDS 3

static unsigned char *record;

static ssize_t move(int file, int is_write, int is_vector, size_t bytes) {
    struct iovec parts[2] = {{record, 1000}, {record + 1000, bytes - 1000}};
    if (is_vector)
        return is_write ? writev(file, parts, 2) : readv(file, parts, 2);
    return is_write ? write(file, record, bytes) : read(file, record, bytes);
}

static void writes(int file, int which, int is_vector) {
    for (int round = 0; round < ROUNDS; round++) {
        memset(record, 2 * round + which + 1, RECORD);
        CHECK(move(file, 1, is_vector, RECORD) == (ssize_t)RECORD);
    }
}

static void reads(int file, int which, int is_vector) {
    (void)which;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(move(file, 0, is_vector, RECORD) == (ssize_t)RECORD);
        for (size_t n = 1; n < RECORD; n++)
            CHECK(record[n] == record[0]);
    }
}

/* Two processes at once, each of which does so. */
static void both(int file, void (*act)(int, int, int), int is_vector) {
    pid_t child = fork();
    if (child == 0) {
        limit(25);
        act(file, 1, is_vector);
        _exit(0);
    }
    act(file, 0, is_vector);
    child_was_well(child);
    CHECK(lseek(file, 0, SEEK_CUR) == 2 * ROUNDS * (off_t)RECORD);
}

/* A call that moves less than it was asked for leaves the place where that ends. */
static void at_end(int file) {
    off_t end = lseek(file, 0, SEEK_END), from = end - (off_t)RECORD / 2;
    CHECK(lseek(file, from, SEEK_SET) == from);
    CHECK(read(file, record, RECORD) == end - from && lseek(file, 0, SEEK_CUR) == end);
    CHECK(read(file, record, RECORD) == 0 && lseek(file, 0, SEEK_CUR) == end);
    CHECK(write(-1, record, RECORD) == -1);
    int read_only = open("/proc/self/exe", O_RDONLY);
    CHECK(write(read_only, record, RECORD) == -1 && lseek(read_only, 0, SEEK_CUR) == 0);
}

int main(void) {
    limit(25);
    record = malloc(RECORD);
    FILE *made = tmpfile();
    CHECK(record && made);
    int file = fileno(made);
    for (int is_vector = 0; is_vector < 2; is_vector++) {
        CHECK(ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0);
        both(file, writes, is_vector);
        CHECK(lseek(file, 0, SEEK_SET) == 0);
        both(file, reads, is_vector);
    }
    at_end(file);
    puts("well");
    return 0;
}
