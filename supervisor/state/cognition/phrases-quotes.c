/* Runs: supervisor, CLI. Parts of a text whose form says: not the speaker's own. Fences, quotations, lines behind a '>',
 * elements, and blocks between a line of BEGIN and a line of END. */
#include "cognition/phrases.h"

#include <string.h>

#define PHRASE_QUOTE_WORDS 4 /* a shorter quotation is a name */
#define PHRASE_INSIDE_MAX 120 /* words between single marks */

static bool phrase_begins_line(const PhraseText *t, size_t i) {
        return i == 0 || t->word[i].gap == 2;
}

static void phrase_foreign(PhraseText *t, size_t from, size_t end) {
        for (size_t k = from; k < end; k++)
                t->word[k].foreign = true;
}

static size_t phrase_line_end(const PhraseText *t, size_t i) {
        for (i++; i < t->n && t->word[i].gap != 2; i++)
                ;
        return i;
}

bool phrase_paragraph(const PhraseText *t, size_t i) {
        size_t lines = 0;

        if (i == 0 || i >= t->n)
                return true;
        for (size_t k = t->word[i - 1].at + t->word[i - 1].n; k < t->word[i].at; k++)
                lines += t->text[k] == '\n';
        return lines > 1;
}

/* The number of equal characters in a row, without a gap. */
static size_t phrase_run(const PhraseText *t, size_t i, char c) {
        size_t n = 0;

        while (i + n < t->n && t->text[t->word[i + n].at] == c && !t->word[i + n].letter && (n == 0 || t->word[i + n].gap == 0))
                n++;
        return n;
}

static bool phrase_is_quote(const PhraseText *t, size_t i) {
        const char *s = t->text + t->word[i].at;

        return !t->word[i].letter && !t->word[i].foreign &&
               (s[0] == '"' ||
                (t->word[i].n == 3 && (memcmp(s, "\xe2\x80\x9c", 3) == 0 || memcmp(s, "\xe2\x80\x9d", 3) == 0)));
}

/* The end of a fence that begins here: a line with at least as many of the characters and nothing else, or the end of the
 * text. The same place: no fence, or the last line of a fence in quotation marks. */
static size_t phrase_fence_end(const PhraseText *t, size_t i) {
        char c = t->text[t->word[i].at];
        size_t n = c == '`' || c == '~' ? phrase_run(t, i, c) : 0, end = phrase_line_end(t, i);

        if (n < 3)
                return i;
        for (size_t k = end; k < t->n; k = phrase_line_end(t, k))
                if (phrase_run(t, k, c) >= n && k + phrase_run(t, k, c) == phrase_line_end(t, k))
                        return phrase_line_end(t, k);
        for (size_t k = i; k < end; k++)
                if (phrase_is_quote(t, k))
                        return i;
        return t->n;
}

/* "<document id=3> … </document>": SIZE_MAX without the end. */
static size_t phrase_element_end(const PhraseText *t, size_t i) {
        static const char *const own[] = {"user", "input", "request", "query", "question", "message", "prompt", "task"};
        const PhraseWord *name = &t->word[i + 1];

        if (i + 1 >= t->n || t->text[t->word[i].at] != '<' || !name->letter || name->gap != 0)
                return SIZE_MAX;
        for (size_t k = 0; i == 0 && k < ARRAY_SIZE(own); k++) /* the whole input */
                if (phrase_is(t, 1, own[k]))
                        return SIZE_MAX;
        for (size_t k = i + 2; k + 2 < t->n; k++)
                if (t->text[t->word[k].at] == '<' && t->text[t->word[k + 1].at] == '/' && t->word[k + 2].n == name->n &&
                    memcmp(t->low + t->word[k + 2].at, t->low + name->at, name->n) == 0)
                        return MIN(k + 4, t->n);
        return SIZE_MAX;
}

/* A line such as "----- BEGIN OUTPUT -----"; false: another line. */
static bool phrase_rules_off(const PhraseText *t, size_t i, const char *word, const char *other) {
        char c = t->text[t->word[i].at];

        if (!strchr("-=*#<[", c) || phrase_run(t, i, c) < 3)
                return false;
        for (size_t k = i, end = phrase_line_end(t, i); k < end; k++)
                if (phrase_is(t, k, word) || phrase_is(t, k, other))
                        return true;
        return false;
}

static size_t phrase_part_end(const PhraseText *t, size_t i) {
        for (i = phrase_line_end(t, i); i < t->n; i = phrase_line_end(t, i))
                if (phrase_rules_off(t, i, "end", "stop"))
                        return phrase_line_end(t, i);
        return t->n;
}

/* The end of a block that begins with this line; the same place: no block begins. */
static size_t phrase_block_end(const PhraseText *t, size_t i) {
        char c = t->text[t->word[i].at];
        size_t end;

        if ((end = phrase_fence_end(t, i)) > i)
                return end;
        if (c == '>' && !t->word[i].letter)
                return phrase_line_end(t, i);
        if ((end = phrase_element_end(t, i)) != SIZE_MAX)
                return end;
        return phrase_rules_off(t, i, "begin", "start") ? phrase_part_end(t, i) : i;
}

/* Does the mark close rather than open: no gap before, and a gap, a sign or the end behind? */
static bool phrase_closes(const PhraseText *t, size_t i) {
        return i > 0 && t->word[i].gap == 0 && (i + 1 == t->n || t->word[i + 1].gap > 0 || !t->word[i + 1].letter);
}

static size_t phrase_next_quote(const PhraseText *t, size_t i) {
        while (i < t->n && !phrase_is_quote(t, i))
                i++;
        return i;
}

void phrase_mark_quotes(PhraseText *t) {
        for (size_t i = 0, end; i < t->n; i = MAX(end, i + 1)) {
                end = phrase_begins_line(t, i) ? phrase_block_end(t, i) : i;
                phrase_foreign(t, i, end);
        }
        for (size_t open = phrase_next_quote(t, 0), close; open < t->n; open = phrase_next_quote(t, close + 1)) {
                close = phrase_next_quote(t, open + 1);
                for (size_t k = open + 1; k < close && k < t->n; k++)
                        if (phrase_paragraph(t, k) && (close == t->n || !phrase_closes(t, close))) {
                                close = k - 1; /* a paragraph ends an open quotation */
                                break;
                        }
                if (close < t->n && phrase_is_quote(t, close) && close - open > PHRASE_QUOTE_WORDS)
                        phrase_foreign(t, open, close + 1);
        }
        for (size_t i = 0; i < t->n; i++) { /* between single marks, also used as apostrophes */
                if (!phrase_is(t, i, "'") || t->word[i].foreign || (i > 0 && t->word[i].gap == 0) || i + 1 >= t->n ||
                    t->word[i + 1].gap != 0)
                        continue;
                for (size_t k = i + 2; k < t->n && k < i + PHRASE_INSIDE_MAX && !phrase_paragraph(t, k); k++)
                        if (phrase_is(t, k, "'") && t->word[k].gap == 0) {
                                if (k - i > PHRASE_QUOTE_WORDS)
                                        phrase_foreign(t, i, k + 1);
                                i = k;
                                break;
                        }
        }
}
