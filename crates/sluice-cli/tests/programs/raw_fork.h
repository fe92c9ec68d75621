/* Forks past the function of this name. */
#pragma once
#include "abuse.h"
#include <sys/syscall.h>

/* By the call's number, where the kernel has one for it, and else by that of `clone`. */
static inline pid_t fork_by_number(void) {
#ifdef SYS_fork
    return (pid_t)syscall(SYS_fork);
#else
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

/* By an instruction of the program's own, which no function of the C library sees. */
static inline pid_t fork_by_instruction(void) {
#if defined __x86_64__
    long answer;
    register long new_tls __asm__("r8") = 0;
    register long child_tid __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"((long)SYS_clone), "D"((long)SIGCHLD), "S"(0l), "d"(0l), "r"(child_tid),
                       "r"(new_tls)
                     : "rcx", "r11", "memory");
    return (pid_t)answer;
#elif defined __aarch64__
    register long number __asm__("x8") = SYS_clone;
    register long first __asm__("x0") = SIGCHLD;
    register long second __asm__("x1") = 0, third __asm__("x2") = 0;
    register long fourth __asm__("x3") = 0, fifth __asm__("x4") = 0;
    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(number), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
                     : "memory");
    return (pid_t)first;
#endif
}
