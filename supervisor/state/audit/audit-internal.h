/* Runs: supervisor, CLI. Inside of audit/. */
#pragma once

#include "audit/audit.h"
#include "audit/history.h"
#include "base/hash.h"
#include "base/json.h"
#include "engine/arbitration.h"
#include "record/rows.h"
#include "ledger/ledger.h"

/* map.c: names to values; open addressing. Values are owned (free); keys are copied. */
typedef struct Map {
        struct MapItem {
                char *key;
                void *value;
        } *items;
        size_t n, room;
} Map;
void *map_get(const Map *m, const char *key);
/* The key must be new. Takes the value. Returns 0 or -ENOMEM (the value is not taken). */
int map_add(Map *m, const char *key, void *value);
void map_deinit(Map *m);

typedef struct FoldedHeld {
        uint64_t seq, version;
        char slot[SLOT_NAME_MAX + 1];
        char sha256[HASH_HEX_MAX];
        int64_t expect;    /* -1: any; of slots with a rule */
        double confidence; /* -1: none */
        bool settled;
} FoldedHeld;

/* Slots with a rule of arbitration. */
typedef struct FoldedQuorum {
        uint64_t seq, gathered;
        char region[REGION_ID_MAX], tree[REGION_ID_MAX], skill[ARBITRATION_SKILL_MAX], sha256[HASH_HEX_MAX];
        int64_t expect;
        double confidence;
} FoldedQuorum;
typedef struct FoldedArbitration {
        ArbitrationRule rule;
        size_t n; /* gathered, and not decided */
        FoldedQuorum items[ARBITRATION_PROPOSALS_MAX];
        FoldedQuorum won; /* by the newest verdict */
        uint64_t verdict; /* its seq */
} FoldedArbitration;

typedef struct FoldedRegion {
        uint64_t allocated, n_held, room, n_settled;
        FoldedHeld *held; /* owned */
        struct FoldedRegion *parent; /* borrowed; NULL: no region started it */
        uint64_t n_below;            /* regions below that have not ended */
        bool lends_key;              /* those below may use its key */
        bool callback;               /* a release callback of the region above */
        bool released, ended, left;
        bool broke;         /* region.faulted or region.discard_asked was recorded, so nothing may be kept */
        bool success, kept; /* what it proposes is kept for exit code 0 alone (I-78); some of it was kept */
} FoldedRegion;

typedef struct Audit {
        AuditReport *report;
        Txn *txn;
        Map regions, slots, skills, arbiters; /* FoldedRegion; SlotRow; of skills.c; FoldedArbitration by slot */
        Map payloads; /* of erased.c */
        const FoldedArbitration *owed; /* whose verdict is to be carried out by the next entry; borrowed, or NULL */
        MerkleEdge edge;
        char last_time[32];
        Cursor *hashes, *bodies;
        uint64_t next_body; /* key of the row that the cursor stands on; UINT64_MAX: no more */
        Bytes body;
        uint64_t n_hashes, n_hist, n_verdicts;
        uint64_t seq;       /* of the entry at hand */
} Audit;

/* Notes the first thing that does not hold; returns AUDIT_E_BROKEN. at: at the entry at hand. */
int broken(Audit *a, bool at, const char *what, const char *expected_fmt, ...) _printf_(4, 5);
int broken_found(Audit *a, const char *fmt, ...) _printf_(2, 3);

/* All return 0, AUDIT_E_BROKEN, -errno. */
int fold_entry(Audit *a, const json_t *o, Bytes entry, bool canonical); /* canonical: known to be; else it is looked at here */
int tables_check(Audit *a);
/* certificate.c: what a certificate says was done is what it has to say of these facts (teardown, released_usec, asked, by), in NIST's words. */
bool certificate_says(const RegionFacts *f, const json_t *said_sanitization, const json_t *said_verification);
/* arbitration.c */
int arbitration_defined(Audit *a, const char *name, const json_t *rule);
int arbitration_gathered(Audit *a, const json_t *o, const char *name, const FoldedRegion *r, const FoldedHeld *h);
int arbitration_discarded(Audit *a, const json_t *o, const char *name, const FoldedRegion *r, const FoldedHeld *h);
int arbitration_decided(Audit *a, const json_t *o, const char *name, const SlotRow *slot, uint64_t version);
int arbitration_written(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version);
int arbitration_owed(Audit *a, const json_t *o_or_null);
int arbitration_check(Audit *a, uint64_t *ret_gathered);
/* erased.c: an entry's payload is there, or not (then -ENOENT: it has to be); an entry that erased others; after all entries. */
int erased_payload(Audit *a, const json_t *o, const char *type, bool there);
int erased_entry(Audit *a, const json_t *o, const char *type);
int erased_check(Audit *a);
/* skills.c */
int fold_skill(Audit *a, const json_t *o);
int check_skills(Audit *a);
int body_step(Audit *a);
