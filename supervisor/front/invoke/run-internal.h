/* Runs: supervisor. The parts of an invocation that the files of this folder share.
 *
 *   life.c         the table of all steps: start, end, and the loop between them
 *   begin.c        the steps of a start: pipes, vault, worker, guard, record, control groups
 *   guard-ahead.c  the guard, started in a thread beside those steps
 *   prepare.c      a region in two halves: prepared before its invocation is known, then bound to it
 *   watch.c        events of a living region: its worker, its guard, its budgets, its streams
 *   pipe.c         lines of the skill's pipe
 *   end.c          the steps of an end: stop, clear, record
 *   callbacks.c    release callbacks, each in a region of its own
 *   sub-skill.c    regions that a region starts
 *   stopped.c      a worker or a guard that was stopped by SIGSTOP
 *   tell.c         the line for a person
 *
 * A Tree is one invocation with all regions that it started. Their Runs wait in one loop, and each Run is taken down before the Run above it. Handlers
 * only make moves of regions; the steps that follow from a move are taken between two waits (life_go_on()). Nothing but the store is waited for
 * anywhere else: while one region is overwritten, or its callbacks run, the other regions are served. */
#pragma once

#include "dispatch/dispatch.h"
#include "invoke/loop.h"
#include "invoke/record.h"
#include "invoke/run.h"
#include "region/region.h"
#include "schema/limits.h"
#include "scrub/evidence.h"
#include "scrub/release_hook/hook.h"
#include "spawn/probe.h"

#include <poll.h>

#define EXIT_OURS 125
#define RUN_ATTACH_USEC_MAX 10000000 /* a guard takes a tenth of a millisecond */
#define RUN_SOURCES_MAX 12 /* sources of each kind that one Run registers in the loop */

#define TREE_RUNS_MAX (2 * (SUBSKILL_ALIVE_MAX + 1)) /* the first Run, the sub-skills that live at once, and a release callback of each */
static_assert(LOOP_SOURCES_MAX >= TREE_RUNS_MAX * RUN_SOURCES_MAX + 1, "the loop has room for a whole tree");

typedef struct Run Run;

typedef struct Tree {
        Loop loop;
        int signals;
        Run *runs[TREE_RUNS_MAX]; /* borrowed: living Runs, each behind the Run that started it */
        size_t n_runs;
        unsigned n_calls;         /* skill.run requests for which a skill was looked up */
} Tree;

/* The step of life.c's table in which a Run is. */
typedef enum RunStep {
        RUN_LIVE,    /* its region is ALLOCATED or RUNNING, or the Run is not in a loop yet */
        RUN_STOP,    /* all processes of the region, and all regions below it, are being stopped */
        RUN_RELEASE, /* its release callbacks run */
        RUN_CLEAR,   /* its memory is being overwritten */
        RUN_RETRY,   /* its storage is given back; release callbacks that did not run have a second try (I-74) */
        RUN_RECORD,  /* its end is written to the ledger */
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
        uint64_t until;     /* CLOCK_MONOTONIC usec: the bound of all callbacks; for the callback that begins, the end of its part */
        bool again;         /* the second try of a callback that did not run */
} Owner;

typedef struct Ahead Ahead; /* guard-ahead.h */
typedef int (*PrepareNote)(void *userdata, const char *region, const char *groups);

/* begin.c: a start that is under way. */
typedef struct RunStart {
        Ahead *ahead;             /* borrowed; NULL: the guard is started by the step itself */
        Probe probe;
        Tier tier;                /* 0: not chosen yet */
        Txn *record;              /* region.allocated is in it, and it is not committed; NULL: none */
        json_t *copies, *evidence; /* owned: of record_start(), until the commit */
        PrepareNote note;         /* prepare.h: of a Run that is being prepared */
        void *note_userdata;
        uint64_t attach_deadline; /* for the guard's answer */
        uint64_t setup_deadline;  /* for the worker, where a grant lies on a served file system */
        bool preparing;           /* the invocation is not known yet: DECLARED, or recorded as ALLOCATED (prepare.h) */
        bool grouped;             /* control groups were made, or e_groups says why not */
        int e_groups;             /* 0 or -errno */
        bool too_many;            /* refused: as many regions live as the policy allows */
} RunStart;

typedef struct RunStore {
        Store *db;        /* borrowed, or `own` once that is open */
        Store *own;
        const char *path; /* borrowed */
        Txn *rest;        /* the half of a commit that the invocation need not wait for: done before anything else is waited for */
        bool failed;      /* the store can record no more: whatever the region did, Lethe did not succeed */
} RunStore;

