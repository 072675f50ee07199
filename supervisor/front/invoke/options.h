/* Runs: supervisor. The options of an invocation. */
#pragma once

#include "base/diag.h"
#include "engine/engine.h"
#include "policy/grant.h"
#include "region/region-cgroup.h"
#include "region/region-io.h"
#include "spawn/spawner.h"
#include "store/store.h"

#include <stdatomic.h>
#include <sys/signalfd.h>

struct Run;

/* A source of regions prepared before their invocations (prefork/pool.h). Each call takes
 * RunOptions.prepared_data. */
typedef struct PreparedSource {
        /* A prepared Run whose grant allows the same as g, or NULL. turn: of the policy by which g was made. */
        struct Run *(*take)(void *userdata, const Grant *g, unsigned turn);
        void (*give_back)(void *userdata, struct Run *run); /* after take(): the invocation does not use the Run */
        /* after take(): the region is at its end, recorded or not */
        void (*over)(void *userdata, const char *region);
        /* an invocation has ended, with or without a prepared Run */
        void (*leave)(void *userdata);
} PreparedSource;

/* The first region is the execution of an object (O-21, O-38). */
typedef struct RunObject {
        const char *object, *trace; /* ids; the trace is the region's id */
        const json_t *scope;        /* the object's trust scope, complete: for regions below */
        /* Whether the proposals of a region that ended with 0 are kept. result: of the skill's request `result`, or
         * NULL. */
        bool (*keeps)(const json_t *result);
        /* In t, the transaction of the region's end, behind the events of the end: appends the outcome, so that effects
         * and outcome are there together, or not at all. ending: receipt_ending(); usec: since the declaration;
         * discards: "", or the reason for a discard. A positive code has a message: no end is recorded, and recovery
         * discards the region's proposals. Returns 0, a positive code, -errno. */
        int (*ended)(void *userdata, Txn *t, const json_t *ending, uint64_t usec, const json_t *result,
                     const char *discards, Diag *reterr);
        void *userdata;
} RunObject;

typedef struct RunOptions {
        const Policy *policy; /* borrowed: the limit for sub-skills; NULL: no sub-skill can be started */
        const char *receipt;  /* file, or NULL */
        const PreparedSource *prepared; /* borrowed; NULL: each region is started at its invocation */
        void *prepared_data;
        unsigned turn;        /* of the policy, for `prepared` */
        Spawner *spawner;     /* borrowed; NULL: the region's worker and guard are executed */
        CgroupPool *groups;   /* borrowed; NULL: control groups are made for each region and removed */
        bool verbose;         /* a line after a success, too */
        bool quiet;           /* errors only */
        bool elsewhere;       /* the last line's reader has another environment, */
        bool names_store;     /* and needs --store for the store */
        /* borrowed: rows of shared belief in the input, as dispatch_record_given() takes them; or NULL */
        const json_t *given;
        /* borrowed: the first region is a turn of a session (I-84); gets the number, and what was carried. NULL: no turn */
        struct DispatchTurn *in_session;
        const RunObject *object; /* borrowed; NULL: no object's execution */
        /* the region's notes are promoted after its record (G-5), notes of sub-skills are not */
        bool promote;

        /* For an invocation beside others in the process (`lethe serve`). */
        const int *streams;    /* standard input, output and error, borrowed; NULL: the process's own */
        RegionSink *out, *err; /* borrowed: the target of an output with -1 in `streams`, or NULL */
        json_t **ret_receipt;  /* not NULL: the receipt goes there, new reference or NULL, and not into a file */
        /* Finishes the regions of supervisors that died, before this invocation has a region: recover_all(). NULL: the
         * caller has done so. */
        int (*recover)(Store *store, const Policy *policy_or_null, Spawner *spawner_or_null, bool quiet, Diag *reterr);
        /* on: `policy` and `turn` are set to the policy in force, for a region that is about to be started; off: the
         * region was allocated or refused. NULL: the policy does not change. */
        void (*judging)(void *userdata, bool on);
        /* on: a region below the first is about to be started; false: its user has as many regions as the daemon
         * allows. off: the region is over. NULL: regions are not counted. */
        bool (*place)(void *userdata, bool on);
        /* a region, the first or one below, was allocated; or NULL */
        void (*begun)(void *userdata, const char *region);
        /* The program of the first region runs: its start cannot fail any more. No prepared region is taken. NULL:
         * nobody waits for the start alone. */
        void (*started)(void *userdata);
        /* Record, output and receipt are complete, and `code` is the later result of run_invocation(): a client can be
         * answered. Only cleaning up follows. NULL: no client waits. */
        void (*over)(void *userdata, int code);
        /* Progress of the first region: {"done", "total"?, "message"?}, borrowed. NULL: nobody waits for it. */
        void (*progress)(void *userdata, const json_t *params);
        /* The order behind an eventfd in `signals`; false: there is no new order. */
        bool (*ordered)(void *userdata, struct signalfd_siginfo *ret);
        /* Borrowed: set when a client asked that nothing of the invocation is kept (I-78), until the end is recorded.
         * NULL: a client writes to the store itself. */
        const atomic_bool *unwanted;
        void *userdata;
} RunOptions;
