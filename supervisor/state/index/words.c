#include "index/words.h"

#include "base/utf8.h"
#include "index/letters-table.h"

#include <string.h>

/* Decodes one character. Returns its length, or 0 for invalid bytes. */
static size_t word_decode(const unsigned char *s, size_t n, uint32_t *ret) {
        size_t len = utf8_step(s, n);

        if (len > 0)
                *ret = utf8_decode(s, n, &len);
        return len;
}

static size_t utf8_encode(uint32_t c, char out[static 4]) {
        size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

        if (len == 1) {
                out[0] = (char)c;
                return 1;
        }
        for (size_t i = len; --i > 0; c >>= 6)
                out[i] = (char)(0x80 | (c & 0x3F));
        out[0] = (char)(0xF00 >> len | c);
        return len;
}

static bool char_separates(uint32_t c) {
        size_t low = 0, high = ARRAY_SIZE(separators);

        while (low < high) {
                size_t mid = (low + high) / 2;

                if (separators[mid][1] < c)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low < ARRAY_SIZE(separators) && c >= separators[low][0];
}

static uint32_t char_fold(uint32_t c) {
        size_t low = 0, high = ARRAY_SIZE(folds);

        while (low < high) {
                size_t mid = (low + high) / 2;

                if (folds[mid].first <= c)
                        low = mid + 1;
                else
                        high = mid;
        }
        if (low > 0) {
                uint32_t apart = c - folds[low - 1].first, step = folds[low - 1].step;

                if (apart % step == 0 && apart / step < folds[low - 1].count)
                        return folds[low - 1].as + (folds[low - 1].along ? apart : 0);
        }
        return c;
}

/* Languages with these characters have no spaces between words. */
static bool char_stands_alone(uint32_t c) {
        return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x31F0 && c <= 0x31FF) || (c >= 0x3400 && c <= 0x4DBF) ||
               (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF66 && c <= 0xFF9F) ||
               (c >= 0x20000 && c <= 0x3FFFF);
}

/* Skipped within a word: combining marks, the soft hyphen, joiners and non-joiners, the byte order mark. */
static bool char_is_ignored(uint32_t c) {
        return (c >= 0x300 && c <= 0x36F) || c == 0xAD || c == 0x200C || c == 0x200D || c == 0xFEFF;
}

static bool char_is_apostrophe(uint32_t c) {
        return c == '\'' || c == 0x2019;
}

static int char_ascii_kind(uint32_t c) {
        return c >= 'a' && c <= 'z'   ? WORD_LOWER
               : c >= 'A' && c <= 'Z' ? WORD_UPPER
               : c >= '0' && c <= '9' ? WORD_DIGIT
               : c == '_'             ? WORD_UNDERSCORE
               : c == '\''            ? WORD_APOSTROPHE
                                      : -1;
}

/* WORD_* of a character of words, -1 of all others; *c becomes the folded character. */
static int char_read(uint32_t *c) {
        int k;

        if (*c < 0x80) {
                k = char_ascii_kind(*c);
                if (k == WORD_UPPER)
                        *c += 'a' - 'A';
                return k;
        }
        if (char_is_apostrophe(*c)) {
                *c = '\'';
                return WORD_APOSTROPHE;
        }
        if (char_separates(*c))
                return -1;
        *c = char_fold(*c);
        return *c < 0x80 ? char_ascii_kind(*c) : WORD_OTHER;
}

static bool word_kind_is_letter(int kind) {
        return kind == WORD_UPPER || kind == WORD_LOWER || kind == WORD_OTHER;
}

static bool word_letter_follows(const unsigned char *s, size_t n) {
        uint32_t c;

        return n > 0 && word_decode(s, n, &c) > 0 && !char_stands_alone(c) && !char_is_ignored(c) &&
               word_kind_is_letter(char_read(&c));
}

