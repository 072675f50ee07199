/* Runs: supervisor, CLI. The notes of a run, the fate of each, and the pending items of the run (G-64, G-73), for the
 * operator and for the agent of the run. Reads only. */
#pragma once

#include "belief/settle.h"
#include "engine/note.h"

/* A note as the operator sees it: the members of the row, "note" (the number), "time" and "outcome"; takes n->row's
 * members and leaves n as it was but for "usec". Returns 0, -ENOMEM. */
int own_note_show(Note *n, json_t **ret);
/* wait_show(), and "now" of a waiting item, by belief_look(), with the same b. An unreadable item has no "now". Returns 0, -errno. */
int own_pending_show(Txn *t, Bucket *b, const Wait *w, const Trying *by, json_t **ret);

typedef struct OwnAsk {
        const char *run;
        uint64_t after;      /* the number of the last note of the part before; 0: from the first note on */
        size_t limit, bytes; /* rows, and bytes of their JSON; the first row always fits */
        size_t look;         /* notes that may be read */
        bool belief;         /* the caller may read shared belief: rows name what they are about */
} OwnAsk;

/* A part of the notes: {"note","time","role","text","outcome","code"?,"region"?,"pending"?,"pending_state"?}; with
 * belief also {"bucket","operation","id","state","seq","message"…}. pending_state: open, stuck, resolved, dropped… now.
 * *ret_next: where the next part begins; 0: the end. A run that does not exist has no notes. Returns 0, -errno. */
int own_notes(Txn *t, const OwnAsk *ask, json_t **ret, uint64_t *ret_next);
/* A part of the run's waiting items, in the order of notes: own_pending_show() and "number", the note's; without
 * belief {"pending","number","kind","operation","state","attempts","created","reason","note"}. Returns 0, -errno. */
int own_pending(Txn *t, const OwnAsk *ask, const Trying *by, json_t **ret, uint64_t *ret_next);
