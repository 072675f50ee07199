/* Runs: supervisor, CLI. The memory service's answers about records, as JSON objects (schema/memory.md). All of them are reads: nothing changes (M-33).
 * Integers by
 * json_u64(). Each returns 0, ENGINE_E_NO_SCOPE, ENGINE_E_NO_RECORD and the like with a message, -EUCLEAN for stored bytes that do not hold, -errno. */
#pragma once

#include "record/record.h"
#include "engine/scope.h"
#include "memory/query.h"

/* Is this one of the families whose records are saved, archived and deleted? */
bool memory_is_family(Kind k);
/* The same with words; also for a name that is none (M-1). Rulesets have a verb of their own, governed memory has its own ways in. Returns 0,
 * ENGINE_E_BAD_OPERATION. */
int memory_family(const char *name, Kind *ret, Diag *reterr);
/* The record: in which scope, and that it is there. *ret is the caller's when 0. */
int memory_find(Txn *t, const char *scope, Kind kind, const char *id, Record *ret, Diag *reterr);

/* {"scope","kind","id","type"?,"state","version","created","last","payload"|"erased","refs"} and nothing derived (M-12). What was removed has no payload, but
 * "erased": the hash that the ledger has of it (M-38). */
int memory_load(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);
/* Array of {"kind","id","type"?,"state","version","created","time","text"} in the order in which they were made (M-13); text: how the payload begins. What was
 * removed is
 * in it only when the filter's states say so. */
int memory_list(Txn *t, const char *scope, const RecordFilter *f, json_t **ret, Diag *reterr);
/* The same with "score", best first, then by id (M-14). Without words in the query, those that its fields admit, in the order of memory_list(). */
int memory_search(Txn *t, const char *scope, const Query *q, json_t **ret, Diag *reterr);
/* What may be looked at for one answer, by who cannot be trusted to ask for little. */
typedef struct MemoryBound {
        unsigned classes;     /* 1 << Class | …: no other family is looked into */
        size_t records, text; /* so many records, and so many bytes of their text, and then no more */
} MemoryBound;
/* As memory_search(), within the bound; of families that are not in it not even the frequencies of words count. *ret_cut: the bound ended it, and
 * what was not looked at may have had more. Returns ENGINE_E_BAD_PAYLOAD for a query without words. */
int memory_search_within(Txn *t, const char *scope, const Query *q, const MemoryBound *bound, json_t **ret, bool *ret_cut, Diag *reterr);
/* A part of that list. after: the place where the part before ended, or NULL; limit: rows. next: where the next part begins, "" when
 * there is none; it may be there though fewer rows than `limit` are. Returns ENGINE_E_BAD_NAME for an `after` that is no place. */
#define MEMORY_PLACE_MAX 24
int memory_page(Txn *t, const char *scope, const RecordFilter *f, const MemoryBound *bound, const char *after, size_t limit, json_t **ret,
                char next[static MEMORY_PLACE_MAX], Diag *reterr);
/* Array of {"change","version","seq","time","who"|"region","reason"?,"pass"?}, oldest first; change: created, updated, archived, restored, removed, deleted
 * (M-16).
 * Also of what is gone. */
int memory_history(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);
/* A part of it: at most `limit` changes after the one of sequence `after` (0: from the first on). *ret_next: the last one's sequence when there are
 * more, else 0. */
int memory_changes(Txn *t, const char *scope, Kind kind, const char *id, uint64_t after, size_t limit, json_t **ret, uint64_t *ret_next, Diag *reterr);
/* {"support","lineage","invalidation","cleanup"}, computed now (M-17, M-19, M-20). */
int memory_view(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);

/* The row of a list, made of the record when the filter takes it. 1: *ret_row is it, 0: it is not taken. *ret_text: bytes of text that were looked at. */
int memory_row(Txn *t, const RecordFilter *f, const Query *q_or_null, const Record *rec, json_t **ret_row, size_t *ret_text);
/* How the payload begins, what it is about first: its lines side by side and without control characters of ASCII, at most so many bytes, whole characters.
 * New reference or NULL. */
json_t *memory_text(const json_t *payload, size_t most);
