// A program of its own: no C library, no loader, its stack among its data. What it does with memory
// is the same wherever it runs, to the address. Of each way in which instructions reach memory it
// has some.
typedef unsigned long word;
typedef unsigned char byte;

static word stack[1024] __attribute__((aligned(4096), used));
static word numbers[2048];
static byte text[8192];
static struct node {
    struct node *next;
    word value;
    byte rest[112];
} nodes[256];
static word counter, found;

static void sort(word *from, long count) {
    if (count < 2) {
        return;
    }
    word middle = from[count / 2];
    long left = 0, right = count - 1;
    while (left <= right) {
        while (from[left] < middle) {
            left++;
        }
        while (from[right] > middle) {
            right--;
        }
        if (left <= right) {
            word kept = from[left];
            from[left++] = from[right];
            from[right--] = kept;
        }
    }
    sort(from, right + 1);
    sort(from + left, count - left);
}

static void strings(void) {
    word count = 1500;
    byte *to = text;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
    byte *source = text + 3;
    count = 300;
    to = text + 4003;
    __asm__ volatile("rep movsq" : "+S"(source), "+D"(to), "+c"(count) : : "memory");
}

// Across lines and pages, and 16 bytes at a time.
static void vectors(void) {
    for (word at = 0; at < 4096; at += 61) {
        __asm__ volatile("movdqu (%0), %%xmm0\n\t"
                         "paddb %%xmm0, %%xmm0\n\t"
                         "movdqu %%xmm0, 16(%0)"
                         :
                         : "r"(text + at)
                         : "xmm0", "memory");
    }
}

static void modify(void) {
    for (word at = 0; at < 512; at++) {
        word added = at;
        __asm__ volatile("addq %0, (%1)\n\t"
                         "lock xaddq %0, 8(%1)\n\t"
                         "xchgq %0, 16(%1)\n\t"
                         "incl 30(%1)\n\t"
                         "lock orb $1, 63(%1)"
                         : "+r"(added)
                         : "r"(numbers + at)
                         : "memory", "cc");
        __asm__ volatile("pushq (%0)\n\t"
                         "popq 8(%0)"
                         :
                         : "r"(numbers + at)
                         : "memory");
    }
}

static void chase(void) {
    for (word at = 0; at < 256; at++) {
        nodes[at].next = nodes + (at * 89 + 31) % 256;
        nodes[at].value = at;
    }
    struct node *node = nodes;
    for (word step = 0; step < 2000; step++) {
        found += node->value;
        node = node->next;
    }
}

__attribute__((used)) void run(void) {
    word state = 1;
    for (word at = 0; at < 2048; at++) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        numbers[at] = state >> 33;
        counter++;
    }
    sort(numbers, 2048);
    strings();
    vectors();
    modify();
    chase();
    __asm__ volatile("syscall" : : "a"(60), "D"(found & 63) : "rcx", "r11", "memory");
}

__asm__(".globl _start\n"
        "_start:\n\t"
        "leaq stack+8192(%rip), %rsp\n\t"
        "call run\n");
