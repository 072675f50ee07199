#include "scrub/tracer/state.h"

#include <elf.h>
#include <linux/audit.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define GET_SYSCALL_INFO 0x420e /* Linux 5.3 */
#define X32_CALL 0x40000000
#define PATTERN 0xa5 /* differs from the initial values, which the processor does not save */

#if defined(__x86_64__)

#define GENERAL_WORDS 27 /* r15 to gs */
#define XSTATE_MAX (64 * 1024)
/* From cs on, the kernel checks the values. The base addresses may be any number below the end of user memory. */
enum { CODE_SEGMENT = 17, FLAGS, STACK_POINTER, STACK_SEGMENT, FS_BASE, GS_BASE };
#define FX_DATA 32       /* x87 and SSE registers in the first 512 bytes */
#define FX_END 416
#define XCR0_AT 464      /* the features that the process may use */
#define HEADER_AT 512
#define HEADER_END 576
#define PKRU (1ULL << 9) /* not a secret, and needed for access to memory */
#define TILES (1ULL << 18) /* AMX: a process has room for tiles from their first use on, for good */

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

static uint8_t image[XSTATE_MAX] __attribute__((aligned(64)));
static size_t image_size;
static uint64_t features; /* to overwrite: all features of the processor */

/* The image is made from the first process's state. Its layout is the same for all processes of a machine. */
static int regs_make_image(pid_t pid) {
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

static int regs_set_features(pid_t pid, uint64_t which) {
        struct iovec v = {image, image_size};

        memcpy(image + HEADER_AT, &which, sizeof(which));
        return ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &v) < 0 ? -errno : 0;
}

/* With the tiles first: a process with room for tiles may keep an old tile that the kernel no longer reports. */
static int regs_set_image(pid_t pid) {
        int e = regs_set_features(pid, features);

        return e == -EINVAL && features & TILES ? regs_set_features(pid, features & ~TILES) : e;
}

static int regs_clear_extended(pid_t pid) {
        int e = image_size ? regs_set_image(pid) : -EINVAL;

        /* The first process, or a process with further features. */
        if (e == -EINVAL && regs_make_image(pid) == 0)
                e = regs_set_image(pid);
        return e;
}

static void regs_make_general(uint64_t words[static GENERAL_WORDS]) {
        memset(words + CODE_SEGMENT, 0, (GENERAL_WORDS - CODE_SEGMENT) * sizeof(*words));
        words[CODE_SEGMENT] = 0x33;
        words[FLAGS] = 0x202;
        words[STACK_SEGMENT] = 0x2b;
}

long regs_word(pid_t pid, int n) {
        errno = 0;
        return ptrace(PTRACE_PEEKUSER, pid, (void *)(n * sizeof(long)), NULL);
}

#elif defined(__aarch64__)

#define GENERAL_WORDS 31

static void regs_make_general(uint64_t words[static GENERAL_WORDS]) {
}

static int regs_clear_extended(pid_t pid) {
        uint8_t state[528]; /* struct user_fpsimd_state */
        struct iovec v = {state, sizeof(state)};

        memset(state, PATTERN, 512);
        memset(state + 512, 0, 16);
        return ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRFPREG, &v) < 0 ? -errno : 0;
}

#endif

void regs_clear(Tracer *g, pid_t pid) {
        uint64_t general[GENERAL_WORDS];
        struct iovec v = {general, sizeof(general)};

        memset(general, PATTERN, sizeof(general));
        regs_make_general(general);
        if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &v) < 0 || regs_clear_extended(pid) < 0)
                g->evidence->registers_missed++;
}

static long regs_call(pid_t pid) {
#if defined(__x86_64__)
        return regs_word(pid, ORIG_RAX);
#elif defined(__aarch64__)
        uint64_t general[GENERAL_WORDS];
        struct iovec v = {general, sizeof(general)};

        return ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &v) == 0 ? (long)general[8] : -1;
#endif
}

/* The first argument of the call; -1: not known. */
static long regs_first_argument(pid_t pid) {
#if defined(__x86_64__)
        return regs_word(pid, RDI);
#else
        return -1; /* the register already holds the call's result */
#endif
}

