/* The registers of a task at its exit stop: general ones, those of floating point, and the base of a segment (I-29). */
#include "scrub/tracer/state.h"

#include "base/util.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORD 0x5ec2e7a10badULL /* an address that a program could have, too */

#if defined(__x86_64__)
#define EXTENDED NT_X86_XSTATE
#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

static void fill_and_exit(uint64_t word) {
        syscall(SYS_arch_prctl, 0x1001 /* ARCH_SET_GS */, word);
        __asm__ volatile("movq %0, %%xmm5; movq %0, %%xmm15; movq %0, %%r12; movq %0, %%r9; movq %0, %%rbx; syscall"
                         : : "r"(word), "a"(SYS_exit_group), "D"(0UL) : "xmm5", "xmm15", "r12", "r9", "rbx", "rcx", "r11");
}

/* Tiles (AMX), for which only a process that asked for them has room. */
static bool ask_for_tiles(void) {
        return syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18UL) == 0;
}

static void fill_tile(uint64_t word) {
        struct {
                uint8_t palette, start, reserved[14];
                uint16_t row_bytes[16];
                uint8_t rows[16];
        } config = {.palette = 1, .row_bytes = {64}, .rows = {16}};
        uint64_t rows[128];

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                rows[i] = word;
        __asm__ volatile("ldtilecfg %0; tileloadd (%1, %2, 1), %%tmm0" : : "m"(config), "r"(rows), "r"(64UL), "m"(rows));
}
#elif defined(__aarch64__)
#define EXTENDED NT_PRFPREG

static void fill_and_exit(uint64_t word) {
        __asm__ volatile("fmov d5, %0; mov x20, %0; mov x0, #0; mov x8, %1; svc #0" : : "r"(word), "i"(SYS_exit_group) : "d5", "x20", "x0", "x8");
}

static bool ask_for_tiles(void) {
        return false;
}

static void fill_tile(uint64_t word) {
}
#endif

/* How often the word is in a set of registers. */
static size_t found(pid_t pid, int set) {
        static uint64_t words[8192];
        struct iovec v = {words, sizeof(words)};
        size_t n = 0;

        cr_assert(ptrace(PTRACE_GETREGSET, pid, (void *)(uintptr_t)set, &v) == 0);
        for (size_t i = 0; i < v.iov_len / sizeof(*words); i++)
                n += words[i] == WORD;
        return n;
}

static pid_t at_its_exit_stop(bool tiles) {
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                raise(SIGSTOP);
                if (tiles && ask_for_tiles())
                        fill_tile(WORD);
                fill_and_exit(WORD);
        }
        cr_assert(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
        cr_assert(ptrace(PTRACE_SEIZE, pid, NULL, (void *)(uintptr_t)(PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)) == 0);
        kill(pid, SIGCONT);
        while (status >> 8 != (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
                cr_assert(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
                if (status >> 8 != (SIGTRAP | PTRACE_EVENT_EXIT << 8))
                        ptrace(PTRACE_CONT, pid, NULL, NULL);
        }
        return pid;
}

Test(regs, general_and_floating_point_are_overwritten) {
        GuardEvidence evidence = {};
        Tracer g = {.evidence = &evidence};
        size_t most = 0;

        /* The state of those after the first one is made from an image of that one's; every second one has room for more. */
        for (int i = 0; i < 4; i++) {
                pid_t pid = at_its_exit_stop(i % 2);
                bool made, held, executes;

                cr_expect(found(pid, NT_PRSTATUS) > 0 && found(pid, EXTENDED) > 0, "nothing to look for");
                most = MAX(most, found(pid, EXTENDED));
                cr_expect(regs_how_it_ends(&g, pid, &made, &held, &executes) == ENDS_GROUP && !made && !held && !executes);
                regs_clear(&g, pid);
                cr_expect(found(pid, NT_PRSTATUS) == 0, "%d: %zu general ones", i, found(pid, NT_PRSTATUS));
                cr_expect(found(pid, EXTENDED) == 0, "%d: %zu of floating point", i, found(pid, EXTENDED));
                cr_expect(evidence.registers_missed == 0, "%d", i);
                ptrace(PTRACE_CONT, pid, NULL, NULL);
                cr_assert(waitpid(pid, NULL, 0) == pid);
                regs_clear(&g, pid); /* it is gone */
                cr_expect(evidence.registers_missed == 1);
                evidence.registers_missed = 0;
        }
        cr_expect(most >= 128 || !ask_for_tiles(), "no tile was looked at");
}
