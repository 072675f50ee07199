/* Runs: supervisor, CLI. Values to choose from, and how alike nouns and values are. */
#include "cognition/compress-named.h"

#include "base/ascii.h"

#include <strings.h>

static bool named_or(const PhraseText *t, size_t i) {
        return phrase_match(t, i, t->n, ",") || phrase_match(t, i, t->n, "or") || phrase_match(t, i, t->n, "and") ||
               phrase_match(t, i, t->n, ":");
}

size_t named_options(const PhraseText *t, Named ret[static NAMED_OPTIONS]) {
        static const char *const choices[] = {"options", "ways", "choices", "alternatives", "possibilities",
                                              "candidates", "either", "choose"};

        for (size_t at = 0, end; at < t->n; at = end) {
                size_t from = SIZE_MAX, colon = SIZE_MAX, n = 0;
                char noun[NAMED_NOUN_MAX + 1];

                end = phrase_sentence_end(t, at);
                if (!phrase_any(t, at, end, choices, ARRAY_SIZE(choices)))
                        continue;
                for (size_t i = at; i < end && colon == SIZE_MAX; i++) {
                        if (from == SIZE_MAX && phrase_match(t, i, end, "for"))
                                from = i + 1;
                        if (phrase_match(t, i, end, ":"))
                                colon = i;
                }
                if (from == SIZE_MAX || colon == SIZE_MAX || from >= colon || !named_noun(t, from, colon, noun))
                        continue;
                for (size_t i = colon; i < end && n < NAMED_OPTIONS; i++) {
                        size_t stop = i + 1;

                        if (!named_or(t, i) || stop >= end || named_or(t, stop) ||
                            phrase_match(t, stop, end, "which") || phrase_match(t, stop, end, "that"))
                                continue;
                        while (stop < end && stop < i + 8 && !named_or(t, stop) && t->word[stop].gap != 2 &&
                               (t->word[stop].letter || strchr("$%#", t->text[t->word[stop].at])))
                                stop++;
                        ret[n] = (Named){.revises = true, .at = i + 1, .end = stop};
                        if (t->word[stop - 1].at + t->word[stop - 1].n - t->word[i + 1].at >= PHRASE_ID_MAX)
                                continue;
                        memcpy(ret[n].value, t->text + t->word[i + 1].at,
                               t->word[stop - 1].at + t->word[stop - 1].n - t->word[i + 1].at);
                        memcpy(ret[n++].noun, noun, sizeof(noun));
                }
                if (n >= 2)
                        return n;
        }
        return 0;
}

size_t named_choice(const PhraseText *t, const Named *options, size_t n) {
        static const char *const first[] = {"first", "former", "option a", "option 1", "option one"};
        static const char *const second[] = {"second", "latter", "option b", "option 2", "option two"};
        static const char *const third[] = {"third", "option c", "option 3", "option three"};

        for (size_t at = 0, end; at < t->n; at = end) {
                size_t mine = at, k = n, hits = 0;
                char said[512];

                end = phrase_sentence_end(t, at);
                while (mine < end && !t->word[mine].foreign)
                        mine++;
                if (mine == at || t->text[t->word[end - 1].at] == '?' || mine - at > 16)
                        continue;
                snprintf(said, sizeof(said), "%.*s",
                         (int)(t->word[mine - 1].at + t->word[mine - 1].n - t->word[at].at), t->text + t->word[at].at);
                for (size_t i = 0; i < n; i++)
                        if (phrase_within(options[i].value, said)) {
                                hits += k == n || strcmp(options[i].value, options[k].value) != 0;
                                k = i;
                        }
                if (hits == 1)
                        return k;
                if (hits > 1 || mine - at > 12)
                        continue;
                if (phrase_any(t, at, mine, first, ARRAY_SIZE(first)))
                        return 0;
                if (phrase_any(t, at, mine, second, ARRAY_SIZE(second)))
                        return 1;
                if (n > 2 && phrase_any(t, at, mine, third, ARRAY_SIZE(third)))
                        return 2;
        }
        return n;
}

/* Words that stand for one another in general English, a row for each meaning. */
static const char *const named_synonyms[] = {
        " start beginning begin opening ",
        " end finish ending ",
        " limit cap ceiling maximum max ",
        " minimum floor min ",
        " owner lead leader head manager responsible person ",
        " host machine server node ",
        " region site location area place ",
        " version release build ",
        " share ratio percentage fraction proportion portion part ",
        " threshold limit bound ",
        " number id identifier reference ",
        " date day ",
        " time hour moment ",
        " channel room chat ",
        " deadline cutoff due ",
        " approver signer signature approval ",
        " amount sum total ",
        " period duration length retention hold time ",
        " address ip ",
        " contact liaison ",
        " portfolio book fund ",
        " benchmark index ",
};

