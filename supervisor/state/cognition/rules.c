/* Runs: supervisor, CLI. Rules, their changes and lifts, and goals, clause by clause. */
#include "cognition/rules-inside.h"

#include "base/ascii.h"

#include <strings.h>

static const char *const rule_names[RULE_KINDS] = {
        [RULE_MUST] = "must",
        [RULE_MUST_NOT] = "must_not",
        [RULE_ALLOWED] = "allowed",
        [RULE_AVOID] = "avoid",
        [RULE_LIFT] = "lift",
        [RULE_CHANGE] = "change",
        [RULE_GOAL] = "goal",
        [RULE_DROP] = "drop",
};

const char *rule_kind_name(RuleKind k) {
        return rule_names[k];
}

/* The end of the clause: at the end of the sentence, or where a further rule begins behind "," "and" "but". */
static size_t rule_clause_end(const PhraseText *t, size_t at, size_t end) {
        static const char *const reasons[] = {"because", "since", "otherwise", "thanks", "thank"};
        static const char *const everybody[] = {"one", "nobody", "nothing", "anything", "everything",
                                                "anyone", "day",    "everyone", "none",     "all"};

        for (size_t i = at + 1; i < end; i++) {
                size_t n, next = i + 1;

                if (phrase_any(t, i, i + 1, reasons, ARRAY_SIZE(reasons)))
                        return i;
                if (!rule_says(t, i, end, ",") && !rule_says(t, i, end, "and") && !rule_says(t, i, end, "but"))
                        continue;
                if (rule_says(t, i, end, "but") && RULE_AT(t, i - 1, end, everybody))
                        continue; /* "no one but Dana" */
                if (rule_says(t, i, end, ",") && rule_says(t, i + 1, end, "so") && i > at + 2 && i + 4 < end)
                        return i; /* a reason, and the consequence */
                next = rule_skip(t, next, end);
                if (next < end &&
                    (rule_marker(t, next, next, end, &n) || rule_says(t, i, end, "but") || rule_lifts_at(t, next, end)))
                        return i;
        }
        return end;
}

/* "Keep both in mind", "do not adopt it", "nothing changes": about the talk, no standing rule. */
static bool rule_passing(const Rule *r) {
        static const char *const these[] = {"it", "that", "this", "these", "those", "them", "both", "mine", "ours",
                                            "theirs", "yours", "his", "hers", "one", "conclusion", "conclusions",
                                            "decision", "verdict", "changes", "changed", "change", "panic", "adopt",
                                            "going", "up", "in", "mind", "so", "yet", "as", "he", "she", "they",
                                            "what", "keep", "confirmed", "jump", "to", "known", "clear", "decided",
                                            "final", "certain", "new", "said", "plan", "here", "there", "follow",
                                            "do", "go", "with", "have", "we", "agreed", "me", "us", "posted", "on",
                                            "course", "track", "an", "eye", "open", "listen", "news", "is", "touch"};
        size_t n = 0;

        for (const char *p = r->body; *p; p += *p == ' ') {
                size_t n_p = strcspn(p, " ");
                bool idle = false;

                for (size_t k = 0; k < ARRAY_SIZE(these) && !idle; k++)
                        idle = ascii_lower(*p) == these[k][0] && strlen(these[k]) == n_p &&
                               strncasecmp(p, these[k], n_p) == 0;
                if (!idle)
                        n++;
                p += n_p;
        }
        return n == 0;
}

/* "no thanks", "no problem", "don't worry", "nothing else": no rules. */
static bool rule_phrase_only(const PhraseText *t, const RuleMarker *m, size_t at, size_t end) {
        static const char *const idle[] = {
                "worry", "know",  "mind",   "think",  "care",   "thanks",  "problem",    "worries",    "else", "more",
                "need",  "idea",  "bother", "have",   "way",    "one",     "it",         "i",          "that", "that's",
                "this",  "thank", "matter", "issue",  "rush",   "hurry",   "hesitate",   "forget",     "for",  "not",
                "yes",   "you",   "we",     "longer", "wait",   "really",  "believe",    "understand", "what", "doubt",
                "big",   "at",    "now",    "sorry",  "please", "mention", "exceptions", "exception"};

        if (at >= end || !t->word[at].letter)
                return strcmp(m->pattern, "no") == 0 || at >= end;
        if (m->kind != RULE_MUST_NOT || !(m->form & (RULE_HEAD | RULE_OTHERS)))
                return false;
        if (strcmp(m->pattern, "never") == 0)
                return rule_says(t, at, end, "mind");
        for (size_t k = 0; k < ARRAY_SIZE(idle); k++)
                if (rule_says(t, at, end, idle[k]))
                        return strcmp(idle[k], "mention") != 0 || at + 2 >= end || rule_says(t, at + 1, end, "it");
        return (strcmp(m->pattern, "no") == 0 || strcmp(m->pattern, "nothing") == 0) && end - at < 2 &&
               phrase_class(t->low + t->word[at].at, t->word[at].n, NULL) & PW_STOP;
}

