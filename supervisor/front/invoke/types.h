/* Runs: supervisor. The parts of an invocation that the files of this folder share.
 *
 *   steps.c        the tables of all steps: start, end; life.c takes the steps, tree.c has the loop between
 *   begin.c        the steps of a start: pipes, vault, worker, guard, record, control groups
 *   guard-ahead.c  the guard, started in a thread beside those steps
 *   pool-region.c  a region in two halves: prepared before its invocation, then bound
 *   status.c       the words of worker and guard
 *   watch.c        events of a living region: signals, budgets, notifications, streams
 *   pipe.c         lines of the skill's pipe
 *   end.c          the steps of an end: stop, clear, record
 *   callbacks.c    release callbacks, each in a region of its own
 *   sub-skill.c    regions below a region
 *   keep-layer.c   the layer above folders of the host (front/layer)
 *   tell.c         the line for a person
 *
 * A Tree is one invocation with its sub-skills and callbacks. All Runs of a Tree wait in one loop, and each Run is
 * taken down before the Run above. Handlers only make moves of regions; life_go_on() takes the following steps between
 * two waits. Outside of the loop, the store alone is waited for: other regions are served while a region is
 * overwritten, or while callbacks run. */
#pragma once

#include "dispatch/dispatch.h"
#include "invoke/loop.h"
#include "invoke/record.h"
#include "invoke/options.h"
#include "layer/reader.h"
#include "region/region.h"
#include "schema/limits.h"
#include "scrub/evidence.h"
#include "scrub/release_hook/hook.h"
#include "spawn/probe.h"

#include <poll.h>

#define EXIT_OURS 125
#define RUN_ATTACH_USEC_MAX 10000000 /* a guard takes a tenth of a millisecond */
#define RUN_SOURCES_MAX 12 /* sources of each kind, of one Run in the loop */

/* The first Run, all living sub-skills, and a release callback of each. */
#define TREE_RUNS_MAX (2 * (SUBSKILL_ALIVE_MAX + 1))
static_assert(LOOP_SOURCES_MAX >= TREE_RUNS_MAX * RUN_SOURCES_MAX + 1, "the loop has room for a whole tree");

typedef struct Run Run;

typedef struct Tree {
        Loop loop;
        int signals;
        Run *runs[TREE_RUNS_MAX]; /* borrowed: living Runs, each behind its parent */
        size_t n_runs;
        unsigned n_calls;         /* skill.run requests with a lookup of a skill */
} Tree;

/* Steps of steps.c's tables. */
typedef enum RunStep {
        RUN_LIVE,    /* the region is ALLOCATED or RUNNING, or the Run is not in a loop yet */
        RUN_STOP,    /* all processes of the region, and all regions below it, are being stopped */
        RUN_RELEASE, /* release callbacks run */
        RUN_CLEAR,   /* memory is being overwritten */
        RUN_RETRY,   /* storage is given back; unrun release callbacks have a second try (I-74) */
        RUN_RECORD,  /* the end is written to the ledger */
        RUN_OVER,    /* RECORDED or UNRECORDED */
} RunStep;

/* The region above a release callback. */
typedef struct Owner {
        const RunOptions *options;
        Store *store;
        const char *region, *outcome;
        bool failed;        /* proposals count after exit code 0 alone, and the region did not end so */
        const Grant *grant;
        const Vault *vault; /* NULL: the vault went with its supervisor */
        /* CLOCK_MONOTONIC usec: the bound of all callbacks; during a callback, the end of its part */
        uint64_t until;
        bool again;         /* a second try */
} Owner;

typedef struct Ahead Ahead; /* guard-ahead.h */
typedef int (*PrepareNote)(void *userdata, const char *region, const char *groups);

