/* Runs: CLI. The ledger's facts about each region, for certificate, report and `audit regions`. A walk over all entries
 * hashes every entry and compares the root with the signed checkpoint. For a single region, each entry is proved by its
 * path to the root. So every answer rests on signed entries only. */
#pragma once

#include "audit/objects.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/json.h"
#include "ledger/ledger.h"
#include "schema/limits.h"

enum {
        HISTORY_E_BROKEN = 1, /* the entries differ from the checkpoint: message; `lethe audit` gives the place */
};

/* The degree of proof of a teardown's record. */
typedef enum Proof {
        PROOF_CLEARED = 0, /* grade cleared or better, and no counter disagrees */
        PROOF_EMPTY,       /* no program ever ran in the region, and no counter disagrees */
        PROOF_PARTIAL,     /* some memory was to be overwritten and was not */
        PROOF_NOTHING,     /* unscrubbed, an unknown grade, or no record at all */
} Proof;
const char *proof_name(Proof p); /* "cleared", "nothing_held", "partial", "unscrubbed" */

typedef struct RegionFacts {
        char id[REGION_ID_MAX];
        uint64_t allocated, released, recovered, ended; /* numbers of entries; 0: none (entry 0 is the ledger's own) */
        uint64_t allocated_usec, released_usec, ended_usec;
        unsigned n_released;      /* 1 in a correct ledger */
        bool hook_end;           /* invocation.ended came before region.released */
        bool orphan;              /* not ended, and without a supervisor */
        bool passed;              /* region.bound_passed was recorded */
        bool faulted;             /* region.faulted was recorded */
        char *skill, *digest, *tier; /* owned, never NULL */
        char *asked;              /* granted discipline, "" in an old entry without it; owned */
        char *scope;              /* key scope; owned */
        json_t *beyond;           /* rights beyond the starting region's, by the policy's word; NULL: none */
        char *outcome, *reason;   /* owned; "": none */
        uint64_t bound_usec;      /* of cancellation; 0: not recorded */
        json_t *session, *turn; /* of a turn: id and number; NULL: no turn */
        char parent[REGION_ID_MAX]; /* the starting region; "": none */
        char name[SCOPE_NAME_BYTES + 1]; /* given by `lethe run --name`; "" */
        json_t *trace;            /* {"id","parent","span"} of a traced caller; NULL */
        int exit_code, signal;    /* -1, 0: none */
        json_t *by;               /* the operator: host, uid, version; NULL when not recorded */
        json_t *teardown;         /* as recorded in region.released, with all fields; NULL */
        json_t *usage;            /* NULL when not recorded */
} RegionFacts;

typedef struct HistoryQuery {
        uint64_t since_usec, until_usec; /* allocated at or after, and before; 0: open */
        const char *skill;               /* exactly this name, or NULL */
        const char *scope;               /* exactly this key scope, or NULL */
        const char *region;              /* only the named region, or NULL */
        bool objects;                    /* objects, too */
} HistoryQuery;

typedef struct History {
        HistoryQuery query;
        char origin[128];
        uint64_t entries;
        char root[HASH_HEX_MAX];
        uint64_t first_usec, last_usec; /* of the ledger's first and last entry; not set for a query of one region */
        RegionFacts **regions;  /* by allocation; owned */
        size_t n;
        bool refused;           /* the query's region was refused before it began */
        bool knows_skill;       /* the query's skill was registered, or had a region at any time */
        ObjectsFacts objects;   /* of a query with `objects`: all of them */
} History;

/* Adds the fields in the entry's payload to o, the entry at seq. Fields beyond the size of an entry stand in the
 * payload, outside of the tree: the entry commits to the payload, nonce first. An erased payload adds no field. Returns
 * 0, -EUCLEAN, -errno. */
int history_unfold(Txn *t, uint64_t seq, json_t *o);
/* Calls fn for each of the ledger's n entries in order, until fn returns a value other than 0. Then compares the
 * entries' root with the signed checkpoint; *ret is the root in hexadecimal. Returns 0, fn's result, HISTORY_E_BROKEN,
 * -errno. */
int history_each(Txn *t, uint64_t n, int (*fn)(void *arg, uint64_t seq, Bytes entry), void *arg,
                 char ret[static HASH_HEX_MAX], Diag *reterr);
/* The result of a reader of entries: HISTORY_E_BROKEN with a message for -ENOENT and -EUCLEAN, else r. */
int history_result(int r, Diag *reterr);
/* Returns 0, HISTORY_E_BROKEN, -errno. */
int history_read(Txn *t, const HistoryQuery *q, History *ret, Diag *reterr);
/* The query matches the region. */
bool history_wanted(const HistoryQuery *q, const RegionFacts *f);
/* Looks for the region's row in a new snapshot: its supervisor may have ended both since that of t. 0 or -errno. */
int history_is_there_now(Txn *t, const char *region, bool *ret);
void history_deinit(History *h);
#define _cleanup_history_ _cleanup_(history_deinit)

/* A member of the teardown record, 0: none. */
uint64_t facts_number(const RegionFacts *f, const char *member);
const char *facts_text(const RegionFacts *f, const char *member); /* "": none */
Proof facts_proof(const RegionFacts *f);
/* The region ended, and the overwriting of its memory is not proved. */
bool facts_unproved(const RegionFacts *f);
/* Allocated, then released exactly once, then ended; or alive with a living supervisor (I-15, I-60). */
bool facts_in_order(const RegionFacts *f);
/* The skill's bound was passed (I-33). */
bool facts_late(const RegionFacts *f);