bool rule_asks_only(const PhraseText *t, size_t at, size_t end, size_t sentence) {
        static const char *const requests[] = {"can you", "could you", "would you", "will you",
                                               "do not", "do it", "do n't"};
        size_t n;
        bool mark = sentence > at && t->text[t->word[sentence - 1].at] == '?';

        if (at >= end || rule_find(t, at, MIN(end, at + 2), requests, ARRAY_SIZE(requests), NULL, &n) == at)
                return false;
        return mark ||
               (t->word[at].class & PW_QUESTION && !(t->word[at].class & (PW_VERB)) && !rule_says(t, at, end, "do") &&
                !rule_says(t, at, end, "may") && !rule_says(t, at, end, "when") && !rule_says(t, at, end, "while"));
}

/* "Do I have to …?" asks; "could you …?" and "can I …?" request. */
static bool rule_wonders(const PhraseText *t, size_t at, size_t end, size_t sentence) {
        return t->text[t->word[sentence - 1].at] == '?' && t->word[at].class & PW_QUESTION &&
               !(t->word[at].class & PW_VERB) && !rule_says(t, at, end, "can") && !rule_says(t, at, end, "could") &&
               !rule_says(t, at, end, "would") && !rule_says(t, at, end, "will");
}

/* "From now on, …": an imperative without another marker is a rule. */
static bool rule_stands(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t n = rule_standing_at(t, at, end), from, to;

        if (n > 0) {
                from = at + n;
                to = end;
        } else { /* "…, from now on" */
                for (n = 2; n <= 4 && at + n + 2 < end && rule_standing_at(t, end - n, end) != n; n++)
                        ;
                if (n > 4 || at + n + 2 >= end)
                        return false;
                from = at;
                to = end - n;
                if (t->word[from].class & (PW_ARTICLE | PW_QUESTION) || rule_says(t, from, end, "i") ||
                    rule_says(t, from, end, "we") || rule_says(t, from, end, "it"))
                        return false;
        }
        to = rule_remark(t, from, to);
        rule_trim(t, &from, &to);
        ret->kind = RULE_MUST;
        return rule_words(t, from, to, ret->body, sizeof(ret->body)) > 0 && strchr(ret->body, ' ') &&
               !rule_passing(ret);
}

bool rule_stated(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret) {
        size_t standing = rule_standing_at(t, at, end);

        if (standing > 0)
                at = rule_skip(t, at + standing, end);
        if (at >= end || rule_asks_only(t, at, end, sentence))
                return false;
        end = rule_remark(t, at, end);
        for (size_t i = at; i < end; i++) {
                size_t n, from, to = end;
                const RuleMarker *m = rule_marker(t, at, i, end, &n);

                if (!m || rule_phrase_only(t, m, i + n, end))
                        continue;
                if (rule_says(t, end - 1, end, "yet") && m->form & RULE_HEAD && !(m->form & RULE_KEEP))
                        continue; /* "no answer yet" */
                if (m->form & RULE_OTHERS && m->form & RULE_KEEP && i > 0 && rule_says(t, i - 1, i, "and"))
                        continue; /* "I run the shop and need a hand" */
                from = m->form & RULE_WHOLE ? at : m->form & RULE_KEEP ? i
                                                                       : i + n;
                rule_trim(t, &from, &to);
                ret->kind = m->kind;
                ret->limit = m->form & RULE_NUMBER;
                if (m->form & RULE_WHOLE && !(m->form & RULE_KEEP) &&
                    i > from) { /* the marker stands in the name */
                        size_t k = rule_words(t, from, i, ret->body, sizeof(ret->body)), rest = i + n;
                        char tail[RULE_BODY_MAX];

                        rule_trim(t, &rest, &to);
                        if (rule_words(t, rest, to, tail, sizeof(tail)) > 0 &&
                            k + strlen(tail) + 2 < sizeof(ret->body)) {
                                ret->body[k] = ' ';
                                strcpy(ret->body + k + 1, tail);
                        } else if (tail[0]) {
                                rule_words(t, rest, to, ret->body, sizeof(ret->body));
                        }
                } else {
                        if (m->form & RULE_WHOLE && !(m->form & RULE_KEEP))
                                from = i + n;
                        rule_trim(t, &from, &to);
                        rule_words(t, from, to, ret->body, sizeof(ret->body));
                }
                if (rule_passing(ret) && !ret->limit)
                        continue;
                if (ret->body[0] && (ret->limit || strchr(ret->body, ' ') || !rule_weak(ret->body, strlen(ret->body))))
                        return true;
        }
        return false;
}

