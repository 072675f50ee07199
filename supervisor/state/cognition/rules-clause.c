/* Runs: supervisor, CLI. Clauses by their structure: permission, prohibition and need, with or without a negation;
 * habits; narration of the past. */
#include "cognition/clause-patterns.h"
#include "cognition/rules-inside.h"

static bool clause_ends_with(const PhraseText *t, size_t i, const char *suffix) {
        size_t n = strlen(suffix);

        return t->word[i].letter && t->word[i].n > n + 1 &&
               memcmp(t->low + t->word[i].at + t->word[i].n - n, suffix, n) == 0;
}

static bool clause_participle(const PhraseText *t, size_t i, size_t end) {
        static const char *const irregular[] = {"told", "sent", "kept", "made", "paid", "put", "cut",
                                                "read",  "set",    "left", "held", "brought", "met",  "gone",
                                                "been",  "done",   "got",  "had",  "run",     "lost", "found",
                                                "built", "bought", "sold", "shut", "split",   "spent"};

        return i < end &&
               ((clause_ends_with(t, i, "ed") && !clause_ends_with(t, i, "eed")) || clause_ends_with(t, i, "en") ||
                clause_ends_with(t, i, "wn") || RULE_AT(t, i, end, irregular) > 0);
}

static bool clause_past_verb(const PhraseText *t, size_t i, size_t end) {
        static const char *const verbs[] = {"got", "came", "saw", "told", "went", "knew", "heard",
                                            "did",    "had",   "was",   "were",  "said",    "gave",  "took",
                                            "left",   "found", "made",  "sent",  "thought", "could", "paid",
                                            "bought", "felt",  "wrote", "spoke", "met",     "ran",   "broke"};

        return i < end &&
               ((clause_ends_with(t, i, "ed") && !clause_ends_with(t, i, "eed")) || RULE_AT(t, i, end, verbs) > 0);
}

static bool clause_pronoun(const PhraseText *t, size_t i, size_t end) {
        static const char *const words[] = {"it", "that", "this", "i", "we", "they", "he",
                                            "she",    "there",   "what",  "which", "who", "everything", "it's",
                                            "that's", "there's", "those", "these", "one"};

        return RULE_AT(t, i, end, words) > 0;
}

bool rule_narrated(const PhraseText *t, size_t at, size_t end) {
        static const char *const verbs[] = {"was", "were", "wasn't", "weren't", "had", "didn't",
                                            "couldn't", "could", "wanted", "went",    "did", "used"};
        size_t n;

        n = RULE_AT(t, at, end, clause_unable);
        if (n > 0 && RULE_AT(t, at + n, end, clause_failing) && !RULE_HAS(t, at + n, end, clause_bounds))
                return true; /* "we can't reach the host" */
        n = RULE_AT(t, at, end, clause_own_who);
        if (n > 0 && clause_past_verb(t, at + n, end))
                return true;
        for (size_t i = at; i < end; i++) {
                size_t past = RULE_AT(t, i, end, clause_past);

                if (past > 0 && (RULE_HAS(t, at, end, verbs) || rule_says(t, i, end, "had")))
                        return true;
                if (rule_says(t, i, end, "in") && i + 1 < end && t->word[i + 1].n == 4 && t->word[i + 1].digit &&
                    RULE_HAS(t, at, end, verbs))
                        return true;
                if (rule_says(t, i, end, "must") || rule_says(t, i, end, "should")) {
                        if (rule_says(t, i + 1, end, "have") && clause_participle(t, i + 2, end))
                                return true;
                        if (rule_says(t, i + 1, end, "be") &&
                            (RULE_AT(t, i + 2, end, clause_moods) || clause_ends_with(t, MIN(i + 2, end - 1), "ing") ||
                             RULE_HAS(t, i, end, clause_own_by_now)))
                                return true;
                }
        }
        return false;
}

/* Body: the words before and behind the predicate. */
static bool clause_whole(const PhraseText *t, size_t at, size_t to, size_t rest, size_t end, Rule *ret) {
        char tail[RULE_BODY_MAX];
        size_t n;

        rule_trim(t, &at, &to);
        rule_trim(t, &rest, &end);
        n = rule_words(t, at, to, ret->body, sizeof(ret->body));
        if (rule_words(t, rest, end, tail, sizeof(tail)) > 0 && n + strlen(tail) + 2 < sizeof(ret->body)) {
                if (n > 0)
                        ret->body[n++] = ' ';
                strcpy(ret->body + n, tail);
        }
        return ret->body[0] != '\0';
}

