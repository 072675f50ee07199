/* Runs: supervisor, CLI. Clauses that name a goal. */
#include "cognition/rules-inside.h"

#include "base/ascii.h"

/* The words of an object: nouns up to the next preposition, at most three. */
static size_t rule_object(const PhraseText *t, size_t at, size_t end, char *out, size_t n_out, bool *ret_counted) {
        size_t from, to;
        static const char *const skip[] = {"me", "us", "for", "out", "up", "at", "into",
                                           "you", "to", "of", "more", "new", "also", "one",
                                           "another", "other", "see", "get", "find", "nice", "good"};

        while (at < end) {
                bool idle = t->word[at].class & (PW_ARTICLE | PW_NUMBER) || t->word[at].digit;

                for (size_t k = 0; k < ARRAY_SIZE(skip) && !idle; k++)
                        idle = rule_says(t, at, end, skip[k]);
                if (!idle)
                        break;
                *ret_counted |= t->word[at].digit || t->word[at].class & PW_NUMBER;
                at++;
        }
        from = to = at;
        while (to < end && to - from < 3 && t->word[to].letter && !t->word[to].foreign && !t->word[to].digit &&
               (to == from || t->word[to].gap == 1) &&
               (!(t->word[to].class & PW_STOP) || t->word[to].class & PW_UNIT) &&
               !(t->word[to].class & (PW_DAY | PW_MONTH)))
                to++;
        return to > from && !t->word[to - 1].capital ? rule_words(t, from, to, out, n_out) : 0;
}

static void rule_atom_of(const char *verb, size_t n_verb, const char *object, Rule *ret) {
        char name[32];

        snprintf(name, sizeof(name), "%.*s", (int)MIN(n_verb, (size_t)24), verb);
        for (char *c = name; *c; c++)
                if (!ascii_letter(*c) && !ascii_digit(*c))
                        *c = '_';
        if (!ascii_letter(name[0]))
                strcpy(name, "goal");
        ret->kind = RULE_GOAL;
        snprintf(ret->body, sizeof(ret->body), "%s(%.*s)", name, RULE_BODY_MAX - 32, object);
}

/* "bring the rate down": the particle of the verb stands behind the object. */
static bool rule_particle(const PhraseText *t, size_t at, size_t end) {
        static const char *const particles[] = {"down", "up", "out", "back", "off", "online",
                                                "in",   "over", "away", "through", "under"};

        for (size_t i = at; i < end; i++)
                for (size_t k = 0; k < ARRAY_SIZE(particles); k++)
                        if (rule_says(t, i, end, particles[k]) &&
                            (i == at || i + 1 == end || !t->word[i + 1].letter || strcmp(particles[k], "in") != 0))
                                return true;
        return false;
}

/* Without idle words at the end. */
static size_t rule_goal_end(const PhraseText *t, size_t i, size_t end) {
        static const char *const tails[] = {"instead", "now", "today", "please", "first", "again"};

        for (bool again = true; again && i < end; end -= again) {
                again = !t->word[end - 1].letter && t->text[t->word[end - 1].at] != '%';
                for (size_t k = 0; k < ARRAY_SIZE(tails) && !again; k++)
                        again = i + 1 < end && rule_says(t, end - 1, end, tails[k]);
        }
        return end;
}

bool rule_called_verb(const PhraseText *t, size_t i, size_t end, Rule *ret) {
        char object[RULE_BODY_MAX];

        end = rule_goal_end(t, i, end);
        if (i + 1 >= end || rule_particle(t, i + 1, end) ||
            rule_words(t, i + 1, end, object, sizeof(object) - 24) == 0) {
                if (i >= end || rule_words(t, i, end, object, sizeof(object) - 24) == 0)
                        return false;
                rule_atom_of("goal", 4, object, ret);
                return true;
        }
        rule_atom_of(t->low + t->word[i].at, t->word[i].n, object, ret);
        return true;
}