static bool regs_makes_tasks(long call) {
#if defined(__x86_64__)
        if (call == SYS_fork || call == SYS_vfork)
                return true;
#endif
        return call == SYS_clone || call == SYS_clone3;
}

static bool regs_executes(long call) {
        return call == SYS_execve || call == SYS_execveat;
}

static bool regs_is_one_of(long call, const int *calls, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (calls[i] == call)
                        return true;
        return false;
}

/* Calls for which the kernel sends SIGXFSZ at the limit of a file's size; a process can send that signal, too. */
static bool regs_makes_longer(long call) {
        static const int calls[] = {SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_truncate,
                                    SYS_ftruncate, SYS_fallocate, SYS_sendfile, SYS_splice,  SYS_copy_file_range};

        return regs_is_one_of(call, calls, sizeof(calls) / sizeof(*calls));
}

/* The descriptor's number is free: another task closed it during the call. */
static bool regs_is_closed(pid_t pid, long fd) {
        char target;

        return readlink(PROC_PATH("%d/fd/%d", pid, (int)fd), &target, 1) < 0;
}

/* Calls that can wait, or last for any time, with a file closed by another task meanwhile: a deleted file, or a socket
 * with a deleted file in its queue. Killing the task cuts the call short, and the call gives the file up before the
 * exit stop. For calls with a single descriptor, a number now free tells. The rest have several, or in memory. */
static bool regs_holds_file(pid_t pid, long call) {
        static const int one[] = {
                SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_preadv2, SYS_write, SYS_writev, SYS_pwrite64,
                SYS_pwritev, SYS_pwritev2, SYS_sendto, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_accept, SYS_accept4,
                SYS_connect, SYS_ioctl, SYS_fallocate, SYS_ftruncate, SYS_fsync, SYS_fdatasync, SYS_sync_file_range,
                SYS_readahead,
        };
        static const int some[] = {
#if defined(__x86_64__)
                SYS_poll, SYS_select,
#endif
                SYS_ppoll, SYS_pselect6, SYS_sendmsg, SYS_sendmmsg, SYS_sendfile, SYS_splice, SYS_tee,
                SYS_copy_file_range, SYS_flock, SYS_fcntl, SYS_msync,
        };

        return regs_executes(call) || regs_is_one_of(call, some, sizeof(some) / sizeof(*some)) ||
               (regs_is_one_of(call, one, sizeof(one) / sizeof(*one)) && regs_is_closed(pid, regs_first_argument(pid)));
}

/* For a 32-bit or x32 call the filter makes SIGSYS; a process can send that signal, too. */
static bool regs_is_foreign(pid_t pid, long call) {
#if defined(__x86_64__)
        const uint32_t native = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
        const uint32_t native = AUDIT_ARCH_AARCH64;
#endif
        uint32_t told[6] = {0}; /* reply of PTRACE_GET_SYSCALL_INFO at any stop: kind, architecture, two addresses */

        if (native == AUDIT_ARCH_X86_64 && call >= 0 && call & X32_CALL)
                return true;
        return ptrace(GET_SYSCALL_INFO, pid, (void *)sizeof(told), told) > 0 && told[1] != native;
}

/* A signal that ends a thread ends the whole group. Else the call tells: exit(2) is for a single thread. */
Ends regs_how_it_ends(const Tracer *g, pid_t pid, bool *ret_made, bool *ret_held, bool *ret_executes) {
        unsigned long code = 0;
        long call = regs_call(pid);

        *ret_made = regs_makes_tasks(call);
        *ret_held = regs_holds_file(pid, call);
        *ret_executes = regs_executes(call);
        ptrace(PTRACE_GETEVENTMSG, pid, NULL, &code);
        if ((code & 0x7f) == SIGSYS && regs_is_foreign(pid, call))
                g->evidence->facts |= GUARD_FACT_FOREIGN;
        if ((code & 0x7f) == SIGXFSZ && regs_makes_longer(call))
                g->evidence->facts |= GUARD_FACT_FILE_LIMIT;
        if (g->killed || code & 0x7f)
                return ENDS_KILLED;
        return call == SYS_exit_group ? ENDS_GROUP : ENDS_ALONE;
}
