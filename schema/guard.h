/* Runs: supervisor, guard. The messages between the supervisor and lethe-guard, and the evidence page that both map.
 *
 * A guard serves a single region at a time. It traces the program and all descendants, and overwrites the content of an
 * address space at the exit stop of its last user, before the kernel gets the pages back. The guard is no part of the
 * region: a session of its own, the supervisor's user and namespaces, no control group of the region.
 *
 * A guard is born with GUARD_FD_CONTROL, a SOCK_SEQPACKET socket, and GUARD_FD_EVIDENCE, a memory file of
 * sizeof(GuardEvidence) bytes; 0 to 2 are /dev/null. It changes its working folder to / by itself and takes no
 * argument.
 *
 *   supervisor -> guard              guard -> supervisor
 *   ATTACH (GuardOrder and           ATTACHED      error = 0 or errno; after an error the guard traces no process and
 *           descriptors)                           waits for the end of the socket. Sent after STATUS_BORN
 *                                    ENDING        only with GUARD_HOLD: the program's own process is at its exit stop,
 *                                                  held there until SCRUB; code = its wait status. Not sent after
 *                                                  FREEZE
 *   FREEZE                           FROZEN        every traced process was killed and stands at its exit stop, memory
 *                                                  untouched. GUARD_AT_ONCE: no answer, no process is held
 *   SCRUB                                          from now on no process is held: each address space is overwritten
 *                                                  and let go
 *                                    EMPTY         the last traced process was overwritten and reaped, kept deleted
 *                                                  files are overwritten: the evidence is complete. Sent once, also
 *                                                  without SCRUB or FREEZE when the last process ended by itself
 *   PAUSE (GuardOrder)               PAUSED        discipline multipass: `program` waits in a notified system call; all
 *                                                  other tasks of its address space (GUARD_EVERYBODY: of the region)
 *                                                  stand now. error = 0; GUARD_ALONE: without other tasks; or an errno:
 *                                                  no task was stopped. code = the order's serial
 *   RESUME (the serial)              RESUMED       the tasks go on, because the call is over, its caller ended, or by
 *                                                  order; code = serial. Not after an errno; after GUARD_ALONE only for
 *                                                  GUARD_EXECUTES; error = ECHILD: the caller was killed, see DOOM
 *   DOOM (the serial)                              the image of the task waiting in execve is overwritten: unless the
 *                                                  execve succeeds, the guard kills the task before its next
 *                                                  instruction
 *   STAND                                          all traced tasks are stopped, new ones too, until WALK: the
 *                                                  supervisor inspects memory. Invisible to the region; a stopped job
 *                                                  stays stopped
 *   WALK
 *   WATCH (machine, growth, watch_usec)
 *                                    STOOD         every watch_usec microseconds the guard reads the memory given out
 *                                                  by the whole machine (base/machine.h). At `growth` bytes more than
 *                                                  `machine`, or than the least since, all tasks are stopped as by
 *                                                  STAND, and the watch ends. code = low 32 bits of the time, in
 *                                                  CLOCK_MONOTONIC usec. growth = 0: no watch. GUARD_SPARE: until
 *                                                  the next WATCH without it, traced tasks leave a processor free
 *   LENT                                           the supervisor itself has files of the scratch open, because of the
 *                                                  region's locks
 *   DONE                             (exits 0)     the supervisor has recorded the evidence
 *   DONE with GUARD_AGAIN            AS_NEW        the same, and the guard may serve a further region: it has closed
 *                                                  and overwritten all data of this region, with the evidence page, and
 *                                                  waits for an ATTACH. After any rare event, and now and then in any
 *                                                  case, it exits instead
 *
 * Without GUARD_HOLD no order is needed: an ending process is overwritten at once, for whatever reason it ends. FREEZE
 * kills; without SCRUB no frozen process goes on. With GUARD_HOLD only the program's process is held before FREEZE: its
 * children end as they like. The guard kills only on FREEZE, on DOOM, at the end of the socket, and a process
 * whose new image it may not read. In a PID namespace the supervisor may kill the first process at any time: it can be
 * reaped only after all others, which stand at their exit stops.
 *
 * End of the socket without DONE: the supervisor is dead. A guard without a region exits. After ATTACHED the guard then
 * kills and overwrites the traced processes, overwrites every file below the scratch folder and the launch spec, writes
 * the evidence to GUARD_FILE in the run folder (a GuardFile, by renaming), and exits. Until then, or until AS_NEW, the
 * guard holds the lock file's lock (flock; taken by the supervisor before it sends the descriptor). A recovering
 * supervisor waits for the lock and then reads the file. A free lock without a file: the guard itself was killed, and
 * no overwriting is known.
 *
 * Tier landlock where Yama's ptrace_scope is 1: the program allows its guard before its filter is installed,
 * prctl(PR_SET_PTRACER, pid of the guard). In tier namespaces the guard owns the region's user namespace. */
