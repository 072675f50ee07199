/* Runs: supervisor, CLI. SessionState memory: notes of one run of one agent, in order, each until it was looked at (G-1..G-4). They are no part of the ledger and
 * no shared state: nobody but their run reads them, and they go when it ends. The outcome of a note is set in the transaction that does what it
 * says (G-7). */
#pragma once

#include "base/id.h"
#include "engine/engine.h"
#include "store/table.h"
#include "schema/limits.h" /* NOTE_TEXT_MAX */

#define RUN_ID_MAX REGION_ID_MAX
#define NOTES_MAX 65536 /* of one run */
#define AGENT_NAME_MAX 65

typedef enum NoteRole { NOTE_AGENT = 1, NOTE_TOOL_RESULT } NoteRole;
NoteRole note_role_from_name(const char *name); /* 0 for a name that is none */

typedef enum NoteOutcome { NOTE_UNPROCESSED = 0, NOTE_COMMITTED, NOTE_PENDING, NOTE_REJECTED, NOTE_INVALID } NoteOutcome;
const char *note_outcome_name(NoteOutcome o);

typedef struct Run {
        char id[RUN_ID_MAX];
        char agent[AGENT_NAME_MAX];
        uint64_t scope;
        uint64_t notes, processed; /* how many */
        uint64_t settled;          /* every note up to this number has its outcome */
} Run;

typedef struct Note {
        uint64_t number; /* from 1 */
        NoteRole role;
        NoteOutcome outcome;
        uint64_t usec;   /* real time */
        json_t *row;     /* all of it, owned: "text", and when it was looked at "outcome", "code", "message", "raw", "seq", "degraded" … */
        Bytes raw;       /* its bytes in the table, borrowed until the next write or the end of the transaction */
} Note;
#define NOTE_NULL ((Note){0})
void note_deinit(Note *n);
#define _cleanup_note_ _cleanup_(note_deinit)
const char *note_words(const Note *n); /* borrowed */
size_t note_length(const Note *n);     /* of these, in bytes */

/* Begins a run of `agent` ([a-z0-9][a-z0-9._-]{0,63}) in a scope; id NULL: a new one. Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_NO_SCOPE,
 * ENGINE_E_EXISTS, -errno. */
int engine_run_begin(Txn *t, const char *who, const char *region, const char *id, const char *agent, const char *scope, Run *ret, Diag *reterr);
/* Returns 0, ENGINE_E_NO_RECORD, -errno. */
int engine_run_get(Txn *t, const char *id, Run *ret, Diag *reterr);
int engine_run_list(Txn *t, Run **ret, size_t *ret_n);
/* Ends it, and its notes go. With unprocessed notes it is refused unless `drop`, which is recorded (G-4). *ret_dropped: how many were. Returns 0,
 * ENGINE_E_NO_RECORD, ENGINE_E_CONFLICT, -errno. */
int engine_run_end(Txn *t, const char *who, const char *region, const char *id, bool drop, uint64_t *ret_dropped, Diag *reterr);

/* Returns 0, ENGINE_E_NO_RECORD, ENGINE_E_EMPTY, ENGINE_E_TOO_LARGE, ENGINE_E_BAD_UTF8, ENGINE_E_CONTROL, ENGINE_E_TOO_MANY, ENGINE_E_KEY_ESCAPE, -errno. */
int engine_note_add(Txn *t, const char *run, NoteRole role, const char *text, size_t n, const KeySet *keys_or_null, uint64_t *ret_number, Diag *reterr);
/* The first with a number of at least `from`, unprocessed ones only when asked. Returns 0, -ENOENT. */
int engine_note_next(Txn *t, const char *run, uint64_t from, bool unprocessed, Note *ret);
/* The outcome of a note that has none yet; `more` becomes members of its row, and if it has an "outcome", it is this one. `read`: the note as it was read
 * before, with a copy of raw, so that it is not taken apart again when its bytes are still these: its row may be changed then; or NULL. Returns 0, -EALREADY
 * when it has one, -ENOENT. The run counts it when engine_run_settled() says, in the same transaction, how many there were, and up to which number (0: not
 * known) now all have one. */
int engine_note_settle(Txn *t, const char *run, uint64_t number, const Note *read, NoteOutcome outcome, const json_t *more);
int engine_run_settled(Txn *t, const char *run, uint64_t notes, uint64_t upto);

/* For scope.c: ends all runs of the scope. ENGINE_E_CONFLICT, and none is ended: one has notes that nobody looked at (G-4). */
int engine_runs_end(Txn *t, const char *who, uint64_t scope, Diag *reterr);