/* pipe.c */
typedef struct RunPipe {
        Dispatch *dispatch;
        Buf reply;
        struct pollfd poll[2]; /* events that the skill's pipe waits for now */
        uint64_t deadline;
} RunPipe;

/* watch.c, stopped.c: a region that lives. */
typedef struct RunWatch {
        Hook *hook; /* discipline multipass: memory that the region gives back while it runs. NULL: another discipline, or not begun */
        uint64_t hook_deadline;
        uint64_t stopped_deadline; /* of the next look at worker and guard */
        unsigned stopped_looks[2]; /* successive looks at which worker and guard were stopped */
} RunWatch;

/* end.c */
typedef struct RunEnd {
        RunStep step;
        uint64_t since, deadline;        /* of the present step */
        bool no_use;                     /* waiting on is no use: the step goes on without */
        int worker;                      /* the worker's pidfd, borrowed, until it says that the worker is dead; -1 */
        uint64_t stopped_usec, clear_usec; /* CLOCK_MONOTONIC: STOPPED; the order to overwrite the last memory */
        bool torn_down;                  /* the evidence is complete */
        bool faulted, unwanted;          /* region.faulted, region.discard_asked was recorded */
} RunEnd;

/* callbacks.c: release callbacks of this Run. */
typedef struct RunCallbacks {
        size_t left;  /* callbacks of the grant that were not begun: the first ones of its list */
        Run *running; /* borrowed; NULL: none */
} RunCallbacks;

/* callbacks.c: this Run is a release callback. */
typedef struct RunForOwner {
        uint64_t began_usec;
        Grant grant; /* members are the owner's, except for `env` */
        char **env;
} RunForOwner;

/* sub-skill.c: this Run is a sub-skill. */
typedef struct RunSub {
        json_t *call; /* id of the skill.run that started it, owned; NULL: answered, or no sub-skill */
        bool placed;  /* counted with RunOptions.place */
} RunSub;

struct Run {
        Tree *tree;             /* borrowed */
        Run *parent;            /* borrowed; NULL: the invocation itself */
        const RunOptions *options;
        Grant own_grant;        /* of a Run that another Run started, or that was prepared */
        const RegionFeed *feed; /* borrowed until it has begun */
        Region region;
        Evidence evidence;
        RunStart start;
        RunStore store;
        RunPipe pipe;
        RunWatch watch;
        RunEnd end;
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
                .watch = {.hook_deadline = LOOP_NEVER, .stopped_deadline = LOOP_NEVER},
                .end = {.worker = -1, .deadline = LOOP_NEVER},
        };
}

/* life.c */
/* DECLARED -> ALLOCATED by the steps of a cold start, or an end. */
void run_begin(Run *run);
/* The two halves of a start that prepare.h divides. */
void life_take_prepared(Run *run);
void life_take_bound(Run *run);
/* All steps of all Runs that can be taken without waiting. */
void life_go_on(Tree *tree);
/* Until the first Run of the tree is over, and with it all others. */
void run_until_over(Tree *tree);
/* Undoes the steps of the start, the last first, and frees what the Run holds; its region is at an end. */
void run_deinit(Run *run);

/* begin.c: steps of a start, in the order of life.c's table. Each returns 0, or an error that ends the region: positive codes have a message, -errno. */
int begin_pipes(Run *run, Diag *d);
int begin_vault(Run *run, Diag *d);
int begin_tier(Run *run, Diag *d);
int begin_store(Run *run, Diag *d);
int begin_worker(Run *run, Diag *d);
int begin_guard(Run *run, Diag *d);
int begin_record(Run *run, Diag *d);  /* region.allocated is in a transaction */
int begin_durable(Run *run, Diag *d); /* which is committed: ALLOCATED */
int begin_pid(Run *run, Diag *d);     /* where the record was durable before there was a worker */
int begin_groups_written(Run *run, Diag *d);
int begin_groups(Run *run, Diag *d);
/* The worker is spawned. later: arguments and environment follow by spawn_words(). */
int run_start_worker(Run *run, bool later, Diag *d);
/* RunOptions.begun is called, and sub-skills may be asked for: by begin_durable(), unless the Run is being prepared. */
void run_allocated(Run *run);
/* The program could not be executed: ends the region with that. error: of execve, as STATUS_EXEC_FAILED has it. */
void run_not_executed(Region *r, int error);
/* Of a Run that was not allocated: its worker, if there is one, is taken down. Nothing of the skill ran, nothing was recorded. */
void run_drop(Run *run);
/* The store cannot record `what`: said on standard error, and the invocation fails. */
void run_store_trouble(Run *run, const char *what, int e, const Diag *d);