/* begin.c: a start under way. */
typedef struct RunStart {
        Ahead *ahead;             /* borrowed; NULL: the guard is started by the step itself */
        Probe probe;
        Tier tier;                /* 0: not chosen yet */
        Txn *record;              /* with region.allocated, uncommitted; or NULL */
        json_t *copies, *evidence; /* owned: of record_start(), until the commit */
        PrepareNote note;         /* pool-region.h */
        void *note_userdata;
        uint64_t attach_deadline; /* for the guard's answer */
        uint64_t setup_deadline;  /* for the worker, where a grant lies on a served file system */
        bool preparing;           /* the invocation is not known yet: DECLARED, or recorded as ALLOCATED (pool-region.h) */
        bool grouped;             /* control groups were made, or e_groups says why not */
        int e_groups;             /* 0 or -errno */
        bool too_many;            /* refused: as many regions live as the policy allows */
} RunStart;

typedef struct RunStore {
        Store *db;        /* borrowed, or `own` when that is open */
        Store *own;
        const char *path; /* borrowed */
        /* the second half of a commit, which the invocation need not wait for: done before any other wait */
        Txn *rest;
        bool failed;      /* the store can record no more: whatever the region did, Lethe did not succeed */
} RunStore;

/* pipe.c */
typedef struct RunPipe {
        Dispatch *dispatch;
        Buf reply;
        struct pollfd poll[2]; /* present events of the skill's pipe */
        uint64_t deadline;
} RunPipe;

/* watch.c: a living region. */
typedef struct RunWatch {
        /* discipline multipass: memory given back by the running region. NULL: another discipline, or not
         * begun */
        ReleaseHook *hook;
        uint64_t hook_deadline;
        uint64_t grace_deadline; /* of the kill after SIGTERM */
        uint64_t stopped_deadline; /* of the next look at worker and guard */
        unsigned stopped_looks[2]; /* successive looks at a stopped worker, a stopped guard */
} RunWatch;

/* end.c */
typedef struct RunEnd {
        RunStep step;
        uint64_t since, deadline;        /* of the present step */
        bool no_use;                     /* waiting on is no use: the step goes on without */
        int worker;                      /* the worker's pidfd, borrowed; -1: the worker is dead */
        uint64_t stopped_usec, clear_usec; /* CLOCK_MONOTONIC: STOPPED; the order to overwrite the last memory */
        bool torn_down;                  /* the evidence is complete */
        bool faulted, unwanted;          /* region.faulted, region.discard_asked was recorded */
} RunEnd;

/* callbacks.c: release callbacks of the Run. */
typedef struct RunCallbacks {
        size_t left;  /* callbacks of the grant not begun yet: the first of the list */
        Run *running; /* borrowed, or NULL */
} RunCallbacks;

/* callbacks.c: a Run that is a release callback. */
typedef struct RunForOwner {
        uint64_t began_usec;
        Grant grant; /* members are the owner's, except for `env` */
        char **env;
} RunForOwner;

/* sub-skill.c: a Run that is a sub-skill. */
typedef struct RunSub {
        json_t *call; /* id of the parent's request skill.run, owned; NULL: answered, or no sub-skill */
        bool placed;  /* counted with RunOptions.place */
} RunSub;

/* A start: DECLARED -> ALLOCATED. Steps follow one another and wait for the store alone; the worker confines itself
 * meanwhile, and the guard starts in a thread (guard-ahead.h). A failed step ends the
 * region, and the rest is left out. */
typedef int StartTake(Run *run, Diag *d);
typedef struct StartStep {
        const char *name;
        unsigned tiers;          /* bits of tiers; other tiers leave the step out */
        StartTake *take;
        void (*undo)(Run *run);  /* NULL: undone with a step above. Harmless where the step was not taken */
} StartStep;

/* From the known end to the record, in a loop that serves other regions while this region dies, is overwritten, or has
 * callbacks. teardown.h does the same work in the same order whether other regions live or not (I-14). */
typedef struct LifeStep {
        const char *name;
        RegionState needs[2];           /* the region's state in this step */
        void (*begin)(Run *run);        /* starts work for is_done() to wait for; or NULL */
        bool (*is_done)(Run *run);      /* without waiting; NULL: at once */
        RunStep (*finish)(Run *run);    /* the rest of the work; returns the next step. NULL: `next` */
        RunStep next;
        bool timed;                     /* the teardown is looked after again and again */
} LifeStep;

/* The tables of steps.c. */
typedef struct Life {
        const StartStep *start, *prepared, *bound;
        size_t n_start, n_prepared, n_bound;
        const LifeStep *steps;    /* by RunStep */
} Life;

