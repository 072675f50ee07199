/* Runs: guard. The guard's state: traced tasks, address spaces, and families of spaces with common pages by fork.
 *
 *   task    AWAITED -> RUNNING -> ENDING -> LEAVING -> (reaped)
 *           EARLY ---^                         a task goes from RUNNING to LEAVING if its space has further users
 *
 * AWAITED: the parent's event named the task, no stop came yet. EARLY: the first stop came before the parent's event.
 * ENDING: stands at the exit stop, memory unchanged: as the last user of the space, or parked in a dying thread group
 * until all threads have come, because the kernel leaves out the exit stop of a thread killed while exiting. LEAVING:
 * was let go from the exit stop. */
#pragma once

#include "base/dirents.h"
#include "schema/guard.h"
#include "scrub/scan.h"
#include "scrub/wipe.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* errno stays as it is. */
static inline void tracer_close(const int *fd) {
        int e = errno;

        if (*fd >= 0)
                close(*fd);
        errno = e;
}
#define _autoclose_ __attribute__((cleanup(tracer_close)))

typedef enum TaskState { TASK_AWAITED, TASK_EARLY, TASK_RUNNING, TASK_ENDING, TASK_LEAVING } TaskState;

/* Where a paused task stands: at a stop of its own, to go on from with `signal`, or at a stop of its whole group. */
typedef enum TaskHeld { TASK_NOT_HELD, TASK_HELD, TASK_HELD_GROUP } TaskHeld;

/* The frames of all staying spaces. */
typedef struct Round {
        uint64_t *v;               /* owned; 0: free */
        size_t n, max;             /* max: a power of two */
        unsigned stay;
        const struct Space *model; /* the first space that stays, expected to be like the rest */
        bool over;                 /* a staying space is gone: the rest goes one by one */
} Round;

/* Address spaces that may have common pages by fork, without an execve since. */
typedef struct ForkFamily {
        unsigned living;  /* spaces not yet given back */
        unsigned ending;  /* the part of `living` whose last user stands at its exit stop */
        unsigned leaving; /* the part of `living` that was overwritten and let go, and is not reaped yet */
        bool forked;
        bool warm;        /* its pages came from a warm interpreter, which lives on and is not traced */
        Round *round; /* round.c: the round at the family's common end. Owned */
} ForkFamily;

/* An object of the kernel with possibly many mappers. */
typedef struct Object {
        dev_t dev;
        uint64_t inode;
} Object;

typedef struct ObjectList {
        Object *v; /* owned */
        size_t n, max;
} ObjectList;

typedef struct Space {
        ForkFamily *family;
        unsigned users; /* tasks not past their exit stop */
        unsigned tasks; /* tasks not yet reaped */
        bool program;   /* the program's own process, not a child */
        bool worker;    /* still the image of lethe-worker, without data of the skill */
        bool leaving;   /* was overwritten and let go */
        bool alone; /* waits until no other space is leaving: its end overwrites memory they may map */
        int maps, pagemap; /* opened by round_ahead(); 0: not open */
        struct Stay *stays; /* round.c: pages of a staying space. Owned */
        uint64_t waits_since; /* now_usec() when its end was first put off, or 0 */
        bool closed_by_others; /* a task outside shared a descriptor table, and can close descriptors */
        bool given_up;  /* by execve, or lost: family->living no longer counts the space */
        uint64_t looked_at; /* the last Tracer.look that listed its objects */
        ObjectList objects; /* mapped objects at that time; final: no further change */
        bool objects_final;
        struct Task *last; /* at its exit stop */
        struct Task *parked; /* at its exit stop until its thread group is gone, or PARKED_MAX_USEC */
        uint64_t parked_usec;
        struct Space *next; /* in Tracer.ending */
} Space;

typedef struct Task {
        pid_t pid, group; /* group: pid of its thread group's leader */
        TaskState state;
        TaskHeld held;
        int signal;
        Space *space;
        struct Task *next; /* in its bucket */
} Task;

