/* Runs: supervisor, guard. What the supervisor and lethe-guard say to each other, and the evidence page that both map.
 *
 * One guard a region at a time. It traces the program and all that comes from it, and overwrites what an address space holds at the exit stop of its
 * last user, before the kernel gets the pages back. It is no part of the region: a session of its own, the supervisor's user and
 * namespaces, no control group of the region.
 *
 * It is born with GUARD_FD_CONTROL, a SOCK_SEQPACKET socket, and GUARD_FD_EVIDENCE, a memory file of sizeof(GuardEvidence) bytes; 0 to 2 are
 * /dev/null. It changes its working folder to / by itself and takes no argument.
 *
 *   supervisor -> guard              guard -> supervisor
 *   ATTACH (GuardOrder and           ATTACHED      error = 0 or errno; after an error the guard traces nothing and waits for the end of the
 *           descriptors)                           socket. To be sent when the program's process has said that it exists (STATUS_BORN)
 *                                    ENDING        only with GUARD_HOLD: the program's own process is at its exit stop, held there until
 *                                                  SCRUB; code = its wait status. Not sent after FREEZE
 *   FREEZE                           FROZEN        every traced process was killed and stands at its exit stop, memory untouched. GUARD_AT_ONCE: not
 *                                                  sent, nothing is held
 *   SCRUB                                          from now on nothing is held: each address space is overwritten and let go
 *                                    EMPTY         the last traced process was overwritten and reaped, deleted files that were kept are
 *                                                  overwritten: the evidence is complete. Sent once, also without SCRUB or FREEZE when the
 *                                                  last process is gone by itself
 *   PAUSE (GuardOrder)               PAUSED        discipline multipass: `program` waits in a notified system call; all other tasks of its address
                                                  space (GUARD_EVERYBODY: of the region) stand now. error = 0, GUARD_ALONE: there are none, or
                                                  an errno: nobody was stopped. code = the order's serial
   RESUME (the serial)              RESUMED       they go on, because it came out of its call, or ended, or by order; code = serial. Not after
                                                  GUARD_ALONE or an errno, but for GUARD_EXECUTES; error = ECHILD: it was killed, see DOOM
   DOOM (the serial)                              the image of the task that waits in execve is overwritten: if it comes out of the call in any way but
                                                  by its success, it is killed before it runs another instruction
 *   STAND                                          all that it traces is stopped as soon as it runs, and goes on after WALK: the supervisor looks at memory.
 *                                                  No process of the region can see it, and a job that is stopped stays so
 *   WALK
 *   WATCH (machine, growth, watch_usec)
 *                                    STOOD         every watch_usec microseconds it is seen how much memory the whole machine has given out
 *                                                  (base/machine.h). When that is `growth` bytes more than `machine`, or than the least since, all is
 *                                                  stopped as by STAND, and nothing is watched any more. growth = 0: nothing is watched.
 *                                                  GUARD_SPARE: until the next WATCH without it, all that it traces leaves one processor to others
 *   LENT                                           the supervisor has files of the scratch open itself, because it made locks on them for the region
 *   DONE                             (exits 0)     the supervisor has recorded the evidence
 *   DONE with GUARD_AGAIN            AS_NEW        the same, and it may serve another region: it has closed and overwritten all that it had of this
 *                                                  one, the evidence page too, and waits for an ATTACH. After anything out of the ordinary, and
 *                                                  now and then in any case, it exits instead
 *
 * Without GUARD_HOLD no order is needed: a process that ends, for whatever reason, is overwritten at once. FREEZE kills, without SCRUB
 * nothing that was frozen goes on. With GUARD_HOLD only the program's process is held before FREEZE: what it started ends as it likes.
 * The guard kills nobody but on FREEZE and at the end of the socket. In a PID namespace the supervisor may kill the first process at any time:
 * it can be reaped only after all others, which stand at their exit stops.
 *
 * End of the socket without DONE: the supervisor is dead. A guard that serves no region exits. After ATTACHED the guard then kills what it
 * traces, overwrites it, overwrites every file below the scratch folder and what the program was started with, writes the evidence to
 * GUARD_FILE in the run folder (a GuardFile, by renaming), and exits. It holds the lock file's lock until then, or until it is AS_NEW (flock;
 * taken by the supervisor before it sends the descriptor): whoever recovers the region waits for the lock and then reads the file. A lock
 * that is free and no file: the guard was killed itself, and nothing is known to be overwritten.
 *
 * Tier landlock where Yama's ptrace_scope is 1: the program allows its guard before its filter is installed, prctl(PR_SET_PTRACER, pid of
 * the guard). In tier namespaces the guard owns the region's user namespace and needs nothing. */
#pragma once

#include <stdint.h>

#define GUARD_VERSION 11U
#define GUARD_FILE ".evidence" /* <region><GUARD_FILE> in the run folder */
#define GUARD_REGION_MAX 64    /* characters of a region id, with its NUL */
#define GUARD_PASSES_MAX 35U
#define GUARD_PROGRAM_FDS 8    /* the program's process has no descriptor from here on when it is attached: what it has is the host's */

