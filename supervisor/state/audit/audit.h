/* Runs: supervisor, CLI. The audit: reads the whole store once and recomputes every claim: leaf hashes, tree hashes and
 * root; the checkpoint's signature; the commitment of each payload; the order of time; the rules of a region's life
 * (I-15, I-60). The fold of the ledger must give exactly the rows of the canonical tables. */
#pragma once

#include "base/diag.h"
#include "base/hash.h"
#include "base/json.h"
#include "store/store.h"

enum {
        AUDIT_E_BROKEN = 1, /* a check failed: the report has the first failure */
};

#define AUDIT_TEXT_MAX 400

typedef struct AuditReport {
        char origin[128];
        uint64_t entries, slots, versions, regions, alive, objects; /* folded until the end, or until the failure */
        uint64_t open_sessions; /* of wrapped servers: no end is recorded, and the newest calls may be missing */
        char root[HASH_HEX_MAX];
        /* The first failure. */
        bool at_entry;  /* seq is set */
        uint64_t seq;
        char what[AUDIT_TEXT_MAX], expected[AUDIT_TEXT_MAX], found[AUDIT_TEXT_MAX];
} AuditReport;

/* Returns 0, AUDIT_E_BROKEN, -errno. *ret is set in each case. */
int audit_run(Store *s, AuditReport *ret);
/* Compares all tables with the fold of the ledger, after an audit_run() without failure. Returns the same. */
int audit_fold(Store *s, AuditReport *ret, Diag *reterr);
/* Compares the data that people and skills read with the ledger (G-56). In a read transaction:
 * {"version":1,"intact":bool,"first":null|{"check","what"…},"entries","rows","differ","waits","unapplied":[…],
 * "objects": of object_verify_all()}. Checks,
 * in order: projections are the fold of the ledger; no event waits for its projection; each pending item has its
 * request; each event with a change has a region or a person; runs and notes agree with the ledger; the entries of objects
 * hold, and each effect of an execution has its entry (O-46). Returns 0,
 * STORE_E_*, -errno. */
int audit_state(Txn *t, json_t **ret, Diag *reterr);
