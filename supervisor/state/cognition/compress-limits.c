/* Runs: supervisor, CLI. A number with a unit that takes the place of the number of a limit: "nothing above 40 euros",
 * then "the limit is 60 euros now"; "under 200 ms", then "200 is too strict, 300 ms is fine". */
#include "cognition/compress-inside.h"

#include "base/ascii.h"
#include "cognition/limits-patterns.h"

#include <strings.h>

#define LIMIT_MEASURES 4
#define LIMIT_UNIT_MAX 16

typedef struct Measure {
        size_t at, end; /* words */
        double number;
        char unit[LIMIT_UNIT_MAX]; /* canonical; empty: a bare number */
        bool money;
} Measure;

typedef struct Limit {
        size_t at; /* the constraint */
        CompressSource source;
        char body[ATOM_MAX + 1];
        Measure m;
        size_t from, to; /* bytes of the measure in the body */
        bool least;      /* "at least" */
} Limit;

static double measure_number(const char *s, size_t n, size_t *ret_n) {
        double v = 0, part = 0;
        size_t i = 0;

        for (; i < n && (ascii_digit(s[i]) || ((s[i] == ',' || s[i] == '.') && i + 1 < n && ascii_digit(s[i + 1]))); i++) {
                if (s[i] == '.') {
                        part = 0.1;
                } else if (s[i] != ',') {
                        v = part > 0 ? v + part * (s[i] - '0') : 10 * v + (s[i] - '0');
                        part /= 10;
                }
        }
        *ret_n = i;
        return v;
}

static void measure_unit(Measure *m, const char *word, size_t n) {
        char w[LIMIT_UNIT_MAX + 2];

        m->unit[0] = '\0';
        if (n == 0 || n >= LIMIT_UNIT_MAX)
                return;
        snprintf(w, sizeof(w), " %.*s ", (int)MIN(n, sizeof(w) - 3), word);
        for (size_t k = 0; k < ARRAY_SIZE(limit_units); k++)
                if (strstr(limit_units[k].words, w)) {
                        snprintf(m->unit, sizeof(m->unit), "%.*s", (int)strcspn(limit_units[k].words + 1, " "),
                                 limit_units[k].words + 1);
                        m->money = limit_units[k].money;
                        return;
                }
        if (n > 3 && word[n - 1] == 's')
                n--;
        snprintf(m->unit, sizeof(m->unit), "%.*s", (int)n, word);
}

/* The measure that begins at word i: "$500", "€40", "200 ms", "512MB", "80 %", "three months", "200". */
static bool measure_read(const PhraseText *t, size_t i, size_t end, Measure *ret) {
        const PhraseWord *w = &t->word[i], *next;
        const char *low = t->low + w->at;
        size_t n = 0, sign = 0;

        *ret = (Measure){.at = i};
        if (w->foreign)
                return false;
        if (*low == '$' && i + 1 < end && t->word[i + 1].digit && t->word[i + 1].gap == 0) {
                measure_unit(ret, "$", 1);
                ret->number = measure_number(low + 1, t->word[i + 1].n, &n);
                ret->end = i + 2;
                return n == t->word[i + 1].n;
        }
        if (w->letter && w->n > 2 && !w->digit) { /* the sign is of two or three bytes of UTF-8 */
                for (sign = 2; sign <= 3 && sign < w->n && !ascii_digit(low[sign]); sign++)
                        ;
                if (sign > 3 || sign >= w->n || !((unsigned char)low[0] & 0x80))
                        sign = 0;
        }
        if (sign > 0) {
                measure_unit(ret, low, sign);
                ret->number = measure_number(low + sign, w->n - sign, &n);
                ret->end = i + 1;
                return ret->money && n == w->n - sign;
        }
        if (w->class & PW_NUMBER)
                ret->number = w->number;
        else if (w->digit)
                ret->number = measure_number(low, w->n, &n);
        else
                return false;
        ret->end = i + 1;
        if (n < w->n && w->digit) { /* "512MB"; "14:30", "2024-11" and "12th" are none */
                static const char *const ordinals[] = {"st", "nd", "rd", "th", "am", "pm"};

                for (size_t k = n; k < w->n; k++)
                        if (!ascii_letter(low[k]))
                                return false;
                for (size_t k = 0; k < ARRAY_SIZE(ordinals); k++)
                        if (w->n == n + 2 && memcmp(low + n, ordinals[k], 2) == 0)
                                return false;
                measure_unit(ret, low + n, w->n - n);
                return ret->unit[0] != '\0';
        }
        next = i + 1 < end ? &t->word[i + 1] : NULL;
        if (next && !next->letter && t->text[next->at] == '%') {
                measure_unit(ret, "%", 1);
                ret->end = i + 2;
        } else if (next && next->letter && next->gap == 1 && !next->digit && !next->foreign &&
                   !(next->class & (PW_MONTH | PW_DAY | PW_ARTICLE | PW_QUESTION | PW_YES | PW_NO | PW_JOIN | PW_NUMBER)) &&
                   (!(next->class & PW_STOP) || next->class & (PW_SPAN | PW_UNIT))) {
                measure_unit(ret, t->low + next->at, next->n);
                ret->end = i + (ret->unit[0] ? 2 : 1);
        }
        return w->digit || ret->unit[0];
}

