#include "scrub/tracer/state.h"

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define GET_SYSCALL_INFO 0x420e /* Linux 5.3 */
#define X32_CALL 0x40000000
#define PATTERN 0xa5 /* not what the registers hold at a start: those the processor does not even save */

#if defined(__x86_64__)

#define GENERAL_WORDS 27 /* r15 to gs */
#define ORIG_RAX 15
#define FIRST_ARGUMENT 14 /* rdi */
#define XSTATE_MAX (64 * 1024)
/* From cs on, the kernel checks what it is given. The two base addresses may hold any number below the end of a program's addresses. */
enum { CODE_SEGMENT = 17, FLAGS, STACK_POINTER, STACK_SEGMENT, FS_BASE, GS_BASE };
#define FX_DATA 32       /* x87 and SSE registers in the first 512 bytes */
#define FX_END 416
#define XCR0_AT 464      /* the features that the process may use */
#define HEADER_AT 512
#define HEADER_END 576
#define PKRU (1ULL << 9) /* not a secret, and it governs access to memory */
#define TILES (1ULL << 18) /* AMX: a process has room for them from its first use of them on, and then for good */

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

static uint8_t image[XSTATE_MAX] __attribute__((aligned(64)));
static size_t image_size;
static uint64_t features; /* that are overwritten: all that the processor has */

/* The image is made from the first process's state, whose layout is that of all on this machine. */
static int make_image(pid_t pid) {
        struct iovec v = {image, sizeof(image)};
        uint16_t control = 0x37f;
        uint32_t mxcsr = 0x1f80;

        if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &v) < 0)
                return -errno;
        memcpy(&features, image + XCR0_AT, sizeof(features));
        features &= ~PKRU;
        memset(image, PATTERN, v.iov_len);
        memset(image, 0, FX_DATA);
        memcpy(image, &control, sizeof(control));
        memcpy(image + 24, &mxcsr, sizeof(mxcsr));
        memset(image + FX_END, 0, HEADER_END - FX_END);
        image_size = v.iov_len;
        return 0;
}

static int set_features(pid_t pid, uint64_t which) {
        struct iovec v = {image, image_size};

        memcpy(image + HEADER_AT, &which, sizeof(which));
        return ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &v) < 0 ? -errno : 0;
}

/* With the tiles first: who has room for them may have something left there that is no longer told of, and without them would keep it. */
static int set_image(pid_t pid) {
        int e = set_features(pid, features);

        return e == -EINVAL && features & TILES ? set_features(pid, features & ~TILES) : e;
}

static int clear_extended(pid_t pid) {
        int e = image_size ? set_image(pid) : -EINVAL;

        /* The first of all, or one that may use other features than that. */
        if (e == -EINVAL && make_image(pid) == 0)
                e = set_image(pid);
        return e;
}

static void make_general(uint64_t words[static GENERAL_WORDS]) {
        memset(words + CODE_SEGMENT, 0, (GENERAL_WORDS - CODE_SEGMENT) * sizeof(*words));
        words[CODE_SEGMENT] = 0x33;
        words[FLAGS] = 0x202;
        words[STACK_SEGMENT] = 0x2b;
}

#elif defined(__aarch64__)

#define GENERAL_WORDS 31

static void make_general(uint64_t words[static GENERAL_WORDS]) {
}

static int clear_extended(pid_t pid) {
        uint8_t state[528]; /* struct user_fpsimd_state */
        struct iovec v = {state, sizeof(state)};

        memset(state, PATTERN, 512);
        memset(state + 512, 0, 16);
        return ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRFPREG, &v) < 0 ? -errno : 0;
}

#endif

void regs_clear(Guard *g, pid_t pid) {
        uint64_t general[GENERAL_WORDS];
        struct iovec v = {general, sizeof(general)};

        memset(general, PATTERN, sizeof(general));
        make_general(general);
        if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &v) < 0 || clear_extended(pid) < 0)
                g->evidence->registers_missed++;
}

static long call_of(pid_t pid) {
#if defined(__x86_64__)
        errno = 0;
        return ptrace(PTRACE_PEEKUSER, pid, (void *)(ORIG_RAX * sizeof(long)), NULL);
#elif defined(__aarch64__)
        uint64_t general[GENERAL_WORDS];
        struct iovec v = {general, sizeof(general)};

        return ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &v) == 0 ? (long)general[8] : -1;