static bool clause_rest(const PhraseText *t, RuleKind kind, size_t at, size_t end, Rule *ret) {
        end = rule_remark(t, at, end);
        rule_trim(t, &at, &end);
        ret->kind = kind;
        return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0 &&
               (strchr(ret->body, ' ') || kind != RULE_MUST);
}

/* "It is essential that you never …": the rule behind, or the words. */
static bool clause_behind(const PhraseText *t, RuleKind kind, size_t at, size_t end, size_t sentence, Rule *ret) {
        Rule inner = *ret;

        if (kind == RULE_MUST && rule_stated(t, at, end, sentence, &inner)) {
                *ret = inner;
                return true;
        }
        return clause_rest(t, kind, at, end, ret);
}

/* Behind the complement's "that" or "to" of "it is important to me that …", or SIZE_MAX. */
static size_t clause_complement(const PhraseText *t, size_t at, size_t end) {
        for (size_t i = at; i < end && i < at + 5; i++)
                if (rule_says(t, i, end, "that") ||
                    (rule_says(t, i, end, "to") && !rule_says(t, i + 1, end, "me") && !rule_says(t, i + 1, end, "us")))
                        return i + 1;
        return SIZE_MAX;
}

typedef struct ClausePredicate {
        bool past, no, only, now, soft; /* soft: "fine" and the like */
        RuleKind kind;                  /* without the negation */
        size_t at, head, end;           /* words: "is", the adjective, behind it */
} ClausePredicate;

static bool clause_predicate(const PhraseText *t, size_t i, size_t end, ClausePredicate *ret) {
        static const char *const past[] = {"was", "were", "wasn't", "weren't"};
        static const char *const soft[] = {"ok", "okay", "fine", "alright", "all right", "welcome",
                                           "acceptable", "possible", "good to go", "cleared to", "free to"};
        size_t n = RULE_AT(t, i, end, clause_be), k = i + n;

        if (n == 0)
                return false;
        *ret = (ClausePredicate){.at = i, .past = RULE_AT(t, i, end, past) > 0};
        ret->no = clause_ends_with(t, i, "n't") || rule_says(t, i, end, "ain't");
        for (; k < end; k += n) {
                n = 1;
                if (rule_says(t, k, end, "not") || rule_says(t, k, end, "never") || rule_says(t, k, end, "no"))
                        ret->no = true;
                else if (rule_says(t, k, end, "only"))
                        ret->only = true;
                else if ((n = RULE_AT(t, k, end, clause_adverbs)) > 0)
                        ret->now |= rule_says(t, k, end, "now") || rule_says(t, k, end, "again");
                else
                        break;
        }
        ret->head = k;
        if ((n = RULE_AT(t, k, end, clause_permits)) > 0)
                ret->kind = RULE_ALLOWED;
        else if ((n = RULE_AT(t, k, end, clause_forbids)) > 0)
                ret->kind = RULE_MUST_NOT;
        else if ((n = RULE_AT(t, k, end, clause_obliges)) > 0)
                ret->kind = RULE_MUST;
        else
                return false;
        if (rule_says(t, k + n - 1, k + n, "to") && n > 1)
                n--; /* "expected to" */
        ret->soft = RULE_AT(t, k, end, soft) > 0;
        ret->end = k + n;
        ret->now |= RULE_HAS(t, ret->end, end, clause_times);
        return true;
}

