/* An allocator for other programs, whose functions call each other by their names, as Electric
   Fence's do. */
#include "common.h"
#include <sys/mman.h>

void *memalign(size_t alignment, size_t size);
void *malloc(size_t size) { return memalign(sizeof(size_t), size); }
void free(void *old) { (void)old; }

/* The size lies before each piece, which has pages of its own. */
void *memalign(size_t alignment, size_t size) {
    size_t before = alignment > 2 * sizeof size ? alignment : 2 * sizeof size;
    char *at = mmap(NULL, before + size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || alignment > PAGE)
        return NULL;
    memcpy(at + before - sizeof size, &size, sizeof size);
    return at + before;
}

void *calloc(size_t count, size_t size) { return malloc(count * size); }

void *realloc(void *old, size_t size) {
    char *piece = malloc(size);
    if (piece && old) {
        size_t before;
        memcpy(&before, (char *)old - sizeof before, sizeof before);
        memcpy(piece, old, before < size ? before : size);
    }
    return piece;
}
