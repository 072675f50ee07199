/* Runs: supervisor, CLI. Named parameters, by a table of patterns. */
#include "cognition/named-patterns.h"

#include "base/ascii.h"

#define NAMED_RUN 9   /* words of a noun */
#define NAMED_WORDS 7 /* words of a value */

#define NAMED_IS(t, i, end, list) named_is(t, i, end, list, ARRAY_SIZE(list))

static bool named_is(const PhraseText *t, size_t i, size_t end, const char *const *list, size_t n) {
        for (size_t k = 0; k < n; k++)
                if (phrase_may(t->low + t->word[i].at, list[k]) && phrase_match(t, i, end, list[k]))
                        return true;
        return false;
}

/* The bytes of a pattern's first word. */
static size_t named_word(const char *p) {
        size_t n = 0;

        while (p[n] && p[n] != ' ')
                n++;
        return n;
}

static char named_sign(const PhraseText *t, size_t i) {
        return t->word[i].letter ? '\0' : t->text[t->word[i].at];
}

/* The dot of "Dr.". */
static bool named_dot(const PhraseText *t, size_t i) {
        return named_sign(t, i) == '.' && i > 0 && t->word[i].gap == 0 && t->word[i - 1].letter &&
               !phrase_ends_sentence(t, i);
}

/* Is the noun or value over before word i? */
static bool named_over(const PhraseText *t, size_t i, size_t end) {
        char c;

        if (i >= end || t->word[i].foreign || t->word[i].gap == 2)
                return true;
        c = named_sign(t, i);
        return (c && !named_dot(t, i) && c != '$' && c != '%' && c != '#' && c != '/' && c != '&' && c != '_' && c != '+' && c != '-' &&
                (unsigned char)c < 0x80) ||
               NAMED_IS(t, i, end, named_ends);
}

static bool named_digit(const PhraseText *t, size_t i) {
        for (size_t k = 0; k < t->word[i].n; k++)
                if (ascii_digit(t->low[t->word[i].at + k]))
                        return true;
        return false;
}

/* An identifier in lower case: "r.faye", "vault-north". */
static bool named_mark(const PhraseText *t, size_t i) {
        for (size_t k = 1; k + 1 < t->word[i].n; k++)
                if (strchr(".-_:/@", t->low[t->word[i].at + k]))
                        return true;
        return false;
}

/* Are the words [at, end) a value? plain: words of content alone are enough. */
static bool named_value(const PhraseText *t, size_t at, size_t end, bool plain) {
        bool digit = false, sure = false, content = false;
        size_t tos = 0;

        if (end <= at || end - at > NAMED_WORDS)
                return false;
        for (size_t i = at; i < end; i++) {
                const PhraseWord *w = &t->word[i];
                char c = named_sign(t, i);

                if (w->foreign)
                        return false;
                if (!w->letter) {
                        if ((unsigned char)c < 0x80 && !strchr("$%#/&+-", c) && !named_dot(t, i))
                                return false;
                        continue;
                }
                if (named_digit(t, i) || w->class & (PW_DAY | PW_NUMBER)) {
                        digit = sure = true;
                        continue;
                }
                if (w->class & PW_MONTH && (w->capital || i > at)) {
                        sure = true;
                        continue;
                }
                if (w->capital && !(w->class & PW_STOP && w->begins) && !(w->class & PW_ARTICLE && i == at)) {
                        sure |= !w->begins || end - at > 1;
                        content = true;
                        continue;
                }
                if (digit && (w->class & (PW_SPAN | PW_UNIT) || phrase_match(t, i, end, "am") ||
                              phrase_match(t, i, end, "pm") || phrase_match(t, i, end, "a.m.") ||
                              phrase_match(t, i, end, "p.m.")))
                        continue;
                if (i > at && i + 1 < end && w->class & PW_JOIN && !NAMED_IS(t, i, end, named_apart)) {
                        tos += (w->class & PW_TO) != 0;
                        if (tos > 1)
                                return false;
                        if (w->class & PW_TO && !(named_digit(t, i + 1) || t->word[i + 1].class & PW_NUMBER))
                                return false;
                        continue;
                }
                if (phrase_match(t, i, end, "noon") || phrase_match(t, i, end, "midnight") ||
                    phrase_match(t, i, end, "tomorrow") || phrase_match(t, i, end, "today") ||
                    phrase_match(t, i, end, "tonight")) {
                        sure = true;
                        continue;
                }
                if (w->class & PW_ARTICLE && i == at && !plain)
                        return false;
                if (w->class & PW_ARTICLE)
                        continue;
                if (w->class & PW_STOP && !(w->class & (PW_UNIT | PW_SPAN | PW_PART | PW_THIS)))
                        return false;
                if (!digit && !plain && !named_mark(t, i))
                        return false;
                content = true;
                sure |= named_mark(t, i);
        }
        return sure || (plain && content && end - at <= 3);
}