extern const Life invocation_life; /* steps.c */

struct Run {
        Tree *tree;             /* borrowed */
        Run *parent;            /* borrowed; NULL: the invocation itself */
        const RunOptions *options;
        Grant own_grant;        /* of a Run with a parent, or of a prepared Run */
        const RegionFeed *feed; /* borrowed during the start */
        Region region;
        TeardownEvidence evidence;
        RunStart start;
        RunStore store;
        RunPipe pipe;
        RunWatch watch;
        RunEnd end;
        LayerReader layer;      /* keep-layer.h */
        int layer_folder;       /* where the layer is kept; -1: none */
        RunCallbacks callbacks;
        RunForOwner for_owner;
        RunSub sub;
};

static inline Run run_new(Tree *tree, const RunOptions *o, Store *store, const char *store_path) {
        return (Run){
                .tree = tree,
                .options = o,
                .start = {.attach_deadline = LOOP_NEVER, .setup_deadline = LOOP_NEVER},
                .store = {.db = store, .path = store_path},
                .pipe = {.poll = {{.fd = -1}, {.fd = -1}}, .deadline = LOOP_NEVER},
                .watch = {.hook_deadline = LOOP_NEVER, .grace_deadline = LOOP_NEVER, .stopped_deadline = LOOP_NEVER},
                .end = {.worker = -1, .deadline = LOOP_NEVER},
                .layer = LAYER_READER_NULL,
                .layer_folder = -1,
        };
}

/* life.c */
/* DECLARED -> ALLOCATED by the steps of a cold start, or an end. */
void run_begin(Run *run);
/* Takes steps of a start until one fails, which ends the region. */
void life_take(Run *run, const StartStep *steps, size_t n);
/* All possible steps of all Runs, without waiting. */
void life_go_on(Tree *tree);
/* Until the first Run of the tree, and so the whole tree, is over. */
void run_until_over(Tree *tree);
/* Undoes the steps of the start, the last first, and frees all members; the region is at an end. */
void run_deinit(Run *run);

/* begin.c: steps of a start, in the order of steps.c's table. Each returns 0, or an error that ends the region: positive
 * codes have a message, -errno. */
StartTake begin_pipes, begin_vault, begin_tier, begin_store, begin_worker, begin_publish, begin_proxy, begin_layer,
        begin_guard;
StartTake begin_record;  /* region.allocated is in a transaction */
StartTake begin_durable; /* which is committed: ALLOCATED */
StartTake begin_pid;     /* where the record was durable before there was a worker */
StartTake begin_groups_written, begin_groups;
/* Steps that pool-region.h divides. */
StartTake prepare_tier, prepare_note, prepare_record, prepare_limit;
/* watch.c: waits until the worker is ready and the guard holds the program's process; and, for an interpreter that
 * starts ahead, until the interpreter waits. Or the region is at an end. */
StartTake prepare_wait;
/* RunOptions.begun is called, and sub-skills may be asked for: by begin_durable(), unless the Run is being prepared. */
void run_allocated(Run *run);
/* Ends the region because its program could not be executed. error: of execve, as in STATUS_EXEC_FAILED. */
void run_not_executed(Region *r, int error);
/* For a Run without a record: its worker, if any, is taken down. Nothing of the skill ran, nothing was
 * recorded. */
void run_drop(Run *run);
/* The store cannot record `what`: said on standard error, and the invocation fails. */
void run_store_trouble(Run *run, const char *what, int e, const Diag *d);

/* status.c: the words of worker and guard. run_on_*: handlers of the loop, userdata is the Run. */
/* The order to the guard; there is a worker. */
void run_attach_order(Run *run, GuardOrder *ret);
/* The region's scratch: `scratch` came with STATUS_BORN. Tier landlock: the worker made no file system, and the scratch
 * is the folder made for it. Returns a descriptor, or -1 with errno. */
int run_scratch(const Spawned *s, int scratch);
/* The program's process exists, and confines itself further while the guard takes hold. attached: the guard has the
 * order. */
