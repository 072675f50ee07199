/* Runs: supervisor. What run.c (begin, receipt), run-events.c (everything while it lives), run-end.c (teardown), run-sub.c and run-release.c (what
 * stands below a region) share.
 *
 * A Tree is one invocation with everything that it started: its Runs wait in one loop, and each is taken down before the one it stands
 * below. Handlers only ever make moves of regions; what follows from a move is done between two waits (run_until_over). Nothing but the
 * store is waited for anywhere else: while one region is overwritten, or its callbacks run, the others are served. */
#pragma once

#include "invoke/loop.h"
#include "invoke/record.h"
#include "invoke/run.h"
#include "dispatch/dispatch.h"
#include "region/region.h"
#include "schema/limits.h"
#include "scrub/release_hook/hook.h"
#include "scrub/evidence.h"

#include <poll.h>

#define EXIT_OURS 125
#define RUN_SETUP_USEC 10000000 /* while it mounts what somebody serves */
#define RUN_SETUP_LEAST_USEC 1000000
#define RUN_ATTACH_USEC_MAX 10000000 /* a guard takes a tenth of a millisecond */
#define RUN_SOURCES_MAX 12 /* what one Run registers, of each kind */

#define TREE_RUNS_MAX (2 * (SUBSKILL_ALIVE_MAX + 1)) /* the invocation itself, what is below it at once, and a release callback of each */
static_assert(LOOP_SOURCES_MAX >= TREE_RUNS_MAX * RUN_SOURCES_MAX + 1, "the loop has room for a whole tree");

typedef struct Run Run;

typedef struct Tree {
        Loop loop;
        int signals;
        Run *runs[TREE_RUNS_MAX]; /* borrowed: those that live, each behind the one that started it */
        size_t n_runs;
        unsigned n_calls;         /* skill.run requests that got as far as looking for the skill */
} Tree;

/* What a Run does after its region's end was known. */
typedef enum RunStep {
        RUN_NONE,    /* it lives */
        RUN_STOP,    /* all of it is being stopped, and so is all below it */
        RUN_RELEASE, /* its release callbacks run */
        RUN_CLEAR,   /* what it held is being overwritten */
        RUN_RETRY,   /* its storage is given back; release callbacks that did not run have a second try (I-74) */
        RUN_OVER,    /* RECORDED or UNRECORDED */
} RunStep;

/* What a release callback is for. */
typedef struct Owner {
        const RunOptions *options;
        Store *store;
        const char *region, *outcome;
        bool failed;            /* nothing of it is kept but after exit code 0, and it did not end so */
        const Grant *grant;
        const Vault *vault; /* NULL: it went with its supervisor */
        uint64_t until;     /* CLOCK_MONOTONIC usec: the bound of all callbacks; for the one that begins, the end of its part */
        bool again;         /* the second try of one that did not run */
} Owner;

struct Run {
        Tree *tree;             /* borrowed */
        Run *parent;            /* borrowed; NULL: the invocation itself */
        Grant own_grant;        /* of a Run that another one started */
        json_t *call;           /* id of the skill.run that started it, owned; NULL: none, or it was answered */
        const RegionFeed *feed; /* borrowed until it has begun */
        const RunOptions *options;
        Store *store;           /* borrowed, or own_store once it is open */
        Store *own_store;
        const char *store_path;
        Region region;
        Evidence evidence;
        Hook *early;           /* discipline multipass: what is given back while the region runs; NULL: other ones, or not begun */
        uint64_t hook_deadline;
        bool placed;            /* it counts, with o->place */
        bool torn_down, faulted, unwanted; /* the evidence is complete; region.faulted was recorded; region.discard_asked was */
        Dispatch *dispatch;
        Buf reply;
        struct pollfd pipe[2];  /* what the skill's pipe waits for now */
        uint64_t pipe_deadline;
        uint64_t attach_deadline; /* for the guard's answer */
        uint64_t setup_deadline;  /* for the worker, where a grant lies on a file system that somebody serves */
        uint64_t stopped_deadline; /* when its worker and its guard are looked at again */
        unsigned stopped_looks[2]; /* at which they were stopped, one after the other */
        RunStep step;
        uint64_t step_since, step_deadline; /* of what is waited for after the end */
        uint64_t stopped_usec, clear_usec;  /* CLOCK_MONOTONIC: STOPPED; when its last overwriting was ordered */
        bool step_no_use;       /* it is no use to wait on */
        int worker;             /* the worker's pidfd, borrowed, until it says that the worker is dead; -1 */
        size_t n_to_call;       /* release callbacks that were not begun: the first ones of the grant's */
        Run *callback;          /* borrowed: the one that runs */
        uint64_t began_usec;    /* of a callback */
        Grant lent_grant;       /* of a callback: of its owner's members, but its environment */
        char **lent_env;
        bool grouped;           /* its control groups were made, or e_groups says why not */
        int e_groups;           /* 0 or -errno */
        Txn *rest;              /* of the commit that the invocation need not wait for: done before anything is waited for */
        bool preparing;         /* before its invocation is known: it is DECLARED, or recorded as ALLOCATED (run-prepare.h) */
        bool too_many;          /* refused: as many regions live as the policy allows */
        bool store_failed;      /* the store can record no more: whatever the region did, we did not succeed */
};

static inline Run run_new(Tree *tree, const RunOptions *o, Store *store, const char *store_path) {
        return (Run){.tree = tree, .options = o, .store = store, .store_path = store_path, .pipe_deadline = LOOP_NEVER, .attach_deadline = LOOP_NEVER,
                     .setup_deadline = LOOP_NEVER,
                     .stopped_deadline = LOOP_NEVER, .worker = -1, .hook_deadline = LOOP_NEVER, .step_deadline = LOOP_NEVER, .pipe = {{.fd = -1}, {.fd = -1}}};
}