#pragma once

#include <stdint.h>

#define GUARD_VERSION 12U
#define GUARD_FILE ".evidence" /* <region><GUARD_FILE> in the run folder */
#define GUARD_REGION_MAX 64    /* characters of a region id, with its NUL */
#define GUARD_PASSES_MAX 35U
/* at the attach, the program's process has no descriptor from here on; the lower ones are the host's */
#define GUARD_PROGRAM_FDS 8

enum {
        GUARD_FD_CONTROL = 3,
        GUARD_FD_EVIDENCE,
};

/* Descriptors of ATTACH, in this order; those after GUARD_ATTACH_SCRATCH do not exist. */
enum {
        GUARD_ATTACH_LOCK,    /* its flock is held until the guard is done with the region */
        GUARD_ATTACH_RUN,     /* folder for GUARD_FILE */
        GUARD_ATTACH_SPEC, /* memory file of the program's arguments and environment, sealed against changes of size */
        GUARD_ATTACH_SCRATCH, /* the scratch's root folder: from STATUS_BORN, in tier landlock the host's folder */
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
        /* of ATTACH: the program's process was forked from a warm interpreter, which is not traced. Pages never
         * written since belong to the interpreter, and hold no data of the region */
        GUARD_WARM = 1 << 4,
        GUARD_HOLD = 1 << 0,      /* of ATTACH: the program's process is held at its exit stop until SCRUB */
        GUARD_EVERYBODY = 1 << 1, /* of PAUSE */
        GUARD_AT_ONCE = 1 << 3, /* of FREEZE: with SCRUB; the first process of a PID namespace was killed */
        GUARD_AGAIN = 1 << 5,     /* of DONE */
        GUARD_SPARE = 1 << 6,     /* of WATCH */
        GUARD_EXECUTES = 1 << 2, /* of PAUSE: the task waits in execve; RESUMED tells its end, also after GUARD_ALONE */
};

#define GUARD_ALONE (-1) /* error of PAUSED */

