/* Runs: supervisor, worker. This thread as another user for one clone3(): what the kernel counts for a user namespace it counts for its owner on the host,
 * too, and the owner is who made it. All capabilities stay meanwhile, and the process is as dumpable as before. */
#pragma once

#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/securebits.h>

typedef struct Become {
        int bits, dumpable; /* before; bits -1: nothing was changed */
} Become;

/* uid 0: nothing. Straight to the kernel: the C library would change every thread. */
static inline void become_begin(Become *b, uint32_t uid) {
        b->dumpable = 0;
        b->bits = uid ? prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) : -1;
        if (b->bits < 0)
                return;
        b->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
        if (prctl(PR_SET_SECUREBITS, b->bits | SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 || syscall(SYS_setresuid, uid, uid, 0) < 0) {
                prctl(PR_SET_SECUREBITS, b->bits, 0, 0, 0);
                b->bits = -1;
        }
}

/* In the one that asked; the child goes on as it is. */
static inline void become_end(Become *b) {
        if (b->bits < 0)
                return;
        syscall(SYS_setresuid, 0, 0, 0);
        prctl(PR_SET_SECUREBITS, b->bits, 0, 0, 0);
        prctl(PR_SET_DUMPABLE, b->dumpable == 1, 0, 0, 0);
}
