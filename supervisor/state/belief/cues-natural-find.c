/* Runs: supervisor, CLI. What a sentence of plain English says (cues-natural.h): the cues of the table, each held
 * against the sentence, and then the reader of ends. */
#include "belief/cues-natural.h"

#include "engine/payload.h"

#include <stdio.h>
#include <string.h>

#include "belief/cues-natural-patterns.h"

#define END_CONFIDENCE 0.75

/* After the sign ".", words that say only how or when. */
static const char *const tail_words[] = {
        "by",  "in",  "with", "since", "after", "via",       "thanks", "as", "on",
        "now", "and", "so",   "again", "today", "yesterday", "from",   NULL,
};
/* A second word of this list in a sentence makes a second statement. */
static const char *const trigger_words[] = {
        "fixed",     "resolved",   "solved",  "closed", "repaired",   "decided",  "broken", "blocked",
        "forbidden", "prohibited", "learned", "lifted", "superseded", "reversed", NULL,
};

/* Tells whether w is in "a|b|c". */
static bool natural_in_choice(const CueWord *w, const char *choice, size_t n) {
        while (n > 0 && !w->quoted) {
                const char *bar = memchr(choice, '|', n);
                size_t length = bar ? (size_t)(bar - choice) : n;

                if (word_may_be(w, *choice) && word_is_part(w, choice, length))
                        return true;
                choice += length + (bar != NULL);
                n -= length + (bar != NULL);
        }
        return false;
}

static bool natural_is_id(const CueWord *w) {
        char id[RECORD_ID_MAX];

        if (w->n >= sizeof(id) || !memchr(w->s, '_', w->n))
                return false;
        snprintf(id, sizeof(id), "%.*s", (int)w->n, w->s);
        return record_id_valid(KIND_TASK_STATE, id);
}

static bool natural_at_end(const Sentence *s, size_t i) {
        return i > 0 &&
               (i == s->n || s->words[i - 1].stop || (!s->words[i].quoted && word_is_one_of(&s->words[i], tail_words)));
}

static bool natural_matches(const Sentence *s, size_t i, const char *pattern, CueMatch *m) {
        size_t n = strcspn(pattern, " ");
        const char *next = pattern[n] ? pattern + n + 1 : pattern + n;

        if (n == 0) {
                m->last = i;
                return true;
        }
        switch (*pattern) {
        case '@':
                m->about_from = i;
                for (size_t to = i + 1; to < s->n; to++)
                        if (natural_matches(s, to, next, m)) {
                                m->about_to = to;
                                return true;
                        }
                return false;
        case '>': m->rest_from = m->last = i; return i < s->n;
        case '%': m->id = i; return i < s->n && natural_is_id(&s->words[i]) && natural_matches(s, i + 1, next, m);
        case '.': m->last = i; return natural_at_end(s, i);
        case '?':
                return (i < s->n && natural_in_choice(&s->words[i], pattern + 1, n - 1) &&
                        natural_matches(s, i + 1, next, m)) ||
                       natural_matches(s, i, next, m);
        default: return i < s->n && natural_in_choice(&s->words[i], pattern, n) && natural_matches(s, i + 1, next, m);
        }
}

/* "it must not have worked" is a guess about the past. */
static bool natural_is_epistemic(const Sentence *s, const Cue *c, const CueMatch *m) {
        return c->kind == KIND_CONSTRAINT && c->op == OP_UPSERT && m->rest_from > 0 &&
               word_is(&s->words[m->rest_from], "have");
}

/* Tells whether the sentence makes a second statement after the first. */
static bool natural_says_more(const Sentence *s, const Cue *c, const CueMatch *m) {
        return c->takes != TAKES_SENTENCE && c->takes != TAKES_REST_TEXT &&
               sentence_has_any(s, m->last, s->n, trigger_words);
}

static const Cue *natural_find_cue(const Sentence *s, CueMatch *ret, bool *ret_more) {
        *ret_more = false;
        if (s->n == 0 || s->too_long)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(cues); i++) {
                CueMatch m = {0};

                if (!natural_matches(s, 0, cues[i].pattern, &m) ||
                    sentence_is_doubtful(s, cues[i].doubt, &m,
                                         cues[i].takes != TAKES_ABOUT && cues[i].takes != TAKES_NAME &&
                                                 cues[i].takes != TAKES_SENTENCE) ||
                    (cues[i].takes == TAKES_NAME && !sentence_is_name(s, m.about_from, m.about_to)) ||
                    (op_ends(cues[i].op) && sentence_is_partial(s, &m)) || natural_is_epistemic(s, &cues[i], &m))
                        continue;
                *ret = m;
                *ret_more = natural_says_more(s, &cues[i], &m);
                return &cues[i];
        }
        return NULL;
}

/* An end by a cue of the table: the noun phrase, the adverbials and the other clauses have to be as the reader of ends
 * wants them, too. A reference to the end of the sentence ends before the adverbials. */
static bool natural_end_stands(const EndText *t, const Cue *c, CueMatch *m) {
        const bool rest = c->takes == TAKES_REST;
        size_t from = rest ? m->rest_from : m->about_from, to = rest ? end_object_to(t, from) : m->about_to;
        EndClaim claim = {0};

        if (c->kind == KIND_ISSUE && end_has(t, from, to, END_BIT(DENIES)))
                return false;
        for (size_t i = from; i < to; i++) {
                claim.id = t->id[i] ? i + 1 : claim.id;
                if (i > from && !rest && (end_clause_begins(t, i) || end_is(t, i, END_BIT(JOIN))) &&
                    !end_is(t, i, END_BIT(PREPOSITION)))
                        return false;
        }
        claim.own = c->kind == KIND_ISSUE ? to : from;
        claim.own_to = to;
        claim.to = end_tail(t, rest ? to : m->last);
        if (claim.to < t->s->n && !end_clause_begins(t, claim.to) && !end_is(t, claim.to, END_BIT(JOIN)))
                return false;
        if (rest)
                m->rest_to = to;
        return sentence_end_stands(t, &claim);
}

bool natural_find(const Sentence *s, NaturalFound *ret, bool *ret_more) {
        EndText t;
        const Cue *cue;
        int n;

        *ret = (NaturalFound){.s = *s};
        cue = natural_find_cue(s, &ret->m, ret_more);
        if (cue)
                ret->cue = *cue;
        if (cue && !op_ends(cue->op) && cue->takes != TAKES_SENTENCE)
                return true;
        end_text_read(s, &t);
        n = sentence_end(&t, &ret->end);
        if (cue && cue->kind == KIND_ISSUE && !op_ends(cue->op) &&
            end_is(&t, end_skip(&t, 0, END_BIT(ARTICLE)), END_BIT(MEND)))
                return false; /* "The fix for X is broken" is about X, and no new issue */
        if (cue && !op_ends(cue->op)) { /* "We decided against use_postgres" ends a row */
                ret->by_end = n == 1 && ret->end.id;
        } else if (cue && !(n == 1 && ret->end.id) && natural_end_stands(&t, cue, &ret->m)) {
                *ret_more &= n != 1;
                return true;
        } else {
                ret->doubtful = n == 0 && cue && *ret_more;
                ret->by_end = n > 0;
                *ret_more = ret->doubtful || n > 1;
        }
        if (ret->by_end)
                ret->cue = (Cue){"",          ret->end.kind, ret->end.kind == KIND_ISSUE ? OP_RESOLVE : OP_INVALIDATE,
                                 TAKES_ABOUT, DOUBT_ALL,     END_CONFIDENCE};
        return ret->by_end || ret->doubtful || (cue && !op_ends(cue->op));
}