/* watch.c */
/* The order to the guard; there is a worker. */
void run_attach_order(Run *run, GuardOrder *ret);
/* The region's scratch: `scratch` came with STATUS_BORN. Tier landlock: the worker made no file system, and the scratch is the folder made for it. Returns
 * a descriptor, or -1 with errno. */
int run_scratch(const Spawned *s, int scratch);
/* The process that becomes the program exists, and confines itself further while the guard takes hold of it. attached: the guard has that order. */
void run_born(Run *run, int scratch, bool attached);
/* ALLOCATED -> RUNNING, when worker and guard are ready. */
void run_let_go(Run *run);
/* A Run that is ALLOCATED, or was when it ended, joins its tree; every event of a living region is registered. */
void run_watch(Run *run);
/* The rest of the store's commits is brought in at that time, as long as the tree has anything to wait for. */
void run_watch_store(Run *run, const uint64_t *due);
/* From there on the Run waits for its teardown, and for nothing that the region does. */
void run_watch_end(Run *run);
/* Of a Run that is over, only its standard error is still to be delivered. */
void run_watch_rest(Run *run);
/* A signal, or a client's cancel, ends the whole tree. For callers whose wait a signal may have ended; true when this Run is cancelled. */
bool run_heed_signals(Run *run);
/* Waits until the worker is ready and the guard holds the program's process; when its interpreter is to start ahead, until that waits, too. Or the region
 * is at an end. */
void run_wait_prepared(Run *run, uint64_t until_usec);
/* stopped.c: worker and guard are looked at; a stopped one is named, and is killed after a while. */
void run_watch_stopped(Run *run);

/* end.c: steps of an end, in the order of life.c's table. */
void end_begin_stop(Run *run);
bool end_stands(Run *run);
bool end_is_stopped(Run *run);
RunStep end_stop(Run *run);
void end_begin_clear(Run *run);
RunStep end_clear(Run *run);
RunStep end_record(Run *run);
/* RunOptions.unwanted is set: nothing of the invocation is kept. Recorded once, before anything of its end is (I-78). */
void run_note_unwanted(Run *run);

/* callbacks.c: release callbacks of a region that stands still, each in a region of its own, the last of the list first, each once (I-35). Their
 * outcomes are in region.callbacks and change nothing else. */
void run_release_find(Run *run);
/* Nothing is left to be waited for: no callback runs, and none could be begun. */
bool run_release_done(Run *run);
/* The storage is given back: true when a callback did not run. Then run_release_done() begins such callbacks again, each once (I-74). */
bool run_release_again(Run *run);
/* A callback is over: its outcome is noted for its owner, and its Run is freed. */
void run_release_over(Run *callback);
/* The Run above ended meanwhile: callbacks are not cut off, but are to be done within its bound as well. */
void run_release_hurry(Run *callback, const Run *above);

/* sub-skill.c */
/* For dispatch_set_starter(): userdata is the Run that asks. */
int run_start_sub(void *userdata, const DispatchStart *start, Diag *reterr);
/* Output that holds the key of a living region is not given to another region (I-11); before its keys are gone. */
void run_hide_keys(Run *run);
/* A sub-skill is over: its budget and place go back, and the region that asked is answered. */
void run_sub_over(Run *run);
/* Everything below a Run that has ended is cancelled and killed, all at once; the youngest is over first. */
void run_end_below(Run *run);
/* A Run below is not over. */
bool run_has_below(const Run *run);
/* Frees Runs that are over, and whose output was delivered. */
void run_free_done(Tree *tree);
/* Delivers the rest of the sub-skills' output and frees them. */
void run_free_subs(Tree *tree);
/* A Run that is not the first leaves loop and tree, and is freed. */
void run_leave_tree(Run *run);

/* pipe.c */
/* Lines of the pipe go to the dispatch. */
void run_judge_lines(Run *run);
/* Bytes that the region wrote to its pipe before it died are judged like all others; a breach would discard them anyway. */
void run_judge_rest(Run *run);

/* tell.c */
/* The end of the invocation in words, on standard error, as far as RunOptions wants that. */
void run_tell(const Run *run);
#define SENDER_MAX 256
/* The words for the sender of a signal that ends the invocation. */
void run_sender(const struct signalfd_siginfo *si, char ret[static SENDER_MAX]);

/* run.c: results of the region's saves and deletions of memory, as dispatch_memory_ended() has them; NULL: none, or the end is not in the ledger. */
const json_t *run_memory_ended(const Run *run);