/* "X is (not) allowed …". */
static RuleClause clause_says(const PhraseText *t, size_t at, size_t end, size_t sentence, const ClausePredicate *p,
                              Rule *ret) {
        static const char *const grave[] = {"important", "critical", "vital", "crucial",
                                            "needed",    "essential", "called for"};
        bool dummy = clause_pronoun(t, p->at > at ? p->at - 1 : at, end),
             you = rule_says(t, p->at > at ? p->at - 1 : at, end, "you") || rule_says(t, p->at, end, "you're");
        size_t behind = clause_complement(t, p->end, end), from = behind != SIZE_MAX ? behind : p->end;
        RuleKind kind = p->kind;

        if (p->past)
                return p->soft ? CLAUSE_NOTHING : CLAUSE_IDLE;
        if (dummy && behind == SIZE_MAX)
                return CLAUSE_NOTHING;
        if (kind == RULE_MUST && RULE_AT(t, p->head, end, grave) && !dummy && !p->no)
                return CLAUSE_NOTHING;
        if (p->only && kind == RULE_ALLOWED) {
                ret->kind = RULE_MUST;
                return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0 ? CLAUSE_RULE : CLAUSE_NOTHING;
        }
        if (kind == RULE_MUST && p->no) {
                ret->kind = RULE_LIFT;
                return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0 ? CLAUSE_RULE : CLAUSE_NOTHING;
        }
        if (p->no && p->soft &&
            (rule_says(t, p->head, end, "possible") || rule_says(t, p->head, end, "welcome") || you))
                return CLAUSE_NOTHING;
        if (p->no)
                kind = kind == RULE_ALLOWED ? RULE_MUST_NOT : RULE_LIFT;
        if (kind == RULE_ALLOWED && p->now && !RULE_HAS(t, p->end, end, clause_terms))
                kind = RULE_LIFT;
        ret->weak = kind == RULE_ALLOWED && p->soft && !(dummy && behind != SIZE_MAX);
        ret->kind = kind;
        if (dummy || (you && behind != SIZE_MAX))
                return clause_behind(t, kind, from, end, sentence, ret) ? CLAUSE_RULE : CLAUSE_NOTHING;
        if (p->at == at && !you)
                return CLAUSE_NOTHING;
        if (kind == RULE_MUST)
                return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0 && strchr(ret->body, ' ')
                               ? CLAUSE_RULE
                               : CLAUSE_NOTHING;
        return clause_whole(t, at, p->at, p->end, end, ret) ? CLAUSE_RULE : CLAUSE_NOTHING;
}

/* "The door is to remain locked", "nothing is ever to be written …". */
static bool clause_is_to(const PhraseText *t, size_t at, size_t i, size_t end, Rule *ret) {
        static const char *const states[] = {"be", "remain", "stay"};
        static const char *const plans[] = {"goal", "objective", "aim", "mission", "task", "priority", "plan",
                                            "idea", "point",     "job", "purpose", "target", "trick"};
        bool no = false;
        size_t k = i + 1;

        if (!rule_says(t, i, end, "is") && !rule_says(t, i, end, "are") && !rule_says(t, i, end, "isn't") &&
            !rule_says(t, i, end, "aren't"))
                return false;
        no = clause_ends_with(t, i, "n't");
        for (; rule_says(t, k, end, "not") || rule_says(t, k, end, "never") || rule_says(t, k, end, "always"); k++)
                no |= !rule_says(t, k, end, "always");
        if (!rule_says(t, k, end, "to") || i == at || clause_pronoun(t, i - 1, end) || RULE_AT(t, i - 1, end, plans) ||
            (!no && !RULE_AT(t, k + 1, end, states)))
                return false;
        ret->kind = no ? RULE_MUST_NOT : RULE_MUST;
        return clause_whole(t, at, i, k + 1, end, ret);
}

/* A plural without an article, or "every", "all": the sentence speaks of each member. */
static bool clause_generic(const PhraseText *t, size_t at, size_t end) {
        return RULE_AT(t, at, end, clause_every) > 0 ||
               (t->word[at].letter && t->word[at].n > 3 && clause_ends_with(t, at, "s") &&
                !clause_ends_with(t, at, "ss") && !clause_ends_with(t, at, "us") && !clause_ends_with(t, at, "is") &&
                !clause_ends_with(t, at, "'s") && !(t->word[at].class & (PW_STOP | PW_DAY)) && !t->word[at].digit);
}

