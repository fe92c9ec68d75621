/* Memory of two sizes from two functions, used by two threads and a child: what a profile has to
 * tell apart. Prints the sum of what it reads, which is the same with a device and without. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define LARGE (8 << 20)
#define SMALL (2 << 20)

static volatile unsigned char *large, *small;
static unsigned long total;

__attribute__((noinline)) static void make_large(void)
{
	large = malloc(LARGE);
}

__attribute__((noinline)) static void make_small(void)
{
	small = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static unsigned long walk(volatile unsigned char *memory, size_t bytes, int rounds)
{
	unsigned long sum = 0;
	for (int round = 0; round < rounds; round++)
		for (size_t at = 0; at < bytes; at += PAGE) {
			memory[at] += round + 1;
			sum += memory[at];
		}
	return sum;
}

static void *reader(void *nothing)
{
	(void)nothing;
	pthread_setname_np(pthread_self(), "reader");
	total += walk(small, SMALL, 1);
	return NULL;
}

static void small_ones(void)
{
	for (int at = 0; at < 2000; at++) {
		volatile unsigned char *piece = malloc(1000);
		total += (piece[0] = 1);
	}
}

/* A freed piece is no site's any more: what others get of it is theirs. */
__attribute__((noinline)) static void reuse(void)
{
	unsigned char *freed = malloc(SMALL);
	total += walk(freed, SMALL, 1);
	free(freed);
	small_ones();
}

/* What is given back in pieces, each smaller than what is looked at, is no site's either. */
__attribute__((noinline)) static void pieces(void)
{
	const size_t piece = 4 * PAGE;
	unsigned char *whole = mmap(NULL, SMALL, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	total += walk(whole, SMALL, 1);
	for (size_t at = 0; at < SMALL; at += piece)
		munmap(whole + at, piece);
	small_ones();
}

static unsigned char *grown;

/* A piece that grows where it is, or moves. */
__attribute__((noinline)) static void grow(void)
{
	grown = malloc(PAGE);
	for (size_t bytes = PAGE; bytes <= SMALL / 2; bytes *= 2)
		grown = realloc(grown, bytes);
	total += walk(grown, SMALL / 2, 1);
	/* It may end in a page behind those. */
	grown[SMALL / 2 - 1] = 1;
}

/* What the child has counts for the same place as in its parent. */
static int child(void)
{
	unsigned long sum = walk(small, SMALL, 1);
	_exit(sum != 2 * (SMALL / PAGE));
}

int main(void)
{
	pthread_t thread;
	int status;
	make_large();
	make_small();
	total += walk(large, LARGE, 3);
	if (pthread_create(&thread, NULL, reader, NULL) || pthread_join(thread, NULL))
		return 1;
	reuse();
	pieces();
	grow();
	if (fork() == 0)
		return child();
	if (wait(&status) < 0 || status != 0)
		return 2;
	printf("%lu\n", total);
	return 0;
}