#define BUCKETS 1024
#define QUEUES_MAX 512
#define MODEL_FDS 16 /* beyond this number, comparing descriptors is no cheaper than a look */

typedef struct KeptFile {
        int fd;
        dev_t dev;
        ino_t ino;
} KeptFile;

/* A task that waits in a system call, and the tasks stopped until the call is over. */
typedef struct Pause {
        bool active, told;
        bool doomed; /* the waiting task has lost its image and must not go on */
        bool alone;  /* the task waiting in execve(2) is the only user of its memory */
        pid_t by;
        const Space *space; /* NULL: all tasks */
        uint32_t serial;
} Pause;

/* Of GUARD_WATCH. */
typedef struct Watch {
        uint64_t machine, growth; /* growth 0: no watch */
        uint64_t usec, due_usec;
} Watch;

typedef struct Tracer {
        GuardEvidence *evidence; /* shared with the supervisor */
        int control, run, spec, scratch;
        void (*take_sent)(struct Tracer *); /* order_take_sent() */
        unsigned regions;      /* number of regions served before */
        bool odd;              /* a rare order or finding: the guard serves no further region */
        bool attached, hold, warm, killed, frozen, frozen_told, scrub, orphaned, empty;
        bool stands;           /* all traced tasks, by order or by the watch */
        Watch watch;
        bool spares;           /* all traced tasks leave a processor to other processes */
        bool over;             /* the first process is at its end, and so are all others */
        unsigned tier;
        pid_t init, program;
        Pause pause;
        char region[GUARD_REGION_MAX];
        Task *buckets[BUCKETS];
        unsigned n_tasks;
        unsigned n_moving;     /* tasks not at or past their exit stop */
        unsigned n_early;
        unsigned n_parked;
        size_t asked;          /* bucket: see task_report() */
        size_t ahead;          /* bucket: see round_ahead() */
        Space *ending, **ending_tail; /* spaces whose last user stands at its exit stop, oldest first */
        bool look_soon;        /* a space's end waits for an event without a report */
        bool shares; /* killed, with shared memory: further mappers are found quickly among tasks at their end */
        unsigned n_leaving;    /* spaces overwritten and let go, not reaped yet */
        uint64_t report_usec;  /* frozen: time of the last exit stop */
        bool no_rounds;        /* the kernel hides frames */
        bool hurries;
        bool program_told;
        uint64_t look, init_looked_at;
        ObjectList init_objects;
        Wipe wipe;
        PageScan scan, other;
        int fd_max;            /* descriptors from here on serve looks at processes: none is kept */
        dev_t scratch_dev;
        uint64_t scratch_files; /* used inodes of an empty scratch */
        uint64_t scratch_probes; /* inodes made by files_ever() */
        uint64_t scratch_later; /* for GuardEvidence.scratch_known, after the reaping: see files_settled() */
        KeptFile *kept;
        size_t n_kept, max_kept;
        KeptFile queues[QUEUES_MAX]; /* fd -1: a queue of the host, left alone */
        size_t n_queues;
        pid_t model;           /* queues_model() */
        int model_fds[MODEL_FDS];
        size_t n_model_fds;
        dev_t pipe_dev;        /* of nameless pipes on this machine */
        bool queues_known;     /* the host's queues are known */
        bool no_looks;         /* the supervisor did not finish its own look into a socket */
} Tracer;

/* All tasks, one after the other; a loop may add no task and remove none. */
Task *task_first(const Tracer *g);
Task *task_next(const Tracer *g, const Task *t);
Task *task_find(Tracer *g, pid_t pid);
/* NULL when out of memory. */
Task *task_add(Tracer *g, pid_t pid, TaskState state);
void task_move(Tracer *g, Task *t, TaskState state);
/* Forgets a reaped task, and its space after the last task. */
void task_remove(Tracer *g, Task *t);
/* Takes a report of a task on its way to its end, searched from the place of the last one, or returns 0. Works for
 * many tasks that report in about this order: waiting for any task makes the kernel look at all silent tasks. */
