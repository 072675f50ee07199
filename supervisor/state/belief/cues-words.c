#include "belief/cues-draft.h"

#include <string.h>

/* Typographic apostrophes, quotes and the dash of three bytes, each read as an ASCII character. */
static size_t words_mark(const char *s, size_t n, char *ret) {
        static const char *const marks[] = {"\xE2\x80\x99", "\xE2\x80\x98", "\xE2\x80\x9C", "\xE2\x80\x9D",
                                            "\xE2\x80\x94"};

        for (size_t i = 0; i < ARRAY_SIZE(marks) && n >= 3 && *s == **marks; i++)
                if (memcmp(s, marks[i], 3) == 0) {
                        *ret = "''\"\"-"[i];
                        return 3;
                }
        *ret = *s;
        return 1;
}

bool word_is_part(const CueWord *w, const char *word, size_t n) {
        size_t i = 0;

        while (i < w->n && n > 0) {
                char c;
                size_t step = words_mark(w->s + i, w->n - i, &c);

                if (ascii_lower(c) != *word)
                        return false;
                i += step;
                word++;
                n--;
        }
        return i == w->n && n == 0;
}

bool word_is(const CueWord *w, const char *word) {
        return word_may_be(w, *word) && word_is_part(w, word, strlen(word));
}

/* Tells whether the line feed at s ends a sentence. */
static bool words_line_break(const char *s, size_t n) {
        size_t i = 1;

        while (i < n && (s[i] == ' ' || s[i] == '\t' || s[i] == '\r'))
                i++;
        return i == n || s[i] == '\n' || ((s[i] == '-' || s[i] == '*') && i + 1 < n && s[i + 1] == ' ');
}

/* quoted: inside of quotes, also after the word. */
static void words_strip_front(bool *quoted, const char **s, size_t *n) {
        while (*n > 0) {
                char c;
                size_t step = words_mark(*s, *n, &c);

                if (c == '"' || c == '`')
                        *quoted = !*quoted;
                else if (!strchr("([{'*-", c) || c == 0)
                        break;
                *s += step;
                *n -= step;
        }
}

/* A full stop ends a sentence unless the next word begins with a small letter, as after "e.g." */
static bool words_goes_on(const char *s, size_t n) {
        size_t i = 0;

        while (i < n && ascii_blank(s[i]))
                i++;
        return i < n && s[i] >= 'a' && s[i] <= 'z';
}

/* Strips the marks after a word, last mark first. Returns whether the marks end the sentence. after: bytes that
 * follow. */
static bool words_strip_back(bool *quoted, const char *s, size_t *n, size_t after, CueWord *w, bool *ret_question) {
        const bool on = words_goes_on(s + *n, after);
        bool ends = false;

        while (*n > 0) {
                size_t step = *n >= 3 && (unsigned char)s[*n - 3] == 0xE2 ? 3 : 1;
                char c;

                if (words_mark(s + *n - step, step, &c) != step)
                        break;
                if (c == '"' || c == '`') {
                        *quoted = !*quoted;
                        w->quoted = true;
                } else if (c == '.' || c == '!' || c == '?') {
                        ends |= c != '.' || !on;
                        w->stop = true;
                        *ret_question |= c == '?';
                } else if (c == ',' || c == ';' || c == ':' || c == '-')
                        w->stop = true;
                else if (!strchr(")]}'*", c) || c == 0)
                        break;
                *n -= step;
        }
        return ends;
}

bool sentence_next(Piece *rest, Sentence *ret) {
        const char *s = rest->s;
        size_t left = rest->n;
        bool over = false, quoted = false;

        if (left == 0)
                return false;
        *ret = (Sentence){.begin = s};
        while (left > 0 && !over) {
                const char *word;
                size_t n = 0;
                CueWord w = {0};

                while (left > 0 && ascii_blank(*s) && !over) {
                        over = *s == '\n' && words_line_break(s, left);
                        s++;
                        left--;
                }
                if (over || left == 0)
                        break;
                while (n < left && !ascii_blank(s[n]))
                        n++;
                word = s;
                s += n;
                left -= n;
                words_strip_front(&quoted, &word, &n);
                w.quoted = quoted;
                over = words_strip_back(&quoted, word, &n, left, &w, &ret->question);
                if (n == 0) { /* a dash between blanks */
                        if (ret->n > 0)
                                ret->words[ret->n - 1].stop = true;
                        continue;
                }
                w.s = word;
                w.n = (uint16_t)MIN(n, (size_t)UINT16_MAX);
                if (ret->n < SENTENCE_WORDS_MAX)
                        ret->words[ret->n++] = w;
                else
                        ret->too_long = true;
        }
        ret->end = s;
        *rest = (Piece){s, left};
        return true;
}

Piece sentence_piece(const Sentence *s, size_t from, size_t to) {
        const char *a, *b;

        if (from >= to || to > s->n)
                return PIECE_NULL;
        a = s->words[from].s;
        b = s->words[to - 1].s + s->words[to - 1].n;
        while (a > s->begin && strchr("([{\"`", a[-1]) && a[-1])
                a--;
        while (b < s->end && strchr(")]}\"`", *b) && *b)
                b++;
        return (Piece){a, (size_t)(b - a)};
}