/* The general meanings of a word: bits of the list. */
static uint32_t named_meanings(const char *word, size_t n) {
        uint32_t found = 0;

        for (size_t k = 0; k < ARRAY_SIZE(named_synonyms); k++)
                for (const char *p = named_synonyms[k]; p[1]; p = strchr(p + 1, ' '))
                        if (n > 0 && p[1] == word[0] && strncmp(p + 1, word, n) == 0 && p[1 + n] == ' ') {
                                found |= UINT32_C(1) << k;
                                break;
                        }
        return found;
}

/* Heads that may be two things: the same when the speaker corrects. */
static const char *const named_related[] = {" broker counterparty dealer "};

static bool named_relates(const char *a, const char *b) {
        char x[NAMED_NOUN_MAX + 3], y[NAMED_NOUN_MAX + 3];

        snprintf(x, sizeof(x), " %s ", a);
        snprintf(y, sizeof(y), " %s ", b);
        for (size_t k = 0; k < ARRAY_SIZE(named_related); k++)
                if (strstr(named_related[k], x) && strstr(named_related[k], y))
                        return true;
        return false;
}

static bool named_synonym(const char *a, size_t n_a, const char *b, size_t n_b) {
        uint32_t meanings;

        if (n_a == n_b && memcmp(a, b, n_a) == 0)
                return true;
        if (n_a > 0 && n_b > 0 && (n_a == n_b + 1 || n_b == n_a + 1) && memcmp(a, b, MIN(n_a, n_b)) == 0 &&
            (n_a > n_b ? a[n_a - 1] : b[n_b - 1]) == 's')
                return true;
        if (n_a >= 6 && n_b >= 6) { /* one stem: pharmacy, pharmacist */
                size_t k = 0;

                while (k < MIN(n_a, n_b) && a[k] == b[k])
                        k++;
                if (k >= 6 && 3 * k >= 2 * MIN(n_a, n_b))
                        return true;
        }
        meanings = named_meanings(a, n_a);
        return meanings && meanings & named_meanings(b, n_b);
}

static const char *named_head(const char *noun) {
        const char *at = strrchr(noun, '_');

        return at ? at + 1 : noun;
}

/* Words of a that stand in b. */
static size_t named_common(const char *a, const char *b) {
        size_t n = 0;

        for (const char *p = a; *p; p += *p == '_') {
                size_t n_p = strcspn(p, "_");

                for (const char *q = b; *q; q += *q == '_') {
                        size_t n_q = strcspn(q, "_");

                        if (named_synonym(p, n_p, q, n_q)) {
                                n++;
                                break;
                        }
                        q += n_q;
                }
                p += n_p;
        }
        return n;
}

static size_t named_count(const char *noun) {
        size_t n = 1;

        for (; *noun; noun++)
                n += *noun == '_';
        return n;
}

unsigned named_alike(const char *a, const char *b) {
        const char *x = named_head(a), *y = named_head(b);
        size_t both, less = MIN(named_count(a), named_count(b));

        if (strcmp(a, b) == 0)
                return 4;
        both = MIN(named_common(a, b), named_common(b, a));
        if (both >= less)
                return named_synonym(x, strlen(x), y, strlen(y)) ? 3 : 2;
        return both > 0 || named_relates(x, y);
}

/* Segments of one class of characters: letters, digits; others are separators. */
static char named_class(char c) {
        return ascii_letter(c) ? 'a' : ascii_digit(c) ? '0'
                               : c == ' '             ? ' '
                                                      : c;
}

/* Units behind a number of unlike kind: "minutes" and "percent". "am" and "pm" are alike, "hour" and "hours" too. */
static bool named_unlike(const char *a, size_t n, const char *b, size_t m) {
        if (n == 2 && m == 2 && a[1] == 'm' && b[1] == 'm')
                return false;
        return n < 2 || m < 2 || n + 1 < m || m + 1 < n || strncasecmp(a, b, MIN(n, m)) != 0;
}

unsigned named_form(const char *a, const char *b) {
        unsigned score = 1;
        bool unit = false; /* a number stands before */

        while (*a || *b) {
                char class = named_class(*a);
                size_t n = 1, m = 1;

                if (class != named_class(*b))
                        return 0;
                while (class != ' ' && a[n] && named_class(a[n]) == class)
                        n++;
                while (class != ' ' && b[m] && named_class(b[m]) == class)
                        m++;
                if (class == 'a' && n == m && strncasecmp(a, b, n) == 0)
                        score += unit ? 4 : NAMED_STRONG;
                else if (class == 'a' && unit && !(n > 1 && m > 1 && *a < 'a' && *b < 'a') && named_unlike(a, n, b, m))
                        return 0;
                else if (class == 'a' && ((*a >= 'a') != (*b >= 'a') || (*a >= 'a' && !unit && (n > m + 1 || m > n + 1))))
                        return 0;
                else if (n == m)
                        score += 1 + (class == '0' && *a == *b);
                unit = class == '0' || (class == ' ' && unit);
                a += n;
                b += m;
        }
        return score;
}
