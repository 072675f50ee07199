/* Runs: supervisor, CLI. The list of the store's tables, and the bytes of a row. */
#pragma once

#include "base/util.h"

typedef enum Table {
        TABLE_META,   /* version, origin, public key, tree, checkpoint: by name */
        TABLE_EVENT,  /* seq -> ledger entry, canonical JSON */
        TABLE_BODY,   /* seq -> nonce and payload, apart from the entry for a later erasure */
        TABLE_HASH,   /* tile level and index -> tree hash */
        TABLE_SLOT,   /* name -> the valid value */
        TABLE_HIST,   /* name, NUL, version -> the place of the version's record */
        TABLE_HELD,   /* region, seq -> a proposal, until its region's end */
        TABLE_REGION, /* region -> its supervisor */
        TABLE_SKILL,  /* name -> seq of the valid skill.registered */
        TABLE_SCOPE,  /* name -> a scope's number and state */
        TABLE_REC,    /* scope, kind, id -> the record now */
        TABLE_CHANGE, /* scope, kind, id, NUL, seq -> the event's change of the record */
        TABLE_REF,    /* source (scope, kind, id), NUL, target (kind, id), NUL, role -> strength and seq */
        TABLE_RREF,   /* target, NUL, source, NUL, role -> the same, backwards */
        TABLE_TERM,   /* scope, kind, field, term, NUL, chunk -> the records with the term */
        TABLE_DOC,    /* scope, kind, number -> the record's terms in TABLE_TERM */
        TABLE_WAIT,   /* pending id -> an open decision */
        TABLE_UNAPPLIED, /* seq -> the reason of the event's failed projection */
        TABLE_RUN,    /* run id -> the run of the notes */
        TABLE_NOTE,   /* run id, NUL, number -> a working note: of one run, and not of the ledger */
        TABLE_GATHER, /* slot name, NUL, seq -> a proposal of a region that ended well, until the slot's verdict */
        TABLE_VERDICT, /* slot name, NUL, seq of slot.arbitrated -> seq of the winning proposal, 0: none */
        TABLE_OBJECT, /* object, NUL, "row" -> the object now; object, NUL, number -> seq of its entry; engine/execution.h */
        TABLE_DUE,    /* usec, object -> "": the time of the object's next look (record/wake.h) */
        TABLE_WAKE,   /* key, NUL, object -> the event that makes the object due at once */
        TABLE_CLAIM,  /* scope, letter, … -> what live records say, by subject and predicate (engine/claim.h) */
        TABLE_COMMITS, /* scope -> changes of its shared belief, since requests wait there (engine/wait-age.h) */
        TABLE_ROUND,   /* slot name -> the newest round of an arbitration (engine/round.h) */
        TABLE_COUNT_,
        TABLE_OLDEST_LAST = TABLE_SKILL, /* of a store of version 1 */
} Table;

typedef struct Bytes {
        const void *p; /* borrowed from the store's map: valid until the next write or the transaction's end */
        size_t n;
} Bytes;
#define BYTES(p_, n_) ((Bytes){(p_), (n_)})
#define BYTES_STR(s_) ((Bytes){(s_), strlen(s_)})

static inline void be64_put(uint8_t *out, uint64_t v) {
        for (int i = 7; i >= 0; i--, v >>= 8)
                out[i] = (uint8_t)v;
}
static inline uint64_t be64_get(const uint8_t *in) {
        uint64_t v = 0;

        for (int i = 0; i < 8; i++)
                v = v << 8 | in[i];
        return v;
}
/* The key of a table by sequence number. */
static inline Bytes seq_key(uint64_t seq, uint8_t key[static 8]) {
        be64_put(key, seq);
        return BYTES(key, 8);
}
