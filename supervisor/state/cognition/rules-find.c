/* Runs: supervisor, CLI. Where a wording of the lists stands in a text. */
#include "cognition/rules-patterns.h"
#include "cognition/rules-list-patterns.h"

#include "base/ascii.h"

#include <pthread.h>

/* The patterns with their beginnings: of each first letter, the set of second letters. */
static struct RulePatterns {
        const char *const *pattern;
        size_t n;
        uint32_t begin[32];
} rule_lists[RULE_LISTS] = {
        [RULE_LIFTS] = {rule_lifts, ARRAY_SIZE(rule_lifts), {0}},
        [RULE_LIFT_VERBS] = {rule_lift_verbs, ARRAY_SIZE(rule_lift_verbs), {0}},
        [RULE_NOUNS] = {rule_nouns, ARRAY_SIZE(rule_nouns), {0}},
        [RULE_CHANGES] = {rule_changes, ARRAY_SIZE(rule_changes), {0}},
        [RULE_ASKS] = {rule_asks, ARRAY_SIZE(rule_asks), {0}},
        [RULE_NEEDS] = {rule_needs, ARRAY_SIZE(rule_needs), {0}},
        [RULE_GOALS] = {rule_goals, ARRAY_SIZE(rule_goals), {0}},
        [RULE_PERMITS] = {rule_permits, ARRAY_SIZE(rule_permits), {0}},
        [RULE_TIMES] = {rule_times, ARRAY_SIZE(rule_times), {0}},
        [RULE_NEGATIONS] = {rule_negations, ARRAY_SIZE(rule_negations), {0}},
        [RULE_UNASKED] = {rule_unasked, ARRAY_SIZE(rule_unasked), {0}},
};
static uint32_t rule_marker_begin[32];

static void rule_note(uint32_t begin[32], const char *pattern) {
        begin[pattern[0] & 31] |= 1U << (pattern[1] & 31);
}

static void rule_fill_once(void) {
        for (size_t l = 0; l < RULE_LISTS; l++)
                for (size_t k = 0; k < rule_lists[l].n; k++)
                        rule_note(rule_lists[l].begin, rule_lists[l].pattern[k]);
        for (size_t k = 0; k < ARRAY_SIZE(rule_markers); k++)
                rule_note(rule_marker_begin, rule_markers[k].pattern);
}

/* Can a pattern of the set begin at the word? The byte behind a word of one letter is a blank, as in the pattern. */
static bool rule_may_begin(const PhraseText *t, size_t i, const uint32_t begin[32]) {
        const char *low = t->low + t->word[i].at;

        return begin[low[0] & 31] & (1U << (low[1] & 31)) || ascii_blank(low[1]);
}

void rule_fill(void) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, rule_fill_once);
}

size_t rule_find(const PhraseText *t, size_t at, size_t end, const char *const *patterns, size_t n,
                 const uint32_t *begin, size_t *ret_n) {
        for (size_t i = at; i < end; i++) {
                size_t best = 0;

                if (t->word[i].foreign || !t->word[i].letter || (begin && !rule_may_begin(t, i, begin)))
                        continue;
                for (size_t k = 0; k < n; k++)
                        if (phrase_may(t->low + t->word[i].at, patterns[k]))
                                best = MAX(best, phrase_match(t, i, end, patterns[k]));
                if (best > 0) {
                        *ret_n = best;
                        return i;
                }
        }
        return SIZE_MAX;
}

size_t rule_at(const PhraseText *t, size_t i, size_t end, const char *const *list, size_t n) {
        size_t best = 0, words;

        for (size_t k = 0; k < n && i < end && !t->word[i].foreign; k++)
                if (phrase_may(t->low + t->word[i].at, list[k]) && (words = phrase_match(t, i, end, list[k])) > best)
                        best = words;
        return best;
}

size_t rule_find_list(const PhraseText *t, size_t at, size_t end, RuleList list, size_t *ret_n) {
        return rule_find(t, at, end, rule_lists[list].pattern, rule_lists[list].n, rule_lists[list].begin, ret_n);
}

bool rule_number_follows(const PhraseText *t, size_t at, size_t end) {
        for (size_t i = at; i < end && i < at + 4; i++)
                if (t->word[i].digit || t->word[i].class & (PW_NUMBER | PW_DAY) || t->text[t->word[i].at] == '$' ||
                    ((unsigned char)t->text[t->word[i].at] >= 0x80 && t->word[i].n > 2 &&
                     ascii_digit(t->text[t->word[i].at + t->word[i].n - 1]))) /* "€120" */
                        return true;
        return false;
}

static bool rule_narrates(const PhraseText *t, size_t at, size_t i) {
        for (size_t k = 1; k <= 2 && i >= at + k; k++)
                if (rule_says(t, i - k, i, "i") || rule_says(t, i - k, i, "we") || rule_says(t, i - k, i, "they") ||
                    rule_says(t, i - k, i, "he") || rule_says(t, i - k, i, "she") || rule_says(t, i - k, i, "i've") ||
                    rule_says(t, i - k, i, "it"))
                        return true;
        return false;
}

const RuleMarker *rule_marker(const PhraseText *t, size_t at, size_t i, size_t end, size_t *ret_n) {
        const RuleMarker *best = NULL;

        *ret_n = 0;
        if (t->word[i].foreign || !rule_may_begin(t, i, rule_marker_begin))
                return NULL;
        for (size_t k = 0; k < ARRAY_SIZE(rule_markers); k++) {
                const RuleMarker *m = &rule_markers[k];
                size_t n;

                if (!phrase_may(t->low + t->word[i].at, m->pattern) || (n = phrase_match(t, i, end, m->pattern)) <= *ret_n)
                        continue;
                if ((m->form & RULE_HEAD && i != at) || (m->form & RULE_OTHERS && rule_narrates(t, at, i)) ||
                    (m->form & RULE_NUMBER && !rule_number_follows(t, i + n, end)))
                        continue;
                best = m;
                *ret_n = n;
        }
        return best;
}

bool rule_lifts_at(const PhraseText *t, size_t i, size_t end) {
        for (size_t k = 0; k < ARRAY_SIZE(rule_lifts); k++)
                if (rule_says(t, i, end, rule_lifts[k]))
                        return true;
        return false;
}

size_t rule_standing_at(const PhraseText *t, size_t at, size_t end) {
        size_t n, best = 0;

        for (size_t k = 0; k < ARRAY_SIZE(rule_standing) && at < end && !t->word[at].foreign; k++)
                if (phrase_may(t->low + t->word[at].at, rule_standing[k]) &&
                    (n = phrase_match(t, at, end, rule_standing[k])) > best)
                        best = n;
        return best;
}
