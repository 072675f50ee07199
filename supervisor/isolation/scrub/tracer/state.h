/* Runs: guard. What the guard knows: the traced tasks, the address spaces that they use, and which of these share pages by fork.
 *
 *   task    AWAITED -> RUNNING -> ENDING -> LEAVING -> (reaped)
 *           EARLY ---^                         a task that is no address space's last user goes from RUNNING to LEAVING
 *
 * AWAITED: its parent's event named it, its own first stop has not come. EARLY: its first stop came before its parent's event. ENDING: stands at
 * its exit stop, memory as it was: as the last user of its space, or as the one of a dying thread group that waits for the others, because the
 * kernel leaves out the exit stop of one that is killed while it exits. LEAVING: was let go from its exit stop. */
#pragma once

#include "schema/guard.h"
#include "scrub/scan.h"
#include "scrub/wipe.h"

#include <sys/stat.h>

typedef enum TaskState { TASK_AWAITED, TASK_EARLY, TASK_RUNNING, TASK_ENDING, TASK_LEAVING } TaskState;

/* Where a task that is paused stands: at a stop that it would go on from, with `signal`, or at one of its whole group. */
typedef enum TaskHeld { TASK_NOT_HELD, TASK_HELD, TASK_HELD_GROUP } TaskHeld;

/* Address spaces that may have pages in common, because one was forked from the other and neither executed anything since. */
typedef struct Family {
        unsigned living;  /* spaces not yet given back */
        unsigned ending;  /* of these, those whose last user stands at its exit stop */
        unsigned leaving; /* of these, those that were overwritten and let go, and are not reaped yet */
        bool forked;
        bool warm;        /* its pages were a warm interpreter's, which lives on and is not traced */
        struct Round *round; /* round.c: all of it stands at its end. Owned */
} Family;

/* Something that several processes can map. */
typedef struct Object {
        dev_t dev;
        uint64_t inode;
} Object;

typedef struct Objects {
        Object *v; /* owned */
        size_t n, max;
} Objects;

