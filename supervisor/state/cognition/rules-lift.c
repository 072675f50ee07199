/* Runs: supervisor, CLI. Clauses that lift a rule or change its value. */
#include "cognition/rules-inside.h"

/* "Machines may be powered off now". */
static bool rule_permit(const PhraseText *t, size_t at, size_t end) {
        static const char *const never[] = {"never", "not", "don't", "no", "nothing", "nobody", "must", "cannot", "can't",
                                            "avoid", "stop"};
        size_t n;

        if (rule_find_list(t, at, end, RULE_UNASKED, &n) != SIZE_MAX &&
            rule_find_list(t, at, end, RULE_TIMES, &n) != SIZE_MAX &&
            rule_find(t, at, end, never, ARRAY_SIZE(never), NULL, &n) == SIZE_MAX)
                return true;
        return t->text[t->word[end - 1].at] != '?' && !(t->word[at].class & PW_QUESTION) &&
               rule_find_list(t, at, end, RULE_PERMITS, &n) != SIZE_MAX &&
               rule_find_list(t, at, end, RULE_TIMES, &n) != SIZE_MAX &&
               rule_find_list(t, at, end, RULE_NEGATIONS, &n) == SIZE_MAX;
}

/* "Forget the approval step": the verb at the beginning, and a noun. */
static bool rule_gives_up(const PhraseText *t, size_t at, size_t end) {
        static const char *const verbs[] = {"forget", "drop", "skip", "lift", "waive", "scratch", "cancel",
                                            "ignore", "relax",  "withdraw", "disregard", "remove",  "scrap",   "ditch",
                                            "revoke", "shelve", "abolish",  "suspend",   "abandon", "strike"};
        size_t n;

        return rule_find(t, at, MIN(end, at + 1), verbs, ARRAY_SIZE(verbs), NULL, &n) == at && at + 2 < end &&
               t->word[at + 1].class & PW_ARTICLE;
}

bool rule_lift(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t n, m;

        if (!rule_gives_up(t, at, end) && !rule_permit(t, at, end) && rule_find_list(t, at, end, RULE_LIFTS, &n) == SIZE_MAX &&
            (rule_find_list(t, at, end, RULE_LIFT_VERBS, &n) == SIZE_MAX ||
             rule_find_list(t, at, end, RULE_NOUNS, &m) == SIZE_MAX ||
             (rule_says(t, at, end, "never") && !phrase_match(t, at, end, "never mind")) ||
             rule_says(t, at, end, "don't") || rule_says(t, at, end, "do")))
                return false;
        ret->kind = RULE_LIFT;
        if (rule_gives_up(t, at, end) || rule_says(t, at, end, "forget"))
                ret->end = end = rule_remark(t, at, end);
        for (size_t i = at; i + 2 < end; i++) /* the reason stands before: "…, so machines may …" */
                if (rule_says(t, i, end, ",") && rule_says(t, i + 1, end, "so"))
                        at = i + 2;
        return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0;
}

bool rule_allow(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t n;

        if (t->text[t->word[end - 1].at] == '?' || t->word[at].class & PW_QUESTION ||
            rule_find_list(t, at, end, RULE_PERMITS, &n) == SIZE_MAX ||
            rule_find_list(t, at, end, RULE_NEGATIONS, &n) != SIZE_MAX)
                return false;
        ret->kind = RULE_LIFT;
        ret->soft = true;
        return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0;
}

/* "It's $1,500 now". */
static bool rule_is_now(const PhraseText *t, size_t at, size_t end) {
        static const char *const now[] = {"now", "instead", "from now on"};
        static const char *const its[] = {"it's", "it is", "that's", "make", "use", "call it", "we're at", "we have"};
        size_t n;

        return rule_find(t, at, MIN(end, at + 2), its, ARRAY_SIZE(its), NULL, &n) == at &&
               rule_number_follows(t, at + n, end) && rule_find(t, at, end, now, ARRAY_SIZE(now), NULL, &n) != SIZE_MAX;
}

bool rule_change(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t n, cursor;
        PhraseValue v;
        bool old = false;

        if (rule_find_list(t, at, end, RULE_CHANGES, &n) == SIZE_MAX && !rule_is_now(t, at, end))
                return false;
        ret->value[0] = ret->old[0] = '\0';
        for (size_t i = at; i < end; i = MAX(i + 1, cursor)) {
                cursor = i;
                if (!(t->word[i].digit || t->word[i].class & PW_NUMBER || rule_says(t, i, end, "$") ||
                      t->word[i].class & (PW_MONTH | PW_DAY)) ||
                    !phrase_value(t, &cursor, end, &v) || v.type > PHRASE_COUNT)
                        continue;
                old = (v.at > at && (rule_says(t, v.at - 1, end, "from") || rule_says(t, v.at - 1, end, "not"))) ||
                      (v.at > at + 1 &&
                       (phrase_match(t, v.at - 2, end, "instead of") || phrase_match(t, v.at - 2, end, "rather than")));
                memcpy(old ? ret->old : ret->value, v.id, PHRASE_ID_MAX);
        }
        for (size_t i = at; i + 2 < end && !ret->old[0]; i++) /* "20 minutes instead of 15" */
                if ((phrase_match(t, i, end, "instead of") || phrase_match(t, i, end, "rather than")) &&
                    t->word[i + 2].digit && t->word[i + 2].n < PHRASE_ID_MAX)
                        snprintf(ret->old, sizeof(ret->old), "%.*s", (int)t->word[i + 2].n, t->low + t->word[i + 2].at);
        ret->kind = RULE_CHANGE;
        ret->limit = rule_find_list(t, at, end, RULE_NOUNS, &n) != SIZE_MAX;
        rule_trim(t, &at, &end);
        return ret->value[0] && rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0;
}
