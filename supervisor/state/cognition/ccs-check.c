#include "cognition/ccs-check.h"

#include "cognition/word-set.h"

#include <errno.h>
#include <string.h>

/* Words of the schema need no ground. */
static const char ccs_vocabulary[] = "user operator policy low medium high must not allowed avoid "
                                     "timing before after cause possible depends part of owner gap level";

CcsRank ccs_rank(const char *name, size_t n) {
        static const char *const names[] = {
                [CCS_RANK_USER] = "user", [CCS_RANK_OPERATOR] = "operator", [CCS_RANK_POLICY] = "policy"};

        for (CcsRank r = CCS_RANK_USER; r <= CCS_RANK_POLICY; r++)
                if (strlen(names[r]) == n && memcmp(names[r], name, n) == 0)
                        return r;
        return CCS_RANK_UNVERIFIED;
}

/* An atom of a state. Text that is no atom is refused. */
static int ccs_check_read(CcsField f, const char *text, Atom *ret, Diag *reterr) {
        if (atom_parse(text, strlen(text), ret, reterr) == 0)
                return 0;
        diag_prefix(reterr, "%s", ccs_field_name(f));
        return CCS_E_SYNTAX;
}

static bool ccs_is_possible(const char *atom) {
        return strncmp(atom, "possible(", strlen("possible(")) == 0;
}

/* The words of the state before: of the facts, or of the whole text. */
static int ccs_ground_before(const Ccs *before, bool facts_alone, WordSet *words) {
        int e = 0;

        for (CcsField f = 0; before && f < CCS_FIELDS; f++) {
                const CcsList *l = &before->field[f];

                for (size_t i = 0; i < l->n && !e; i++)
                        if (!facts_alone || (f != CCS_UNCERTAINTY_SIGNAL && !ccs_is_possible(l->atoms[i])))
                                e = word_set_add(words, l->atoms[i], strlen(l->atoms[i]));
        }
        return e;
}

static int ccs_ground_sources(const CcsGround *g, CcsRank least, bool turn_alone, WordSet *words) {
        int e = word_set_add(words, ccs_vocabulary, strlen(ccs_vocabulary));

        for (size_t i = 0; i < g->n && !e; i++)
                if (g->sources[i].rank >= least && (g->sources[i].turn || !turn_alone))
                        e = word_set_add(words, g->sources[i].text, g->sources[i].n);
        return e;
}

int ccs_check_grounding(Ccs *proposal, const CcsGround *ground, bool strict, size_t *ret_dropped, Diag *reterr) {
        _cleanup_word_set_ WordSet words = WORD_SET_NULL;
        size_t dropped = 0;
        Atom a;
        int e = ccs_ground_before(ground->before, false, &words)
                        ?: ccs_ground_sources(ground, CCS_RANK_UNVERIFIED, false, &words);

        for (CcsField f = 0; f < CCS_FIELDS && !e; f++)
                for (size_t i = 0; i < proposal->field[f].n && !e;) {
                        e = ccs_check_read(f, proposal->field[f].atoms[i], &a, reterr);
                        if (e || word_set_has(&words, &a)) {
                                i++;
                                continue;
                        }
                        if (strict)
                                return diag(
                                        reterr, CCS_E_UNGROUNDED,
                                        "%s: \"%s\": a word stands in no input, old state or qualified artifact",
                                        ccs_field_name(f), DIAG_QUOTED(a.text));
                        ccs_remove(proposal, f, i);
                        dropped++;
                }
        if (!e)
                *ret_dropped = dropped;
        return e;
}

int ccs_check_episodic(const Ccs *proposal, const CcsGround *ground, Diag *reterr) {
        const CcsList *l = &proposal->field[CCS_EPISODIC_TRACE];
        _cleanup_word_set_ WordSet words = WORD_SET_NULL;
        Atom a;
        int e = ccs_ground_sources(ground, CCS_RANK_UNVERIFIED, true, &words);

        for (size_t i = 0; i < l->n && !e; i++) {
                e = ccs_check_read(CCS_EPISODIC_TRACE, l->atoms[i], &a, reterr);
                if (!e && !word_set_has(&words, &a))
                        return diag(
                                reterr, CCS_E_CARRIED,
                                "episodic_trace: \"%s\": the trace is about this turn, from its input alone",
                                DIAG_QUOTED(a.text));
        }
        return e;
}

