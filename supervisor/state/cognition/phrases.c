/* Runs: supervisor, CLI. Words and sentences of a text, and the parts that are not the speaker's own. */
#include "cognition/phrases.h"

#include "base/ascii.h"

#include <errno.h>

void phrase_text_deinit(PhraseText *t) {
        free(t->low);
        free(t->word);
        *t = (PhraseText){0};
}

static bool phrase_letter(char c) {
        return ascii_letter(c) || ascii_digit(c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Is the typographic apostrophe U+2019 at s? */
static bool phrase_curly(const char *s, size_t n) {
        return n >= 3 && memcmp(s, "\xe2\x80\x99", 3) == 0;
}

/* U+201C, U+201D. */
static bool phrase_quote(const char *s, size_t n) {
        return n >= 3 && (memcmp(s, "\xe2\x80\x9c", 3) == 0 || memcmp(s, "\xe2\x80\x9d", 3) == 0);
}

/* Does the character at i, between a letter before and a letter behind, belong to the word? */
static bool phrase_inner(const char *s, size_t from, size_t i, size_t n) {
        char before = s[i - 1], behind = i + 1 < n ? s[i + 1] : ' ';

        if (!phrase_letter(before) || !phrase_letter(behind))
                return false;
        switch (s[i]) {
        case '\'':
        case '-':
        case '@': return true;
        case ':': return ascii_digit(before) && ascii_digit(behind);
        case '/': return ascii_digit(before) && ascii_digit(behind);
        case ',': /* 3,550 */
                return ascii_digit(before) && i + 3 < n && ascii_digit(s[i + 1]) && ascii_digit(s[i + 2]) &&
                       ascii_digit(s[i + 3]) && (i + 4 == n || !phrase_letter(s[i + 4]));
        case '.': /* 3.5, a.m., db.example; but "village.The" are two words */
                if (ascii_digit(before))
                        return ascii_digit(behind);
                return i - from == 1 || (i - from > 1 && s[i - 2] == '.') ||
                       (ascii_lower(behind) == behind && i - from > 1);
        default: return false;
        }
}

static size_t phrase_word_end(const char *s, size_t from, size_t n) {
        size_t i = from;

        while (i < n) {
                if (phrase_quote(s + i, n - i))
                        break;
                if (phrase_curly(s + i, n - i)) {
                        if (i == from || i + 3 >= n || !ascii_letter(s[i + 3]))
                                break;
                        i += 3;
                } else if (phrase_letter(s[i]) || (i > from && phrase_inner(s, from, i, n))) {
                        i++;
                } else {
                        break;
                }
        }
        if (i - from > 2 && i < n && s[i] == '.' && s[i - 2] == '.' && ascii_letter(s[i - 1]))
                i++; /* "p.m." */
        return i;
}

/* "Dr. Shah", "St. Mary", "approx. 5", "J. Smith", the "1." of a list: the dot at i belongs to the word before. */
static bool phrase_abbreviates(const PhraseText *t, size_t i) {
        static const char *const before_names[] = {"dr", "mr", "mrs", "ms", "prof", "st",
                                                   "sgt", "capt", "lt",  "rev", "hon"};
        static const char *const before_any[] = {"vs", "approx", "est", "resp", "incl", "excl", "e.g",
                                                 "i.e",  "cf",     "max", "min",  "dept", "inc",  "ltd",
                                                 "corp", "co",     "etc", "jr",   "sr",   "ca"};
        static const char *const before_numbers[] = {"no", "nos", "fig", "sec", "art", "ch",
                                                     "vol", "tel", "ext", "p",   "pp"};
        const PhraseWord *w = &t->word[i - 1], *next = &t->word[i + 1];

        if (next->gap != 1 || !w->letter || t->word[i].gap != 0)
                return false;
        if (w->digit) /* "1. First" */
                return w->n <= 2 && (i == 1 || w->gap == 2);
        for (size_t k = 0; k < ARRAY_SIZE(before_names); k++)
                if (phrase_is(t, i - 1, before_names[k]))
                        return w->capital && next->capital;
        for (size_t k = 0; k < ARRAY_SIZE(before_numbers); k++)
                if (phrase_is(t, i - 1, before_numbers[k]))
                        return next->digit;
        for (size_t k = 0; k < ARRAY_SIZE(before_any); k++)
                if (phrase_is(t, i - 1, before_any[k]))
                        return !next->capital;
        return w->n == 1 && w->capital && next->capital && t->text[w->at] != 'I' && i > 1 && t->word[i - 2].gap == 1 &&
               t->word[i - 2].capital;
}

bool phrase_ends_sentence(const PhraseText *t, size_t i) {
        const PhraseWord *w = &t->word[i];
        char c = t->text[w->at];

        if (w->letter)
                return false;
        return c == '!' || c == '?' || c == ';' || (c == '.' && !(i > 0 && i + 1 < t->n && phrase_abbreviates(t, i)));
}

size_t phrase_sentence_end(const PhraseText *t, size_t at) {
        size_t i = at;

        while (i < t->n) {
                if (phrase_ends_sentence(t, i))
                        return i + 1;
                if (i > at && t->word[i].gap == 2)
                        return i;
                i++;
        }
        return i;
}

bool phrase_is(const PhraseText *t, size_t i, const char *word) {
        return i < t->n && t->low[t->word[i].at] == word[0] && strlen(word) == t->word[i].n &&
               memcmp(t->low + t->word[i].at, word, t->word[i].n) == 0;
}

static void phrase_classify(PhraseText *t) {
        for (size_t i = 0; i < t->n; i++) {
                PhraseWord *w = &t->word[i];

                w->begins = i == 0 || w->gap == 2 || phrase_ends_sentence(t, i - 1) || phrase_is(t, i - 1, ":");
                if (w->letter)
                        w->class = phrase_class(t->low + w->at, w->n, &w->number);
                if (phrase_is(t, i, "trip") && i > 0 && w->gap == 1 && phrase_is(t, i - 1, "round"))
                        w->class &= ~PW_STOP; /* a kind of journey, as "one-way" */
        }
}

int phrase_read(const char *text, size_t n, PhraseText *ret) {
        _cleanup_phrase_text_ PhraseText t = {.text = text};
        size_t i = 0;

        n = MIN(n, (size_t)PHRASE_TEXT_MAX);
        t.low = malloc(n + 1);
        t.word = calloc(n + 1, sizeof(*t.word)); /* untouched pages cost nothing */
        if (!t.low || !t.word)
                return -ENOMEM;
        for (size_t k = 0; k < n; k++)
                t.low[k] = ascii_lower(text[k]);
        t.low[n] = '\0';
        while (i < n) {
                PhraseWord *w = &t.word[t.n];
                uint8_t gap = 0;

                for (; i < n && (ascii_blank(text[i]) || (unsigned char)text[i] < 0x20); i++)
                        gap = text[i] == '\n' || gap == 2 ? 2 : 1;
                if (i == n)
                        break;
                w->at = (uint32_t)i;
                w->gap = gap;
                i = phrase_word_end(text, i, n);
                w->letter = i > w->at;
                if (!w->letter)
                        i += phrase_quote(text + i, n - i) || phrase_curly(text + i, n - i) ? 3 : 1;
                w->n = (uint16_t)MIN(i - w->at, (size_t)UINT16_MAX);
                w->digit = ascii_digit(text[w->at]);
                w->capital = text[w->at] >= 'A' && text[w->at] <= 'Z';
                t.n++;
        }
        phrase_classify(&t);
        phrase_mark_quotes(&t);
        phrase_mark_reports(&t);
        phrase_mark_claims(&t);
        *ret = t;
        t = (PhraseText){0};
        return 0;
}

size_t phrase_match(const PhraseText *t, size_t at, size_t end, const char *pattern) {
        size_t i = at;

        if (at >= end || !phrase_may(t->low + t->word[at].at, pattern))
                return 0;
        for (;; i++) {
                size_t n = 0;

                while (pattern[n] && pattern[n] != ' ')
                        n++;
                if (i >= end || t->word[i].n != n || memcmp(t->low + t->word[i].at, pattern, n) != 0)
                        return 0;
                pattern += n;
                if (!*pattern)
                        return i + 1 - at;
                pattern++;
        }
}

bool phrase_any(const PhraseText *t, size_t at, size_t end, const char *const *patterns, size_t n) {
        uint32_t begin[32] = {0}; /* of each first letter the second letters; a word of one letter has any sign behind */
        bool all = end <= at + 2;

        for (size_t k = 0; k < n && !all; k++) {
                char second = patterns[k][1];

                begin[patterns[k][0] & 31] |= second && second != ' ' ? UINT32_C(1) << (second & 31) : UINT32_MAX;
        }
        for (size_t i = at; i < end; i++) {
                const char *low = t->low + t->word[i].at;

                if (!all && !(begin[low[0] & 31] >> (low[1] & 31) & 1))
                        continue;
                for (size_t k = 0; k < n; k++)
                        if (phrase_may(low, patterns[k]) && phrase_match(t, i, end, patterns[k]))
                                return true;
        }
        return false;
}
