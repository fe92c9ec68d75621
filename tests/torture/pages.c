/* Random numbers, contents of pages, and accesses that fault. */
#include "torture.h"
#include <setjmp.h>

uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

uint64_t any(void) {
    now.random += 0x9e3779b97f4a7c15ull;
    return mix(now.random);
}

unsigned below(unsigned bound) { return (unsigned)(any() % bound); }

uint64_t next_version(void) { return ++now.clock; }

static uint64_t word(uint64_t version, size_t i) {
    return version == 0 ? 0 : mix(version << 16 | i);
}

void fill_page(void *at, uint64_t version) {
    uint64_t *words = at;
    for (size_t i = 0; i < WORDS; i++)
        words[i] = word(version, i);
}

/* Of any length and alignment: bytes of the words in their order. */
void fill_bytes(void *at, size_t bytes, uint64_t version) {
    unsigned char *to = at;
    for (size_t i = 0; i * 8 < bytes; i++) {
        uint64_t value = word(version, i);
        memcpy(to + i * 8, &value, bytes - i * 8 < 8 ? bytes - i * 8 : 8);
    }
}

/* `version` is the one that a page most likely has: that of another page would explain much. */
static _Noreturn void wrong(const char *what, unsigned number, size_t i, uint64_t found,
                            uint64_t version) {
    fail("wrong contents: %s %u word %zu is %016lx, not %016lx (version %lu)%s", what, number, i,
         found, word(version, i), version, found == 0 ? ": zeros" : "");
}

void check_page(const void *at, uint64_t version, const char *what, unsigned number) {
    const volatile uint64_t *words = at;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t found = words[i];
        if (found != word(version, i))
            wrong(what, number, i, found, version);
    }
}

void check_bytes(const void *at, size_t bytes, uint64_t version, const char *what) {
    const unsigned char *from = at;
    for (size_t i = 0; i * 8 < bytes; i++) {
        uint64_t expected = word(version, i), found = 0;
        size_t length = bytes - i * 8 < 8 ? bytes - i * 8 : 8;
        memcpy(&found, from + i * 8, length);
        if (memcmp(&found, &expected, length) != 0)
            wrong(what, 0, i, found, version);
    }
}

uint64_t hash_bytes(const void *at, size_t bytes, uint64_t before) {
    const unsigned char *from = at;
    uint64_t hash = before;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t value = 0;
        memcpy(&value, from + i, bytes - i < 8 ? bytes - i : 8);
        hash = (hash ^ value) * 0x100000001b3ull;
    }
    return hash;
}

static sigjmp_buf back;
static volatile sig_atomic_t expected;

static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)context;
    if (expected == signal)
        siglongjmp(back, 1);
    fail("signal %d, code %d, at %p", signal, info->si_code, info->si_addr);
}

void install_fault_handlers(void) {
    struct sigaction action = {0};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    MUST(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
}

int faults(volatile char *at, int is_write, int signal) {
    expected = signal;
    if (sigsetjmp(back, 1)) {
        expected = 0;
        return 1;
    }
    if (is_write)
        *at = *at;
    else
        (void)*at;
    expected = 0;
    return 0;
}