/* Behind the last word of the clause. */
static size_t rule_last(const PhraseText *t, size_t at, size_t end) {
        while (end > at && !t->word[end - 1].letter)
                end--;
        return end;
}

/* The whole clause is an obligation; false: no words are left of it. */
static bool rule_obliges(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        rule_trim(t, &at, &end);
        ret->kind = RULE_MUST;
        return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0;
}

/* "90 euros per night at most": a clause that ends with the word of a limit. */
static bool rule_tops(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        static const char *const tops[] = {"at most", "at the most", "max", "maximum", "tops", "or less", "at least", "minimum",
                                           "or more", "at the least"};
        size_t to = rule_last(t, at, end);
        bool number = false, found = false;

        for (size_t i = at; i < to; i++)
                number |= t->word[i].digit;
        for (size_t n = 1; n <= 3 && at + n < to && number && !found; n++)
                found = rule_at(t, to - n, to, tops, ARRAY_SIZE(tops)) == n;
        if (!found || t->text[t->word[end - 1].at] == '?')
                return false;
        ret->limit = true;
        return rule_obliges(t, at, to, ret);
}

/* "I travel by train only". */
static bool rule_exclusive(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t to = rule_last(t, at, end);

        if (to < at + 4 || !rule_says(t, to - 1, to, "only") || t->text[t->word[end - 1].at] == '?' ||
            !(rule_says(t, at, end, "i") || rule_says(t, at, end, "we") || rule_says(t, at, end, "use")))
                return false;
        return rule_obliges(t, at, to, ret) && !rule_passing(ret);
}

/* "Ask Oona before any order", "run the checks first": an imperative with the point in time at which it applies. */
static bool rule_orders(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        static const char *const verbs[] = {"ask", "check", "consult", "call", "inform", "notify", "tell", "warn", "get",
                                            "obtain", "run", "verify", "confirm", "clear", "test", "log", "record", "seek",
                                            "alert", "brief", "double-check", "wait", "copy", "involve", "page"};
        static const char *const each[] = {"before any", "before each", "before every", "before you", "before a", "before an",
                                           "after each", "after every", "after any", "whenever", "each time", "every time",
                                           "prior to", "unless", "until", "on every", "on each", "with every", "with each",
                                           "for every", "for each", "before the", "in all cases"};
        size_t n;

        if (rule_find(t, at, MIN(end, at + 1), verbs, ARRAY_SIZE(verbs), NULL, &n) != at ||
            rule_find(t, at, end, each, ARRAY_SIZE(each), NULL, &n) == SIZE_MAX || t->text[t->word[end - 1].at] == '?')
                return false;
        return rule_obliges(t, at, end, ret);
}

/* "Names stay outside, always": a sentence that ends with a word for all times. */
static bool rule_ever(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        size_t to = rule_last(t, at, end);

        if (to < at + 4 || !rule_says(t, to - 1, to, "always") || t->text[t->word[end - 1].at] == '?' ||
            t->word[at].class & PW_QUESTION || rule_says(t, at, end, "i") || rule_says(t, at, end, "as"))
                return false;
        to--;
        return rule_obliges(t, at, to, ret) && !rule_passing(ret);
}

/* Behind the colon of "keep quiet: never contact a customer", when a rule stands there; otherwise `at`. *ret_lifts: it
 * is a permission given now. */
static size_t rule_behind_colon(const PhraseText *t, size_t at, size_t end, bool *ret_lifts) {
        *ret_lifts = false;
        for (size_t i = at + 1; i + 1 < end; i++) {
                size_t k = rule_skip(t, i + 1, end), n;

                if (!rule_says(t, i, end, ":") || k >= end || t->word[k].foreign ||
                    !(rule_marker(t, k, k, end, &n) || rule_standing_at(t, k, end) || rule_lifts_at(t, k, end) ||
                      i - at <= 3))
                        continue;
                *ret_lifts = rule_find_list(t, at, i, RULE_TIMES, &n) != SIZE_MAX && rule_says(t, k, end, "you") &&
                             (rule_says(t, k + 1, end, "may") || rule_says(t, k + 1, end, "can"));
                return k;
        }
        return at;
}

/* "If the freeze is lifted tomorrow, tell me": a condition lifts and changes nothing. Behind the condition, or `end`.
 */
