/* Runs: supervisor, CLI. Records: what governed memory and the memory service keep, each known by scope, kind and id. The rows are a fold of the
 * ledger (project.h writes them); here they are read, by transactions of any sort. What a record holds is the payload of an event; its row says
 * of which. */
#pragma once

#include "base/json.h"
#include "record/kind.h"
#include "store/table.h"

typedef struct RecordKey {
        uint64_t scope; /* its number: sequence of scope.created */
        Kind kind;
        char id[RECORD_ID_MAX];
} RecordKey;
/* scope (be64), kind, id. Rows of one scope stand together, and those of one kind in it. */
#define RECORD_KEY_HEAD 9
#define RECORD_KEY_MAX (RECORD_KEY_HEAD + RECORD_ID_MAX - 1)
size_t record_key(const RecordKey *k, uint8_t ret[static RECORD_KEY_MAX]);
int record_key_decode(Bytes b, RecordKey *ret); /* 0, -EUCLEAN */
/* id is one that record_id_valid() takes. */
RecordKey record_key_of(uint64_t scope, Kind kind, const char *id);

typedef struct Record {
        RecordKey key;
        RecordState state;
        uint64_t version;
        uint64_t created; /* seq of the event that made it; its number in the index */
        uint64_t last;    /* seq of the newest event about it */
        uint64_t content; /* seq of the event whose body has the payload */
        json_t *row;      /* all of it, owned: also "type", "aliases", "phrases", "agent" */
} Record;
#define RECORD_NULL ((Record){0})
void record_deinit(Record *r);
#define _cleanup_record_ _cleanup_(record_deinit)
/* Returns 0, -ENOENT, -EUCLEAN, -errno. */
int record_get(Txn *t, const RecordKey *k, Record *ret);
/* "episodic" …, "" where the kind has no types. Borrowed. */
const char *record_type(const Record *r);

/* The body of an event as a JSON object: {"payload"?,"refs"?,"aliases"?,"phrases"?,"raw_input"?,"source_ref"?…}. Returns 0, -ENOENT when it was erased, or the
 * event has none, -EUCLEAN, -errno. *ret is owned. */
int record_body(Txn *t, uint64_t seq, json_t **ret);
/* What the record holds now. Returns 0, -ENOENT when it was erased. */
int record_payload(Txn *t, const Record *r, json_t **ret);

/* All records of a scope and kind by id; kind KIND_NONE: of all kinds. *ret is filled anew by each step. */
typedef struct RecordWalk {
        Txn *txn;
        Cursor *cursor;
        uint8_t prefix[RECORD_KEY_HEAD];
        size_t n_prefix;
} RecordWalk;
int record_walk(Txn *t, uint64_t scope, Kind kind, RecordWalk *ret);
/* Those of k's scope and kind that come behind it, be it there or not. */
int record_walk_after(Txn *t, const RecordKey *k, RecordWalk *ret);
int record_walk_next(RecordWalk *w, Record *ret); /* 0, -ENOENT at the end; -EUCLEAN: one cannot be read, ret->key is its key when that can */
void record_walk_deinit(RecordWalk *w);
#define _cleanup_record_walk_ _cleanup_(record_walk_deinit)

/* What was done to a record, oldest first; also to one that is gone, and to those that had its id before. */
typedef struct ChangeWalk {
        Cursor *cursor;
        uint8_t prefix[RECORD_KEY_MAX + 1];
        size_t n_prefix;
} ChangeWalk;
int change_walk(Txn *t, const RecordKey *k, ChangeWalk *ret);
int change_walk_next(ChangeWalk *w, uint64_t *ret_seq, Op *ret_op); /* 0, -ENOENT at the end */
void change_walk_deinit(ChangeWalk *w);
#define _cleanup_change_walk_ _cleanup_(change_walk_deinit)

/* For project.c alone. */
int record_put(Txn *t, const Record *r);
int record_del(Txn *t, const RecordKey *k);
int change_put(Txn *t, const RecordKey *k, uint64_t seq, Op op);