static bool clause_habit(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        bool generic = clause_generic(t, at, end);

        if (clause_pronoun(t, at, end) || rule_says(t, at, end, "you") || t->word[at].class & PW_QUESTION ||
            end - at > 24)
                return false;
        for (size_t i = at + 1; i < end && i < at + 9; i++) {
                size_t n = generic ? RULE_AT(t, i, end, clause_habits) : 0,
                       m = n > 0 ? n : RULE_AT(t, i, end, clause_stays);

                if (m == 0 || i + m >= end || clause_pronoun(t, i - 1, end) || rule_says(t, i - 1, end, "you") ||
                    rule_says(t, i - 1, end, "to") || rule_says(t, i - 1, end, "can") ||
                    RULE_AT(t, i + m, end, clause_own_open) || t->word[i - 1].class & PW_ARTICLE)
                        continue;
                if (rule_says(t, i, end, "should") && !rule_says(t, i + 1, end, "be"))
                        continue;
                ret->kind = RULE_MUST;
                end = rule_remark(t, at, end);
                rule_trim(t, &at, &end);
                return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0 && strchr(ret->body, ' ');
        }
        for (size_t i = at + 1; i + 2 < end && i < at + 9; i++) /* "Nurse Okafor should be informed" */
                if (rule_says(t, i, end, "should") && rule_says(t, i + 1, end, "be") &&
                    clause_participle(t, i + 2, end) && !clause_pronoun(t, i - 1, end)) {
                        ret->kind = RULE_MUST;
                        return clause_whole(t, at, i, i + 1, end, ret);
                }
        return false;
}

/* "I can't fly before 9", "we won't pay more than $90". */
static bool clause_refusal(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        static const char *const who[] = {"i", "we", "you", "my", "our"};

        if (!RULE_AT(t, at, end, who))
                return false;
        for (size_t i = at + 1; i < end && i < at + 4; i++) {
                size_t n = RULE_AT(t, i, end, clause_refuses);

                for (size_t k = i + n; n > 0 && k < end && k < i + 10; k++) {
                        size_t m = RULE_AT(t, k, end, clause_bounds);

                        if (m > 0 && rule_number_follows(t, k + m, end)) {
                                ret->limit = true;
                                return clause_rest(t, RULE_MUST_NOT, i + n, end, ret);
                        }
                }
        }
        return false;
}

/* Imperatives by their form. */
static bool clause_imperative(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret) {
        static const char *const alone[] = {"alone", "untouched", "as is", "as it is", "as they are", "be"};
        static const char *const but[] = {"anything but", "everything but", "anyone but", "any day but",
                                          "anywhere but"};
        static const char *const each[] = {"every", "each", "all", "any"};
        static const char *const said[] = {"i", "we", "agreed", "discussed", "planned", "said", "before"};
        size_t n, m;

        if ((n = RULE_AT(t, at, end, but)) > 0)
                return clause_rest(t, RULE_AVOID, at + n, end, ret);
        if (rule_says(t, at + 1, end, "no") && at + 2 < end && t->word[at + 2].letter &&
            RULE_AT(t, at, end, clause_makes)) {
                ret->kind = RULE_MUST_NOT;
                return clause_whole(t, at, at + 1, at + 2, end, ret);
        }
        if (rule_says(t, at, end, "leave"))
                for (size_t i = at + 2; i < end; i++) {
                        if ((m = RULE_AT(t, i, end, alone)) > 0 && i + m + 1 >= end)
                                return clause_rest(t, RULE_AVOID, at + 1, i, ret);
                        if (rule_says(t, i, end, "where") ||
                            (rule_says(t, i, end, "as") && !RULE_AT(t, i + 1, end, said))) /* "as I said" */
                                return clause_rest(t, RULE_MUST, at, end, ret);
                }
        n = RULE_AT(t, at, end, clause_own_wants);
        if (n > 0 && RULE_AT(t, at + n, end, each))
                for (size_t i = at + n + 2; i < end; i++)
                        if (clause_participle(t, i, end) || rule_says(t, i, end, "to"))
                                return clause_rest(t, RULE_MUST, at + n, end, ret);
        n = RULE_AT(t, at, end, clause_own_terms);
        for (size_t i = at + n + 1; n > 0 && i + 2 < end; i++) /* "Until the audit is over, leave the logs …" */
                if (rule_says(t, i, end, ",") && !(t->word[i + 1].class & (PW_ARTICLE | PW_QUESTION | PW_YES)) &&
                    !clause_pronoun(t, i + 1, end) && !rule_says(t, i + 1, end, "you")) {
                        if (rule_stated(t, i + 1, end, sentence, ret))
                                return true;
                        ret->kind = RULE_MUST;
                        return clause_whole(t, i + 1, end, at, i, ret);
                }
        for (m = end; m > at && !t->word[m - 1].letter; m--)
                ;
        if (m > at + 3 && rule_says(t, m - 1, m, "only") && !rule_says(t, at, end, "i") &&
            !rule_says(t, at, end, "we") && !(t->word[at].class & (PW_YES | PW_NO))) {
                ret->kind = RULE_MUST;
                return rule_words(t, at, m, ret->body, sizeof(ret->body)) > 0;
        }
        if (rule_says(t, end, sentence, ",") &&
            (phrase_match(t, end + 1, sentence, "no exceptions") || phrase_match(t, end + 1, sentence, "no exception")))
                return clause_rest(t, RULE_MUST, at, end, ret);
        return false;
}

