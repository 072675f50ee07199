/* Runs: supervisor, CLI. For claim*.c alone: the claims of a record, and their rows. */
#pragma once

#include "engine/claim.h"
#include "store/store.h"

/* Keys of TABLE_CLAIM begin with the scope's number and a letter:
 * 'c' group, tag, hash of the value, kind, id, NUL, rule -> value: the claims of live records;
 * 'r' kind, id -> the same claims, whether live or not (RecordClaim);
 * 's' kind, id, NUL, rule, NUL, kind, id, NUL, rule -> seq, what either said: a settled pair, once from each side. */
enum { LETTER_CLAIM = 'c', LETTER_RECORD = 'r', LETTER_SETTLED = 's' };
#define HEAD_BYTES (8 + 1)
#define GROUP_BYTES (HEAD_BYTES + CLAIM_GROUP_BYTES)
#define HASH_AT (GROUP_BYTES + 1)
#define PARTY_AT (HASH_AT + 8)
#define PARTY_BYTES (1 + 2 * RECORD_ID_MAX)
#define CLAIM_KEY_MAX (PARTY_AT + 2 * PARTY_BYTES)

/* A claim of a record, as the table has it. */
typedef struct RecordClaim {
        Claim claim;
        char rule[RECORD_ID_MAX];
} RecordClaim;

typedef struct RecordClaims {
        RecordClaim *v; /* owned, in the order of claim_compare() */
        size_t n, room;
} RecordClaims;

void record_claims_deinit(RecordClaims *l);
#define _cleanup_claims_ _cleanup_(record_claims_deinit)
int claim_compare(const void *a, const void *b);

/* Has a record of this kind, and type, claims? */
bool claim_kind(Kind k, const char *type);
/* The claims of a payload, sorted; NULL, or another kind: none. Returns 0 or -errno. */
int claims_of_payload(Txn *t, Kind kind, const char *type, const json_t *payload, RecordClaims *ret);

/* Each writes a part of a key, and returns the number of bytes. */
size_t claim_key_head(uint64_t scope, char letter, uint8_t *key);
size_t claim_key_party(Kind kind, const char *id, const char *rule, uint8_t *key);
/* Key of a claim until its hash, included. */
size_t claim_key_value(uint64_t scope, const Claim *c, uint8_t *key);
/* The opposite of claim_key_party(). Returns 0 or -EUCLEAN. */
int claim_party_read(uint64_t scope, const uint8_t *p, size_t n, Party *ret);
/* The claims of the record in the table; *ret may be empty. Returns 0, -EUCLEAN, -errno. */
int claims_read(Txn *t, const RecordKey *k, RecordClaims *ret);

/* Is the pair settled, without a change since? Returns 1, 0, -errno. */
int claims_settled(Txn *t, const Party *a, const Party *b);
/* Drops the settled pairs of a record that is gone, from both sides. */
int claims_forget_settled(Txn *t, const RecordKey *k);
/* Puts "settled" into the object: the pairs of the party that are settled, and still as they were then. */
int claims_put_settled(Txn *t, const Party *p, json_t *o);