/* The words of a value as said. */
static void named_id(const PhraseText *t, size_t at, size_t end, char out[static PHRASE_ID_MAX]) {
        size_t from = at, to = end - 1, n;

        while (from < to && t->word[from].class & PW_ARTICLE && !named_digit(t, from))
                from++;
        if (from + 2 <= to && t->word[from].n > 1 && named_dot(t, from + 1))
                from += 2; /* "Dr. Shah": the name alone, as elsewhere */
        n = t->word[to].at + t->word[to].n - t->word[from].at;
        if (n >= PHRASE_ID_MAX)
                n = PHRASE_ID_MAX - 1;
        memcpy(out, t->text + t->word[from].at, n);
        while (n > 0 && ((unsigned char)out[n - 1] & 0xc0) == 0x80) /* no half character */
                n--;
        if (n > 0 && (unsigned char)out[n - 1] >= 0xc0)
                n--;
        out[n] = '\0';
        for (size_t i = 0; i < n; i++)
                if ((unsigned char)out[i] < 0x20)
                        out[i] = ' ';
}

/* "window's" is window; letters and digits stay. */
static size_t named_add(char *out, size_t n, const char *word, size_t n_word) {
        size_t from = n;

        if (n_word > 2 && word[n_word - 1] == 's' && word[n_word - 2] == '\'')
                n_word -= 2;
        else if (n_word > 4 && word[n_word - 1] == 's' && memcmp(word + n_word - 4, "\xe2\x80\x99", 3) == 0)
                n_word -= 4;
        if (n + n_word + 1 > NAMED_NOUN_MAX)
                return n;
        if (n > 0)
                out[n++] = '_';
        for (size_t i = 0; i < n_word; i++)
                if (ascii_letter(word[i]) || ascii_digit(word[i]) || word[i] == '_')
                        out[n++] = ascii_lower(word[i]);
        return n > from + 1 || (from == 0 && n > 0) ? n : from;
}

static bool named_group(const PhraseWord *w) {
        return w->class & (PW_JOIN | PW_PLACE | PW_FROM | PW_TO | PW_UNTIL) && !(w->class & PW_ARTICLE);
}

