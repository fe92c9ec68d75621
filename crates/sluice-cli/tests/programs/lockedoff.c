/* Locked memory that has left the device: what the kernel refuses for it, and what it drops. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 48, DONTNEED_LOCKED = 24 };

int main(void)
{
	char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *first = memory + 8 * PAGE;
	static const int advice[] = {MADV_DONTNEED, MADV_FREE, DONTNEED_LOCKED};
	memset(memory, 7, PAGES * PAGE);
	/* Read-only pages leave the device and do not come back. */
	mprotect(first, 4 * PAGE, PROT_READ);
	mprotect(first, 4 * PAGE, PROT_READ | PROT_WRITE);
	/* Two of them, and two that have not left it. */
	printf("mlock %d\n", mlock(first + 2 * PAGE, 4 * PAGE));
	for (unsigned n = 0; n < sizeof advice / sizeof *advice; n++) {
		errno = 0;
		int answer = madvise(first + 2 * PAGE, 4 * PAGE, advice[n]);
		printf("%d: %d %d:", advice[n], answer, errno);
		for (int page = 0; page < 8; page++)
			printf(" %d", first[page * PAGE + page]);
		printf("\n");
	}
	return 0;
}
