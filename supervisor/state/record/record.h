/* Runs: supervisor, CLI. Reads the records of governed memory and the memory service, in any transaction. Scope, kind
 * and id name a record. The rows are a fold of the ledger (project.h writes the rows). The payload of an event holds
 * the content of a record; the row names the event. */
#pragma once

#include "base/json.h"
#include "record/kind.h"
#include "store/table.h"

typedef struct RecordKey {
        uint64_t scope; /* the scope's number: seq of scope.created */
        Kind kind;
        char id[RECORD_ID_MAX];
} RecordKey;
/* Key: scope (be64), kind, id. The rows of a scope stand together, and in a scope the rows of a kind. */
#define RECORD_KEY_HEAD 9
#define RECORD_KEY_MAX (RECORD_KEY_HEAD + RECORD_ID_MAX - 1)
size_t record_key(const RecordKey *k, uint8_t ret[static RECORD_KEY_MAX]);
/* By kind, then by id. */
int record_key_compare(const RecordKey *a, const RecordKey *b);
/* `id` has to pass record_id_valid(). */
RecordKey record_key_of(uint64_t scope, Kind kind, const char *id);

typedef struct Record {
        RecordKey key;
        RecordState state;
        uint64_t version;
        uint64_t created; /* seq of the first event; the record's number in the index */
        uint64_t last;    /* seq of the newest event */
        uint64_t content; /* seq of the event with the payload */
        json_t *row;      /* the whole row, owned; also "type", "aliases", "phrases", "agent" */
} Record;
#define RECORD_NULL ((Record){0})
void record_deinit(Record *r);
#define _cleanup_record_ _cleanup_(record_deinit)
/* Returns 0, -ENOENT, -EUCLEAN, -errno. */
int record_get(Txn *t, const RecordKey *k, Record *ret);
/* "episodic" …; "" for kinds without types. Borrowed. */
const char *record_type(const Record *r);

/* The body of an event as a JSON object: {"payload"?,"refs"?,"aliases"?,"phrases"?,"raw_input"?,"source_ref"?…}.
 * Returns 0, -ENOENT for an erased or missing body, -EUCLEAN, -errno. *ret is owned. */
int record_body(Txn *t, uint64_t seq, json_t **ret);
/* The record's present payload. Returns 0, -ENOENT for an erased payload. */
int record_payload(Txn *t, const Record *r, json_t **ret);

/* All records of a scope and kind by id; KIND_NONE: of all kinds. Each step fills *ret anew. */
typedef struct RecordWalk {
        Cursor *cursor;
} RecordWalk;
int record_walk(Txn *t, uint64_t scope, Kind kind, RecordWalk *ret);
/* The records of k's scope and kind after k. k need not exist. */
int record_walk_after(Txn *t, const RecordKey *k, RecordWalk *ret);
int record_walk_next(RecordWalk *w, Record *ret); /* 0, -ENOENT at the end; -EUCLEAN: ret->key if readable */
void record_walk_deinit(RecordWalk *w);
#define _cleanup_record_walk_ _cleanup_(record_walk_deinit)

/* The operations on a record, oldest first; also on a deleted record and on earlier records of the same id. */
typedef struct ChangeWalk {
        Cursor *cursor;
        size_t n_prefix; /* of each key: the record's and a NUL */
} ChangeWalk;
int change_walk(Txn *t, const RecordKey *k, ChangeWalk *ret);
int change_walk_next(ChangeWalk *w, uint64_t *ret_seq, Op *ret_op); /* 0, -ENOENT at the end */
void change_walk_deinit(ChangeWalk *w);
/* The next id with a change in k's scope and kind, after k's id ("": the first). 0, -ENOENT, -EUCLEAN, -errno. */
int change_next_record(Txn *t, RecordKey *k);
#define _cleanup_change_walk_ _cleanup_(change_walk_deinit)

/* For project.c alone. */
int record_put(Txn *t, const Record *r);
int record_del(Txn *t, const RecordKey *k);
int change_put(Txn *t, const RecordKey *k, uint64_t seq, Op op);