/* Puts possible(atom) in the place, unless the longer atom is too long, too deep, or in the list already. */
static int ccs_check_weaken(Ccs *c, CcsField f, size_t at, const Atom *a, bool *ret_done) {
        Atom weak;
        char *text;

        *ret_done = false;
        if ((f != CCS_RELATIONAL_MAP && f != CCS_EPISODIC_TRACE) || atom_wrap("possible", a, &weak) != 0 ||
            ccs_find(c, f, weak.text) < c->field[f].n)
                return 0;
        text = strndup(weak.text, weak.n);
        if (!text)
                return -ENOMEM;
        free(c->field[f].atoms[at]);
        c->field[f].atoms[at] = text;
        *ret_done = true;
        return 0;
}

int ccs_check_verified(Ccs *proposal, const CcsGround *ground, bool strict, size_t *ret_changed, Diag *reterr) {
        _cleanup_word_set_ WordSet words = WORD_SET_NULL;
        const Ccs *before = ground->before;
        size_t changed = 0;
        Atom a;
        int e = ccs_ground_before(before, true, &words) ?: ccs_ground_sources(ground, CCS_RANK_VERIFIED, false, &words);

        for (CcsField f = 0; f < CCS_FIELDS && !e; f++) {
                CcsList *l = &proposal->field[f];

                if (f == CCS_UNCERTAINTY_SIGNAL || f == CCS_RETRIEVED_ARTIFACTS)
                        continue;
                for (size_t i = 0; i < l->n && !e;) {
                        bool weak = true;

                        e = ccs_check_read(f, l->atoms[i], &a, reterr);
                        if (e || ccs_is_possible(l->atoms[i]) ||
                            (before && ccs_find(before, f, l->atoms[i]) < before->field[f].n) ||
                            word_set_has(&words, &a)) {
                                i++;
                                continue;
                        }
                        if (strict)
                                return diag(reterr, CCS_E_UNVERIFIED,
                                            "%s: \"%s\": unverified text stands as possible(...) or as a gap",
                                            ccs_field_name(f), DIAG_QUOTED(a.text));
                        e = ccs_check_weaken(proposal, f, i, &a, &weak);
                        if (!e && !weak)
                                ccs_remove(proposal, f, i);
                        else
                                i++;
                        changed++;
                }
        }
        if (!e)
                *ret_changed = changed;
        return e;
}

static const CcsField ccs_invariant[] = {CCS_GOAL_ORIENTATION, CCS_CONSTRAINTS};

int ccs_check_retention(const Ccs *before, const Ccs *proposal, const char *const *lifted, size_t n_lifted,
                        Diag *reterr) {
        for (size_t k = 0; k < ARRAY_SIZE(ccs_invariant); k++) {
                CcsField f = ccs_invariant[k];
                const CcsList *l = &before->field[f];

                for (size_t i = 0; i < l->n; i++)
                        if (ccs_find(proposal, f, l->atoms[i]) == proposal->field[f].n &&
                            name_index(lifted, n_lifted, l->atoms[i]) == n_lifted)
                                return diag(reterr, CCS_E_LOST,
                                            "%s: \"%s\" is missing, and no source of its rank lifted it",
                                            ccs_field_name(f), DIAG_QUOTED(l->atoms[i]));
        }
        return 0;
}

int ccs_check_authority(const Ccs *proposal, const CcsGround *ground, Diag *reterr) {
        static const char *const names[] = {
                [CCS_RANK_USER] = "user", [CCS_RANK_OPERATOR] = "operator", [CCS_RANK_POLICY] = "policy"};
        const Ccs *before = ground->before;
        Atom a;
        int e = 0;

        for (CcsRank rank = CCS_RANK_USER; rank <= CCS_RANK_POLICY && !e; rank++) {
                _cleanup_word_set_ WordSet words = WORD_SET_NULL;

                e = ccs_ground_sources(ground, rank, false, &words);
                for (size_t k = 0; k < ARRAY_SIZE(ccs_invariant) && !e; k++) {
                        CcsField f = ccs_invariant[k];
                        const CcsList *l = &proposal->field[f];

                        for (size_t i = 0; i < l->n && !e; i++) {
                                if (before && ccs_find(before, f, l->atoms[i]) < before->field[f].n)
                                        continue;
                                e = ccs_check_read(f, l->atoms[i], &a, reterr);
                                if (!e &&
                                    (f == CCS_CONSTRAINTS ? atom_arg_is(&a, 0, names[rank]) : rank == CCS_RANK_USER) &&
                                    !word_set_has(&words, &a))
                                        return diag(reterr, CCS_E_AUTHORITY,
                                                    "%s: \"%s\": the %s, or a source of a higher rank, has to say so",
                                                    ccs_field_name(f), DIAG_QUOTED(a.text), names[rank]);
                        }
                }
        }
        return e;
}
