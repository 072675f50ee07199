/* Runs: supervisor, CLI. The end in a sentence (cues-end.h): an end, among explanations and clauses about other
 * rows. */
#include "belief/cues-end.h"

#include <string.h>
#include <strings.h>

/* "> quotation", "[ ] open", "~~struck out~~" */
static bool end_is_marked(const Sentence *s) {
        Piece p = piece_trim((Piece){s->begin, (size_t)(s->end - s->begin)});

        if (p.n > 1 && (p.s[0] == '-' || p.s[0] == '*') && p.s[1] == ' ')
                p = piece_trim((Piece){p.s + 2, p.n - 2});
        return (p.n > 0 && *p.s == '>') || (p.n > 2 && memcmp(p.s, "[ ]", 3) == 0) || memmem(p.s, p.n, "~~", 2) ||
               memmem(p.s, p.n, "\xE2\x9D\x8C", 3);
}

/* The word behind an opening such as "I can confirm". */
static size_t end_opening(const EndText *t) {
        size_t i = end_skip(t, 0, END_BIT(CONFIRMS));
        bool confirms = false;

        for (size_t k = 0; k < i; k++)
                confirms |=
                        !end_is(t, k, END_BIT(DENIES)) &&
                        (end_word_is(t, k, "confirm") || end_word_is(t, k, "confirmed") ||
                         end_word_is(t, k, "verified") || end_word_is(t, k, "checked") || end_word_is(t, k, "say") ||
                         end_word_is(t, k, "report") || end_word_is(t, k, "announce") || end_word_is(t, k, "good") ||
                         end_word_is(t, k, "happy") || end_word_is(t, k, "glad") || end_word_is(t, k, "out"));
        if (confirms && end_word_is(t, i, "that"))
                return i + 1;
        return 0;
}

static bool end_same_word(const CueWord *a, const CueWord *b) {
        return a->n == b->n && strncasecmp(a->s, b->s, a->n) == 0;
}

/* Do the words [from, to) have a name beyond the claim's? */
static bool end_claim_lacks(const EndText *t, size_t from, size_t to, const EndClaim *c) {
        for (size_t i = from; i < to; i++) {
                bool has = c->id != 0 || end_is(t, i, END_BIT(DESCRIBES) | END_BIT(PARTIAL));

                for (size_t k = 0; k < c->n && !has; k++)
                        has = end_same_word(&t->s->words[i], &t->s->words[c->words[k]]);
                if (!has)
                        return true;
        }
        return false;
}

/* A further clause about a different row, by name: "but pandas_import is not". */
static bool end_is_about_other(const EndText *t, size_t from, size_t to, const EndClaim *c) {
        size_t i = end_skip(t, from, END_BIT(JOIN) | END_BIT(ADVERB));

        while (end_is(t, i, END_BIT(ARTICLE)) && i < to)
                i++;
        while (i < to && (end_word_is(t, i, "not") || end_is(t, i, END_BIT(LIKENS))))
                i++;
        if (i >= to)
                return false;
        if (t->id[i])
                return !c->id || !end_same_word(&t->s->words[i], &t->s->words[c->id - 1]);
        for (size_t k = i; k < to && i > from &&
                           !end_is(t, k, END_BIT(NOW_BE) | END_BIT(PREPOSITION) | END_BIT(BACK) | END_BIT(DENIES));
             k++)
                if (end_is(t, k, END_BIT(TROUBLE)) && k > i &&
                    end_claim_lacks(t, i, k, c)) /* "while the login bug remains open" */
                        return true;
        return false;
}

static bool end_tells_past(const EndText *t, size_t from, size_t to) {
        for (size_t i = from; i < to; i++) {
                const CueWord *w = &t->s->words[i];

                if (end_is(t, i, END_BIT(PAST)) && !end_is(t, i, END_BIT(HAVE)) && !end_word_is(t, i, "is") &&
                    !end_word_is(t, i, "are"))
                        return true;
                if (!w->quoted && w->n > 3 && memcmp(w->s + w->n - 2, "ed", 2) == 0)
                        return true;
        }
        return false;
}

/* A colon before word i begins an explanation. */
static bool end_behind_colon(const EndText *t, size_t i) {
        const CueWord *w;

        if (i == 0)
                return false;
        w = &t->s->words[i - 1];
        return w->s + w->n < t->s->end && w->s[w->n] == ':';
}

/* The soft words of the clause are prepositions: "the store is SQLite for all services". */
static bool end_soft_is_place(const EndText *t, size_t from, size_t to) {
        for (size_t i = from; i < to; i++)
                if (end_is(t, i, END_BIT(SOFT)) && !end_word_is(t, i, "for") && !end_word_is(t, i, "on") &&
                    !end_word_is(t, i, "at"))
                        return false;
        return !end_has(t, from, to, END_BIT(DENIES));
}

static bool end_clause_stands(const EndText *t, size_t from, size_t to, const EndClaim *c) {
        const bool before = to <= c->from, past = end_tells_past(t, from, to),
                   joined = end_word_is(t, from, "and") || end_word_is(t, from, "so");

        if (end_is_about_other(t, from, to, c) || end_skip(t, from, END_BIT(JOIN)) >= to)
                return true;
        if (end_has(t, from, to, END_BIT(BACK) | END_BIT(MODAL)) || (!before && end_has(t, from, to, END_BIT(DENIES))))
                return false;
        if (before && end_is(t, from, END_BIT(PLACE)) && !end_is(t, from, END_BIT(ARTICLE)))
                return end_time(t, from) == to;
        if (past)
                return true;
        if (end_has(t, from, to, END_BIT(DENIES) | END_BIT(SOFT)) && (joined || !end_is(t, from, END_BIT(REASON))) &&
            !(end_behind_colon(t, from) && end_has(t, from, to, END_BIT(PAST)) && end_soft_is_place(t, from, to)))
                return false;
        return end_is(t, from, END_BIT(REASON) | END_BIT(NEWS)) || end_behind_colon(t, from) ||
               end_has(t, from, to, END_BIT(PAST) | END_BIT(SUCCESS) | END_BIT(ADVERB));
}

