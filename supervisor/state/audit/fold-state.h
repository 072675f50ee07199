/* Runs: supervisor, CLI. Inside of audit/: the state of the fold, and the report of the first failure. */
#pragma once

#include "audit/audit.h"
#include "audit/map.h"
#include "base/hash.h"
#include "engine/arbitration.h"
#include "ledger/ledger.h"
#include "record/rows.h"

/* An open proposal. */
typedef struct FoldedHeld {
        uint64_t seq, version;
        char slot[SLOT_NAME_MAX + 1];
        char sha256[HASH_HEX_MAX];
        int64_t expect;    /* -1: any; of slots with a rule */
        double confidence; /* -1: none */
} FoldedHeld;

/* A gathered proposal for a slot with a rule of arbitration. */
typedef struct FoldedQuorum {
        uint64_t seq, gathered;
        char region[REGION_ID_MAX], tree[REGION_ID_MAX], skill[ARBITRATION_SKILL_MAX], sha256[HASH_HEX_MAX];
        int64_t expect;
        double confidence;
} FoldedQuorum;
typedef struct FoldedArbitration {
        ArbitrationRule rule;
        size_t n; /* gathered, without a verdict */
        FoldedQuorum items[ARBITRATION_PROPOSALS_MAX];
        FoldedQuorum won; /* by the newest verdict */
        uint64_t verdict; /* seq of the newest verdict */
        uint64_t asked;   /* seq of the newest question; 0: none (G-74) */
        char until[32];   /* its deadline; empty: none */
        bool open;        /* the question has no verdict */
} FoldedArbitration;

typedef struct FoldedRegion {
        uint64_t allocated; /* seq of region.allocated */
        uint64_t n_held, n_settled;
        FoldedHeld *held; /* owned */
        struct FoldedRegion *parent; /* borrowed; NULL: no region started it */
        uint64_t n_below;            /* regions below without an end */
        bool lends_key;              /* the regions below may use its key */
        bool callback;               /* a release callback of the region above */
        bool released, ended, left;
        bool broke;         /* region.faulted or region.discard_asked was recorded: all changes are discarded */
        bool success, kept; /* changes are kept after exit code 0 only (I-78); a change was kept */
} FoldedRegion;

/* A session of calls of a wrapped server. */
typedef struct OpenCalls {
        uint64_t n_calls;
        bool closed;
} OpenCalls;

typedef struct Audit {
        AuditReport *report;
        Txn *txn;
        Map regions, slots, skills, arbiters; /* FoldedRegion; SlotRow; FoldedSkill; FoldedArbitration by slot */
        Map payloads; /* of erased.c */
        Map objects;  /* of entries.c */
        Map sessions; /* OpenCalls by session */
        const FoldedArbitration *owed; /* the next entry must carry out its verdict; borrowed, or NULL */
        MerkleEdge edge;
        char last_time[32];
        Cursor *hashes, *bodies;
        uint64_t next_body; /* key of the cursor's row; UINT64_MAX: the end */
        Bytes body;
        uint64_t n_hashes, n_hist, n_verdicts;
        uint64_t seq;       /* of the entry at hand */
} Audit;

/* Record the first failure and return AUDIT_E_BROKEN: audit_differs() at the entry at hand, audit_store_differs()
 * elsewhere. */
int audit_fails(Audit *a, bool at_entry, const char *what, const char *found, const char *expected_fmt, ...)
        _printf_(5, 6);
#define audit_differs(a, ...) audit_fails((a), true, __VA_ARGS__)
#define audit_store_differs(a, ...) audit_fails((a), false, __VA_ARGS__)
/* A text for `found`. */
typedef struct AuditText {
        char s[AUDIT_TEXT_MAX];
} AuditText;
AuditText audit_text(const char *fmt, ...) _printf_(1, 2);
int audit_lacks(Audit *a, const char *type, const char *field);
int audit_wrong_version(Audit *a, const char *slot, uint64_t expected, uint64_t found);
/* Steps to the next row of table body. Returns 0 or -errno. */
int audit_next_body(Audit *a);

/* All return 0, AUDIT_E_BROKEN, -errno. */
int fold_entry(Audit *a, const json_t *o, Bytes entry, bool canonical); /* canonical: known to be; else checked here */
/* From here on the proposal is the slot's value. o: slot.written; sha256: of the proposal's payload. */
int fold_slot_takes_proposal(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version,
                             uint64_t proposed, const char *sha256);
/* tables.c: for each registration of a skill; after all entries. */
int skills_fold(Audit *a, const json_t *o);
int tables_check(Audit *a);
/* entries.c: for each event about an object; after all entries. */
int entries_fold(Audit *a, const json_t *o, const char *type);
int entries_check(Audit *a);
/* arbitration.c */
int arbitration_defined(Audit *a, const char *name, const json_t *rule);
int arbitration_asked(Audit *a, const json_t *o, const char *name);
int arbitration_gathered(Audit *a, const json_t *o, const char *name, const FoldedRegion *r, const FoldedHeld *h);
int arbitration_discarded(Audit *a, const json_t *o, const char *name, const FoldedRegion *r, const FoldedHeld *h);
int arbitration_decided(Audit *a, const json_t *o, const char *name, const SlotRow *slot, uint64_t version);
int arbitration_written(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version);
int arbitration_owed(Audit *a, const json_t *o_or_null);
int arbitration_check(Audit *a, uint64_t *ret_gathered);
/* erased.c: for each payload (-ENOENT: missing without a possible reason); for each entry; after all entries. */
int erased_payload(Audit *a, const json_t *o, const char *type, bool there);
int erased_entry(Audit *a, const json_t *o, const char *type);
/* A version whose row in table hist has no payload; body: the payload by the ledger. Then slot.erased has to follow. */
int erased_version(Audit *a, const char *slot, uint64_t version, uint64_t body);
int erased_versions(Audit *a, const json_t *o, const char *slot, uint64_t newest); /* slot.erased */
int erased_check(Audit *a);
