/* Runs: supervisor, CLI. The checks of a proposed state beside its form: no goal is lost, no word invented, no
 * unverified text a fact (C-6, C-24, C-30..C-33). Pure. The order of the calls for a proposal:
 * ccs_check_grounding(), ccs_check_episodic(), ccs_check_verified(), ccs_check_retention(), ccs_check_authority(),
 * ccs_fit(), ccs_validate(). */
#pragma once

#include "cognition/ccs.h"

/* Who says a text, the weaker first. */
typedef enum CcsRank {
        CCS_RANK_UNVERIFIED, /* a recalled document, the agent's own decision: never a fact by itself */
        CCS_RANK_VERIFIED,   /* a tool's output, a qualified artifact that is trusted for what it asserts */
        CCS_RANK_USER,
        CCS_RANK_OPERATOR,
        CCS_RANK_POLICY,
} CcsRank;
/* "user", "operator", "policy"; CCS_RANK_UNVERIFIED for any other text. */
CcsRank ccs_rank(const char *name, size_t n);

/* A text of x_t or of a qualified artifact; also "ev12@1" for an artifact that may be referred to. Borrowed. */
typedef struct CcsSource {
        const char *text;
        size_t n;
        CcsRank rank;
        bool turn; /* of x_t */
} CcsSource;

/* The ground of all atoms. */
typedef struct CcsGround {
        const Ccs *before; /* CCS_{t-1}; NULL: none. possible(...) and gaps are unverified, all else verified */
        const CcsSource *sources;
        size_t n;
} CcsGround;

enum {
        CCS_E_LOST = 16,  /* a goal or constraint of the state before is missing */
        CCS_E_UNGROUNDED, /* strict: a word of an atom stands in no source */
        CCS_E_CARRIED,    /* an atom of episodic_trace is not of this turn */
        CCS_E_UNVERIFIED, /* strict: an unverified atom is stated as a fact */
        CCS_E_AUTHORITY,  /* a goal or a constraint is new, and no source of the rank said so */
};

/* Every word of every atom's arguments must stand in a source (atom_word_next()); words of the schema (user,
 * must_not, low, after, ...) need no ground. An ungrounded atom is removed and counted, or refused under `strict`.
 * Returns 0, -ENOMEM, CCS_E_UNGROUNDED. */
int ccs_check_grounding(Ccs *proposal, const CcsGround *ground, bool strict, size_t *ret_dropped, Diag *reterr);
/* Every atom of episodic_trace must be grounded in x_t alone. Returns 0, -ENOMEM, CCS_E_CARRIED. */
int ccs_check_episodic(const Ccs *proposal, const CcsGround *ground, Diag *reterr);
/* An atom that is grounded only with unverified texts may stand as possible(...) or in uncertainty_signal (C-32). In
 * relational_map and episodic_trace the atom becomes possible(...), elsewhere the atom is removed. References to
 * artifacts stay, and so do atoms of the same field before. An offer that the user accepts: give the offer's text as a
 * source of the user. ret_changed: how many. Returns 0, -ENOMEM, CCS_E_UNVERIFIED under `strict`. */
int ccs_check_verified(Ccs *proposal, const CcsGround *ground, bool strict, size_t *ret_changed, Diag *reterr);
/* Every goal and constraint of `before` must be in the proposal, or among `lifted` (canonical atoms). Returns 0,
 * CCS_E_LOST. */
int ccs_check_retention(const Ccs *before, const Ccs *proposal, const char *const *lifted, size_t n_lifted,
                        Diag *reterr);
/* Every new goal and constraint must be grounded in texts of a sufficient rank: at least the rank that the constraint
 * names, at least user for a goal. Returns 0, -ENOMEM, CCS_E_AUTHORITY. */
int ccs_check_authority(const Ccs *proposal, const CcsGround *ground, Diag *reterr);

/* Evicts until the text is within the bound: retrieved_artifacts oldest first, relational_map least supported (the
 * fewest words in goals, constraints and focal entities) and then oldest, focal_entities, predictive_cue,
 * episodic_trace, gaps oldest first, the gist's last atoms. Goals, constraints, the level and the gist's first atom are
 * never evicted. ret_evicted (may be NULL, else CCS_NULL before) takes the evicted atoms. Returns 0, -ENOMEM,
 * CCS_E_OVER_BUDGET (no atom is evicted). */
int ccs_fit(Ccs *c, const CcsBound *bound, Ccs *ret_evicted, Diag *reterr);
