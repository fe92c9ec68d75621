// 1024 loads of 8 bytes, a page apart, and nothing else. With DEPENDENT each address is computed
// from the load before; the words are all zero, so that the addresses are the same.
#define PAGES 1024
static unsigned char memory[PAGES * 4096] __attribute__((aligned(4096), used));

__attribute__((naked)) void _start(void) {
    __asm__ volatile("lea memory(%rip), %rsi\n\t"
                     "mov $1024, %ecx\n\t"
                     "xor %eax, %eax\n"
                     "1:\n\t"
#ifdef DEPENDENT
                     "mov (%rsi,%rax), %rax\n\t"
#else
                     "mov (%rsi), %rax\n\t"
#endif
                     "add $4096, %rsi\n\t"
                     "dec %ecx\n\t"
                     "jnz 1b\n\t"
                     "mov $60, %eax\n\t"
                     "xor %edi, %edi\n\t"
                     "syscall");
}
