/* Runs: supervisor, worker. This thread acts as a different user for a single clone3(): the kernel counts a user
 * namespace's objects also for its owner on the host, the caller. All capabilities stay; the process is as dumpable as
 * before. */
#pragma once

#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/securebits.h>

typedef struct Become {
        int bits, dumpable; /* before; bits -1: unchanged */
} Become;

/* uid 0: no change. A direct system call: the C library would change every thread. */
static inline void become_begin(Become *b, uint32_t uid) {
        b->dumpable = 0;
        b->bits = uid ? prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) : -1;
        if (b->bits < 0)
                return;
        b->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
        if (prctl(PR_SET_SECUREBITS, b->bits | SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ||
            syscall(SYS_setresuid, uid, uid, 0) < 0) {
                prctl(PR_SET_SECUREBITS, b->bits, 0, 0, 0);
                b->bits = -1;
        }
}

/* Only for the caller; the child keeps the user. */
static inline void become_end(Become *b) {
        if (b->bits < 0)
                return;
        syscall(SYS_setresuid, 0, 0, 0);
        prctl(PR_SET_SECUREBITS, b->bits, 0, 0, 0);
        prctl(PR_SET_DUMPABLE, b->dumpable == 1, 0, 0, 0);
}
