/* Runs: supervisor, CLI. The memory service's answers about records, as JSON objects (schema/memory.md). All functions
 * only read (M-33). Integers by json_u64(). Each returns 0, ENGINE_E_NO_SCOPE, ENGINE_E_NO_RECORD and the like with a
 * message, -EUCLEAN for damaged bytes of the store, -errno. */
#pragma once

#include "engine/past.h"
#include "record/record.h"
#include "engine/scope.h"
#include "memory/query.h"

/* The kinds whose records are saved, archived and deleted one by one: memory, knowledge, skill. */
extern const Kind memory_families[3];
bool memory_is_family(Kind k);
/* The kind of a family's name, or of its class, with a message for every other name (M-1): kernels have a verb, and
 * notes are the way into governed memory. Returns 0, ENGINE_E_BAD_OPERATION. */
int memory_family(const char *name, Kind *ret, Diag *reterr);
/* The key of a record, which need not exist. Returns 0, ENGINE_E_NO_SCOPE, ENGINE_E_BAD_NAME for an invalid id. */
int memory_key(Txn *t, const char *scope, Kind kind, const char *id, RecordKey *ret, Diag *reterr);
/* Reads the record. The caller owns *ret when the result is 0. */
int memory_find(Txn *t, const char *scope, Kind kind, const char *id, Record *ret, Diag *reterr);

/* {"scope","kind","id","type"?,"state","version","created","last","payload"|"erased","refs"} without derived fields
 * (M-12). A removed record has no payload, but "erased": the hash of the payload in the ledger (M-38). */
int memory_load(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);
/* The same of an earlier moment: version 0 and the record after event `upto`, or a version of the present record. Refs
 * are those of the version. ENGINE_E_NO_RECORD: no such record or version then; ENGINE_E_ERASED: its content is erased
 * (M-64). */
int memory_load_past(Txn *t, const char *scope, Kind kind, const char *id, uint64_t version, uint64_t upto,
                     json_t **ret, Diag *reterr);
/* Array of {"kind","id","type"?,"state","version","created","time","text"} in the order of creation (M-13); text: the
 * beginning of the payload. Removed records are listed only when the filter's states include them. */
int memory_list(Txn *t, const char *scope, const RecordFilter *f, json_t **ret, Diag *reterr);
/* The same with "score", best first, then by id (M-14). A query of fields alone lists records by id, with score 0. */
int memory_search(Txn *t, const char *scope, const MemoryQuery *q, json_t **ret, Diag *reterr);
/* The most that an untrusted caller may cause to be read for an answer. */
typedef struct MemoryBound {
        unsigned classes;     /* 1 << Class | …: only families of these classes are read */
        size_t records, text; /* the limits on records, and on bytes of their text */
} MemoryBound;
/* As memory_search(), within the bound. Other families have no influence, not even by the frequencies of words.
 * *ret_cut: the bound ended the search, unread records may match. Returns ENGINE_E_BAD_PAYLOAD for a query without
 * words. */
int memory_search_within(Txn *t, const char *scope, const MemoryQuery *q, const MemoryBound *bound, json_t **ret,
                         bool *ret_cut, Diag *reterr);
/* A part of memory_list(). after: the end of the previous part, or NULL; limit: rows. next: the beginning of the next
 * part, "" at the end; may be set after fewer than `limit` rows. Returns ENGINE_E_BAD_NAME for an invalid `after`. */
#define MEMORY_PLACE_MAX 24
int memory_page(Txn *t, const char *scope, const RecordFilter *f, const MemoryBound *bound, const char *after,
                size_t limit, json_t **ret, char next[static MEMORY_PLACE_MAX], Diag *reterr);
/* Array of {"change","version","seq","time","who"|"region","reason"?,"pass"?}, oldest first; change: created, updated,
 * archived, restored, removed, deleted (M-16). Also for removed and deleted records. */
int memory_history(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);
/* A part of the history: at most `limit` changes after the sequence `after` (0: from the first on). *ret_next: the last
 * change's sequence when more changes follow, else 0. */
int memory_changes(Txn *t, const char *scope, Kind kind, const char *id, uint64_t after, size_t limit, json_t **ret,
                   uint64_t *ret_next, Diag *reterr);
/* {"support","lineage","invalidation","cleanup"}, computed now (M-17, M-19, M-20). */
int memory_view(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);

/* A row of memory_list(). Returns 1 with *ret_row, 0 when the filter refuses, -errno. *ret_text: bytes of text read. */
int memory_row(Txn *t, const RecordFilter *f, const MemoryQuery *q_or_null, const Record *rec, json_t **ret_row,
               size_t *ret_text);
/* The beginning of the payload, subject first: a line without ASCII control characters, at most `most` bytes, whole
 * characters. New reference or NULL. */
json_t *memory_text(const json_t *payload, size_t most);