enum {
        GUARD_FD_CONTROL = 3,
        GUARD_FD_EVIDENCE,
};

/* Descriptors of ATTACH, in this order; those after GUARD_ATTACH_SCRATCH do not exist. */
enum {
        GUARD_ATTACH_LOCK,    /* whose flock the guard keeps until it is over with the region */
        GUARD_ATTACH_RUN,     /* folder for GUARD_FILE */
        GUARD_ATTACH_SPEC,    /* the memory file with the program's arguments and environment, sealed against changes of its size */
        GUARD_ATTACH_SCRATCH, /* the scratch's root folder: what came with STATUS_BORN, in tier landlock the host's folder */
        GUARD_ATTACH_FDS,
};

typedef enum GuardKind {
        GUARD_ATTACH = 1,
        GUARD_FREEZE,
        GUARD_SCRUB,
        GUARD_DONE,
        GUARD_PAUSE,
        GUARD_RESUME,
        GUARD_DOOM,
        GUARD_LENT,
        GUARD_STAND,
        GUARD_WALK,
        GUARD_WATCH,
        GUARD_ATTACHED = 16,
        GUARD_ENDING,
        GUARD_FROZEN,
        GUARD_EMPTY,
        GUARD_PAUSED,
        GUARD_RESUMED,
        GUARD_AS_NEW,
        GUARD_STOOD,
} GuardKind;

enum {
        GUARD_WARM = 1 << 4,      /* of ATTACH: the program's process was forked from a warm interpreter, which nobody traces: pages that it never wrote
                                   * to are that one's, and hold nothing of the region */
        GUARD_HOLD = 1 << 0,      /* of ATTACH: the program's process is held at its exit stop until SCRUB */
        GUARD_EVERYBODY = 1 << 1, /* of PAUSE */
        GUARD_AT_ONCE = 1 << 3,   /* of FREEZE: SCRUB is said with it, and the first process of a PID namespace was killed, by which all others are */
        GUARD_AGAIN = 1 << 5,     /* of DONE */
        GUARD_SPARE = 1 << 6,     /* of WATCH */
        GUARD_EXECUTES = 1 << 2,  /* of PAUSE: the task waits in execve; after GUARD_ALONE, too, RESUMED says that it is through */
};

#define GUARD_ALONE (-1) /* error of PAUSED */

typedef struct GuardOrder {
        uint32_t version; /* GUARD_VERSION; an order of another version is answered with EPROTO */
        uint32_t kind;    /* GuardKind; what follows is of ATTACH, PAUSE and RESUME as said */
        uint32_t flags;
        uint32_t passes;  /* 1: zeros. n > 1: 0x00, 0xFF, random bytes, and again; each page's last pass is read back and compared */
        uint32_t tier;    /* Tier of policy/grant.h: 1 landlock, 2 namespaces */
        int32_t init;     /* the region's first process, as the guard sees pids; it is not traced */
        int32_t program;  /* the process that becomes the program; 0: the only child of init. PAUSE: the task that waits */
        uint32_t serial;  /* of PAUSE and RESUME: which pause */
        uint64_t machine, growth; /* of WATCH, as watch_usec: bytes */
        uint32_t watch_usec;
        char region[GUARD_REGION_MAX];
} GuardOrder;

typedef struct GuardAnswer {
        uint32_t version;
        uint32_t kind;
        int32_t error; /* ATTACHED: 0 or an errno */
        int32_t code;  /* ENDING: wait status, as waitpid() has it */
} GuardAnswer;

/* Why bytes that were to be overwritten were not, or not provably. */
typedef enum GuardMissed {
        GUARD_MISSED_SHARED,  /* a private page that a process outside the traced ones still maps: never written */
        GUARD_MISSED_DENIED,  /* the kernel did not let it be read or written */
        GUARD_MISSED_VERIFY,  /* what was read back is not what was written */
        GUARD_MISSED_MOVED,   /* the page had another physical frame afterwards: the old one was freed as it was (seen as root only) */
        GUARD_MISSED_SWAPPED, /* was in swap: the copy there stays */
        GUARD_MISSED_FILE,    /* a deleted file that could not be kept open, or not be overwritten */
        GUARD_MISSED_COUNT,
} GuardMissed;

#define GUARD_MISSED_NAMES {"shared", "denied", "verify", "moved", "swapped", "file"}

enum {
        GUARD_STATE_NEW,      /* nothing traced yet */
        GUARD_STATE_ATTACHED,
        GUARD_STATE_FROZEN,
        GUARD_STATE_EMPTY,    /* complete; at any earlier state the counters are what was done so far */
};