bool named_noun(const PhraseText *t, size_t at, size_t end, char ret[static NAMED_NOUN_MAX + 1]) {
        static const char *const relative[] = {"that", "which", "who", "whose", "where", "we", "you", "i", "when"};
        static const char *const degree[] = {"better", "right", "correct", "actual", "best", "safer", "proper"};
        size_t begin[NAMED_RUN], stop[NAMED_RUN], groups = 0, words = 0, n = 0;
        size_t order[3], clause = 0, behind = 0;

        while (at < end && (t->word[at].class & PW_ARTICLE || !t->word[at].letter))
                at++;
        while (at + 1 < end && NAMED_IS(t, at, end, degree)) /* "a better error budget" */
                at++;
        for (size_t i = at; i < end && groups < NAMED_RUN; i++) {
                if (!t->word[i].letter || t->word[i].foreign)
                        return false;
                if (i > at && NAMED_IS(t, i, end, relative)) {
                        clause = i;
                        behind = end;
                        end = i;
                        break;
                }
        }
        for (size_t i = at; i < end && groups < NAMED_RUN; i++) {
                size_t k = i;

                while (k < end && !named_group(&t->word[k]))
                        k++;
                if (k > i) {
                        begin[groups] = i;
                        stop[groups++] = k;
                } else if (i == at) {
                        return false;
                }
                i = k;
        }
        if (groups == 0)
                return false;
        /* The first group has the head, its last word; groups behind describe: "start of the window" is window_start. */
        for (size_t g = 0; g < groups; g++)
                for (size_t i = stop[g]; i-- > begin[g] && words < 3;)
                        if (!(t->word[i].class & PW_ARTICLE) || t->word[i].class & PW_THIS)
                                order[words++] = i;
        if (words == 0 || order[0] != stop[0] - 1)
                return false;
        {
                const PhraseWord *head = &t->word[order[0]];

                if (head->class & (PW_ARTICLE | PW_NO | PW_YES) || (head->digit && words == 1))
                        return false;
                if (words == 1 && NAMED_IS(t, order[0], end, named_idle)) {
                        /* "the moment at which we cut the network": network_moment */
                        while (behind > clause && (t->word[behind - 1].class & PW_STOP || !t->word[behind - 1].letter))
                                behind--;
                        if (behind == clause || head->class & PW_QUESTION)
                                return false;
                        order[words++] = behind - 1;
                }
                for (size_t i = begin[0]; i < stop[0]; i++)
                        if (t->word[i].class & PW_QUESTION)
                                return false;
        }
        for (size_t k = words; k-- > 0;)
                n = named_add(ret, n, t->low + t->word[order[k]].at, t->word[order[k]].n);
        ret[n] = '\0';
        return n > 1 && ascii_letter(ret[0]);
}

typedef struct NamedMatch {
        const PhraseText *t;
        size_t end, at[3], stop[3]; /* of V, N, X */
        unsigned form;
} NamedMatch;

static bool named_capture(NamedMatch *m, char kind, size_t at, size_t end) {
        size_t k = kind == 'V' ? 0 : kind == 'N' ? 1
                                                 : 2;
        const PhraseText *t = m->t;
        char noun[NAMED_NOUN_MAX + 1];

        if (kind == 'N') {
                if (m->form & NAMED_THE && !(t->word[at].class & PW_ARTICLE))
                        return false;
                for (size_t i = at; i < end; i++)
                        if (named_over(t, i, m->end))
                                return false;
                if (end - at > NAMED_RUN || !named_noun(t, at, end, noun))
                        return false;
        } else if (!named_value(t, at, end, m->form & NAMED_PLAIN || kind == 'X')) {
                return false;
        }
        m->at[k] = at;
        m->stop[k] = end;
        return true;
}

/* Do the words from i on match the pattern? The word behind, or 0. */
static size_t named_match(NamedMatch *m, const char *p, size_t i) {
        const PhraseText *t = m->t;

        while (*p) {
                size_t n = named_word(p);
                const char *rest = p + n + (p[n] == ' ');

                if (n == 1 && (*p == 'V' || *p == 'N' || *p == 'X')) {
                        size_t max = MIN(m->end, i + (*p == 'N' ? NAMED_RUN : NAMED_WORDS)), found, n_rest = named_word(rest);

                        if (!*rest) {
                                size_t j = i;

                                while (!named_over(t, j, m->end))
                                        j++;
                                return j > i && named_capture(m, *p, i, j) ? j : 0;
                        }
                        for (size_t j = i + 1; j <= max && j < m->end; j++) {
                                bool free = n_rest == 1 && (*rest == 'V' || *rest == 'X'); /* "make N V" */

                                if ((free || (t->word[j].n == n_rest &&
                                              memcmp(t->low + t->word[j].at, rest, n_rest) == 0)) &&
                                    named_capture(m, *p, i, j) && (found = named_match(m, rest, j)) > 0)
                                        return found;
                        }
                        return 0;
                }
                if (i >= m->end || t->word[i].foreign || t->word[i].n != n ||
                    memcmp(t->low + t->word[i].at, p, n) != 0)
                        return 0;
                i++;
                p = rest;
        }
        return named_over(t, i, m->end) ? i : 0;
}

