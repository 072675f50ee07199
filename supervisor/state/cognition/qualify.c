#include "cognition/qualify.h"

#include "cognition/atom.h"

#include <string.h>

static const char *const qualify_sources[] = {"document", "model", "tool", "user", "operator", "policy"};
static const char *const clauses[] = {"", "live", "relevant", "trusted", "consistent", "clean", "newest"};

const char *evidence_source_name(EvidenceSource s) {
        return (size_t)s < ARRAY_SIZE(qualify_sources) ? qualify_sources[s] : NULL;
}

EvidenceSource evidence_source_from_name(const char *name) {
        return (EvidenceSource)name_index(qualify_sources, ARRAY_SIZE(qualify_sources), name);
}

const char *qualify_clause_name(QualifyClause c) {
        return (size_t)c < ARRAY_SIZE(clauses) ? clauses[c] : "";
}

QualifyClause qualify_text(EvidenceSource source, const char *text, size_t n) {
        if (qualify_has_directive(text, n))
                return QUALIFY_CLEAN;
        return source < EVIDENCE_USER && qualify_has_rule(text, n) ? QUALIFY_TRUSTED : QUALIFY_OK;
}

static bool qualify_is_word(const AtomWord *w, const char *const *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strlen(list[i]) == w->n && memcmp(list[i], w->p, w->n) == 0)
                        return true;
        return false;
}

/* Words without weight in a constraint, as atom_word_next() gives them. */
static bool qualify_is_small(const AtomWord *w) {
        static const char *const small[] = {"a", "an", "the", "to", "of", "in", "on", "at", "for", "any", "all", "with",
                                            "and", "or", "be", "do", "user", "operator", "policy", "it", "this", "that",
                                            "is", "ar", "are", "us", "use", "our", "my", "your", "by"};

        return qualify_is_word(w, small, ARRAY_SIZE(small));
}

static bool qualify_is_negation(const AtomWord *w) {
        static const char *const negations[] = {"not", "never", "no", "don", "avoid", "without", "cannot", "forbidden",
                                                "prohibit", "instead", "refus", "declin", "won", "shouldn", "mustn"};

        return qualify_is_word(w, negations, ARRAY_SIZE(negations));
}

/* The end of the sentence that begins at `at`: a full stop between digits ends nothing. */
static size_t qualify_sentence(const char *text, size_t n, size_t at) {
        for (; at < n; at++) {
                char c = text[at];

                if (c == '\n' || c == ';' || c == '!' || c == '?' ||
                    (c == '.' && (at + 1 == n || text[at + 1] == ' ' || text[at + 1] == '\n')))
                        break;
        }
        return at;
}

/* Has the sentence all the words, and no negation? */
static bool qualify_says(const char *text, size_t n, const AtomWord *words, size_t n_words) {
        uint64_t found = 0;
        AtomWord w;

        for (size_t at = 0; atom_word_next(text, n, &at, &w);) {
                if (qualify_is_negation(&w))
                        return false;
                for (size_t i = 0; i < n_words; i++)
                        if (words[i].n == w.n && memcmp(words[i].p, w.p, w.n) == 0)
                                found |= UINT64_C(1) << i;
        }
        return n_words > 0 && found == (UINT64_C(2) << (n_words - 1)) - 1;
}

bool qualify_forbidden(const char *constraint, const char *text, size_t n) {
        AtomWord words[ATOM_MAX / 2];
        size_t n_words = 0, all;
        Atom a;

        if (atom_parse(constraint, strlen(constraint), &a, NULL) != 0 ||
            (!atom_is(&a, "must_not") && !atom_is(&a, "avoid")))
                return false;
        all = atom_words(&a, words);
        for (size_t i = 1; i < all; i++) /* the first is the source */
                if (!qualify_is_small(&words[i]))
                        words[n_words++] = words[i];
        n = MIN(n, (size_t)QUALIFY_TEXT_MAX);
        for (size_t at = 0, end; at < n; at = end + 1) {
                end = qualify_sentence(text, n, at);
                if (qualify_says(text + at, end - at, words, n_words))
                        return true;
        }
        return false;
}

