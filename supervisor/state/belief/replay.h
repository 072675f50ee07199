/* Runs: CLI. A history replayed through the interpreter, the evidence and the decision that promotion uses, to count what is bound to the right row, to a
 * wrong one, and what waits. Each row becomes an issue, its subject the title; before that, a row with gold is a note that resolves something. Rows
 * stay open: a change can need more than one fix. No store is needed, the order of time is all the state there is; what rows were called is kept as
 * production keeps it. */
#pragma once

#include "belief/changes.h"
#include "engine/resolve.h"

typedef struct Replay Replay;
/* h is borrowed. Returns 0, -ENOMEM. */
int replay_new(const Changes *h, Replay **ret);
void replay_free(Replay *r);
static inline void replay_freep(Replay **r) {
        replay_free(*r);
}
#define _cleanup_replay_ _cleanup_(replay_freep)

/* What became of one note. */
typedef struct ReplayNote {
        uint32_t row;
        bool read;           /* the interpreter took it; else it waits for a person */
        bool mentions;       /* it names an earlier row by hash or whole title, meant or not (NOTE_AS_IS) */
        bool names;          /* the best candidate is one that the text names and means */
        bool bound, right;   /* right: the best candidate is one of the gold, bound or not */
        bool any;            /* there is a candidate */
        double best, second; /* scores */
        size_t place;        /* of the first right one among the candidates, from 1; 0: it is none of them */
} ReplayNote;
typedef struct ReplayNotes {
        ReplayNote *notes; /* owned */
        size_t n;
} ReplayNotes;
/* memory: rows are also known by what bound notes called them (G-41 to G-43). Returns 0, -ENOMEM. */
int replay_notes(Replay *r, NoteText how, bool memory, const ResolvePolicy *policy, ReplayNotes *ret);
void replay_notes_deinit(ReplayNotes *n);
#define _cleanup_replay_notes_ _cleanup_(replay_notes_deinit)

typedef struct ReplayCount {
        size_t notes, bound, wrong; /* all others wait */
} ReplayCount;
/* Of the notes with the numbers from `from` to before `to`. */
ReplayCount replay_count(const ReplayNotes *n, size_t from, size_t to);
/* All of them under other thresholds. Of a replay without memory it is what another one under these would count: what is bound then changes nothing else. */
ReplayCount replay_count_at(const ReplayNotes *n, double tau, double delta);

/* The subjects as notes that would create, without ids: what becomes of each. Right is a merge into a row of its gold. */
typedef struct ReplayTitles {
        size_t titles, created, waiting, merged, merged_wrong, unread;
} ReplayTitles;
int replay_titles(Replay *r, const ResolvePolicy *policy, ReplayTitles *ret); /* 0, -ENOMEM */