void run_born(Run *run, int scratch, bool attached);
/* ALLOCATED -> RUNNING, when worker and guard are ready. */
void run_let_go(Run *run);
void run_on_status(void *userdata, short revents);
void run_on_guard(void *userdata, short revents);
void run_on_attach_time(void *userdata, uint64_t now);

/* watch.c: a living region */
/* lethe-proxy is gone before its region: said on standard error; the record has it, too. */
void run_proxy_lost(const Region *r);
/* The region's output is beyond its budget. */
void run_output_exceeded(Region *r);
/* An answer to a notification could not be given: the region ends. */
void run_check_answers(Run *run);
/* A recorded Run joins its tree; every event of a living region is registered. */
void run_watch(Run *run);
/* The rest of the store's commits is brought in at *due, while the tree's loop runs. */
void run_watch_store(Run *run, const uint64_t *due);
/* From there on the Run waits for its teardown alone. */
void run_watch_end(Run *run);
/* The Run is over, except for the delivery of its standard error. */
void run_watch_rest(Run *run);
/* A signal, or a client's cancel, ends the whole tree. For callers whose wait a signal may have ended; true when the
 * Run is cancelled. */
bool run_heed_signals(Run *run);
/* end.c: steps of an end, in the order of steps.c's table. */
void end_begin_stop(Run *run);
bool end_stands(Run *run);
bool end_is_stopped(Run *run);
bool end_is_cleared(Run *run);
RunStep end_stop(Run *run);
void end_begin_clear(Run *run);
RunStep end_clear(Run *run);
RunStep end_record(Run *run);
/* RunOptions.unwanted is set: no proposal of the invocation is kept. Recorded once, before the end is
 * (I-78). */
void run_note_unwanted(Run *run);

/* callbacks.c: release callbacks of a region that stands still, each in its own region, the last of the list first,
 * each once (I-35). Outcomes go into region.callbacks and change nothing else. */
void run_release_find(Run *run);
/* No callback runs, and no callback is left to be begun. */
bool run_release_done(Run *run);
/* The storage is given back: true when a callback did not run. Then run_release_done() begins such callbacks again,
 * each once (I-74). */
bool run_release_again(Run *run);
/* A callback is over: the outcome is noted for the owner, and the Run is freed. */
void run_release_over(Run *callback);
/* The Run above ended meanwhile: callbacks are not cut off, but are to be done within its bound as well. */
void run_release_hurry(Run *callback, const Run *above);

/* sub-skill.c */
/* For dispatch_set_starter(): userdata is the asking Run. */
int run_start_sub(void *userdata, const DispatchStart *start, Diag *reterr);
/* Output with the key of a living region is not given to another region, and is no decision of a turn (I-11). To be
 * called before the keys are gone. */
void run_hide_keys(Run *run);
/* A sub-skill is over: budget and place go back, and the parent is answered. */
void run_sub_over(Run *run);
/* tree.c */
/* run is `above`, or stands below it. */
bool run_is_below(const Run *run, const Run *above);
/* A Run below is not over. */
bool run_has_below(const Run *run);
/* The place of RunOptions.place goes back. */
void run_give_place(Run *run);
/* Budget and place go back, and the Run is freed. */
void run_free(Run *run);
/* Delivers the rest of the sub-skills' output and frees them. */
void run_free_subs(Tree *tree);
/* A Run, but not the first, leaves loop and tree, and is freed. */
void run_leave_tree(Run *run);

/* pipe.c */
/* Lines of the pipe go to the dispatch. */
void run_judge_lines(Run *run);
/* Bytes left in the pipe of a dead region are judged like all others; a breach would discard them
 * anyway. */
void run_judge_rest(Run *run);

/* tell.c */
/* The end of the invocation in words, on standard error, as RunOptions has it. */
void run_tell(const Run *run);
#define SENDER_MAX 256
/* Words for the sender of a signal that ends the invocation. */
void run_sender(const struct signalfd_siginfo *si, char ret[static SENDER_MAX]);

/* run.c: results of the region's saves and deletions of memory, as in dispatch_memory_ended(); NULL: no results, or the
 * end is not in the ledger. */
const json_t *run_memory_ended(const Run *run);