/* Can one number stand for the other? */
static bool measure_alike(const Measure *a, const Measure *b) {
        return strcmp(a->unit, b->unit) == 0 || (a->money && b->money);
}

static bool limit_read(const Compress *c, size_t at, const Measure *like, bool number, Limit *ret) {
        _cleanup_phrase_text_ PhraseText t = {0};
        Limit l = {.at = at};
        bool found = false;

        if (!constraint_read(c->next.field[CCS_CONSTRAINTS].atoms[at], &l.source, l.body, sizeof(l.body)) ||
            !(strpbrk(l.body, "0123456789") && constraint_limits(l.body)) || phrase_read(l.body, strlen(l.body), &t) < 0)
                return false;
        for (size_t i = 0; i < t.n && !found; i++) {
                if (!measure_read(&t, i, t.n, &l.m))
                        continue;
                found = number ? l.m.number == like->number && (!like->unit[0] || measure_alike(&l.m, like))
                               : measure_alike(&l.m, like) && l.m.number != like->number;
                i = l.m.end - 1;
        }
        if (!found)
                return false;
        l.from = t.word[l.m.at].at;
        l.to = t.word[l.m.end - 1].at + t.word[l.m.end - 1].n;
        l.least = phrase_any(&t, 0, t.n, limit_least, ARRAY_SIZE(limit_least));
        *ret = l;
        return true;
}

static bool limit_says_nothing(const char *word, size_t n) {
        for (size_t k = 0; k < ARRAY_SIZE(limit_idle); k++)
                if (strlen(limit_idle[k]) == n && strncasecmp(limit_idle[k], word, n) == 0)
                        return true;
        return false;
}

/* The words of a limit without number, unit and words of limits. */
static void limit_matter(const Limit *l, char *out, size_t n_out) {
        size_t n = 0, n_word;

        out[0] = '\0';
        for (const char *p = l->body; *p; p += n_word + (p[n_word] == ' ')) {
                n_word = strcspn(p, " ");
                if ((size_t)(p - l->body) + n_word <= l->from || (size_t)(p - l->body) >= l->to)
                        if (!limit_says_nothing(p, n_word) && n + n_word + 2 < n_out)
                                n += (size_t)snprintf(out + n, n_out - n, "%.*s ", (int)n_word, p);
        }
}

/* The limit of the state meant by the words of a clause for a measure: with its number, or the only one of the unit, or the
 * one with most words in common. number: the measure has the limit's own number. */
static bool limit_meant(const Compress *c, const char *words, const Measure *m, bool number, bool sure, Limit *ret) {
        size_t best = 0, n_found = 0, own, mine;
        bool tie = false;

        for (size_t i = 0; i < c->next.field[CCS_CONSTRAINTS].n; i++) {
                char body[ATOM_MAX + 1];
                size_t shared;
                Limit l;

                if (!limit_read(c, i, m, number, &l) || (!number && l.source > c->in->source))
                        continue; /* a number beside a limit of higher rank may be a limit of its own */
                limit_matter(&l, body, sizeof(body));
                shared = rule_shared(words, body, &mine);
                rule_shared(body, words, &own);
                if (!number && !sure && shared == 0 && own > 0 && mine > 0)
                        continue; /* a limit of another matter */
                tie = n_found > 0 && shared == best;
                if (n_found++ == 0 || shared >= best) {
                        *ret = l;
                        best = shared;
                }
        }
        return n_found > 0 && !tie;
}

/* Words between a measure and its verb: "300 ms per request is fine". */
static bool limit_accepts(const PhraseText *t, const Measure *m, size_t end) {
        for (size_t i = m->end; i < end && i < m->end + 5 && t->word[i].letter; i++)
                for (size_t k = 0; k < ARRAY_SIZE(limit_fine); k++)
                        if (phrase_match(t, i, end, limit_fine[k]))
                                return true;
        return false;
}

