/* Runs: supervisor, CLI. Records as of an event or a time: folds of each record's own changes, found by table change.
 * The work grows with the changes of the records asked for, not with the ledger. Content erased since is not readable.
 * Reads only (M-64). */
#pragma once

#include "engine/engine.h"
#include "record/record.h"

#define PAST_NOW UINT64_MAX /* no moment: the present rows */

/* The last event of a moment, written as the number of an event, or as a time (clock_parse_moment()): the last event up
 * to then. Returns 0, ENGINE_E_BAD_QUERY (neither, before the first event, or in the future: an answer about a time to
 * come could change), -errno. */
int past_moment(Txn *t, const char *text, uint64_t now_usec, uint64_t *ret_seq, Diag *reterr);
/* The record after event `upto`. Returns 0, -ENOENT (no such record then), -EUCLEAN, -errno. */
int past_record(Txn *t, const RecordKey *k, uint64_t upto, Record *ret);
/* The event of a version of the present record; *ret_newest: the present version. Returns 0, -ENOENT without the record
 * or the version (then *ret_newest is 0, or set), -errno. */
int past_version(Txn *t, const RecordKey *k, uint64_t version, uint64_t *ret_seq, uint64_t *ret_newest);

/* All records of a scope and kind as of event `upto`, by id, also those deleted since. PAST_NOW: record_walk(). The
 * caller may lower `look`. */
typedef struct PastWalk {
        Txn *txn;
        uint64_t upto;
        RecordKey last;  /* the walk goes on behind; id "": at the begin */
        size_t look;     /* records that may still be looked at, also those that were not there then; not of PAST_NOW */
        bool cut;        /* the walk ended at `look`, behind `last` */
        RecordWalk now;
} PastWalk;
int past_walk(Txn *t, uint64_t scope, Kind kind, uint64_t upto, PastWalk *ret);
/* Goes on behind k, which need not exist. */
int past_walk_after(Txn *t, const RecordKey *k, uint64_t upto, PastWalk *ret);
int past_walk_next(PastWalk *w, Record *ret); /* as record_walk_next() */
void past_walk_deinit(PastWalk *w);
#define _cleanup_past_walk_ _cleanup_(past_walk_deinit)
