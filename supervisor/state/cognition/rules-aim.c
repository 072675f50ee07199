/* Runs: supervisor, CLI. Goals by name, given up, reached, and wanted. */
#include "cognition/aim-patterns.h"
#include "cognition/rules-inside.h"

/* The first word behind "the goal is" or "goal:" in [at, end), or SIZE_MAX. */
static size_t aim_begins(const PhraseText *t, size_t at, size_t end, size_t *ret_noun) {
        static const char *const copulas[] = {"is", "becomes", "remains", "will be", "has become",
                                              "are", ":",       "shall be", "should be", "must be"};

        for (size_t i = at; i < end; i++) {
                if (!RULE_AT(t, i, end, aim_nouns) ||
                    !(i == at || rule_says(t, i - 1, end, ",") || rule_says(t, i - 1, end, ":") ||
                      RULE_AT(t, i - 1, end, aim_whose) || rule_says(t, i - 1, end, "and")))
                        continue;
                for (size_t k = i + 1; k < end && k < i + 6; k++) {
                        size_t n = RULE_AT(t, k, end, copulas);

                        if (n == 0 && !rule_says(t, k, end, ":"))
                                continue;
                        *ret_noun = i;
                        return k + MAX(n, (size_t)1);
                }
        }
        return SIZE_MAX;
}

bool rule_aim(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        static const char *const plan[] = {"change of plan", "change of plans", "new plan",
                                           "instead",        "instead of",      "rather than"};
        static const char *const need[] = {"need", "want", "after", "needs", "wants", "looking for", "aiming for"};
        size_t noun, i = aim_begins(t, at, end, &noun), begin = at;
        bool now = false;

        while (begin > 0 && !phrase_ends_sentence(t, begin - 1) && t->word[begin].gap != 2)
                begin--;
        if (i == SIZE_MAX &&
            (rule_says(t, at, end, "what") || rule_says(t, at, end, "all"))) { /* "what we need is …" */
                for (size_t k = at + 2; k + 1 < end && k < at + 9 && i == SIZE_MAX; k++)
                        if (rule_says(t, k, end, "is") && RULE_HAS(t, at + 2, k, need))
                                i = k + 1;
                if (i != SIZE_MAX && t->text[t->word[phrase_sentence_end(t, at) - 1].at] == '?')
                        return false;
        }
        if (i == SIZE_MAX || i >= end)
                return false;
        for (; i < end && (rule_says(t, i, end, "now") || rule_says(t, i, end, "still") || rule_says(t, i, end, ":") ||
                           rule_says(t, i, end, "therefore") || rule_says(t, i, end, "that"));
             i++)
                now |= rule_says(t, i, end, "now");
        if (RULE_AT(t, i, end, aim_done) || rule_says(t, i, end, "not") || rule_says(t, i, end, "no") ||
            rule_says(t, i, end, "never"))
                return false;
        now |= RULE_HAS(t, begin, end, plan);
        i += rule_says(t, i, end, "to") || rule_says(t, i, end, "on");
        if (i + 1 < t->n && phrase_ends_sentence(t, i + 1) && !rule_says(t, i - 1, end, ":"))
                return false; /* "my job is stressful" */
        ret->strong = true;
        ret->anew = now;
        return rule_called(t, i, end, ret);
}

/* "tick that goal off": the verb stands before the noun. */
static bool aim_dropped(const PhraseText *t, size_t at, size_t end, const char *const *aims, size_t n_aims) {
        for (size_t i = at; i < end; i++) {
                size_t n = RULE_AT(t, i, end, aim_drops);

                if (n > 0 && rule_find(t, i + n, MIN(end, i + n + 6), aims, n_aims, NULL, &(size_t){0}) != SIZE_MAX)
                        return true;
        }
        return false;
}

bool rule_drop(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret) {
        static const char *const aims[] = {"goal", "goals", "objective", "mission", "task", "aim", "target"};
        static const char *const not_yet[] = {"not yet", "isn't", "is not", "aren't", "not", "never", "almost",
                                              "nearly",  "don't", "once",   "when",   "until", "if"};

        if (rule_asks_only(t, at, end, sentence) || !RULE_HAS(t, at, end, aims) || RULE_HAS(t, at, end, not_yet) ||
            !(RULE_HAS(t, at, end, aim_done) || aim_dropped(t, at, end, aims, ARRAY_SIZE(aims))))
                return false;
        ret->kind = RULE_DROP;
        return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0;
}

size_t rule_wants(const PhraseText *t, size_t at, size_t end) {
        for (size_t i = at; i < end; i++) {
                size_t n = i == at || rule_says(t, i - 1, end, ",") || rule_says(t, i - 1, end, "so") ||
                                           rule_says(t, i - 1, end, "and")
                                   ? RULE_AT(t, i, end, aim_wants)
                                   : 0;

                if (n > 0)
                        return i + n;
        }
        return SIZE_MAX;
}
