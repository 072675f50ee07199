/* Runs: supervisor, CLI. The one way in which a record changes. In the caller's write transaction: frame and key scan, scope, operation and state, base
 * version, references, payload; then the event, then its projection. A projection that fails is taken back and leaves the event, a row in `unapplied` and
 * the record as it was (G-26, G-30). */
#pragma once

#include "base/keyscan.h"
#include "engine/engine.h"
#include "record/record.h"

#define MUTATION_BODY_MAX (1024 * 1024) /* canonical bytes of payload, refs and what comes with them */
#define MUTATION_ANY UINT64_MAX

typedef struct Mutation {
        const char *scope;    /* name; NULL: SCOPE_DEFAULT */
        Kind kind;
        Op op;
        const char *id;       /* NULL: a new one, of the kind's name and the event's number */
        const char *type;     /* of KIND_MEMORY when it is saved: "episodic", "semantic", "observational"; else NULL */
        uint64_t expect;      /* the version that the record must have now, 0: that it must not be there; MUTATION_ANY */
        const json_t *payload; /* NULL for operations that bring none */
        const json_t *refs;   /* array, or NULL for none (ref.h) */
        const json_t *more;   /* further members of the body: "raw_input", "source_ref", "aliases", "phrases", "reason"…; or NULL */
        const json_t *fields; /* further members of the event, without any text of users: "agent", "run", "tau"…; or NULL */
        const char *who;      /* "uid:1000", or NULL with region */
        const char *region;   /* or NULL */
        const KeySet *keys;   /* of the regions that live, or NULL */
        bool may_supersede;   /* the region may save the families of all records to which refs give the role supersedes: the event says so (I-98) */
        bool takes;           /* more and fields are objects of the caller's own, which are written into instead of copied */
        bool one_of_many;     /* the last of them asks for the copy of the checkpoint outside the store (ledger_want_anchor) */
} Mutation;

typedef struct Mutated {
        uint64_t seq, version;
        char id[RECORD_ID_MAX];
        RecordState state;
        bool created; /* there was no such record */
        bool applied; /* false: recorded, and its projection failed or waits for one that did */
} Mutated;

/* Archiving and removing are refused (pass.h does that), and so is deleting (delete.h).
 * Returns 0, EngineCode with a message, -errno. On refusal mutation.refused is in the transaction, without anything of what was refused: commit it all the
 * same. payload, refs, more and fields are borrowed. */
int engine_mutate(Txn *t, const Mutation *m, Mutated *ret, Diag *reterr);

/* What engine_mutate() leaves of a refusal, for who took its transaction back: mutation.refused with the code. Returns 0, -errno. */
int engine_mutation_refused(Txn *t, const Mutation *m, EngineCode code);

/* Takes the payloads of all events about the record out of the store: they are gone once the file was compacted. For those that deleted it, in the same
 * transaction. *ret_n: how many. */
int engine_erase(Txn *t, const RecordKey *k, uint64_t *ret_n);

/* Projects what could not be projected, in order; *ret_applied of *ret_left more are in order now (G-30). */
int engine_retry_dead_letters(Txn *t, uint64_t *ret_applied, uint64_t *ret_left);
/* At a start, where there is any: in a transaction of its own, which is committed when something came of it. What still cannot be projected, or cannot be
 * read, is left to `lethe verify` to tell. Returns 0, STORE_E_*, -errno. */
int engine_retry_dead_letters_at_start(Store *s, Diag *reterr);
/* Array of {"seq","type","scope"?,"kind"?,"id"?,"reason"}. */
int engine_dead_letter_list(Txn *t, json_t **ret);
