/* Children that share memory with their parent and read it, one after the other, and how they end.
 *
 *   endings PAGES WORD...
 *
 *   own      the parent maps memory and writes each page; it reads them again at the end
 *   exit, _exit, _Exit, quick, number, handler, become, kill
 *            a child reads all pages in their order and ends so
 *   vfork    the same, and a child of `vfork` ends before it
 *   goes-on  the same, but it fails to become another program, reads the last half again and
 *            writes it
 *   wrote    a child maps memory of its own, writes each page and exits
 *   read     a child maps memory of its own, reads all pages twice and ends by _exit */
#include "abuse.h"
#include <sys/mman.h>
#include <sys/syscall.h>

static volatile uint64_t *own;
static size_t pages;

static volatile uint64_t *fresh(void) {
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    void *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static volatile uint64_t *page(volatile uint64_t *memory, size_t n) {
    return memory + n * (PAGE / 8);
}

static void read_from(size_t first) {
    for (size_t n = first; n < pages; n++)
        CHECK(*page(own, n) == n + 1);
}

static void write_all(volatile uint64_t *memory) {
    for (size_t n = 0; n < pages; n++)
        *page(memory, n) = n + 1;
}

static void end_by_hand(int signal) {
    (void)signal;
    _exit(0);
}

static void use_fresh(int writes) {
    volatile uint64_t *memory = fresh();
    if (writes) {
        write_all(memory);
        exit(0);
    }
    for (size_t n = 0; n < 2 * pages; n++)
        CHECK(*page(memory, n % pages) == 0);
    _exit(0);
}

static void end(const char *how) {
    if (!strcmp(how, "exit"))
        exit(0);
    if (!strcmp(how, "_Exit"))
        _Exit(0);
    if (!strcmp(how, "quick"))
        quick_exit(0);
    if (!strcmp(how, "number"))
        syscall(SYS_exit_group, 0);
    char *arguments[] = {"true", NULL};
    if (!strcmp(how, "become"))
        execv("/bin/true", arguments);
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "handler")) {
        signal(SIGUSR1, end_by_hand);
        raise(SIGUSR1);
    }
    if (!strcmp(how, "vfork")) {
        pid_t child = vfork();
        if (child == 0)
            _exit(0);
        CHECK(waitpid(child, NULL, 0) == child);
        read_from(0);
    }
    if (!strcmp(how, "goes-on")) {
        CHECK(execv("/dev/null", arguments) == -1);
        read_from(pages / 2);
        for (size_t n = pages / 2; n < pages; n++)
            *page(own, n) = n + 1;
    }
    _exit(0);
}

int main(int count, char **arguments) {
    limit(60);
    CHECK(count > 2);
    pages = strtoul(arguments[1], NULL, 10);
    for (int n = 2; n < count; n++) {
        const char *word = arguments[n];
        if (!strcmp(word, "own")) {
            own = fresh();
            write_all(own);
            continue;
        }
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            if (!strcmp(word, "wrote") || !strcmp(word, "read"))
                use_fresh(!strcmp(word, "wrote"));
            read_from(0);
            end(word);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(!strcmp(word, "kill") ? WIFSIGNALED(status) : status == 0);
    }
    if (own)
        read_from(0);
    printf("well\n");
    return 0;
}
