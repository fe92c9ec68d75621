/* Draws steps from a seed and takes them. */
#include "torture.h"

struct state now;
struct board *board;

static const struct step *const tables[] = {
    map_steps, advice_steps, heap_steps, fork_steps, thread_steps,
    signal_steps, file_steps, transfer_steps, dax_steps,
};
#define TABLES (sizeof tables / sizeof *tables)

/* Whether a list of names separated by commas has this one. */
static int lists(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0))
            return 1;
    return 0;
}

/* Steps that are asked for by name come as often as all the plainest ones together. */
static unsigned weight_of(const struct step *step) {
    if ((step->quiet && now.workers) || lists(now.without, step->name))
        return 0;
    if (!*now.only)
        return step->weight;
    return lists(now.only, step->name) ? 36 : lists("map,write,malloc", step->name) * 12u;
}

static const struct step *draw(void) {
    unsigned total = 0;
    for (size_t t = 0; t < TABLES; t++)
        for (const struct step *step = tables[t]; step->name; step++)
            total += weight_of(step);
    unsigned chosen = below(total);
    for (size_t t = 0; t < TABLES; t++)
        for (const struct step *step = tables[t]; step->name; step++) {
            if (chosen < weight_of(step))
                return step;
            chosen -= weight_of(step);
        }
    fail("no step was drawn");
}

void check_everything(void) {
    uint64_t in_regions = check_all_regions(), in_heap = check_heap(), in_file = check_dax();
    check_ticks();
    tell("all is well: %016lx %016lx %016lx", in_regions, in_heap, in_file);
}

void thrash(void) {
    size_t bytes = 6 << 20;
    int both = PROT_READ | PROT_WRITE;
    volatile char *much = mmap(NULL, bytes, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(much != MAP_FAILED);
    for (size_t at = 0; at < bytes; at += PAGE)
        much[at] = 1;
    MUST(munmap((void *)much, bytes) == 0);
}

void run_steps(unsigned count) {
    for (unsigned n = 1; n <= count; n++) {
        now.step++;
        const struct step *step = draw();
        tell("%s", step->name);
        // To look into a round that fails: TORTURE_SHOW=1 prints each step before it is taken.
        if (getenv("TORTURE_SHOW"))
            fprintf(stderr, "%u.%u.%u %s\n", now.generation, now.depth, now.step, step->name);
        step->run();
        if (n % 40 == 0)
            check_everything();
    }
}

int be_image(int status) {
    size_t bytes = 5 << 20;
    char *at = malloc(bytes);
    MUST(at);
    fill_bytes(at, bytes, (uint64_t)status);
    thrash();
    check_bytes(at, bytes, (uint64_t)status, "another image's heap");
    printf("image %d is well\n", status);
    free(at);
    return status;
}

static const char *value_of(int count, char **arguments, const char *name, const char *otherwise) {
    for (int n = 1; n + 1 < count; n++)
        if (strcmp(arguments[n], name) == 0)
            return arguments[n + 1];
    return otherwise;
}

static void be_told(int count, char **arguments) {
    static char self[4096];
    MUST(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    now.self = self;
    now.seed = strtoull(value_of(count, arguments, "--seed", "1"), NULL, 10);
    now.steps = (unsigned)atoi(value_of(count, arguments, "--steps", "200"));
    now.generation = (unsigned)atoi(value_of(count, arguments, "--generation", "0"));
    now.log_path = value_of(count, arguments, "--log", "torture.log");
    now.dax_path = value_of(count, arguments, "--file", "");
    now.without = value_of(count, arguments, "--without", "");
    now.only = value_of(count, arguments, "--only", "");
    now.random = mix(now.seed * 8 + now.generation);
    now.clock = (uint64_t)now.generation << 40;
}

/* This program starts itself again, as its next generation. */
static void go_on_as_another(void) {
    char numbers[4][24];
    snprintf(numbers[0], sizeof *numbers, "%lu", now.seed);
    snprintf(numbers[1], sizeof *numbers, "%u", now.steps);
    snprintf(numbers[2], sizeof *numbers, "%u", now.generation + 1);
    char *arguments[] = {
        "torture", "--seed", numbers[0], "--steps", numbers[1], "--generation", numbers[2],
        "--log", (char *)now.log_path, "--file", (char *)now.dax_path,
        "--without", (char *)now.without, "--only", (char *)now.only, NULL,
    };
    execv(now.self, arguments);
    fail("exec of itself: errno %d", errno);
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "--image") == 0)
        return be_image(atoi(arguments[2]));
    be_told(count, arguments);
    open_log(now.generation == 0);
    install_fault_handlers();
    open_dax();
    run_steps(now.steps / 2);
    stop_workers();
    stop_ticking();
    check_everything();
    if (now.generation < 1 && !lists(now.without, "exec-self"))
        go_on_as_another();
    tell("the end");
    if (!lists(now.without, "pthread-exit") && now.seed % 2)
        leave_to_the_last_thread();
    printf("well\n");
    return 0;
}