/* The common bytes: WORD_* of a byte of words, or SEPARATES. LOOK: needs a closer look. */
enum { SEPARATES = WORD_APOSTROPHE + 1, LOOK };
static const uint8_t plain[256] = {
        [0 ... '&'] = SEPARATES,    ['\''] = LOOK,
        ['(' ... '/'] = SEPARATES,  ['0' ... '9'] = WORD_DIGIT,
        [':' ... '@'] = SEPARATES,  ['A' ... 'Z'] = WORD_UPPER,
        ['[' ... '^'] = SEPARATES,  ['_'] = WORD_UNDERSCORE,
        ['`'] = SEPARATES,          ['a' ... 'z'] = WORD_LOWER,
        ['{' ... 0x7F] = SEPARATES, [0x80 ... 0xFF] = LOOK,
};

bool word_next(const char *text, size_t n, size_t *at, Word *w) {
        const unsigned char *s = (const unsigned char *)text;
        size_t before = *at, i = before, step;
        bool any = false; /* a letter or digit */

        w->n = 0;
        for (; i < n; i += step) {
                uint8_t sort = plain[s[i]];
                char bytes[4];
                uint32_t c = 0, as;
                size_t len;
                int k;

                step = 1;
                if (sort == SEPARATES) {
                        if (any)
                                break;
                        w->n = 0;
                        continue;
                }
                if (sort != LOOK && w->n < TERM_BYTES_MAX) {
                        if (w->n == 0)
                                w->at = i;
                        w->p[w->n] = (char)(sort == WORD_UPPER ? s[i] + ('a' - 'A') : s[i]);
                        w->kinds[w->n++] = sort;
                        any |= sort != WORD_UNDERSCORE;
                        continue;
                }
                step = word_decode(s + i, n - i, &c);
                if (step > 0 && char_is_ignored(c) && w->n > 0)
                        continue;
                as = c;
                k = step > 0 && !char_is_ignored(c) ? char_read(&as) : -1;
                /* Only between letters of a word, with room for the second letter. */
                if (k == WORD_APOSTROPHE &&
                    !(w->n > 0 && w->n < TERM_BYTES_MAX - 4 && word_kind_is_letter(w->kinds[w->n - 1]) &&
                      word_letter_follows(s + i + step, n - i - step)))
                        k = -1;
                len = k < 0 ? 0 : utf8_encode(as, bytes);
                if (any && (k < 0 || char_stands_alone(c) || w->n + len > TERM_BYTES_MAX))
                        break;
                step = MAX(step, (size_t)1);
                if (k < 0 || char_stands_alone(c) || w->n + len > TERM_BYTES_MAX)
                        w->n = 0;
                if (k < 0)
                        continue;
                if (w->n == 0)
                        w->at = i;
                memcpy(w->p + w->n, bytes, len);
                memset(w->kinds + w->n, k, len);
                w->n += (uint8_t)len;
                any |= k != WORD_UNDERSCORE && k != WORD_APOSTROPHE;
                if (char_stands_alone(c)) {
                        i += step;
                        break;
                }
        }
        *at = w->end = i;
        w->chained = any && before > 0 && w->at == before + 1 && (s[before] == '-' || s[before] == '.');
        return any;
}

size_t tokenizer_phrase_words(const char *phrase, size_t n) {
        size_t at = 0, words = 0;
        Word w;

        while (word_next(phrase, n, &at, &w))
                words++;
        return words;
}

static bool word_equals(const Word *a, const Word *b) {
        return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

bool tokenizer_have_phrase(const char *text, size_t n_text, const char *phrase, size_t n_phrase) {
        /* the words that still fit if the next word does not (Knuth, Morris, Pratt) */
        uint8_t back[TERMS_PHRASE_MAX] = {0};
        Word wanted[TERMS_PHRASE_MAX], w;
        size_t n = 0, fit = 0, at = 0;

        for (; word_next(phrase, n_phrase, &at, &w); n++) {
                if (n == TERMS_PHRASE_MAX)
                        return false;
                wanted[n] = w;
        }
        if (n == 0)
                return false;
        for (size_t i = 1, k = 0; i < n; i++) {
                while (k > 0 && !word_equals(&wanted[i], &wanted[k]))
                        k = back[k - 1];
                k += word_equals(&wanted[i], &wanted[k]);
                back[i] = (uint8_t)k;
        }
        for (at = 0; fit < n && word_next(text, n_text, &at, &w); fit += word_equals(&w, &wanted[fit]))
                while (fit > 0 && !word_equals(&w, &wanted[fit]))
                        fit = back[fit - 1];
        return fit == n;
}