bool sentence_end_stands(const EndText *t, const EndClaim *c) {
        const Sentence *s = t->s;
        size_t opening = end_opening(t);

        if (s->question || s->too_long || end_is_marked(s))
                return false;
        for (size_t i = opening; i < s->n; i++)
                if (end_is(t, i, END_BIT(DOUBT)) && !t->id[i] && !(i >= c->own && i < c->own_to))
                        return false;
        for (size_t from = opening, to; from < s->n; from = to) {
                to = end_clause_to(t, from + 1);
                if (from < c->from && to > c->from)
                        to = c->from;
                else if (from >= c->from && from < c->to) {
                        to = c->to;
                        continue;
                }
                if (!end_clause_stands(t, from, to, c))
                        return false;
        }
        return true;
}

/* The clause that begins at word `from`, with the predicate at word `at`. */
static bool end_read_at(const EndText *t, size_t from, size_t at, EndClaim *ret) {
        EndClaim c = {.from = from};
        EndVerb v;
        bool by_object;

        if (!end_verb_at(t, from, at, &v))
                return false;
        by_object = v.object_to > 0;
        for (size_t i = from + 1; i < at; i++) /* no mark in the noun phrase */
                if (end_clause_begins(t, i))
                        return false;
        if (!end_take_noun(t, by_object ? v.object : from, by_object ? v.object_to : at, v.is, &c) ||
            c.kind == KIND_NONE)
                return false;
        if (c.id && v.more < v.more_to && c.kind == KIND_ISSUE)
                return false;
        for (size_t i = v.more; i < v.more_to && !c.anaphor; i++) {
                EndClaim more = c;

                if (!end_is(t, i, END_BIT(ARTICLE) | END_BIT(PREPOSITION) | END_BIT(ADVERB) | END_BIT(OFTEN)) &&
                    more.n < ARRAY_SIZE(more.words))
                        more.words[more.n++] = (uint8_t)i;
                c = more;
        }
        if (v.plain && !c.anaphor && !c.id && c.n < 2) /* "The tests pass now" is no end of a row */
                return false;
        c.needs = v.needs;
        c.to = end_tail(t, v.to);
        if (c.kind != KIND_ISSUE && c.to > v.to + 1 && end_word_is(t, v.to, "this") &&
            !end_word_is(t, v.to + 1, "morning"))
                return false; /* "cancelled this week": once, and not for good */
        if (c.to < t->s->n && !end_clause_begins(t, c.to) && !end_is(t, c.to, END_BIT(JOIN)))
                return false;
        *ret = c;
        return true;
}

static bool end_read_clause(const EndText *t, size_t from, EndClaim *ret) {
        size_t time = end_time(t, from);

        if (time > from && time < t->s->n && !end_clause_begins(t, time)) /* "Since v2.4 the login bug is gone" */
                from = time;
        for (size_t at = from; at < t->s->n; at++) {
                if (at > from && t->s->words[at - 1].stop && !end_is(t, at, END_BIT(DONE)) &&
                    !end_is(t, at, END_BIT(NOW_BE) | END_BIT(HAVE)) && !end_word_is(t, at, "gone") &&
                    !end_word_is(t, at, "which") && !end_label_ends(t, from, at))
                        return false;
                if (end_read_at(t, from, at, ret))
                        return true;
                if (end_is(t, at, END_BIT(NOW_BE)) &&
                    !end_has(t, from, at, END_BIT(TROUBLE) | END_BIT(RULE) | END_BIT(CHOICE)))
                        return false; /* the finite verb is no end */
        }
        return false;
}

static void end_join(EndClaim *to, const EndClaim *c) {
        for (size_t i = 0; i < c->n && to->n < ARRAY_SIZE(to->words); i++)
                to->words[to->n++] = c->words[i];
        to->needs = to->needs ?: c->needs;
        to->to = c->to;
}

int sentence_end(const EndText *t, EndClaim *ret) {
        EndClaim found = {0}, c;
        size_t i = end_opening(t);
        int n = 0;

        if (t->s->n == 0 || t->s->too_long || t->s->question)
                return 0;
        while (i < t->s->n) {
                size_t next = i + 1;

                if (end_read_clause(t, i, &c)) {
                        next = MAX(next, c.to);
                        if (c.anaphor)
                                ;
                        else if (n == 0 || (c.id && !found.id)) {
                                found = c;
                                n = MAX(n, 1);
                        } else if (c.kind != found.kind ||
                                   (c.id && !end_same_word(&t->s->words[c.id - 1], &t->s->words[found.id - 1])))
                                n = 2;
                        else if (!found.id) /* the row has to know the words of both */
                                end_join(&found, &c);
                }
                for (i = next; i < t->s->n && !end_clause_begins(t, i) && !end_is(t, i - 1, END_BIT(JOIN)); i++)
                        ;
        }
        if (n == 0 || !sentence_end_stands(t, &found))
                return 0;
        *ret = found;
        return n;
}
