/* Runs: supervisor, CLI. Which row, if any, a request is about (G-13 to G-20). Pure: what speaks for each candidate and the thresholds give one verdict,
 * the same one for each order in which the candidates are given.
 *
 * A candidate's score is 1.0 when the request has its id, 0.95 when the note's text names it, and else
 * 0.45 overlap + 0.25 alias + 0.30 reference (likeness.h measures these). Who says what it means is taken at its word: where a row has its id in
 * the request, or else its name in the text, rows that have not are no candidates. Bound is the best one, when it has at least tau and is at
 * least delta ahead of the next; but not where the text mentions another row by its hash, which then might as well be the one. What binds
 * nothing becomes a new row when it is one of those that create and nothing is like it, and waits otherwise: a wrong binding changes a row
 * that nobody meant, a waiting one is seen. What is appended is never bound, as no row is written twice by it: it is new, or waits. */
#pragma once

#include "base/json.h"
#include "record/kind.h"

/* Chosen on the operating curve that `lethe eval identity` prints (README, "Measured identity"). */
#define RESOLVE_TAU 0.55 /* of what resolves or invalidates */
#define RESOLVE_DELTA 0.26
#define RESOLVE_CREATE_TAU 0.98 /* of what would create: all words the same. Two things are more often alike than one is written anew */
#define RESOLVE_CREATE_DELTA 0.20
#define RESOLVE_FRESH 0.35 /* below it nothing is like it */
#define RESOLVE_SHOWN 5    /* candidates that an outcome tells of */

typedef struct ResolvePolicy {
        double tau, delta, create_tau, create_delta, fresh;
} ResolvePolicy;
#define RESOLVE_POLICY_DEFAULT \
        ((ResolvePolicy){RESOLVE_TAU, RESOLVE_DELTA, RESOLVE_CREATE_TAU, RESOLVE_CREATE_DELTA, RESOLVE_FRESH})

typedef struct ResolveCandidate {
        const char *id;                     /* borrowed */
        uint64_t number;                    /* the caller's own */
        bool exact;                         /* the request has its id */
        bool named;                         /* the text has its id as a word, or says by hash or whole title that it is meant (mention.h) */
        bool called;                        /* named, and that by its id */
        bool mentioned;                     /* the text has its hash, and does not say that it is meant */
        double overlap, alias, reference;   /* 0 to 1 */
        double score;                       /* filled in by resolve_decide() */
} ResolveCandidate;

typedef enum ResolveVerdict {
        RESOLVE_BIND = 1,
        RESOLVE_NEW,  /* create */
        RESOLVE_WAIT, /* pending */
} ResolveVerdict;

typedef enum ResolveReason {
        RESOLVE_EXPLICIT = 1, /* bound: its id */
        RESOLVE_NAMED,        /* bound: its name in the text */
        RESOLVE_SCORE,        /* bound: nothing else is as like */
        RESOLVE_NOTHING_LIKE, /* new */
        RESOLVE_NEW_ID,       /* new: the request has an id that no row has */
        RESOLVE_NO_CANDIDATE, /* waits: there is none that the operation can apply to, or none that the request names */
        RESOLVE_WEAK,         /* waits: below tau */
        RESOLVE_AMBIGUOUS,    /* waits: another is as like */
        RESOLVE_ALIKE,        /* waits: would create, and something is like it */
        RESOLVE_REASON_COUNT_,
} ResolveReason;
/* "explicit", "named", "score" …; NULL for what is none. */
const char *resolve_reason_name(ResolveReason r);

typedef struct ResolveOutcome {
        ResolveVerdict verdict;
        ResolveReason reason;
        size_t n;           /* candidates that were left to choose from */
        double best, second; /* scores; 0 where there is none */
} ResolveOutcome;

double resolve_score(const ResolveCandidate *c);
/* Is the best score enough, and far enough ahead of the next? (G-16) */
bool resolve_binds(double best, double second, double tau, double delta);

/* Sorts the candidates: those left first, by score and then by id; the one that is bound is the first. op: one of governed memory; target: the id in the
 * request, or NULL. */
ResolveOutcome resolve_decide(Op op, const char *target, ResolveCandidate *candidates, size_t n, const ResolvePolicy *policy);

/* {"matched_target_id"?,"candidate_matches":[{"id","score","overlap"…}],"resolution_reason","tau","delta"}: what source_ref keeps (G-18), and by which
 * thresholds (G-16). Candidates as resolve_decide() left them. New reference, NULL: no memory. */
json_t *resolve_source_ref(Op op, const ResolveOutcome *o, const ResolveCandidate *candidates, size_t n, const ResolvePolicy *policy);