/* Facts of the machine, found by using them. */
enum {
        GUARD_FACT_SCAN = 1 << 0,   /* PAGEMAP_SCAN; else /proc/PID/pagemap */
        GUARD_FACT_FRAMES = 1 << 1, /* frame numbers were visible and were compared */
        GUARD_FACT_ORPHANED = 1 << 2, /* the control socket ended before DONE */
        GUARD_FACT_KERNEL_SEGV = 1 << 3, /* a process was sent SIGSEGV for no address of its own: the kernel could not write into its memory, say */
        GUARD_FACT_FOREIGN = 1 << 5, /* a process was ended by SIGSYS in a call of a foreign ABI */
        GUARD_FACT_FILE_LIMIT = 1 << 6, /* a process was ended by SIGXFSZ in a call that makes files longer */
        GUARD_FACT_LENT = 1 << 4,   /* LENT was said: with the supervisor files may have gone that nobody else had a hold of */
};

/* A shared object of which only what some process had mapped could be overwritten. How long it is, no process can see. */
typedef struct GuardObject {
        uint64_t device, inode; /* device: major << 32 | minor, as in /proc/PID/maps */
        uint64_t bytes;         /* that were mapped, each counted once */
} GuardObject;
#define GUARD_OBJECTS_MAX 64

/* Counters only grow. Bytes are whole pages. held = overwritten + the sum of missed, once the state is EMPTY; of bytes overwritten, those
 * not verified are counted as missed, too, and not as overwritten. */
typedef struct GuardEvidence {
        uint32_t version;
        uint32_t state;
        uint32_t facts;
        uint32_t passes;
        uint64_t processes;          /* address spaces that came to their end at an exit stop */
        uint64_t processes_missed;   /* address spaces that ended without one, or could not be looked at: nothing is known of their bytes */
        uint64_t threads;            /* exit stops, of every thread */
        uint64_t registers_missed;   /* threads whose registers (general and floating point) could not be overwritten, or that ended without a stop */
        uint64_t warm_bytes;         /* in none of the others: private pages that the last process with pages of a warm interpreter had in common with it */
        uint64_t exec_images;        /* address spaces given up by execve while running, but for the worker's own */
        uint64_t bytes_held;
        uint64_t bytes_overwritten;
        uint64_t bytes_verified;     /* read back and found as written */
        uint64_t bytes_missed[GUARD_MISSED_COUNT];
        uint64_t shared_bytes;       /* of bytes_overwritten: shared memory */
        uint32_t objects, spare;     /* how many of `object` are used */
        uint64_t more_objects, more_object_bytes; /* of those for which there was no room */
        GuardObject object[GUARD_OBJECTS_MAX];
        uint64_t files;              /* deleted files overwritten */
        uint64_t file_bytes;         /* of bytes_overwritten: in deleted files */
        uint64_t file_bytes_lent;    /* of deleted files that were overwritten, or counted as missed: what somebody who is not of the region has open */
        /* The sum over the scratch, where that is a file system of its own and the discipline is not multipass. scratch_sum is the largest sum of the bytes
         * that the scratch held and of scratch_known, each taken at a moment when nothing of the region could free a file any more. All of it is later
         * found with a name, or is in scratch_known: the rest was freed as it was, whatever held it. */
        uint64_t scratch_sum;
        uint64_t calls_cut;          /* tasks that were ended in a call which can have been the last to hold a file: each counts as a page that is missed */
        uint64_t scratch_known;      /* bytes of files without a name that were overwritten, or counted as missed */
        uint64_t file_steps;         /* odd while a file is given up: scratch_known and what the scratch holds do not fit together then */
        uint64_t scratch_files;      /* only of an orphaned guard: files below the scratch folder that it overwrote */
        uint64_t scratch_bytes;      /* of bytes_overwritten */
        uint64_t frames_checked;     /* pages whose frame was compared before and after */
        uint64_t scrub_usec;         /* spent on scanning, writing and reading back */
        uint64_t frozen_usec;        /* CLOCK_MONOTONIC when the last process stood at its exit stop, 0: never frozen */
        uint64_t empty_usec;         /* CLOCK_MONOTONIC when EMPTY was reached */
        uint64_t queue_bytes;        /* unread in pipes and sockets, taken out and overwritten there; in none of the other counters */
        uint32_t living;             /* not a counter: traced tasks that can run now */
        uint32_t sharing;            /* not a counter: of these, those that use an address space which another one uses, too, less one for each such space.
                                      * Neither is ever less than the truth */
        /* A look into a socket sets the place where all looks into that socket go on. So the guard and the supervisor take turns: each sets its own word, and
         * looks when the other's is 0 then; the guard takes its word back meanwhile. A word of the supervisor's that stays set: a task of its own is still in a
         * look. */
        uint32_t guard_looks, supervisor_looks;
        uint64_t beats;              /* grows while the guard works: how else is one that has much to do told from one that hangs? */
} GuardEvidence;

/* The file that an orphaned guard leaves. */
typedef struct GuardFile {
        char magic[8]; /* GUARD_FILE_MAGIC */
        char region[GUARD_REGION_MAX];
        GuardEvidence evidence;
} GuardFile;
#define GUARD_FILE_MAGIC "LGUARD1\n"
