/* Memory larger than the cache by far. Each page's number says what it must hold.
 *
 * stored once MIB    writes each page and reads all, and prints the most memory it ever had, KiB
 * stored walk MIB    writes each page, some again, and reads all twice, likewise
 * stored forks MIB   children of several generations, and children of theirs, all live at once
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, GENERATIONS = 5 };

static uint64_t *memory;
static size_t pages;

static uint64_t *word(size_t page)
{
	return memory + page * (PAGE / 8) + page % (PAGE / 8);
}

static void write_all(uint64_t value, size_t step)
{
	for (size_t page = 0; page < pages; page += step)
		*word(page) = value * 1000003 + page;
}

/* Every page holds `value`, but each `step`th the other one. */
static size_t wrong(uint64_t value, size_t step, uint64_t other)
{
	size_t count = 0;
	for (size_t page = 0; page < pages; page++) {
		uint64_t mine = step && page % step == 0 ? other : value;
		count += *word(page) != mine * 1000003 + page;
	}
	return count;
}

static long most_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *file = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, file))
		sscanf(line, "VmHWM: %ld", &kib);
	fclose(file);
	return kib;
}

static int walk(int again)
{
	write_all(1, 1);
	size_t bad = wrong(1, 0, 0);
	if (again) {
		write_all(2, 3);
		bad += wrong(1, 3, 2);
	}
	printf("%s %ld\n", bad ? "wrong" : "well", most_kib());
	return bad != 0;
}

static int ended_well(pid_t child)
{
	int status = 1;
	waitpid(child, &status, 0);
	return status == 0;
}

static void in_child(uint64_t generation)
{
	size_t bad = wrong(generation, 0, 0);
	write_all(100 + generation, 2);
	pid_t grandchild = fork();
	if (grandchild == 0)
		_exit(wrong(generation, 2, 100 + generation) != 0);
	write_all(200 + generation, 2);
	bad += wrong(generation, 2, 200 + generation);
	_exit(bad || !ended_well(grandchild));
}

static int forks(void)
{
	pid_t children[GENERATIONS];
	int is_well = 1;
	write_all(0, 1);
	for (int generation = 0; generation < GENERATIONS; generation++) {
		children[generation] = fork();
		if (children[generation] == 0)
			in_child(generation);
		write_all(generation + 1, 1);
	}
	is_well &= wrong(GENERATIONS, 0, 0) == 0;
	for (int at = 0; at < GENERATIONS; at++)
		is_well &= ended_well(children[at]);
	/* Nobody reads the parent's pages any more. */
	write_all(9, 1);
	is_well &= wrong(9, 0, 0) == 0;
	puts(is_well ? "well" : "wrong");
	return !is_well;
}

int main(int count, char **words)
{
	size_t mib = count > 2 ? strtoul(words[2], NULL, 10) : 0;
	pages = mib * (1 << 20) / PAGE;
	memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (count < 3 || memory == MAP_FAILED)
		return 2;
	if (strcmp(words[1], "forks") == 0)
		return forks();
	return walk(strcmp(words[1], "walk") == 0);
}
