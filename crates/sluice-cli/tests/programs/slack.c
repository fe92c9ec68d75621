/* Sets its timer slack, misses many times, and prints the slack. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

int main(void) {
    prctl(PR_SET_TIMERSLACK, 123456UL);
    size_t size = 4 << 20;
    volatile char *memory = malloc(size);
    for (int pass = 0; pass < 2; pass++)
        for (size_t at = 0; at < size; at += 4096)
            memory[at] = 1;
    printf("%d\n", prctl(PR_GET_TIMERSLACK));
    return 0;
}
