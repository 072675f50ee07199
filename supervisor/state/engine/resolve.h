/* Runs: supervisor, CLI. Finds the row of a request, if any (G-13 to G-20). Pure: the evidence for each candidate and
 * the thresholds give a verdict. The order of the candidates does not matter.
 *
 * A candidate's score is 1.0 for the id in the request, 0.95 for a name in the note's text, and else 0.45 overlap +
 * 0.25 alias + 0.30 reference (see likeness.h). An explicit name counts first: with an id in the request, or else a
 * name in the text, all other rows are no candidates. The best candidate is bound with a score of at least tau and a
 * lead of at least delta. Exception: the text mentions this or another row without meaning the row (G-68); likeness then
 * decides nothing. An unbound request creates a new row if the operation creates and no row is like it; all others wait.
 * A wrong binding changes a wrong row; a waiting request is visible. OP_APPEND never binds, because an append never
 * rewrites a row: the request is new, or waits. */
#pragma once

#include "base/json.h"
#include "record/kind.h"

/* Chosen on the operating curve of tests/eval/identity (lethe-belief(7), MEASURED IDENTITY). */
#define RESOLVE_TAU 0.55 /* for requests that resolve or invalidate */
#define RESOLVE_DELTA 0.26
#define RESOLVE_CREATE_TAU 0.98 /* for requests that create: similar things are more frequent than repeats */
#define RESOLVE_CREATE_DELTA 0.20
#define RESOLVE_FRESH 0.35 /* a lower score means: not alike */
#define RESOLVE_LEAST 970  /* the least probability to bind a request that ends a row by likeness, in thousandths */
#define RESOLVE_WHOLE 1000 /* probabilities are whole numbers of so many parts */
#define RESOLVE_BUCKETS (KIND_LEARNING - KIND_PLAN + 1)
#define RESOLVE_SHOWN 5    /* candidates in an outcome */

typedef struct ResolvePolicy {
        double tau, delta, create_tau, create_delta, fresh;
        unsigned least;
        unsigned least_of[RESOLVE_BUCKETS]; /* in place of `least`, by kind from KIND_PLAN; 0: `least` */
} ResolvePolicy;
#define RESOLVE_POLICY_DEFAULT                                                                                  \
        ((ResolvePolicy){RESOLVE_TAU, RESOLVE_DELTA, RESOLVE_CREATE_TAU, RESOLVE_CREATE_DELTA, RESOLVE_FRESH, \
                         RESOLVE_LEAST, {0}})
/* The same with the least probability of the kind's bucket (G-71). A kind without a bucket changes nothing. */
ResolvePolicy resolve_policy_of(const ResolvePolicy *p, Kind kind);

typedef struct ResolveCandidate {
        const char *id;                     /* borrowed */
        uint64_t number;                    /* for the caller */
        bool exact;                         /* the request has the row's id */
        bool named; /* the text has the id as a word, or hash or whole title as the meant row (mention.h) */
        bool called;                        /* named by the id */
        bool mentioned;                     /* the text has the hash, or the id, not as the meant row */
        bool aside;                         /* the note is about a noun that the row does not have */
        double overlap, alias, reference;   /* 0 to 1 */
        double score;                       /* set by resolve_decide() */
        bool compared;        /* with a probability (belief/pair.h); else score and lead alone decide */
        unsigned probability; /* of being the right row; in thousandths */
        bool differs;         /* in a number, from what the note names: never bound by likeness */
} ResolveCandidate;

typedef enum ResolveVerdict {
        RESOLVE_BIND = 1,
        RESOLVE_NEW,  /* create */
        RESOLVE_WAIT, /* pending */
} ResolveVerdict;

typedef enum ResolveReason {
        RESOLVE_EXPLICIT = 1, /* bound: by id */
        RESOLVE_NAMED,        /* bound: by name in the text */
        RESOLVE_SCORE,        /* bound: by the best score */
        RESOLVE_NOTHING_LIKE, /* new */
        RESOLVE_NEW_ID,       /* new: no row has the request's id */
        RESOLVE_NO_CANDIDATE, /* waits: no row for the operation, or no named row */
        RESOLVE_WEAK,         /* waits: below tau, or improbable without a second one that is alike */
        RESOLVE_AMBIGUOUS,    /* waits: two rows are alike */
        RESOLVE_ALIKE,        /* waits: would create, but a row is alike */
        RESOLVE_MENTIONED,    /* waits: the likest row is only mentioned */
        RESOLVE_REASON_COUNT_,
} ResolveReason;
/* "explicit", "named", "score" …; NULL for an unknown value. */
const char *resolve_reason_name(ResolveReason r);

typedef struct ResolveOutcome {
        ResolveVerdict verdict;
        ResolveReason reason;
        size_t n;           /* candidates in the choice */
        double best, second; /* scores; 0: none */
} ResolveOutcome;

double resolve_score(const ResolveCandidate *c);
double resolve_likeness(const ResolveCandidate *c); /* without regard to ids and names in the text */
/* Is the best score high enough, and far enough ahead (G-16)? */
bool resolve_binds(double best, double second, double tau, double delta);

/* Sorts the candidates: the choice first, by score and then by id; a bound candidate is the first. op: of governed
 * memory; target: the request's id, or NULL. */
ResolveOutcome resolve_decide(Op op, const char *target, ResolveCandidate *candidates, size_t n,
                              const ResolvePolicy *policy);

/* {"matched_target_id"?,"candidate_matches":[{"id","score","overlap"…}],"resolution_reason","tau","delta"}: the
 * source_ref (G-18) with the thresholds (G-16). Candidates as sorted by resolve_decide(). New reference, NULL: no
 * memory. */
json_t *resolve_source_ref(Op op, const ResolveOutcome *o, const ResolveCandidate *candidates, size_t n,
                           const ResolvePolicy *policy);