/* The words of the clause around the measure, without words of limits. */
static void limit_words(const PhraseText *t, size_t at, size_t end, const Measure *m, char *out, size_t n_out) {
        size_t n = 0;

        out[0] = '\0';
        for (size_t i = at; i < end; i++) {
                bool idle = !t->word[i].letter || (i >= m->at && i < m->end) || t->word[i].digit ||
                            limit_says_nothing(t->low + t->word[i].at, t->word[i].n);

                if (!idle && n + t->word[i].n + 2 < n_out)
                        n += (size_t)snprintf(out + n, n_out - n, "%.*s ", (int)t->word[i].n, t->low + t->word[i].at);
        }
}

static void limit_set(Compress *c, Limit *l, const Measure *m, size_t from, size_t end) {
        const PhraseText *t = &c->user;
        char value[PHRASE_ID_MAX], next[2 * ATOM_MAX];
        size_t first = t->word[m->at].at, last = t->word[m->end - 1].at + t->word[m->end - 1].n;

        if (t->word[m->at].class & PW_NUMBER) {
                int n = snprintf(value, sizeof(value), "%u", t->word[m->at].number);

                first += t->word[m->at].n;
                snprintf(value + n, sizeof(value) - (size_t)n, "%.*s", (int)MIN(last - first, sizeof(value) - 8), t->text + first);
        } else {
                snprintf(value, sizeof(value), "%.*s", (int)MIN(last - first, sizeof(value) - 1), t->text + first);
        }
        if (!m->unit[0] && l->m.unit[0] && ascii_digit(l->body[l->from])) /* the unit stays */
                l->to = l->from + strspn(l->body + l->from, "0123456789.,");
        snprintf(next, sizeof(next), "%.*s%s%s", (int)l->from, l->body, value, l->body + l->to);
        c->failed = constraint_rewrite(c, l->at, c->in->source, next);
        for (size_t i = from; i < end; i++)
                c->user.word[i].foreign = true;
}

/* The clause [at, end): up to a comma or "and" with a measure on both sides, the sentence otherwise. */
static size_t limit_clause_end(const PhraseText *t, size_t at, size_t end) {
        for (size_t i = at + 1; i + 1 < end; i++)
                if (phrase_is(t, i, ",") || phrase_is(t, i, ":") || phrase_is(t, i, "so") || phrase_is(t, i, "but"))
                        return i;
        return end;
}

void compress_limits(Compress *c) {
        const PhraseText *t = &c->user;
        Limit old;
        bool pending = false; /* the clause before, from word `unfit_at` on, calls the limit's number unfit */
        size_t unfit_at = 0;
        bool numbers = false;

        for (size_t i = 0; i < c->next.field[CCS_CONSTRAINTS].n && !numbers; i++)
                numbers = strpbrk(c->next.field[CCS_CONSTRAINTS].atoms[i], "0123456789") != NULL;
        for (size_t at = 0, end, sentence = 0; numbers && at < t->n && !c->failed; at = end) {
                Measure m = {0}, bad = {0};
                bool has = false, unfit, turns, names, fine;
                char words[256];
                Limit l;

                if (at >= sentence)
                        sentence = phrase_sentence_end(t, at);
                end = limit_clause_end(t, at, sentence);
                if (t->word[at].foreign || t->text[t->word[sentence - 1].at] == '?' ||
                    phrase_any(t, at, sentence, limit_guesses, ARRAY_SIZE(limit_guesses)))
                        continue;
                for (size_t i = at; i < end; i++) {
                        Measure x;

                        if (!measure_read(t, i, end, &x))
                                continue;
                        i = x.end - 1;
                        if (!bad.end && limit_meant(c, "", &x, true, true, &old))
                                bad = x;
                        else if (!has) {
                                m = x;
                                has = true;
                        }
                }
                unfit = bad.end && phrase_any(t, at, end, limit_unfit, ARRAY_SIZE(limit_unfit));
                if (!has) {
                        unfit_at = unfit ? at : unfit_at;
                        pending = unfit || (pending && !bad.end && end < sentence);
                        continue;
                }
                turns = phrase_any(t, at, sentence, limit_turns, ARRAY_SIZE(limit_turns));
                names = phrase_any(t, at, end, limit_names, ARRAY_SIZE(limit_names));
                fine = limit_accepts(t, &m, end);
                limit_words(t, at, end, &m, words, sizeof(words));
                if ((unfit || pending || (bad.end && turns)) && (!m.unit[0] || measure_alike(&m, &old.m)))
                        l = old;
                else if (!(names || fine) || !limit_meant(c, words, &m, false, names && turns, &l) ||
                         (!names && (l.least ? m.number > l.m.number : m.number < l.m.number)))
                        continue;
                limit_set(c, &l, &m, pending ? unfit_at : at, end);
                pending = false;
        }
}
