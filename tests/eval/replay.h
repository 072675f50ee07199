/* Runs: tests. Replays a history through the interpreter, the evidence and the decision of promotion, to count right
 * bindings, wrong bindings and waiting notes. Each row becomes an issue with the subject as title; before that, a row
 * with gold is a note that resolves an issue. Rows stay open, because a change can need more than one fix. No store is
 * needed: the order of time is the whole state. Names of rows are kept as in production. */
#pragma once

#include "tests/eval/changes.h"
#include "engine/resolve.h"

typedef struct Replay Replay;
/* h is borrowed. Returns 0, -ENOMEM. */
int replay_new(const Changes *h, Replay **ret);
void replay_free(Replay *r);
static inline void replay_freep(Replay **r) {
        replay_free(*r);
}
#define _cleanup_replay_ _cleanup_(replay_freep)

/* The result of a note. */
typedef struct ReplayNote {
        uint32_t row;
        bool read;           /* interpreted; else the note waits for a person */
        bool mentions;       /* the note names an earlier row by hash or whole title, meant or not (NOTE_AS_IS) */
        bool names;          /* the text names and means the best candidate */
        bool bound, right;   /* right: the best candidate is gold, bound or not */
        bool any;            /* the note has a candidate */
        double best, second; /* scores */
        size_t place;        /* the first right candidate, from 1; 0: no right candidate */
} ReplayNote;
typedef struct ReplayNotes {
        ReplayNote *notes; /* owned */
        size_t n;
} ReplayNotes;
/* memory: rows are also known by the names in bound notes (G-41 to G-43). Returns 0, -ENOMEM. */
int replay_notes(Replay *r, NoteText how, bool memory, const ResolvePolicy *policy, ReplayNotes *ret);
void replay_notes_deinit(ReplayNotes *n);
#define _cleanup_replay_notes_ _cleanup_(replay_notes_deinit)

typedef struct ReplayCount {
        size_t notes, bound, wrong; /* all other notes wait */
} ReplayCount;
/* Counts the notes [from, to). */
ReplayCount replay_count(const ReplayNotes *n, size_t from, size_t to);
/* Counts all notes under other thresholds, as a new replay would without memory (a binding has no further effect
 * then). */
ReplayCount replay_count_at(const ReplayNotes *n, double tau, double delta);

/* The subjects as notes that create issues, without ids. Right is a merge into a row of the gold. */
typedef struct ReplayTitles {
        size_t titles, created, waiting, merged, merged_wrong, unread;
} ReplayTitles;
int replay_titles(Replay *r, const ResolvePolicy *policy, ReplayTitles *ret); /* 0, -ENOMEM */
