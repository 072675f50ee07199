#include "base/ascii.h"
#include "cognition/atom.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the sign at s[i] that is no letter; 0: a letter or digit. Beyond ASCII the signs of Latin-1 (C2 xx),
 * punctuation (E2 80 and E2 81) and money (E2 82) are known; all else is a letter. */
static size_t atom_sign(const char *s, size_t n, size_t i) {
        unsigned char c = s[i];

        if (c < 0x80)
                return !ascii_letter(s[i]) && !ascii_digit(s[i]);
        if (c == 0xC2)
                return MIN((size_t)2, n - i);
        return c == 0xE2 && n - i >= 3 && (unsigned char)s[i + 1] >= 0x80 && (unsigned char)s[i + 1] <= 0x82 ? 3 : 0;
}

static const struct {
        const char *word;
        unsigned value;
} atom_numbers[] = {
        {"zero", 0},      {"one", 1},       {"two", 2},       {"three", 3},    {"four", 4},       {"five", 5},
        {"six", 6},       {"seven", 7},     {"eight", 8},     {"nine", 9},     {"ten", 10},       {"eleven", 11},
        {"twelve", 12},   {"thirteen", 13}, {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16},   {"seventeen", 17},
        {"eighteen", 18}, {"nineteen", 19}, {"twenty", 20},   {"thirty", 30},  {"forty", 40},     {"fifty", 50},
        {"sixty", 60},    {"seventy", 70},  {"eighty", 80},   {"ninety", 90},  {"first", 1},      {"second", 2},
        {"third", 3},     {"fourth", 4},    {"fifth", 5},     {"sixth", 6},    {"seventh", 7},    {"eighth", 8},
        {"ninth", 9},     {"tenth", 10},    {"eleventh", 11}, {"twelfth", 12}, {"twentieth", 20}, {"thirtieth", 30},
};

static bool atom_number(const AtomWord *w, unsigned *ret) {
        /* Most words are not even long enough, or begin with another letter. */
        if (w->n < 3 || w->n > 11 || !memchr("zotfsen", w->p[0], 7))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(atom_numbers); i++)
                if (atom_numbers[i].word[0] == w->p[0] && strlen(atom_numbers[i].word) == w->n &&
                    memcmp(atom_numbers[i].word, w->p, w->n) == 0) {
                        *ret = atom_numbers[i].value;
                        return true;
                }
        return false;
}

/* Digits, with the commas between thousands left out. Returns the place behind. */
static size_t atom_digits(const char *s, size_t n, size_t at, AtomWord *w) {
        while (at < n) {
                if (s[at] == ',' && n - at >= 4 && ascii_digit(s[at + 1]) && ascii_digit(s[at + 2]) &&
                    ascii_digit(s[at + 3]) && (n - at == 4 || !ascii_digit(s[at + 4])))
                        at++;
                else if (!ascii_digit(s[at]))
                        break;
                if (w->n < sizeof(w->p))
                        w->p[w->n++] = s[at];
                at++;
        }
        return at;
}

/* The next run as it stands, in lower case. */
static bool atom_run(const char *s, size_t n, size_t *at, AtomWord *w) {
        size_t i = *at, sign;

        w->n = 0;
        while (i < n && (sign = atom_sign(s, n, i)) > 0)
                i += sign;
        if (i < n && ascii_digit(s[i]))
                i = atom_digits(s, n, i, w);
        else
                for (; i < n && atom_sign(s, n, i) == 0; i++)
                        if (w->n < sizeof(w->p))
                                w->p[w->n++] = ascii_lower(s[i]);
        *at = i;
        return w->n > 0;
}

static bool atom_ends(const AtomWord *w, const char *ending) {
        size_t n = strlen(ending);

        return w->n >= n + 3 && memcmp(w->p + w->n - n, ending, n) == 0;
}

/* spikes, spike; enabled, enabling, enable; planned, plan: the same word. */
static void atom_cut_ending(AtomWord *w) {
        char last = w->p[w->n - 1];

        if (!memchr("sdge", last, 4) || w->n < 4)
                return;
        if (last == 's' && !atom_ends(w, "ss"))
                w->n--;
        if (atom_ends(w, "ing"))
                w->n -= 3;
        else if (atom_ends(w, "ed"))
                w->n -= 2;
        else if (atom_ends(w, "e"))
                w->n--;
        else
                return;
        if (w->n > 3 && w->p[w->n - 1] == w->p[w->n - 2] && !memchr("sl", w->p[w->n - 1], 2))
                w->n--;
}

bool atom_word_next(const char *text, size_t n, size_t *at, AtomWord *ret) {
        unsigned value, unit;
        size_t next;
        AtomWord follows;

        if (!atom_run(text, n, at, ret))
                return false;
        if (atom_number(ret, &value)) {
                next = *at;
                if (value >= 20 && next < n && (text[next] == ' ' || text[next] == '-') && next + 1 < n &&
                    ascii_letter(text[next + 1]) && atom_run(text, n, &next, &follows) &&
                    atom_number(&follows, &unit) && unit > 0 && unit < 10) {
                        value += unit;
                        *at = next;
                }
                ret->n = snprintf(ret->p, sizeof(ret->p), "%u", value);
                return true;
        }
        if (ascii_digit(ret->p[0])) {
                /* An ordinal: 5th. */
                next = *at;
                if (next < n && ascii_letter(text[next]) && atom_run(text, n, &next, &follows) && follows.n == 2 &&
                    (memcmp(follows.p, "st", 2) == 0 || memcmp(follows.p, "nd", 2) == 0 ||
                     memcmp(follows.p, "rd", 2) == 0 || memcmp(follows.p, "th", 2) == 0))
                        *at = next;
                return true;
        }
        atom_cut_ending(ret);
        return true;
}

size_t atom_words(const Atom *a, AtomWord ret[static ATOM_MAX / 2]) {
        char text[2 * ATOM_MAX + 2], part[ATOM_MAX + 1];
        size_t length = 0, at = 0, n = 0;

        /* "twenty five" are two parts and one number; neighbours in two arguments are apart. */
        for (size_t i = 1; i < a->n_parts; i++) {
                const AtomPart *p = &a->parts[i], *last = p - 1;
                size_t n_part = atom_part_text(a, i, part);

                text[length++] = p->depth == last->depth && p->arg == last->arg ? ' ' : '\n';
                memcpy(text + length, part, n_part);
                length += n_part;
        }
        while (n < ATOM_MAX / 2 && atom_word_next(text, length, &at, &ret[n]))
                n++;
        return n;
}