typedef struct Space {
        Family *family;
        unsigned users; /* tasks that are not past their exit stop */
        unsigned tasks; /* tasks not yet reaped */
        bool program;   /* the program's own process, not a child */
        bool worker;    /* still the image of lethe-worker, which has nothing of the skill's in it */
        bool leaving;   /* was overwritten and let go */
        bool alone;     /* waits until no other one is leaving: it overwrites what these may map, too */
        int maps, pagemap; /* opened ahead: see round_ahead(). 0: not */
        struct Stay *stays; /* round.c: until the others of its family are gone. Owned */
        uint64_t waits_since; /* now_usec() when its end was first put off, or 0 */
        bool closed_by_others; /* another task has had the table of descriptors of one of its own: what one uses the other can close */
        bool given_up;  /* by execve, or lost: family->living is already less */
        uint64_t looked_at; /* the last Guard.look in which it was looked at */
        Objects objects; /* that it maps, as it was then; final: and will be */
        bool objects_final;
        struct Task *last; /* at its exit stop */
        struct Task *parked; /* at its exit stop until no other of its thread group is left, or it has waited too long */
        uint64_t parked_usec;
        struct Space *next; /* in Guard.ending */
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
#define MODEL_FDS 16 /* of one with more, each comparison is no cheaper than a look */

typedef struct SpawnCache {
        int fd;
        dev_t dev;
        ino_t ino;
} SpawnCache;

/* A task that waits in a system call, and those that must not run until it is through with it. */
typedef struct Pause {
        bool active, told;
        bool doomed; /* whoever waits must not go on with its image */
        bool alone;  /* whoever waits in execve(2) has its memory for itself */
        pid_t by;
        const Space *space; /* NULL: everybody */
        uint32_t serial;
} Pause;

/* watch.c: of GUARD_WATCH. */
typedef struct Watch {
        uint64_t machine, growth; /* growth 0: nothing is watched */
        uint64_t usec, due_usec;
} Watch;

typedef struct Guard {
        GuardEvidence *evidence; /* shared with the supervisor */
        int control, run, spec, scratch;
        unsigned regions;      /* that it served before this one */
        bool odd;              /* something was ordered or found that no region ordinarily comes with: it serves no other one */
        bool attached, hold, warm, killed, frozen, frozen_told, scrub, orphaned, empty;
        bool stands;           /* all that it traces, by order or by the watch */
        Watch watch;
        bool spares;           /* all that it traces leaves one processor to others */
        bool over;             /* its first process is at its end, and all others with it */
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
        bool look_soon;        /* a space's end waits for what reports nothing */
        bool shares;           /* killed: shared memory was seen. Who else maps it is told quickly of those that stand at their end */
        unsigned n_leaving;    /* spaces that were overwritten and let go, and are not reaped yet */
        uint64_t report_usec;  /* frozen: when the last one came to its exit stop */
        bool no_rounds;        /* frames are not shown */
        bool hurries;
        bool program_told;
        uint64_t look, init_looked_at;
        Objects init_objects;
        Wipe wipe;
        Scan scan, other;
        int fd_max;            /* descriptors from here on are for looking at processes: none is kept */
        dev_t scratch_dev;
        uint64_t scratch_files; /* used inodes of an empty scratch */
        uint64_t scratch_probes; /* inodes that files_ever() made */
        uint64_t scratch_later; /* for GuardEvidence.scratch_known, when the processes that were let go are reaped: see files_settled() */
        SpawnCache *kept;
        size_t n_kept, max_kept;
        SpawnCache queues[QUEUES_MAX]; /* fd -1: the host's, left alone */
        size_t n_queues;
        pid_t model;           /* queues_model() */
        int model_fds[MODEL_FDS];
        size_t n_model_fds;
        dev_t pipe_dev;        /* of all nameless pipes of this machine */
        bool queues_known;     /* which ones are the host's */
        bool no_looks;         /* the supervisor did not come to the end of its own look into a socket */
} Guard;

Task *task_find(Guard *g, pid_t pid);
/* NULL when out of memory. */
Task *task_add(Guard *g, pid_t pid, TaskState state);
void task_move(Guard *g, Task *t, TaskState state);
/* Is it neither at nor past its exit stop? */
bool task_is_moving(const Task *t);
/* Forgets a reaped task, and its space with the last of them. */
void task_remove(Guard *g, Task *t);
/* What one of the tasks reports that are on their way to their end, looked for where the last one was found, or 0. For many tasks that report in
 * about this order: to ask the kernel for any one makes it look at all that have nothing to say. */
pid_t task_report(Guard *g, int *ret_status);
/* One user more, or less, of the space. */
void space_count(Guard *g, Space *s, int by);
/* Makes t a user of the space. */
void task_join(Guard *g, Task *t, Space *s);
/* The same with a new space of the family; NULL: of a family of its own. Returns 0 or -ENOMEM. */
int task_new_space(Guard *g, Task *t, Family *f);
/* t leaves its space by execve for a new one. Returns 1 when the old one is thereby given back, 0, -ENOMEM. */
int task_exec(Guard *g, Task *t);
/* Do both, alive, use one address space? -errno when the kernel does not say. */
int same_space(pid_t a, pid_t b);

/* What /proc/PID/stat says from the state on, NULL when there is none. */
const char *task_state(pid_t pid, char text[static 512]);
/* Calls back with each child of a thread. Returns 0 or -errno. */
int task_each_child(pid_t pid, void (*f)(Guard *g, pid_t child, void *arg), Guard *g, void *arg);
/* Is pid, which need not be traced, killed or on its way to its end? */
bool task_is_doomed(pid_t pid);
/* Is it within execve, its new memory without a program in it yet? Pages of its old one, which the kernel gives back at that moment, count as nobody's and
 * are held all the same. Also true of who has given up its memory at its end. */
bool task_executes(pid_t pid);
/* Does the kernel still know it as traced by us? A thread that executes takes on its leader's pid, and nothing is reported of its own. */
bool task_is_ours(pid_t pid);
/* Forgets the tasks of t's thread group, but t, that are no more without a report. Returns how many of them had not left their space. */
unsigned task_forget_ghosts(Guard *g, const Task *t);
/* Is there one, of those that have not left t's space, for which f is true? */
Task *task_other(Guard *g, const Task *t, bool (*f)(const Task *other, const Task *t));

/* t was killed in a call that executes. Was it through, and only could not say so? Then its memory is its own, and those go on in the old one whose memory it
 * had: the parent of a child of vfork(2). An image that may not be looked into is missed. */
void task_was_through(Guard *g, Task *t);

/* trace.c: one report of waitpid(). */
int trace_attach(Guard *g);
void trace_report(Guard *g, pid_t pid, int status);
/* After all reports were taken: finds out what the early ones are. */
void trace_settle(Guard *g);
/* Lets those go that waited for others of their thread group too long; when nothing is parked, does nothing. */
void trace_unpark(Guard *g);
void trace_kill_all(Guard *g);
/* Lets a task go on that was held. */
void trace_go_on(Guard *g, Task *t);
/* Lets a task go on from its exit stop. */
void trace_release(const Task *t);
/* A task that cannot be asked is killed: it would stand, or run, where nobody waits for it (ESRCH: it is on the way to its end already). */
void trace_request(const Task *t, unsigned request, int signal);

/* pause.c: stops everybody that could use what a waiting task is about to give back. */
void pause_start(Guard *g, pid_t by, unsigned flags, uint32_t serial);
bool pause_covers(const Guard *g, const Task *t);
/* Is everybody paused? Then nobody leaves its exit stop, either: what it has in common with others would go while they are looked at. */
bool pause_keeps(const Guard *g);
void pause_hold(Task *t, TaskHeld held, int signal);
/* Says so when all stand. True when some do not, and it is worth to look again soon. */
bool pause_step(Guard *g);
/* Everybody stands until pause_walk(), beside any pause. */
void pause_stand(Guard *g);
void pause_walk(Guard *g);
/* error: of RESUMED. */
void pause_end(Guard *g, int error);

#define WATCH_NOTHING UINT64_MAX
/* watch.c: as GUARD_WATCH says. */
void watch_start(Guard *g, const GuardOrder *o);
/* Looks when it is due. Returns the microseconds until the next time, or WATCH_NOTHING. */
uint64_t watch_step(Guard *g);

/* end.c: overwrites the oldest space at its end, if one may be, and lets its last task go. Returns whether it did. */
bool end_step(Guard *g);
/* t stands at its exit stop. Is every task of the region killed? */
bool end_all_die(Guard *g, const Task *t);
/* The task that stood at the end of s is dead. */
void end_forget(Guard *g, Space *s);

/* round.c: see there. Whether one begins, or goes on, for the family of s, which stands at its end. */
bool round_take(Guard *g, Space *s);
/* Were references that would be in the way given up when the round began? */
bool round_drained(const Space *s);
/* s was looked at (g->scan): may it be let go, all that is its own overwritten? Else it stays, or comes later. */
bool round_covers(Guard *g, Space *s);
/* Is s so like one that stays that its areas need not be read: is all of it private? What is the kernel's must be among the pages of that one. */
bool round_plain(Space *s);
/* Nothing happens, and there are many: opens what a round would have to open, for some. Returns whether there are more. */
bool round_ahead(Guard *g);
void round_close(Space *s);
/* Is s to wait for others of its family? more_come: not all stand at their end. */
bool round_waits(const Space *s, bool more_come);
/* s is no more among those that stand at their end. */
void round_forget(Space *s);
void round_end(Family *f);

/* regs.c: how a task came to its exit stop. To be asked before its registers are overwritten.
 * ALONE: as one thread, for all that is known. GROUP: it ended its whole thread group, or the process, unless another thread of it executes
 * something at this moment. KILLED: by a signal, and so all of the group. ret_made: in a call that makes tasks, of which nothing may have been said.
 * ret_held: in a call that can have been the last to hold a file. ret_executes: in execve(2), or through with it and killed before it said so. */
typedef enum Ends { ENDS_ALONE, ENDS_GROUP, ENDS_KILLED } Ends;
Ends regs_how_it_ends(const Guard *g, pid_t pid, bool *ret_made, bool *ret_held, bool *ret_executes);
/* Overwrites the registers of a task at its exit stop. */
void regs_clear(Guard *g, pid_t pid);

/* restart.c: a task that is about to take a signal. A call of it that was cut short, as it never is outside a region, is made again afterwards. */
void restart_call(const Guard *g, pid_t pid);

/* shared.c: the shared memory of the scanned space of t, a task at its exit stop. */
void shared_clear(Guard *g, const Task *t);
/* Would it overwrite some? */
bool shared_any(Guard *g, const Task *t);
/* Does the space map some? */
bool shared_some(const Guard *g);

/* holes.c: the pages of a, shared anonymous memory, that exist and do not read as zeros throughout, or are in a page table: appended to *ret_present.
 * absent: those of scan_shared(). Returns 0; -EOPNOTSUPP where too much memory would be taken, or pages may be in swap; -EAGAIN when two looks do not
 * agree; -errno. */
int holes_look(Guard *g, const Area *a, const Runs *absent, Runs *ret_present);

/* files.c: keeps the deleted files of the scratch that t has open, or executes. */
void files_keep(Guard *g, const Task *t);
/* The same with what the link of a descriptor leads to. */
void files_keep_link(Guard *g, const char *link);
/* May there be any? */
bool files_any(const Guard *g);
/* Was anything ever made in the scratch? */
bool files_ever(Guard *g);
bool files_kept(const Guard *g, dev_t dev, ino_t ino);
/* Takes fd. Returns 0 or -errno; a file that is kept already is closed. */
int files_keep_fd(Guard *g, int fd);
/* A task stands at its exit stop and nothing that it holds was let go: takes GuardEvidence.scratch_sum, when nothing of the region can run any more. A file
 * without a name can be held by what no descriptor and no mapping shows; the sum finds it missing. Under multipass the supervisor keeps what loses its last
 * name. */
void files_count(Guard *g, const Task *t);
/* `bytes` of files without a name were overwritten, or counted as missed, through a process that holds them until it is reaped. */
void files_known(Guard *g, uint64_t bytes);
/* Is all that files_known() was told of gone? Else no sum can be taken: it is not known what the scratch still has of it. */
bool files_settled(Guard *g);
/* Bytes that the scratch holds, where it is a file system of the region's own; else 0. */
uint64_t files_bytes(const Guard *g);
/* Of an orphaned guard, after its walk, which found `named` bytes with a name: counts what the sum misses. */
void files_account(Guard *g, uint64_t named);
/* Overwrites those that nobody else has open; `all`: all of them. */
void files_clear(Guard *g, bool all);
void files_start(Guard *g);
/* Overwrites the data of one file and counts it. Returns the bytes. */
uint64_t files_overwrite(Guard *g, int fd);
/* Counts a file that is not reached: at least a page, because nothing is known of it. */
void files_miss(Guard *g, const struct stat *st);
/* In tier namespaces the scratch is a file system of its own, and whatever is on it is the region's. Else it is a folder of the host's.
 * Returns 1, 0, or -1 when the path that the link leads to is too long to be known. */
int files_below_scratch(const Guard *g, const char *link);

/* walk.c: overwrites every file below the scratch folder, and removes it. Returns the bytes that had a name. */
uint64_t walk_scratch(Guard *g);

/* spec.c: the supervisor is dead: overwrites what the program was started with. */
void spec_clear(Guard *g);

/* trace.c: does one of those that may still be running, but t, run code of the program's? All that are known to be killed, or to stand, do not. Asked of a
 * few only: of more, true. */
bool trace_others_run(Guard *g, const Task *t);

/* queues.c: what the program's process has open before it is the program is the host's and is left alone. */
void queues_start(Guard *g, pid_t program);
/* Keeps the pipes and sockets that a task at its exit stop has open. Nobody else of the region may go on to use them. */
void queues_keep(Guard *g, pid_t pid);
/* The same, and it becomes the model: what is open in another one may be told by it. False when it has too many. */
bool queues_model(Guard *g, pid_t pid);
/* Has the task open what the model has, and nothing else? The model stands at its exit stop. count_only: has it as many open? */
bool queues_same(const Guard *g, pid_t pid, bool count_only);
/* Keeps deleted files that lie in its sockets as descriptors that were sent and not taken; the sockets themselves are left as they are. */
void queues_look(Guard *g, pid_t pid);
/* Overwrites what was not read from them. Returns whether there was any. */
bool queues_clear(Guard *g);

/* refill.c: what the kernel hands out next, filled with zeros. */
void refill(const Guard *g, bool all_kinds);

/* fds.c: the descriptors of a process, one after the other. */
typedef struct Fds {
        int folder;
        ssize_t n, at;
        bool failed; /* there may be more than was seen */
        _Alignas(8) char bytes[2048];
} Fds;
bool fds_open(Fds *f, pid_t pid);
/* NULL: no more. Good until the next call. */
const char *fds_next(Fds *f);
void fds_close(Fds *f);

/* main.c: what is set before anything is attached. */
void guard_begin(Guard *g);

/* again.c: is the region over, and was it so ordinary that this guard may serve another one? */
bool again_may(const Guard *g);
/* Forgets the region. Returns 0 or -errno: then the guard has to end. */
int again(Guard *g);

/* order.c. AGAIN: the region is recorded, and the guard is wanted for another one. */
enum { ORDER_END, ORDER_TAKEN, ORDER_AGAIN };
int order_take(Guard *g);
/* Takes what was sent until now. */
void order_take_sent(Guard *g);
void order_tell(Guard *g, GuardKind kind, int error, int code);
/* What the supervisor waits for cannot be said: the end of the socket is, to both. */
void order_lose(Guard *g);
int order_leave_evidence(Guard *g);

#define HURRY_MIN 8              /* tasks */
#define HURRY_BYTES (8ULL << 20) /* of one: nobody else is to wait for so long */
/* main.c: goes before all that are not in a hurry, too. */
void hurry(Guard *g, bool on);

void count_wiped(Guard *g, const WipeCount *c);
/* A page that was shared by fork and is no longer is written in place only while nothing else refers to it for a moment; each processor
 * keeps such references for pages that it touched lately. This makes all of them give those up. */
void drain(void);
/* Counts bytes that were not overwritten. */
void count_missed(Guard *g, GuardMissed why, uint64_t bytes);
uint64_t now_usec(void);
