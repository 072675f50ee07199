#include "scrub/guard/state.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#define PATTERN 0xa5 /* not what the registers hold at a start: those the processor does not even save */

#if defined(__x86_64__)

#define GENERAL_WORDS 17 /* r15 to rip; from cs on, the kernel checks what it is given */
#define XSTATE_MAX (64 * 1024)
#define FX_DATA 32       /* x87 and SSE registers in the first 512 bytes */
#define FX_END 416
#define XCR0_AT 464      /* the features that the process may use */
#define HEADER_AT 512
#define HEADER_END 576
#define PKRU (1ULL << 9) /* not a secret, and it governs access to memory */

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

static uint8_t image[XSTATE_MAX] __attribute__((aligned(64)));
static size_t image_size;

/* The image is made from the first process's state, whose layout is that of all on this machine. */
static int make_image(pid_t pid) {
        struct iovec v = {image, sizeof(image)};
        uint16_t control = 0x37f;
        uint32_t mxcsr = 0x1f80;
        uint64_t features;

        if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &v) < 0)
                return -errno;
        memcpy(&features, image + XCR0_AT, sizeof(features));
        features &= ~PKRU;
        memset(image, PATTERN, v.iov_len);
        memset(image, 0, FX_DATA);
        memcpy(image, &control, sizeof(control));
        memcpy(image + 24, &mxcsr, sizeof(mxcsr));
        memset(image + FX_END, 0, HEADER_END - FX_END);
        memcpy(image + HEADER_AT, &features, sizeof(features));
        image_size = v.iov_len;
        return 0;
}

static int set_image(pid_t pid) {
        struct iovec v = {image, image_size};

        return ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &v) < 0 ? -errno : 0;
}

static int clear_extended(pid_t pid) {
        int e = image_size ? set_image(pid) : -EINVAL;

        /* The first of all, or one that may use other features than that. */
        if (e == -EINVAL && make_image(pid) == 0)
                e = set_image(pid);
        return e;
}

#elif defined(__aarch64__)

#define GENERAL_WORDS 31

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
        if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &v) < 0 || clear_extended(pid) < 0)
                g->evidence->registers_missed++;
}
