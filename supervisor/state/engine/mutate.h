/* Runs: supervisor, CLI. The only way to change a record. In the caller's write transaction: key scan, scope, operation
 * and state, base version, references, payload; then the event, then the projection. A failing projection is taken
 * back: the event, a row in `unapplied` and the old record remain (G-26, G-30). */
#pragma once

#include "base/keyscan.h"
#include "engine/engine.h"
#include "record/record.h"

#define MUTATION_BODY_MAX (1024 * 1024) /* canonical bytes of payload, refs and more */
#define MUTATION_ANY UINT64_MAX

typedef struct Mutation {
        const char *scope;    /* name; NULL: SCOPE_DEFAULT */
        Kind kind;
        Op op;
        const char *id;       /* NULL: a new id from the kind's name and the event's number */
        const char *type;     /* for OP_SAVE of KIND_MEMORY: "episodic", "semantic", "observational"; else NULL */
        uint64_t expect;      /* the record's present version; 0: no record; MUTATION_ANY */
        const json_t *payload; /* or NULL */
        const json_t *refs;   /* array (ref.h), or NULL */
        const json_t *more; /* further body members: "raw_input", "source_ref", "aliases", "phrases", …; or NULL */
        const json_t *fields; /* further members of the event, without users' text: "agent", "run", "tau"…; or NULL */
        const char *who;      /* "uid:1000", or NULL with region */
        const char *region;   /* or NULL */
        const KeySet *keys;   /* of the living regions, or NULL */
        bool may_supersede; /* the region may save the families of superseded records; noted in the event (I-98) */
        bool takes;           /* `more` and `fields` belong to the caller alone and are changed instead of copied */
        bool one_of_many;     /* no checkpoint copy outside the store: the last mutation asks (ledger_want_anchor()) */
} Mutation;

typedef struct Mutated {
        uint64_t seq, version;
        char id[RECORD_ID_MAX];
        RecordState state;
        bool created; /* a new record */
        bool applied; /* false: recorded, but the projection failed or waits */
} Mutated;

/* Refuses archiving and removing (see digest-pass.h) and deleting (see delete.h). Returns 0, EngineCode with a message,
 * -errno. A refusal leaves mutation.refused in the transaction, without any refused text: commit. payload, refs, more
 * and fields are borrowed. */
int engine_mutate(Txn *t, const Mutation *m, Mutated *ret, Diag *reterr);

/* For cognition/ only: the same for the kinds of CLASS_CCS, which engine_mutate() refuses (C-36). */
int engine_mutate_ccs(Txn *t, const Mutation *m, Mutated *ret, Diag *reterr);

/* For engine/ only: as engine_mutate(), also for OP_ARCHIVE, OP_REMOVE and OP_DELETE. The caller has checked reasons,
 * blockers and dependents in the same transaction. */
int mutate_judged(Txn *t, const Mutation *m, Mutated *ret, Diag *reterr);

/* Appends mutation.refused with the code, for a caller that took back the transaction. Returns 0, -errno. */
int engine_mutation_refused(Txn *t, const Mutation *m, EngineCode code);

/* Erases the payloads of all events about the record; the bytes leave the file with the next compaction. For the
 * transaction of the deletion. *ret_n: their number. */
int engine_erase(Txn *t, const RecordKey *k, uint64_t *ret_n);
