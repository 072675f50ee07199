/* Runs: supervisor, CLI. The rows of the canonical tables: fixed fields, big-endian. Folding the same ledger gives the
 * same bytes. Only engine/ writes rows; belief/ and audit/ read. All functions return 0, -ENOENT, -EUCLEAN, -errno. */
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "schema/limits.h"
#include "store/table.h"

/* Rows of canonical JSON. `most`: the greatest length in bytes. */
int json_row_put(Txn *t, Table table, Bytes key, const json_t *row);
int json_row_parse(Bytes v, size_t most, json_t **ret);
/* Copies the members that `from` has. Returns 0 or -ENOMEM. */
int json_row_keep(json_t *o, const json_t *from, const char *const *members, size_t n);
#define JSON_ROW_KEEP(o, from, members) json_row_keep((o), (from), (members), ARRAY_SIZE(members))
int json_row_number(const json_t *row, const char *member, uint64_t *ret); /* 0 for a missing member */

typedef struct SlotRow {
        uint64_t defined;      /* seq of slot.defined, whose body is the schema */
        uint64_t version;      /* 0: never written */
        uint64_t written;      /* seq of the version's slot.written */
        uint64_t body;         /* seq of the event with the value as body; 0: no value, or erased */
        uint64_t held_version; /* 0: no region holds it */
        uint64_t held_seq;     /* of the newest slot.proposed */
        char held_by[REGION_ID_MAX];
        bool arbitrated;       /* slot.defined has a rule of arbitration; no region ever holds the slot */
} SlotRow;
int slot_row_get(Txn *t, const char *name, SlotRow *ret);
int slot_row_put(Txn *t, const char *name, const SlotRow *row);
int slot_row_decode(Bytes v, SlotRow *ret);

/* Key of hist, gather and verdict: name, NUL, number (version; seq of slot.proposed; seq of slot.arbitrated). */
#define HIST_KEY_MAX (SLOT_NAME_MAX + 1 + 8)
size_t slot_seq_key(const char *name, uint64_t seq, uint8_t ret[static HIST_KEY_MAX]);
int hist_row_put(Txn *t, const char *name, uint64_t version, uint64_t written, uint64_t body);
int hist_row_get(Txn *t, const char *name, uint64_t version, uint64_t *ret_written, uint64_t *ret_body);
/* The version's payload becomes 0: erased. *ret_newly: the version had a payload. */
int hist_row_erase(Txn *t, const char *name, uint64_t version, bool *ret_newly);
int hist_row_decode(Bytes v, uint64_t *ret_written, uint64_t *ret_body);

/* Key of held: region, seq of slot.proposed. Value: version, name. */
#define HELD_KEY_BYTES (REGION_ID_LEN + 8)
void held_key(const char *region, uint64_t seq, uint8_t ret[static HELD_KEY_BYTES]);
typedef struct HeldRow {
        uint64_t seq, version;
        char region[REGION_ID_MAX];
        char name[SLOT_NAME_MAX + 1];
} HeldRow;
int held_row_put(Txn *t, const HeldRow *row);
int held_row_decode(Bytes k, Bytes v, HeldRow *ret);

typedef struct QuorumRow {
        uint64_t seq;                 /* of slot.proposed */
        uint64_t gathered;            /* of slot.gathered */
        char region[REGION_ID_MAX];
        char tree[REGION_ID_MAX]; /* uppermost region that lends a key or has the callback; or `region` */
} QuorumRow;
int gather_row_put(Txn *t, const char *name, const QuorumRow *row);
/* Reads a slot's rows, by seq. Returns the number of rows or -errno; -EUCLEAN for more than `room`. */
int gather_rows(Txn *t, const char *name, QuorumRow *ret, size_t room);
int verdict_row_put(Txn *t, const char *name, uint64_t seq, uint64_t winner);
/* The slot's first verdict from `seq` on. 0, -ENOENT, -errno. */
int verdict_row_next(Txn *t, const char *name, uint64_t seq, uint64_t *ret_seq, uint64_t *ret_winner);

#define BODY_NONCE_BYTES 16
/* The payload of an entry without its nonce: borrowed. */
int body_get(Txn *t, uint64_t seq, Bytes *ret_nonce, Bytes *ret_payload);
/* Erases a payload; the entry keeps the commitment. An erased payload is no error. */
int body_del(Txn *t, uint64_t seq);