#endif
}

/* Of its call; -1: not known. */
static long first_argument(pid_t pid) {
#if defined(__x86_64__)
        errno = 0;
        return ptrace(PTRACE_PEEKUSER, pid, (void *)(FIRST_ARGUMENT * sizeof(long)), NULL);
#else
        return -1; /* its register has what the call returns */
#endif
}

static bool makes_tasks(long call) {
#if defined(__x86_64__)
        if (call == SYS_fork || call == SYS_vfork)
                return true;
#endif
        return call == SYS_clone || call == SYS_clone3;
}

static bool executes(long call) {
        return call == SYS_execve || call == SYS_execveat;
}

static bool is_one_of(long call, const int *calls, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (calls[i] == call)
                        return true;
        return false;
}

/* Calls of which the kernel sends SIGXFSZ at the limit of a file's size; anybody can send that, too. */
static bool makes_longer(long call) {
        static const int calls[] = {SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_truncate,
                                    SYS_ftruncate, SYS_fallocate, SYS_sendfile, SYS_splice,  SYS_copy_file_range};

        return is_one_of(call, calls, sizeof(calls) / sizeof(*calls));
}

/* The descriptor's number is free: another task closed it while the call went on. */
static bool is_closed(pid_t pid, long fd) {
        char path[64], target;

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)fd);
        return readlink(path, &target, 1) < 0;
}

/* Calls that can wait, or take as long as they like, with a file in their hands that another task closes meanwhile: a deleted one, or a socket in whose queue
 * a deleted one lies. Whoever ends the task cuts the call short, and it gives the file up before the task is at its exit stop. Some have one descriptor, whose
 * number is still known there, and tells unless another file took it; the others have several, or say in memory which. */
static bool holds_file(pid_t pid, long call) {
        static const int one[] = {
                SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_preadv2, SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_sendto,
                SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_accept, SYS_accept4, SYS_connect, SYS_ioctl, SYS_fallocate, SYS_ftruncate, SYS_fsync,
                SYS_fdatasync, SYS_sync_file_range, SYS_readahead,
        };
        static const int some[] = {
#if defined(__x86_64__)
                SYS_poll, SYS_select,
#endif
                SYS_ppoll, SYS_pselect6, SYS_sendmsg, SYS_sendmmsg, SYS_sendfile, SYS_splice, SYS_tee, SYS_copy_file_range, SYS_flock, SYS_fcntl, SYS_msync,
        };

        return executes(call) || is_one_of(call, some, sizeof(some) / sizeof(*some)) ||
               (is_one_of(call, one, sizeof(one) / sizeof(*one)) && is_closed(pid, first_argument(pid)));
}

/* Of a 32-bit or x32 call the filter makes SIGSYS; anybody can send that. */
static bool is_foreign(pid_t pid, long call) {
#if defined(__x86_64__)
        const uint32_t native = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
        const uint32_t native = AUDIT_ARCH_AARCH64;
#endif
        uint32_t told[6] = {0}; /* what PTRACE_GET_SYSCALL_INFO tells of any stop: kind, architecture, two addresses */

        if (native == AUDIT_ARCH_X86_64 && call >= 0 && call & X32_CALL)
                return true;
        return ptrace(GET_SYSCALL_INFO, pid, (void *)sizeof(told), told) > 0 && told[1] != native;
}

/* A signal that ends one thread ends all of them. Else it is the call itself: exit(2) is for one thread. */
Ends regs_how_it_ends(const Guard *g, pid_t pid, bool *ret_made, bool *ret_held, bool *ret_executes) {
        unsigned long code = 0;
        long call = call_of(pid);

        *ret_made = makes_tasks(call);
        *ret_held = holds_file(pid, call);
        *ret_executes = executes(call);
        ptrace(PTRACE_GETEVENTMSG, pid, NULL, &code);
        if ((code & 0x7f) == SIGSYS && is_foreign(pid, call))
                g->evidence->facts |= GUARD_FACT_FOREIGN;
        if ((code & 0x7f) == SIGXFSZ && makes_longer(call))
                g->evidence->facts |= GUARD_FACT_FILE_LIMIT;
        if (g->killed || code & 0x7f)
                return ENDS_KILLED;
        return call == SYS_exit_group ? ENDS_GROUP : ENDS_ALONE;
}
