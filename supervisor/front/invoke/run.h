/* Runs: supervisor. One invocation from its grant to its receipt. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"
#include "engine/engine.h"
#include "region/region-cgroup.h"
#include "region/region-io.h"
#include "spawn/spawner.h"
#include "store/store.h"

#include <stdatomic.h>
#include <sys/signalfd.h>

struct Run;

/* Where regions come from that were prepared before anybody asked for them (prefork/pool.h). Each call takes RunOptions.prepared_data. */
typedef struct PreparedSource {
        /* A prepared Run whose grant allows what g does, or NULL. turn: of the policy by which g was made. */
        struct Run *(*take)(void *userdata, const Grant *g, unsigned turn);
        void (*give_back)(void *userdata, struct Run *run); /* take() gave it, and the invocation does not want it: the source gives it up */
        void (*over)(void *userdata, const char *region);   /* take() gave it, and it is at its end, recorded or not */
        void (*leave)(void *userdata);                      /* an invocation has ended, whether take() had a Run for it or not */
} PreparedSource;

typedef struct RunOptions {
        const Policy *policy;/* borrowed: what sub-skills may have; NULL: none can be started */
        const char *receipt; /* file, or NULL */
        const PreparedSource *prepared; /* borrowed; NULL: each region is started when it is asked for */
        void *prepared_data;
        unsigned turn;       /* of the policy, for `prepared` */
        Spawner *spawner;    /* borrowed; NULL: the region's worker and guard are executed */
        CgroupPool *groups;  /* borrowed; NULL: each region's control groups are made for it and removed */
        bool verbose;        /* one line also when all went well */
        bool quiet;          /* errors only */
        bool elsewhere;      /* who reads the line about the end has another environment than this process, */
        bool names_store;    /* and reaches this store by --store alone */
        const json_t *given; /* borrowed: what of shared belief its input holds, as dispatch_record_given() takes it; NULL: nothing that is known */
        bool promote;        /* the notes that the region left are promoted when it was recorded (G-5); not those of what it started */

        /* Of an invocation that is one of several in this process (`lethe serve`). */
        const int *streams;  /* its standard input, output and error, borrowed; NULL: our own */
        RegionSink *out, *err; /* borrowed: where output goes for which `streams` has -1; NULL: nowhere */
        json_t **ret_receipt; /* not NULL: where the receipt is put, new reference or NULL, instead of into a file */
        /* Finishes the regions of supervisors that died, before this invocation has one: recover_all(). NULL: the caller has done so. */
        int (*recover)(Store *store, const Policy *policy_or_null, Spawner *spawner_or_null, unsigned *ret_n, Diag *reterr);
        /* The policy may be another one by now: what is to be started next is judged by the one in force, which this puts into `policy` and `turn` (on: true),
         * until it is allocated or refused (on: false). NULL: it stays what it is. */
        void (*judging)(void *userdata, bool on);
        /* A region below the first one is to be started (on: true), or is over: false: its user has as many as may be. NULL: nobody counts. */
        bool (*place)(void *userdata, bool on);
        void (*begun)(void *userdata, const char *region); /* a region of it was allocated, below its first one too; or NULL */
        /* All that the caller gets of it is there: its record, its output, the receipt in *ret_receipt, the code that run_invocation() will return; what
         * follows is ours to clear away. Or NULL: nobody waits for that. */
        void (*over)(void *userdata, int code);
        /* What the descriptor `signals` is about when it is an eventfd: false: nothing that was not told already. */
        bool (*ordered)(void *userdata, struct signalfd_siginfo *ret);
        /* Borrowed: true when somebody asked that nothing of the invocation is kept (I-78), until its end is recorded. NULL: who asks writes to the store. */
        const atomic_bool *unwanted;
        void *userdata;
} RunOptions;

/* Blocks SIGTERM, SIGINT and SIGHUP and returns a signalfd for them, or -errno: before anything is made that a signal must not leave
 * behind. SIGTTIN, SIGTTOU and SIGPIPE are ignored from here on. */
int run_take_signals(void);
/* Finishes what dead supervisors left, runs the invocation, tears it down, records it, writes the receipt. Errors are told on standard
 * error. Returns what `lethe run` exits with. The store (STORE_SUPERVISE) is borrowed; NULL: the one at store_path is opened, while the
 * worker confines itself, and closed at the end. signals: a signalfd, or an eventfd of
 * which o->ordered knows what it is about; what is read there ends the region. */
int run_invocation(const RunOptions *o, Store *store, const char *store_path, const Grant *g, int signals);
/* Release callbacks of a region whose supervisor died, that had not begun; all that ran in it is gone. policy NULL: the operator's. *ret: what
 * became of each of its callbacks, new reference, NULL when it has none. Returns 0 or -errno: that one fails is in *ret. */
int run_release_left(Store *store, const Policy *policy_or_null, Spawner *spawner_or_null, const RegionRow *row, json_t **ret);
/* For an invocation that ends before it has a grant: gives the receipt of a refusal, when one is asked for, and returns code. */
int run_refused(const RunOptions *o, const char *name, const char *digest, bool by_policy, int code, const char *reason);
