/* Changes its device's eviction policy again and again. */
#include "abuse.h"
#include "sluice_control.h"

#define PAGES 512u

int main(int count, char **arguments) {
    limit(28);
    CHECK(count == 2);
    int switches = atoi(arguments[1]), error = 0;
    struct sluice_ctl *device = sluice_ctl_open(&error);
    if (!device && error != SLUICE_CTL_NO_RING && error != SLUICE_CTL_NOT_HERE)
        fprintf(stderr, "no device: %d\n", error);
    uint64_t *words = filled(PAGES);
    char why[200] = "";
    for (int n = 0; device && n < switches; n++) {
        const char *policy = n % 2 ? "cache.policy=fifo" : "cache.policy=lru";
        int answer = sluice_ctl_set(device, policy, why, sizeof why);
        if (answer != SLUICE_CTL_DONE)
            fprintf(stderr, "switch %d: %d %s\n", n, answer, why);
        CHECK(answer == SLUICE_CTL_DONE);
    }
    CHECK(wrong(words, PAGES) == 0);
    sluice_ctl_close(device);
    puts("well");
    return 0;
}
