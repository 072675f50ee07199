/* Runs: supervisor, CLI. Inside of audit/. */
#pragma once

#include "audit/audit.h"
#include "audit/history.h"
#include "base/hash.h"
#include "base/json.h"
#include "engine/rows.h"
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
        bool settled;
} FoldedHeld;

typedef struct FoldedRegion {
        uint64_t allocated, n_held, room, n_settled;
        FoldedHeld *held; /* owned */
        struct FoldedRegion *parent; /* borrowed; NULL: no region started it */
        uint64_t n_below;            /* regions below that have not ended */
        bool released, ended, broke; /* broke: region.faulted was recorded, so nothing may be kept (I-24) */
} FoldedRegion;

typedef struct Audit {
        AuditReport *report;
        Txn *txn;
        Map regions, slots, skills; /* FoldedRegion; SlotRow; of skills.c */
        MerkleEdge edge;
        char last_time[32];
        Cursor *hashes, *bodies;
        uint64_t next_body; /* key of the row that the cursor stands on; UINT64_MAX: no more */
        Bytes body;
        uint64_t n_hashes, n_hist;
        uint64_t seq;       /* of the entry at hand */
} Audit;

/* Notes the first thing that does not hold; returns AUDIT_E_BROKEN. at: at the entry at hand. */
int broken(Audit *a, bool at, const char *what, const char *expected_fmt, ...) _printf_(4, 5);
int broken_found(Audit *a, const char *fmt, ...) _printf_(2, 3);

/* All return 0, AUDIT_E_BROKEN, -errno. */
int fold_entry(Audit *a, const json_t *o, Bytes entry);
int tables_check(Audit *a);
/* certificate.c: what a certificate says was done is what it has to say of these facts (teardown, released_usec, asked, by), in NIST's words. */
bool certificate_says(const RegionFacts *f, const json_t *said_sanitization, const json_t *said_verification);
/* skills.c */
int fold_skill(Audit *a, const json_t *o);
int check_skills(Audit *a);
int body_step(Audit *a);