pid_t task_report(Tracer *g, int *ret_status);
/* Changes the number of the space's users. */
void space_count(Tracer *g, Space *s, int by);
/* Makes t a user of the space. */
void task_join(Tracer *g, Task *t, Space *s);
/* The same with a new space of the family; NULL: with a new family. Returns 0 or -ENOMEM. */
int task_new_space(Tracer *g, Task *t, ForkFamily *f);
/* t leaves its space by execve for a new one. Returns 1 when the old space is thereby given up, 0, -ENOMEM. */
int task_exec(Tracer *g, Task *t);
/* Compares the address spaces of two living tasks. Returns 1, 0, or -errno when the kernel does not tell. */
int same_space(pid_t a, pid_t b);

/* Reads the beginning of /proc/PID/NAME, with a NUL behind. Returns its bytes, or -1. */
ssize_t task_read(pid_t pid, const char *name, char *text, size_t size);
/* Returns the text of /proc/PID/stat from the state on, NULL when the task is gone. */
const char *task_state(pid_t pid, char text[static 512]);
/* Calls back with each child of a thread. Returns 0 or -errno. */
int task_each_child(pid_t pid, void (*f)(Tracer *g, pid_t child, void *arg), Tracer *g, void *arg);
/* Says whether pid, traced or not, is killed or on its way to its end. */
bool task_is_doomed(pid_t pid);
/* Says whether the task is within execve, its new memory without a program yet. At that moment the kernel gives the old
 * pages back: held, but without an owner. Also true at a task's end, without memory. */
bool task_executes(pid_t pid);
/* Says whether the kernel still knows the traced task. An executing thread takes on its leader's pid. */
bool task_is_ours(pid_t pid);
/* Forgets vanished tasks of t's thread group, except t. Returns how many had not left their space. */
unsigned task_forget_ghosts(Tracer *g, const Task *t);
/* Finds a task in t's space, not at its end, for which f is true. */
Task *task_other(Tracer *g, const Task *t, bool (*f)(const Task *other, const Task *t));

/* t was killed inside execve. Finds out whether the execve had succeeded without a report: then t's memory is its
 * own, and the other users go on in the old space (a parent of vfork(2)). An image closed to the guard is missed. */
void task_was_through(Tracer *g, Task *t);

/* trace.c: handles a report of waitpid(). */
int trace_attach(Tracer *g);
void trace_report(Tracer *g, pid_t pid, int status);
/* Called after all reports: finds the spaces of the early tasks. */
void trace_settle(Tracer *g);
/* Releases tasks parked for too long. Does nothing when no task is parked. */
void trace_unpark(Tracer *g);
void trace_kill_all(Tracer *g);

/* pause.c. Lets a task go on from any stop but its exit stop. */
void task_continue(Tracer *g, Task *t, int signal);
/* Lets a task go on from its exit stop. */
void task_release(const Task *t);
/* A task that refuses the request is killed, not to stand or run for ever (ESRCH: already near its end). */
void task_request(const Task *t, unsigned request, int signal);
/* Stops all tasks that could use the memory about to be given back by a waiting task. */
void pause_start(Tracer *g, pid_t by, unsigned flags, uint32_t serial);
bool pause_covers(const Tracer *g, const Task *t);
/* True when all tasks are paused. Then none leaves its exit stop: common pages would go meanwhile. */
bool pause_keeps(const Tracer *g);
void pause_hold(Task *t, TaskHeld held, int signal);
/* Tells the supervisor when all tasks stand. True when some do not, and a further look is worthwhile. */
bool pause_step(Tracer *g);
/* Stops all tasks until pause_walk(), beside any pause. */
void pause_stand(Tracer *g);
void pause_walk(Tracer *g);
/* error: of RESUMED. */
void pause_end(Tracer *g, int error);

#define WATCH_NOTHING UINT64_MAX
/* As GUARD_WATCH says. */
void watch_start(Tracer *g, const GuardOrder *o);
/* Checks memory when due. Returns the microseconds until the next time, or WATCH_NOTHING. */
uint64_t watch_step(Tracer *g);