bool rule_called(const PhraseText *t, size_t i, size_t end, Rule *ret) {
        static const char *const before[] = {"to", "me", "us", ":"};
        char object[RULE_BODY_MAX];
        bool verb;

        end = rule_goal_end(t, i, end);
        if (i >= end)
                return false;
        verb = t->word[i].class & PW_VERB;
        for (size_t k = 0; k < ARRAY_SIZE(before) && !verb && i > 0; k++)
                verb = rule_says(t, i - 1, end, before[k]) && t->word[i].letter && !t->word[i].digit &&
                       !(strcmp(before[k], ":") == 0 && t->word[i].class & (PW_STOP | PW_ARTICLE));
        if (verb)
                return rule_called_verb(t, i, end, ret);
        if (rule_words(t, i, end, object, sizeof(object) - 24) == 0)
                return false;
        rule_atom_of("goal", 4, object, ret);
        return true;
}

bool rule_goal(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t n, i = rule_find_list(t, at, end, RULE_GOALS, &n), k;
        char object[RULE_BODY_MAX];

        ret->strong = i != SIZE_MAX;
        if (ret->strong) {
                i = rule_skip(t, i + n, end);
                while (i < end &&
                       (rule_says(t, i, end, "is") || rule_says(t, i, end, "to") || rule_says(t, i, end, "on")))
                        i++;
                return rule_called(t, i, end, ret);
        }
        if ((rule_says(t, at, end, "let's") || phrase_match(t, at, end, "let us")) && end - at > 2) {
                i = at + (rule_says(t, at, end, "let's") ? 1 : 2);
                ret->strong = t->word[i].letter && !(t->word[i].class & (PW_IDLE | PW_VERB));
                if (ret->strong)
                        return rule_called(t, i, end, ret);
        }
        ret->wanted = rule_wants(t, at, end) != SIZE_MAX;
        i = rule_find_list(t, at, end, RULE_ASKS, &n);
        k = i != SIZE_MAX ? i + n : at;
        while (k < end &&
               (rule_says(t, k, end, "also") || rule_says(t, k, end, "please") || rule_says(t, k, end, "help") ||
                rule_says(t, k, end, "me") || rule_says(t, k, end, "now") || rule_says(t, k, end, "first") ||
                rule_says(t, k, end, "to") || rule_says(t, k, end, "just") || rule_says(t, k, end, ",")))
                k++;
        if (k < end && t->word[k].class & PW_VERB && !t->word[k].foreign) {
                size_t verb = k;

                if (rule_object(t, k + 1, end, object, sizeof(object), &ret->counted) > 0) {
                        if (t->word[verb].class & PW_IDLE || rule_says(t, verb, end, "search"))
                                rule_atom_of("find", 4, object, ret);
                        else
                                rule_atom_of(t->low + t->word[verb].at, t->word[verb].n, object, ret);
                        return true;
                }
        }
        i = rule_wants(t, at, end);
        if (i != SIZE_MAX && i + 1 < end && t->word[i].letter && !t->word[i].digit && !t->word[i].foreign &&
            !t->word[i].capital && (t->word[i].class & PW_VERB || !(t->word[i].class & PW_STOP))) {
                end = rule_remark(t, i, end);
                for (k = i + 1; k < end && t->word[k].class & PW_ARTICLE && !(t->word[k].class & PW_THIS); k++)
                        ;
                if (k < end && t->word[k].letter &&
                    !(t->word[k].class & PW_STOP && !(t->word[k].class & (PW_MONTH | PW_VERB))) &&
                    !(t->word[i].class & PW_IDLE) && !t->word[k].digit)
                        return rule_called(t, i, MIN(end, i + 10), ret);
                if (rule_particle(t, i + 1, MIN(end, i + 2)) && i + 3 < end && !rule_says(t, i, end, "check"))
                        return rule_called(t, i, MIN(end, i + 10), ret);
        }
        i = rule_find_list(t, at, end, RULE_NEEDS, &n);
        if (i != SIZE_MAX && rule_object(t, i + n, end, object, sizeof(object), &ret->counted) > 0) {
                rule_atom_of("find", 4, object, ret);
                return true;
        }
        return false;
}