/* A need that ends, and a permission. */
static bool clause_frees(const PhraseText *t, size_t at, size_t end, Rule *ret) {
        static const char *const imperative[] = {"don't", "do not", "never", "no", "nothing", "stop", "avoid"};
        static const char *const bounds[] = {"up to", "at most", "no more than", "only",
                                             "not",   "now",     "under",        "below"};
        size_t n, i = rule_find(t, at, end, clause_own_bars, ARRAY_SIZE(clause_own_bars), NULL, &n);

        if (i != SIZE_MAX) {
                ret->kind = RULE_MUST_NOT;
                return clause_whole(t, at, i, i + n, end, ret);
        }
        if (RULE_AT(t, at, end, imperative))
                return false;
        if (RULE_HAS(t, at, end, clause_needless) ||
            (RULE_HAS(t, at, end, clause_anymore) && RULE_HAS(t, at, end, clause_negations) &&
             !RULE_HAS(t, at, end, clause_own_forbids))) {
                ret->kind = RULE_LIFT;
                return rule_words(t, at, end, ret->body, sizeof(ret->body)) > 0;
        }
        n = RULE_AT(t, at, end, clause_own_allow);
        if (n > 0 && !RULE_HAS(t, at + n, end, bounds)) {
                ret->weak = true;
                return clause_rest(t, RULE_ALLOWED, at + n, end, ret);
        }
        return false;
}

RuleClause rule_clause(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret) {
        bool begins;
        size_t n;

        if (rule_asks_only(t, at, end, sentence))
                return CLAUSE_NOTHING;
        if (rule_narrated(t, at, end))
                return CLAUSE_IDLE;
        if (clause_frees(t, at, end, ret))
                return CLAUSE_RULE;
        for (size_t i = at; i < end; i++) {
                ClausePredicate p;
                RuleClause says;

                begins = i == at || rule_says(t, i - 1, end, ",");
                if (begins && (n = RULE_AT(t, i, end, clause_rather)) > 0)
                        return clause_rest(t, RULE_AVOID, i + n, end, ret) ? CLAUSE_RULE : CLAUSE_NOTHING;
                if (begins && (n = RULE_AT(t, i, end, clause_warnings)) > 0)
                        return clause_rest(t, RULE_MUST_NOT, i + n, end, ret) ? CLAUSE_RULE : CLAUSE_NOTHING;
                if (begins && (n = RULE_AT(t, i, end, clause_you)) > 0 && RULE_HAS(t, i + n, end, clause_ever))
                        return clause_behind(t, RULE_MUST, i + n, end, sentence, ret) ? CLAUSE_RULE : CLAUSE_NOTHING;
                if (begins && (n = RULE_AT(t, i, end, clause_demands)) > 0 &&
                    !(rule_says(t, i + n - 1, end, "need") && rule_says(t, i + n, end, "to"))) {
                        n -= rule_says(t, i + n - 1, end, "need");
                        return clause_behind(t, RULE_MUST, i + n, end, sentence, ret) ? CLAUSE_RULE : CLAUSE_NOTHING;
                }
                if (clause_is_to(t, at, i, end, ret))
                        return CLAUSE_RULE;
                if (clause_predicate(t, i, end, &p) &&
                    (says = clause_says(t, at, end, sentence, &p, ret)) != CLAUSE_NOTHING)
                        return says;
        }
        ret->weak = false;
        if (clause_refusal(t, at, end, ret) || clause_imperative(t, at, end, sentence, ret))
                return CLAUSE_RULE;
        return CLAUSE_NOTHING;
}

bool rule_habit(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret) {
        return !rule_asks_only(t, at, end, sentence) && clause_habit(t, at, end, ret);
}
