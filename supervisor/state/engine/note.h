/* Runs: supervisor, CLI. Working memory: the notes of a run of an agent, in order, until promotion (G-1..G-4). Notes
 * are no part of the ledger and not shared: only the run reads its notes, and the notes go with the end of the run. The
 * transaction of a promotion sets the outcome of the note (G-7). */
#pragma once

#include "base/id.h"
#include "engine/engine.h"
#include "store/table.h"
#include "schema/limits.h" /* NOTE_TEXT_MAX */

#define RUN_ID_MAX REGION_ID_MAX
#define NOTES_MAX 65536 /* of a run */
#define AGENT_NAME_MAX 65

typedef enum NoteRole { NOTE_AGENT = 1, NOTE_TOOL_RESULT } NoteRole;
NoteRole note_role_from_name(const char *name); /* 0 for an unknown name */

typedef enum NoteOutcome {
        NOTE_UNPROCESSED = 0,
        NOTE_COMMITTED,
        NOTE_PENDING,
        NOTE_REJECTED,
        NOTE_INVALID
} NoteOutcome;
const char *note_outcome_name(NoteOutcome o);

typedef struct NoteRun {
        char id[RUN_ID_MAX];
        char agent[AGENT_NAME_MAX];
        uint64_t scope;
        uint64_t notes, processed; /* how many */
        uint64_t settled;          /* all notes up to this number have an outcome */
} NoteRun;

typedef struct Note {
        uint64_t number; /* from 1 */
        NoteRole role;
        NoteOutcome outcome;
        uint64_t usec;   /* real time */
        json_t *row; /* owned: "text"; after promotion "outcome", "code", "message", "raw", "seq", … */
        Bytes raw;       /* the row's bytes, borrowed until the next write or the end of the transaction */
} Note;
#define NOTE_NULL ((Note){0})
void note_deinit(Note *n);
#define _cleanup_note_ _cleanup_(note_deinit)
const char *note_words(const Note *n); /* borrowed */
size_t note_length(const Note *n);     /* in bytes */

/* Begins a run of `agent` ([a-z0-9][a-z0-9._-]{0,63}) in a scope; id NULL: a new id. Returns 0, ENGINE_E_BAD_NAME,
 * ENGINE_E_NO_SCOPE, ENGINE_E_EXISTS, -errno. */
int engine_run_begin(Txn *t, const char *who, const char *region, const char *id, const char *agent, const char *scope,
                     NoteRun *ret, Diag *reterr);
/* Returns 0, ENGINE_E_NO_RECORD, -errno. */
int engine_run_get(Txn *t, const char *id, NoteRun *ret, Diag *reterr);
int engine_run_list(Txn *t, NoteRun **ret, size_t *ret_n);
/* Ends the run and deletes the notes. Unprocessed notes forbid the end without `drop`, and are recorded as dropped
 * (G-4); *ret_dropped: their number. Returns 0, ENGINE_E_NO_RECORD, ENGINE_E_CONFLICT, -errno. */
int engine_run_end(Txn *t, const char *who, const char *region, const char *id, bool drop, uint64_t *ret_dropped,
                   Diag *reterr);

/* Returns 0, ENGINE_E_NO_RECORD, ENGINE_E_EMPTY, ENGINE_E_TOO_LARGE, ENGINE_E_BAD_UTF8, ENGINE_E_CONTROL,
 * ENGINE_E_TOO_MANY, ENGINE_E_KEY_ESCAPE, -errno. */
int engine_note_add(Txn *t, const char *run, NoteRole role, const char *text, size_t n, const KeySet *keys_or_null,
                    uint64_t *ret_number, Diag *reterr);
/* The same for a region in a run of several regions: the note names the region (G-75). */
int engine_note_add_by(Txn *t, const char *run, const char *region, NoteRole role, const char *text, size_t n,
                       const KeySet *keys_or_null, uint64_t *ret_number, Diag *reterr);
/* Drops the unprocessed notes that the region added to a run of several regions, with event note.dropped (I-24).
 * *ret_dropped: their number. Returns 0, ENGINE_E_NO_RECORD, -errno. */
int engine_notes_drop(Txn *t, const char *run, const char *region, uint64_t *ret_dropped);
/* The first note from number `from` on; unprocessed: only unprocessed notes. Returns 0, -ENOENT. */
int engine_note_next(Txn *t, const char *run, uint64_t from, bool unprocessed, Note *ret);
/* Sets the outcome of an unprocessed note. `more`: members for the row; a member "outcome" equals `outcome`. `read`:
 * the note from an earlier read with a copy of `raw`, used instead of a second parse for equal bytes, and its row may
 * be changed; or NULL. Returns 0, -EALREADY for a note with an outcome, -ENOENT. The caller reports the number of
 * settled notes with engine_run_settled(), in the same transaction; `upto`: all notes up to this number have an
 * outcome, 0: unknown. */
int engine_note_settle(Txn *t, const char *run, uint64_t number, const Note *read, NoteOutcome outcome,
                       const json_t *more);
int engine_run_settled(Txn *t, const char *run, uint64_t notes, uint64_t upto);

/* Erases the text of a note with an outcome, and what was said about it; number, outcome and the named event stay. 0,
 * -ENOENT: no such note, its run has ended, or no outcome. */
int engine_note_erase(Txn *t, const char *run, uint64_t number);

/* For scope.c: ends all runs of the scope. ENGINE_E_CONFLICT for unprocessed notes (G-4): then ends none. */
int engine_runs_end(Txn *t, const char *who, uint64_t scope, Diag *reterr);
