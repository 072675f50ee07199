/* Runs: supervisor, CLI. The audit: reads the whole store once and recomputes everything that it claims. Leaf hashes, tree hashes and root;
 * the checkpoint's signature; the commitment of each payload; the order of time; the rules of a region's life (I-15, I-60); and that folding
 * the ledger gives the rows of the canonical tables, nothing more and nothing less. */
#pragma once

#include "base/diag.h"
#include "base/hash.h"
#include "store/store.h"

enum {
        AUDIT_E_BROKEN = 1, /* something does not hold: the first such thing is in the report */
};

#define AUDIT_TEXT_MAX 400

typedef struct AuditReport {
        char origin[128];
        uint64_t entries, slots, versions, regions, alive; /* what was folded until the end, or until the break */
        char root[HASH_HEX_MAX];
        /* The first thing that does not hold. */
        bool at_entry;  /* seq says where */
        uint64_t seq;
        char what[AUDIT_TEXT_MAX], expected[AUDIT_TEXT_MAX], found[AUDIT_TEXT_MAX];
} AuditReport;

/* Returns 0, AUDIT_E_BROKEN, -errno. *ret is set in each case. */
int audit_run(Store *s, AuditReport *ret);
/* And all tables beside the fold of the ledger, byte for byte: for a store in which audit_run() found nothing. Returns as that. */
int audit_fold(Store *s, AuditReport *ret, Diag *reterr);