size_t qualify_subject(const char *text, size_t n, char ret[static QUALIFY_SUBJECT_MAX]) {
        static const char *const verbs[] = {"is", "ar", "are", "was", "wer", "were", "equal"};
        enum { WORDS_MOST = 6 };

        n = MIN(n, (size_t)QUALIFY_TEXT_MAX);
        for (size_t at = 0, end; at < n; at = end + 1) {
                size_t used = 0, words = 0, from;
                AtomWord w;

                end = qualify_sentence(text, n, at);
                for (from = at; atom_word_next(text, end, &from, &w); words++) {
                        bool verb = words > 0 && qualify_is_word(&w, verbs, ARRAY_SIZE(verbs));

                        if (verb)
                                return used;
                        if (words == WORDS_MOST || used + w.n + 1 >= QUALIFY_SUBJECT_MAX)
                                break;
                        if (qualify_is_small(&w))
                                continue;
                        memcpy(ret + used, w.p, w.n);
                        used += w.n;
                        ret[used++] = ' ';
                        if (from < end && (text[from] == ':' || text[from] == '=')) /* "lag: 3 s" */
                                return used;
                }
        }
        return 0;
}

static QualifyClause qualify_alone(const Ccs *state, const Artifact *a) {
        const CcsList *rules = &state->field[CCS_CONSTRAINTS];
        QualifyClause c = !record_state_live(a->state) ? QUALIFY_LIVE
                          : !a->relevant              ? QUALIFY_RELEVANT
                          : a->judged                 ? QUALIFY_OK
                                                      : qualify_text(a->source, a->text, a->n);

        /* A rule is no action: whoever may state rules is not refused for the words of the rule. */
        if (c == QUALIFY_OK && !(a->source >= EVIDENCE_USER && qualify_has_rule(a->text, a->n)))
                for (size_t i = 0; i < rules->n && c == QUALIFY_OK; i++)
                        if (qualify_forbidden(rules->atoms[i], a->text, a->n))
                                c = QUALIFY_CONSISTENT;
        return c;
}

/* Is b on the same subject as a, or the same text? */
static bool qualify_same(const Artifact *a, const Artifact *b) {
        return (a->n_about > 0 && a->n_about == b->n_about && memcmp(a->about, b->about, a->n_about) == 0) ||
               (a->n == b->n && memcmp(a->text, b->text, a->n) == 0);
}

/* Does a make b old? */
static bool qualify_newer(const Artifact *a, const Artifact *b) {
        return a->last > b->last && a->source >= b->source;
}

/* Takes an artifact among the chosen, unless one of them is newer; older ones leave. */
static void qualify_choose(Artifact *artifacts, size_t i, size_t *n_chosen) {
        Artifact *one = &artifacts[i];

        for (size_t j = 0; j < i && one->clause == QUALIFY_OK; j++)
                if (artifacts[j].clause == QUALIFY_OK && qualify_newer(&artifacts[j], one) &&
                    qualify_same(one, &artifacts[j]))
                        one->clause = QUALIFY_NEWEST;
        for (size_t j = 0; j < i && one->clause == QUALIFY_OK; j++)
                if (artifacts[j].clause == QUALIFY_OK && qualify_newer(one, &artifacts[j]) &&
                    qualify_same(one, &artifacts[j])) {
                        artifacts[j].clause = QUALIFY_NEWEST;
                        --*n_chosen;
                }
        *n_chosen += one->clause == QUALIFY_OK;
}

void qualify(const Ccs *state, Artifact *artifacts, size_t i, size_t *n_chosen) {
        Artifact *a = &artifacts[i];

        a->clause = qualify_alone(state, a);
        if (a->clause != QUALIFY_OK)
                return;
        a->n_about = qualify_subject(a->subject ?: a->text, a->subject ? strlen(a->subject) : a->n, a->about);
        qualify_choose(artifacts, i, n_chosen);
}
