/* Runs: supervisor, CLI. Progress: the active hypothesis, and the next step (C-12, C-43, C-44). Both stand until another
 * takes the place, or a text says how the matter ended. A hypothesis is a gap of the uncertainty (C-32); a cue binds
 * nobody. */
#include "cognition/compress-inside.h"
#include "cognition/cues-patterns.h"

#define CUE_WORDS 64 /* bytes */

#define CUE_ANY(t, at, end, list) phrase_any(t, at, end, list, ARRAY_SIZE(list))

/* The first word behind the pattern at the beginning of the sentence, or `end`; a rule behind the pattern is a rule. */
static size_t cue_at(const PhraseText *t, size_t at, size_t end, const char *const *list, size_t n_list) {
        for (size_t i = at; i < end && i < at + 4; i++) {
                bool before = !t->word[i].letter;
                size_t best = 0;

                for (size_t k = 0; k < n_list; k++)
                        if (phrase_may(t->low + t->word[i].at, list[k]))
                                best = MAX(best, phrase_match(t, i, end, list[k]));
                if (best > 0)
                        return i + best < end && CUE_ANY(t, i + best, MIN(end, i + best + 2), cue_rules) ? end : i + best;
                for (size_t k = 0; k < ARRAY_SIZE(cue_before) && !before; k++)
                        before = phrase_is(t, i, cue_before[k]);
                if (!before)
                        break;
        }
        return end;
}

/* The argument of the cue `name`; false: another atom. */
static bool cue_read(const char *atom, const char *name, char *out, size_t n_out) {
        Atom a;

        if (atom_parse(atom, strlen(atom), &a, NULL) != 0 || !atom_is(&a, name))
                return false;
        if (a.n_parts == 2 && a.parts[1].kind == ATOM_STRING) {
                atom_part_text(&a, 1, out);
        } else {
                const char *s;
                size_t n;

                if (!atom_arg(&a, 0, &s, &n) || n >= n_out)
                        return false;
                snprintf(out, n_out, "%.*s", (int)n, s);
        }
        return true;
}

static void cue_load(Compress *c) {
        const Ccs *p = c->in->previous;

        for (size_t i = 0; i < p->field[CCS_PREDICTIVE_CUE].n; i++)
                cue_read(p->field[CCS_PREDICTIVE_CUE].atoms[i], "next", c->step, sizeof(c->step));
        for (size_t i = 0; i < p->field[CCS_UNCERTAINTY_SIGNAL].n && c->n_hypotheses < COMPRESS_HYPOTHESES; i++)
                c->n_hypotheses += cue_read(p->field[CCS_UNCERTAINTY_SIGNAL].atoms[i], "hypothesis",
                                            c->hypothesis[c->n_hypotheses], sizeof(c->hypothesis[0]));
}

static void cue_hypothesis_drop(Compress *c, size_t at) {
        memmove(c->hypothesis[at], c->hypothesis[at + 1], (c->n_hypotheses - at - 1) * sizeof(c->hypothesis[0]));
        c->n_hypotheses--;
}

/* Have the words at least half of the cue's in common with the sentence? */
static bool cue_speaks_of(const PhraseText *t, size_t at, size_t end, const char *cue) {
        char words[256];
        size_t n, shared;

        rule_words(t, at, end, words, sizeof(words));
        shared = rule_shared(cue, words, &n);
        return shared > 0 && 2 * shared >= n;
}

/* The words say nothing else. */
static void cue_taken(PhraseText *t, size_t at, size_t end) {
        for (size_t i = at; i < end; i++)
                t->word[i].foreign = true;
}

/* A hypothesis that ended. The user's word alone makes a cause of a hypothesis. */
static int cue_end(Compress *c, PhraseText *t, size_t at, size_t end, bool user) {
        static const char *const names[] = {"hypothesis", "theory", "suspicion"};
        bool confirmed, named;
        int e = 0;

        if (c->n_hypotheses == 0 && !c->step[0])
                return 0;
        confirmed = CUE_ANY(t, at, end, cue_confirmed);
        named = CUE_ANY(t, at, end, names);
        if (c->step[0] && CUE_ANY(t, at, end, cue_done) && cue_speaks_of(t, at, end, c->step))
                c->step[0] = '\0';
        if (!confirmed && !CUE_ANY(t, at, end, cue_refuted))
                return 0;
        for (size_t i = c->n_hypotheses; i-- > 0;) {
                if (!cue_speaks_of(t, at, end, c->hypothesis[i]) && !(named && c->n_hypotheses == 1))
                        continue;
                if (confirmed && user)
                        e = compress_add(c, CCS_RELATIONAL_MAP, "cause", &(const char *){c->hypothesis[i]}, 1);
                if (!confirmed || user)
                        cue_hypothesis_drop(c, i);
                cue_taken(t, at, end);
                break;
        }
        return e;
}

static int cue_text(Compress *c, PhraseText *t, bool user) {
        int e = 0;

        for (size_t at = 0, end, from; at < t->n && !e; at = end) {
                char words[CUE_WORDS];

                end = phrase_sentence_end(t, at);
                if (t->word[at].foreign || t->text[t->word[end - 1].at] == '?')
                        continue;
                if ((from = cue_at(t, at, end, cue_hypothesis, ARRAY_SIZE(cue_hypothesis))) + 1 < end &&
                    !CUE_ANY(t, at, end, cue_confirmed) && !CUE_ANY(t, from, MIN(end, from + 3), cue_refuted) &&
                    rule_words(t, from, end, words, sizeof(words)) > 0) {
                        for (size_t i = c->n_hypotheses; i-- > 0;)
                                if (cue_speaks_of(t, from, end, c->hypothesis[i]))
                                        cue_hypothesis_drop(c, i);
                        if (c->n_hypotheses == COMPRESS_HYPOTHESES)
                                cue_hypothesis_drop(c, 0);
                        snprintf(c->hypothesis[c->n_hypotheses++], sizeof(c->hypothesis[0]), "%s", words);
                } else if ((from = cue_at(t, at, end, cue_next, ARRAY_SIZE(cue_next))) + 1 < end &&
                           rule_words(t, from, end, words, sizeof(words)) > 0) {
                        snprintf(c->step, sizeof(c->step), "%s", words);
                } else {
                        e = cue_end(c, t, at, end, user);
                        continue;
                }
                cue_taken(t, at, end);
        }
        return e;
}

int compress_cues(Compress *c) {
        cue_load(c);
        return cue_text(c, &c->decision, false) ?: cue_text(c, &c->user, true);
}

int compress_cues_store(Compress *c) {
        int e = 0;

        for (size_t i = 0; i < c->n_hypotheses && !e; i++)
                e = compress_add(c, CCS_UNCERTAINTY_SIGNAL, "hypothesis", &(const char *){c->hypothesis[i]}, 1);
        if (!e && c->step[0])
                e = compress_add(c, CCS_PREDICTIVE_CUE, "next", &(const char *){c->step}, 1);
        return e;
}
