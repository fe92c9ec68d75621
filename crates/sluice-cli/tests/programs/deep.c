/* A library that takes memory and gives memory. */
#include <stdlib.h>

void let_go(void *memory) { free(memory); }

void *make(size_t bytes) { return malloc(bytes); }