/* exit-overwrite.c: overwrites the oldest space ready for it, and lets its last task go. Returns whether it did. */
bool end_step(Tracer *g);
/* t stands at its exit stop. Says whether every task of the region is killed. */
bool end_all_die(Tracer *g, const Task *t);
/* The task at the end of s is dead. */
void end_forget(Tracer *g, Space *s);

/* round.c. Says whether a round begins, or goes on, for the family of s, which stands at its end. */
bool round_take(Tracer *g, Space *s);
/* Says whether page references in the way were dropped at the round's begin. */
bool round_drained(const Space *s);
/* s was scanned (g->scan). Says whether s may go with its own pages overwritten. Else s stays, or comes later. */
bool round_covers(Tracer *g, Space *s);
/* Says whether s is all private, like the model: then areas need not be read. The kernel's pages must be common. */
bool round_plain(Space *s);
/* In an idle time with many tasks: opens files for a later round, some at a time. Returns whether more are left. */
bool round_ahead(Tracer *g);
void space_close(Space *s);
/* Says whether s has to wait for the rest of its family. more_come: not all stand at their end. */
bool round_waits(const Space *s, bool more_come);
/* s no longer stands at its end. */
void round_forget(Space *s);
void family_end_round(ForkFamily *f);

/* regs.c: how a task came to its exit stop. Called before its registers are overwritten.
 * ALONE: as a single thread, as far as known. GROUP: the task ended its whole thread group, or the process, unless a
 * second thread executes at this moment. KILLED: by a signal, with the whole group. ret_made: inside a call that makes
 * tasks, perhaps unreported. ret_held: inside a call that may have been the last holder of a file. ret_executes: inside
 * execve(2), or past it and killed before the report. */
typedef enum Ends { ENDS_ALONE, ENDS_GROUP, ENDS_KILLED } Ends;
Ends regs_how_it_ends(const Tracer *g, pid_t pid, bool *ret_made, bool *ret_held, bool *ret_executes);
#if defined(__x86_64__)
enum { RAX = 10, RSI = 13, RDI = 14, ORIG_RAX = 15 }; /* words of struct user */
long regs_word(pid_t pid, int n);
#endif
/* Overwrites the registers of a task at its exit stop. */
void regs_clear(Tracer *g, pid_t pid);

/* restart.c: a task about to take a signal. A call cut short only because of the region's filter is repeated. */
void restart_call(const Tracer *g, pid_t pid);

/* shared.c: overwrites the shared memory of the scanned space of t, a task at its exit stop. */
void shared_clear(Tracer *g, const Task *t);
/* Says whether shared_clear() would overwrite any. */
bool shared_any(Tracer *g, const Task *t);
/* Says whether the space maps any. */
bool shared_some(const Tracer *g);

/* holes.c: appends to *ret_present the pages of a, shared anonymous memory, that exist and hold a byte other than
 * zero, or are in a page table. absent: as from scan_shared(). Returns 0; -EOPNOTSUPP where the looks would take too
 * much memory, or pages may be in swap; -EAGAIN when two looks differ; -errno. */
int holes_look(Tracer *g, const Area *a, const Runs *absent, Runs *ret_present);

/* files.c: keeps deleted files of the scratch open in t, or executed. */
void files_keep(Tracer *g, const Task *t);
/* The same for the target of a descriptor's link. */
void files_keep_link(Tracer *g, const char *link);
/* Says whether the scratch may have deleted files. */
bool files_any(const Tracer *g);
/* Says whether any file was ever made in the scratch. */
bool files_ever(Tracer *g);
bool files_kept(const Tracer *g, dev_t dev, ino_t ino);
/* Takes fd. Returns 0 or -errno; closes fd when the file is already kept. */
int files_keep_fd(Tracer *g, int fd);
/* A task stands at its exit stop with all its files: takes GuardEvidence.scratch_sum, when no process of the region
 * can run any more. A nameless file may have a holder that no descriptor and no mapping shows; the sum finds it
 * missing. Under multipass the supervisor keeps files that lose their last name. */
