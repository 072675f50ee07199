/* Runs: tests. A guard with nothing else of Lethe around it: the test is its supervisor, and brings it processes to trace. */
#pragma once

#include "base/util.h"
#include "schema/guard.h"

#include <sys/types.h>

typedef struct Guarded {
        pid_t guard; /* -1: reaped */
        int control;
        GuardEvidence *evidence;
        int evidence_fd;
        pid_t prey;     /* our child: the traced process, or the one that keeps the traced one's memory alive */
        pid_t traced;
        int go, said;   /* to and from the prey */
        int lock, run, spec, scratch;
        char run_path[256];
        const char *region;
} Guarded;

#define GUARDED_SPEC "--password=what the program was started with" /* in the memory file `spec` */

/* Set before a start: who guard and prey are (0: root), and that the guard's kernel has no PAGEMAP_SCAN. */
extern uid_t guarded_uid; /* whom the guard and what it guards run as, where it is another user than ours */
gid_t guarded_gid(void);
/* i = 0, 1, ...: sets guarded_uid to the users that there can be, root and an ordinary one; false when there is no further one. */
bool guarded_user(int i);
#define GUARDED_USERS for (int user_ = 0; guarded_user(user_); user_++)
extern bool guarded_without_scan;
extern pid_t guarded_init; /* the first process of what would be its PID namespace; 0: there is none */

/* Starts a guard and tests/isolation/scrub/prey with these arguments, and attaches the one to the other. flags: GUARD_HOLD. scratch: a folder or -1. */
void guarded_start(Guarded *g, unsigned flags, unsigned passes, unsigned tier, int scratch, const char *const *args);
/* The prey does what it was told to. */
void guarded_go(Guarded *g);
void guarded_order(Guarded *g, GuardKind kind);
/* The guard's next word must be this one, within 30 seconds. Returns its code. */
int guarded_expect(Guarded *g, GuardKind kind);
/* DONE with GUARD_AGAIN. */
void guarded_again(Guarded *g);
/* As guarded_start(), with the guard that there is. */
void guarded_next(Guarded *g, const char *region, const char *const *args);
/* DONE; the guard must exit with 0. Ends and reaps the prey. */
void guarded_end(Guarded *g);
/* Until that process waits in that system call. */
void guarded_await_call(pid_t pid, long call);
/* A line that the prey wrote. */
void guarded_hear(Guarded *g, char *line, size_t n);
/* Words of 8 bytes in the readable and unreadable memory of pid that are the prey's secret. */
uint64_t guarded_secrets(pid_t pid);
uint64_t guarded_missed(const Guarded *g);
/* From here on PAGEMAP_SCAN answers as on Linux 6.1, to this process and what it starts. */
void guarded_lose_scan(void);
/* Does this machine's kernel have PAGEMAP_SCAN? */
bool guarded_has_scan(void);

/* Joined only at run time, so that no memory of a program holds it but what was planted. */
#define PREY_SECRET (0x5ec2e7a1UL << 32 | prey_low())
static inline uint64_t prey_low(void) {
        volatile uint64_t low = 0x0badcafe;

        return low;
}
