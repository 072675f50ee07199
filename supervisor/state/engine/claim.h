/* Runs: supervisor, CLI. The claims of live records by group, so that opposed records are found in O(log n) (G-69,
 * M-65): a fold of the ledger, like the index. Constraints, decisions, semantic memory and active rules of kernels have
 * claims (statement.h). A pair of records is no dispute while either record supersedes the other, or while the pair is
 * settled (dispute.settled) and neither record was written anew. */
#pragma once

#include "engine/statement.h"
#include "record/record.h"

#define DISPUTES_MAX 8 /* opposed records of an answer */

/* A record, or a rule of a kernel. */
typedef struct Party {
        RecordKey key;
        char rule[RECORD_ID_MAX]; /* of a kernel; else "" */
} Party;
/* "constraints/no_network", "world_model_kernel/rule". */
#define PARTY_NAME_MAX (32 + RECORD_ID_MAX)
const char *party_name(const Party *p, char ret[static PARTY_NAME_MAX]);
/* The opposite. Returns 0, -EINVAL. */
int party_parse(uint64_t scope, const char *name, Party *ret);

typedef struct Disputes {
        size_t n;
        bool more; /* further opposed records exist */
        Party v[DISPUTES_MAX];
        char of[DISPUTES_MAX][RECORD_ID_MAX]; /* of a kernel: the rule opposed to v; else "" */
} Disputes;
/* The live records opposed to the record, as the tables are now. O(log n): at most CLAIM_STEPS_MAX rows are read for a
 * claim, whatever the number of opposed records. rule: of this rule alone; NULL: of all rules. */
int disputes_of(Txn *t, const Record *rec, const char *rule, Disputes *ret);
/* The same for the record's next payload and references, before the write. */
int disputes_to_be(Txn *t, const RecordKey *k, const char *type, const json_t *payload, const json_t *refs,
                   Disputes *ret);
/* Array of {"kind","id","rule"?,"of"?} (of: the rule of the record itself); new reference, NULL: no memory. */
json_t *disputes_json(const Disputes *d);
/* Puts "disputed" (as disputes_json()), "disputed_more" and "settled" (the pairs that stay, with the seq of the event)
 * into the object, as far as the live record has them. */
int disputes_put(Txn *t, const Record *rec, json_t *o);
/* disputes_put() for one rule of a kernel. */
int disputes_put_rule(Txn *t, const RecordKey *k, const char *rule, json_t *o);

/* Drops the parties of other classes than `classes` (1 << Class | …), which the reader may not read, from the row's
 * "disputed"; "disputed_more" stands in their place. Returns 0, -ENOMEM. */
int disputes_keep(json_t *row, unsigned classes);

/* For project.c alone. */
int claims_project(Txn *t, const Record *rec, Op op, const json_t *body);
/* The pair counts as no dispute until either party is written anew. */
int claims_project_settled(Txn *t, uint64_t seq, const Party *a, const Party *b);