/* May a parameter begin at word i of the sentence [at, end)? */
static bool named_begins(const PhraseText *t, size_t at, size_t i) {
        static const char *const before[] = {"and", "but", "please", "then", "so", "now", "also", "that", "you", "us",
                                             "let's", "okay", "ok", "actually", "kindly", "instead", "again", "to",
                                             "says", "say", "shows", "suggests", "on", "wants", "recommends", "is"};
        char c;

        if (i == at)
                return true;
        c = named_sign(t, i - 1);
        return (c && strchr(",:;-", c)) || NAMED_IS(t, i - 1, i, before) || t->word[i].gap == 2;
}

static bool named_read(const PhraseText *t, size_t i, size_t end, Named *ret) {
        for (size_t k = 0; k < ARRAY_SIZE(named_patterns); k++) {
                const struct NamedPattern *p = &named_patterns[k];
                NamedMatch m = {.t = t, .end = end, .form = p->form};
                size_t stop;

                if (p->text[1] != ' ' && !phrase_may(t->low + t->word[i].at, p->text))
                        continue;
                stop = named_match(&m, p->text, i);
                if (stop == 0)
                        continue;
                *ret = (Named){.at = i, .end = stop, .revises = p->form & NAMED_REVISES};
                named_noun(t, m.at[1], m.stop[1], ret->noun);
                named_id(t, m.at[0], m.stop[0], ret->value);
                if (m.stop[2] > 0)
                        named_id(t, m.at[2], m.stop[2], ret->old);
                return true;
        }
        return false;
}

/* "drop 9:40 pm": the value, without a noun. */
static bool named_dropped(const PhraseText *t, size_t at, size_t i, size_t end, Named *ret) {
        for (size_t k = 0; k < ARRAY_SIZE(named_drops) && (i == at || named_begins(t, at, i)); k++) {
                size_t n = phrase_match(t, i, end, named_drops[k]), j = i + n;

                if (n == 0)
                        continue;
                while (!named_over(t, j, end))
                        j++;
                if (j == i + n || !named_value(t, i + n, j, false))
                        continue;
                *ret = (Named){.at = i, .end = j, .revises = true};
                named_id(t, i + n, j, ret->old);
                return true;
        }
        return false;
}

/* A sentence that only asks, or guesses, names nothing. "Could you use … ?" is a request. */
static bool named_asks(const PhraseText *t, size_t at, size_t end) {
        static const char *const guesses[] = {"might", "maybe", "perhaps", "possibly", "whether", "if", "suspect",
                                              "suspects", "wonder", "guess", "not sure", "unless", "don't know",
                                              "do not know", "what if", "suppose", "why"};

        for (size_t i = at; i < end; i++)
                if (NAMED_IS(t, i, end, guesses))
                        return true;
        return named_sign(t, end - 1) == '?' &&
               !(phrase_match(t, at, end, "can you") || phrase_match(t, at, end, "could you") ||
                 phrase_match(t, at, end, "would you") || phrase_match(t, at, end, "can we") ||
                 phrase_match(t, at, end, "could we") || phrase_match(t, at, end, "will you"));
}

bool named_next(const PhraseText *t, size_t *at, Named *ret) {
        while (*at < t->n) {
                size_t begin = *at, end, i = *at;

                while (begin > 0 && !phrase_ends_sentence(t, begin - 1) && t->word[begin].gap != 2)
                        begin--;
                end = phrase_sentence_end(t, i);
                if (named_asks(t, begin, end)) {
                        *at = end;
                        continue;
                }
                for (; i < end; i++) {
                        if (t->word[i].foreign || !named_begins(t, begin, i))
                                continue;
                        if (named_dropped(t, begin, i, end, ret) || named_read(t, i, end, ret)) {
                                *at = ret->end;
                                for (size_t k = begin; k < end && !ret->revises; k++)
                                        ret->revises = (k < ret->at || k >= ret->end) &&
                                                       NAMED_IS(t, k, end, named_revises);
                                return true;
                        }
                }
                *at = end;
        }
        return false;
}