typedef struct GuardOrder {
        uint32_t version; /* GUARD_VERSION; a different version is answered with EPROTO */
        uint32_t kind;    /* GuardKind; for further members, see ATTACH, PAUSE and RESUME */
        uint32_t flags;
        uint32_t passes; /* 1: zeros; more: 0x00, 0xFF, random bytes, and again. The last pass is read back */
        uint32_t tier;    /* Tier of policy/grant.h: 1 landlock, 2 namespaces */
        int32_t init;     /* the region's first process, as the guard sees pids; not traced */
        int32_t program;  /* the process that becomes the program; 0: the only child of init. PAUSE: the waiting task */
        uint32_t serial;  /* of PAUSE and RESUME: number of the pause */
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

/* Why bytes were not overwritten, or lack proof. */
typedef enum GuardMissed {
        GUARD_MISSED_SHARED,  /* a private page still mapped by a process outside the traced ones: never written */
        GUARD_MISSED_DENIED,  /* the kernel refused reading or writing */
        GUARD_MISSED_VERIFY,  /* read back with different content */
        GUARD_MISSED_MOVED, /* the page got a new frame: the old frame was freed unchanged (visible to root only) */
        GUARD_MISSED_SWAPPED, /* was in swap: the copy there stays */
        GUARD_MISSED_FILE,    /* a deleted file that could not be kept open or overwritten */
        GUARD_MISSED_COUNT,
} GuardMissed;

#define GUARD_MISSED_NAMES {"shared", "denied", "verify", "moved", "swapped", "file"}

enum {
        GUARD_STATE_NEW,      /* no task traced yet */
        GUARD_STATE_ATTACHED,
        GUARD_STATE_FROZEN,
        GUARD_STATE_EMPTY,    /* complete; in earlier states the counters tell the work done so far */
};

/* Facts of the machine, found by use. */
enum {
        GUARD_FACT_SCAN = 1 << 0,   /* PAGEMAP_SCAN; else /proc/PID/pagemap */
        GUARD_FACT_FRAMES = 1 << 1, /* frame numbers were visible and were compared */
        GUARD_FACT_ORPHANED = 1 << 2, /* the control socket ended before DONE */
        GUARD_FACT_KERNEL_SEGV = 1 << 3, /* SIGSEGV without an address: the kernel could not write to memory */
        GUARD_FACT_FOREIGN = 1 << 5, /* a process was ended by SIGSYS in a call of a foreign ABI */
        GUARD_FACT_FILE_LIMIT = 1 << 6, /* a process was ended by SIGXFSZ in a call that makes files longer */
        GUARD_FACT_LENT = 1 << 4,   /* LENT was ordered: files held only by the supervisor may have gone with it */
};

/* A shared object, overwritten only in its mapped part. No process can see its whole length. */
typedef struct GuardObject {
        uint64_t device, inode; /* device: major << 32 | minor, as in /proc/PID/maps */
        uint64_t bytes;         /* mapped bytes, each counted once */
} GuardObject;
#define GUARD_OBJECTS_MAX 64

/* Counters only grow. Bytes are whole pages. held = overwritten + the sum of missed, once the state is EMPTY.
 * Overwritten bytes without verification count as missed, not as overwritten. */
typedef struct GuardEvidence {
        uint32_t version;
        uint32_t state;
        uint32_t facts;
        uint32_t passes;
        uint64_t processes;          /* address spaces that came to their end at an exit stop */
        uint64_t processes_missed; /* address spaces without an exit stop, or unreadable: bytes unknown */
        uint64_t threads;            /* exit stops, of every thread */
        uint64_t registers_missed; /* threads without a stop, or with registers (also FPU) not overwritten */
        uint64_t warm_bytes; /* in no other counter: pages common with a warm interpreter at the last end */
        uint64_t exec_images;        /* address spaces given up by execve while running, without the worker's own */
        uint64_t bytes_held;
        uint64_t bytes_overwritten;
        uint64_t bytes_verified;     /* read back and found as written */
        uint64_t bytes_missed[GUARD_MISSED_COUNT];
        uint64_t shared_bytes;       /* of bytes_overwritten: shared memory */
        uint32_t objects, spare;     /* number of used elements of `object` */
        uint64_t more_objects, more_object_bytes; /* of objects without room there */
        GuardObject object[GUARD_OBJECTS_MAX];
        uint64_t files;              /* deleted files overwritten */
        uint64_t file_bytes;         /* of bytes_overwritten: in deleted files */
        uint64_t file_bytes_lent; /* of overwritten or missed deleted files: held by a process outside */
        /* The sum over the scratch, where the scratch is a file system of its own and the discipline is not
         * multipass. scratch_sum is the largest sum of the scratch's bytes and scratch_known, each taken when no
         * process of the region could free a file any more. All of these bytes are later found with a name, or in
         * scratch_known: the rest was freed unchanged by an unknown holder. */
        uint64_t scratch_sum;
        uint64_t calls_cut; /* tasks ended in a call that may have held a file last: a missed page each */
        uint64_t scratch_known;      /* bytes of nameless files that were overwritten, or counted as missed */
        uint64_t file_steps; /* odd while a file is given up: scratch_known and the scratch differ */
        uint64_t scratch_files;      /* only of an orphaned guard: overwritten files below the scratch folder */
        uint64_t scratch_bytes;      /* of bytes_overwritten */
        uint64_t frames_checked;     /* pages whose frame was compared before and after */
        uint64_t scrub_usec;         /* spent on scanning, writing and reading back */
        uint64_t frozen_usec;        /* CLOCK_MONOTONIC when the last process stood at its exit stop, 0: never frozen */
        uint64_t empty_usec;         /* CLOCK_MONOTONIC when EMPTY was reached */
        uint64_t queue_bytes; /* unread in pipes and sockets, taken out and overwritten there; in no other counter */
        uint32_t living;             /* not a counter: traced tasks that can run now */
        /* not a counter: users of shared address spaces, less one for each; both are never below the truth */
        uint32_t sharing;
        /* A peek into a socket moves the offset of all peeks into that socket. So the guard and the supervisor take
         * turns: each sets its own word, and peeks when the other word is 0 then; the guard takes its word back
         * meanwhile. A supervisor's word that stays set: a task of the supervisor is still in a peek. */
        uint32_t guard_looks, supervisor_looks;
        uint64_t beats;              /* grows while the guard works, to tell a busy guard from a hanging guard */
} GuardEvidence;

/* The file left by an orphaned guard. */
typedef struct GuardFile {
        char magic[8]; /* GUARD_FILE_MAGIC */
        char region[GUARD_REGION_MAX];
        GuardEvidence evidence;
} GuardFile;
#define GUARD_FILE_MAGIC "LGUARD1\n"