static size_t rule_behind_if(const PhraseText *t, size_t at, size_t end) {
        static const char *const ifs[] = {"if", "once", "when", "as soon as", "in case", "should", "unless", "until"};

        if (!RULE_AT(t, at, end, ifs))
                return at;
        while (at < end && !rule_says(t, at, end, ","))
                at++;
        return MIN(at + 1, end);
}

/* The rule or goal of the clause [from, end). */
static bool rule_of(const PhraseText *t, size_t from, size_t end, size_t sentence, Rule *ret) {
        RuleClause says;
        bool lifts;
        size_t n, main;

        if (rule_aim(t, from, end, ret) || rule_drop(t, from, end, sentence, ret) ||
            (rule_find_list(t, from, end, RULE_GOALS, &n) != SIZE_MAX && rule_goal(t, from, end, ret)))
                return true;
        ret->at = from = rule_behind_colon(t, from, end, &lifts);
        if (lifts && rule_words(t, from + 2, end, ret->body, sizeof(ret->body)) > 0) {
                ret->kind = RULE_LIFT; /* "Legal agrees now: you may …" */
                return true;
        }
        if (rule_narrated(t, from, end))
                return false;
        main = rule_behind_if(t, from, end);
        if (main < end && !rule_asks_only(t, from, end, sentence) &&
            (rule_lift(t, main, end, ret) || rule_change(t, main, end, ret)))
                return true;
        says = rule_clause(t, from, end, sentence, ret);
        return says == CLAUSE_RULE ||
               (says == CLAUSE_NOTHING && (rule_stated(t, from, end, sentence, ret) || rule_stands(t, from, end, ret) ||
                                           rule_ever(t, from, end, ret) || rule_tops(t, from, end, ret) ||
                                           rule_exclusive(t, from, end, ret) ||
                                           rule_orders(t, from, end, ret) ||
                                           rule_allow(t, from, end, ret) || rule_habit(t, from, end, sentence, ret) ||
                                           (!rule_wonders(t, from, end, sentence) && rule_goal(t, from, end, ret))));
}

/* "Unless Maria approves, nothing gets merged": the condition before goes with the rule. */
static void rule_with_condition(const PhraseText *t, size_t at, size_t end, Rule *r) {
        char words[RULE_BODY_MAX];
        size_t n = strlen(r->body);

        if (r->kind > RULE_AVOID || rule_words(t, at, end, words, sizeof(words)) == 0 ||
            n + strlen(words) + 1 > RULE_BODY_MAX)
                return;
        r->body[n] = ' ';
        strcpy(r->body + n + 1, words);
}

bool rule_next(const PhraseText *t, size_t *at, Rule *ret) {
        static const char *const conditions[] = {"unless", "until", "if", "when", "whenever",
                                                 "as long as", "before",  "after", "without", "while",
                                                 "during",     "in case", "once"};
        size_t condition = SIZE_MAX, condition_end = 0, n;

        rule_fill();
        while (*at < t->n) {
                size_t sentence = phrase_sentence_end(t, *at), from, end, item;
                RuleKind listed = rule_list(t, *at, &item);
                bool found;

                from = rule_skip(t, item, sentence);
                end = from < sentence ? rule_clause_end(t, from, sentence) : sentence;
                if (listed == RULE_MUST_NOT || listed == RULE_GOAL || listed == RULE_AVOID || listed == RULE_ALLOWED)
                        end = sentence;
                *ret = (Rule){.at = from, .end = end};
                *at = MAX(end, *at + 1);
                if (from >= end || t->word[from].foreign)
                        continue;
                if (listed < RULE_KINDS && listed != RULE_MUST)
                        found = rule_listed(t, listed, item, end, ret);
                else
                        found = (rule_of(t, from, end, sentence, ret) &&
                                 !(listed == RULE_MUST && ret->kind == RULE_GOAL)) ||
                                (listed == RULE_MUST && rule_listed(t, RULE_MUST, item, end, ret));
                if (found) {
                        *at = MIN(*at,
                                  MAX(ret->end, from + 1)); /* "forget the hotel, find me …": the rest is read, too */
                        if (condition != SIZE_MAX)
                                rule_with_condition(t, condition, condition_end, ret);
                        return true;
                }
                condition = end < sentence && rule_says(t, end, sentence, ",") &&
                                            rule_find(t, from, MIN(end, from + 3), conditions, ARRAY_SIZE(conditions),
                                                      NULL, &n) == from
                                    ? from
                                    : SIZE_MAX;
                condition_end = end;
        }
        return false;
}