/* What the guard is told of the region; there is a worker. */
void run_attach_order(Run *run, GuardOrder *ret);
/* The region's scratch: what came with STATUS_BORN. Tier landlock: the worker made no file system of its own that it could hand over, the scratch
 * is the folder made for it. Returns a descriptor, or -1 with errno. */
int run_scratch(const Spawned *s, int scratch);
/* The process that becomes the program exists, and confines itself further while the guard takes hold of it. attached: that was set going. */
void run_born(Run *run, int scratch, bool attached);
/* A Run that is ALLOCATED, or was when it ended, joins its tree: everything that a living region waits for is registered. */
void run_watch(Run *run);
/* Somebody wants nothing of the invocation: recorded once, before anything of its end is (I-78). */
void run_note_unwanted(Run *run);
/* Its worker and its guard may be stopped: who waits is told, and they are killed after a while. */
void run_watch_stopped(Run *run);
/* What is left of the store's commits is brought in at that time, as long as the tree has anything to wait for. */
void run_watch_store(Run *run, const uint64_t *due);
/* From there on it waits for its teardown, and for nothing that the region does. */
void run_watch_end(Run *run);
/* Until the first Run of the tree is over, and with it all others. */
void run_until_over(Tree *tree);
/* A signal, or a client's cancel, ends the whole tree. For who may not have got on because of it; true when this Run is cancelled. */
bool run_heed_signals(Run *run);
/* DECLARED -> ALLOCATED, or an end. */
void run_begin(Run *run);
/* Its parts, for who does them in another order. run_allocate: as record_start(); run_not_recorded: what follows from its failure. */
int run_start_worker(Run *run, const Probe *probe, bool later, Diag *d);
int run_allocate(Run *run, Tier tier, bool with_pid, const RecordAhead *ahead, Diag *d);
/* Who asked for it is told of the region: by run_allocate(), unless it is being prepared. */
void run_allocated(Run *run);
void run_not_recorded(Run *run, int e, const Diag *d);
void run_make_groups(Run *run); /* unless they were made when its record was written */
/* Waits until the worker is ready and the guard has taken hold of the program's process; when its interpreter is to start ahead, until that waits, too.
 * Or the region is at an end. */
void run_wait_prepared(Run *run, uint64_t until_usec);
/* ALLOCATED -> RUNNING, when all that it waits for is there. */
void run_let_go(Run *run);
/* All moves after an end that can be made without waiting, of all Runs. */
void run_end_moves(Tree *tree);
/* It was not allocated: nothing of the skill ran, nothing was recorded. */
void run_drop(Run *run);
/* Says on standard error how it ended, as far as that is wanted. */
void run_tell(const Run *run);
/* The program could not be executed: ends the region with that. error: of execve, as STATUS_EXEC_FAILED has it. */
void run_not_executed(Region *r, int error);
/* Frees what the Run holds; its region is at an end. */
void run_deinit(Run *run);
/* What the store cannot record, or how else it failed us. */
void run_store_trouble(Run *run, const char *what, int e, const Diag *d);

/* Of a region that stands still: its release callbacks, each in a region of its own, the last one first, each once (I-35). What becomes of
 * them is in region.callbacks and changes nothing else. First what is to be called is found, then each time the next one is begun:
 * true when it runs or did so, false when there is none left. */
void run_release_find(Run *run);
bool run_release_next(Run *run);
/* The storage is given back: true when a callback did not run. Then run_release_next() begins those again, each once (I-74). */
bool run_release_again(Run *run);
/* A callback is over: what became of it is noted for its owner, and it is freed. */
void run_release_over(Run *callback);
/* The one above ended meanwhile: callbacks are not cut off, but are to be done within its bound as well. */
void run_release_hurry(Run *callback, const Run *above);

/* Before its keys are gone: output that holds the key of a region that lives is not given to another one (I-11). */
void run_hide_keys(Run *run);
/* What became of what the region saved and deleted of memory, as dispatch_memory_ended() has it; NULL: nothing, or the end is not in the ledger. */
const json_t *run_memory_ended(const Run *run);
/* For dispatch_set_starter(): userdata is the Run that asks. */
int run_start_sub(void *userdata, const DispatchStart *start, Diag *reterr);
/* A sub-skill is over: what it was lent goes back, and the one that asked is answered. */
void run_sub_over(Run *run);
/* Everything below a Run that has ended is cancelled and killed, all at once; they are over the youngest first. */
void run_end_below(Run *run);
/* Something below it is not over. */
bool run_has_below(const Run *run);
/* Only what it wrote to standard error is still to be delivered. */
void run_watch_rest(Run *run);
/* Frees those that are over, and whose output was delivered. */
void run_free_done(Tree *tree);
/* Of another one than the first: out of the loop and the tree, and freed. */
void run_leave_tree(Run *run);
/* Delivers what is left of the children's output and frees them. */
void run_free_subs(Tree *tree);
/* What the region wrote to its pipe before it died is judged like all else (a breach would discard it anyway). */
void run_judge_rest(Run *run);
/* Hands what the pipe has to the dispatch. */
void run_judge_lines(Run *run);

/* run-tell.c: the words for the sender of a signal that ends the invocation. */
#define SENDER_MAX 256
void run_sender(const struct signalfd_siginfo *si, char ret[static SENDER_MAX]);