void files_count(Tracer *g, const Task *t);
/* `bytes` of nameless files were overwritten, or counted as missed, through a process not reaped yet. */
void files_known(Tracer *g, uint64_t bytes);
/* Says whether all bytes of files_known() are gone. Else the scratch may hold a part, and no sum can be taken. */
bool files_settled(Tracer *g);
/* Bytes of the scratch, where it is a file system of the region's own; else 0. */
uint64_t files_bytes(const Tracer *g);
/* Overwrites the kept files without a further holder; `all`: all kept files. */
void files_clear(Tracer *g, bool all);
void files_start(Tracer *g);
/* Overwrites and counts the data of a file. Returns the bytes. */
uint64_t files_overwrite(Tracer *g, int fd);
/* Counts a file out of reach: at least a page, because its size may be unknown. */
void files_miss(Tracer *g, const struct stat *st);
/* In tier namespaces the scratch is a file system of the region's own. Else a folder of the host's. Returns 1, 0, or -1
 * when the link's target is too long to read. */
int files_below_scratch(const Tracer *g, const char *link);

/* orphan.c: supervisor and region are dead: overwrites the scratch and the launch spec, and leaves the evidence in the
 * store. Returns 0 or -errno. */
int orphan_finish(Tracer *g);

/* Says whether a task other than t may still run the program's code. Tasks known to be killed, or to stand,
 * do not. Only a few tasks are asked: with more, true. */
bool task_others_run(Tracer *g, const Task *t);

/* queues.c: pipes and sockets open before the program starts belong to the host and are left alone. */
void queues_start(Tracer *g, pid_t program);
/* Keeps the open pipes and sockets of a task at its exit stop. No task of the region may use them afterwards. */
void queues_keep(Tracer *g, pid_t pid);
/* The same, and the task becomes the model for comparing descriptors. False when it has too many. */
bool queues_model(Tracer *g, pid_t pid);
/* Says whether the task has the model's descriptors; the model stands at its exit stop. count_only: their number. */
bool queues_same(const Tracer *g, pid_t pid, bool count_only);
/* Keeps deleted files sent into the task's sockets and not received; the sockets stay unchanged. */
void queues_look(Tracer *g, pid_t pid);
/* Overwrites the unread bytes of the kept queues. Returns whether any queue was kept. */
bool queues_clear(Tracer *g);

/* refill.c: fills the kernel's next free buffers with zeros. */
void refill(const Tracer *g, bool all_kinds);

/* files.c: opens the file of one of the guard's own descriptors again. Returns a descriptor or -1. */
int fds_reopen(int fd, int flags);
/* Opens the folder of a process's descriptors. Returns a descriptor or -1. */
int fds_open(pid_t pid);

/* reuse.c: says whether the region is over, and ordinary enough for this guard to serve a further one. */
bool again_may(const Tracer *g);
/* Forgets the region. Returns 0 or -errno: then the guard has to end. */
int again(Tracer *g);

/* order.c. AGAIN: the region is recorded, and the guard is wanted for the next one. */
enum { ORDER_END, ORDER_TAKEN, ORDER_AGAIN };
int order_take(Tracer *g);
/* Takes all orders sent until now. */
void order_take_sent(Tracer *g);

/* guard.c: sets the members needed before any attach. */
void guard_begin(Tracer *g);
void guard_tell(Tracer *g, GuardKind kind, int error, int code);
/* An answer awaited by the supervisor is lost: shuts the socket down, as a sign to both sides. */
void guard_lose(Tracer *g);
#define HURRY_MIN 8              /* tasks */
#define HURRY_BYTES (8ULL << 20) /* of a process: too long a time at real-time priority */
/* Takes real-time priority, before all ordinary tasks of the machine. */
void hurry(Tracer *g, bool on);

/* denied: the reason for its denied bytes. */
void count_wiped(Tracer *g, const WipeCount *c, GuardMissed denied);
/* Counts bytes not overwritten. */
void count_missed(Tracer *g, GuardMissed why, uint64_t bytes);
uint64_t now_usec(void);
