/* Runs: CLI. What the ledger says of each region, from which certificate, report and `audit regions` speak. A walk over all entries hashes
 * every one and compares the root with the signed checkpoint; of a single region each entry is proved by its path to that root. So no answer is
 * given about entries that were not signed for. */
#pragma once

#include "base/diag.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/json.h"
#include "ledger/ledger.h"
#include "schema/limits.h"

enum {
        HISTORY_E_BROKEN = 1, /* the entries are not those of the checkpoint: message says so, `lethe audit` says where */
};

/* What a record of a teardown amounts to. */
typedef enum Proof {
        PROOF_CLEARED = 0, /* grade cleared or better, and no counter of the record says otherwise */
        PROOF_EMPTY,       /* no program ever ran in the region, and no counter of the record says otherwise */
        PROOF_PARTIAL,     /* something that was to be overwritten was not */
        PROOF_NOTHING,     /* unscrubbed, a grade that is not known here, or no record at all */
} Proof;
const char *proof_name(Proof p); /* "cleared", "nothing_held", "partial", "unscrubbed" */

typedef struct RegionFacts {
        char id[REGION_ID_MAX];
        uint64_t allocated, released, recovered, ended; /* numbers of entries; 0: there is none (entry 0 is the ledger's own) */
        uint64_t allocated_usec, released_usec, ended_usec;
        unsigned n_released;      /* a region has one */
        bool hook_end;           /* invocation.ended came before region.released */
        bool orphan;              /* not ended, and its supervisor is gone */
        bool passed;              /* region.bound_passed was recorded */
        bool faulted;             /* region.faulted was recorded */
        char *skill, *digest, *tier; /* owned, never NULL */
        char *asked;              /* discipline that was granted, "" when an old entry does not say; owned */
        char *scope;              /* key scope; owned */
        json_t *beyond;           /* what it had and the region that started it had not, by the policy's word; NULL: nothing */
        char *outcome, *reason;   /* owned; "" when there is none */
        uint64_t bound_usec;      /* of cancellation; 0: not said */
        char parent[REGION_ID_MAX]; /* the region that started it; "" */
        char name[SCOPE_NAME_BYTES + 1]; /* that `lethe run --name` gave; "" */
        json_t *trace;            /* {"id","parent","span"} when its caller traced; NULL */
        int exit_code;            /* -1: none */
        json_t *by;               /* who ran it: host, uid, version; NULL when not recorded */
        json_t *teardown;         /* as recorded in region.released, whatever fields it has; NULL */
        json_t *usage;            /* NULL when not recorded */
} RegionFacts;

typedef struct History {
        char origin[128];
        uint64_t entries;
        char root[HASH_HEX_MAX];
        uint64_t first_usec, last_usec; /* of the ledger's first and last entry; of a query for one region: not set */
        RegionFacts **regions;  /* by allocation; owned */
        size_t n;
        bool refused;           /* the query's region was refused before it began */
        bool knows_skill;       /* the query's skill was registered, or had a region at any time */
} History;

typedef struct HistoryQuery {
        uint64_t since_usec, until_usec; /* allocated at or after, and before; 0: open */
        const char *skill;               /* exactly this name, or NULL */
        const char *scope;               /* exactly this key scope, or NULL */
        const char *region;              /* only this one, or NULL */
} HistoryQuery;

/* Fields that were too large for the entry stand in its payload, which is outside of the tree: the entry commits to it, nonce first. Adds them to o, the
 * entry at seq; of a payload that was erased there is nothing to add. Returns 0, -EUCLEAN, -errno. */
int history_unfold(Txn *t, uint64_t seq, json_t *o);
/* Calls fn with each of the ledger's n entries in order, until fn returns something else than 0; then the root that they have together against the checkpoint
 * that was signed over it: *ret is that root in hexadecimal. Returns 0, what fn returned, HISTORY_E_BROKEN, -errno. */
int history_each(Txn *t, uint64_t n, int (*fn)(void *arg, uint64_t seq, Bytes entry), void *arg, char ret[static HASH_HEX_MAX], Diag *reterr);
/* Returns 0, HISTORY_E_BROKEN, -errno. */
int history_read(Txn *t, const HistoryQuery *q, History *ret, Diag *reterr);
/* The query asks for this one. */
bool history_wanted(const HistoryQuery *q, const RegionFacts *f);
void history_deinit(History *h);
#define _cleanup_history_ _cleanup_(history_deinit)

/* A member of the teardown record, 0 when it has none. */
uint64_t facts_number(const RegionFacts *f, const char *member);
const char *facts_text(const RegionFacts *f, const char *member); /* "" when it has none */
Proof facts_proof(const RegionFacts *f);
/* The region ended, and its memory is not proved overwritten. */
bool facts_unproved(const RegionFacts *f);
/* Allocated, then released exactly once, then ended; or alive with a living supervisor (I-15, I-60). */
bool facts_in_order(const RegionFacts *f);
/* The skill's bound was passed (I-33). */
bool facts_late(const RegionFacts *f);
