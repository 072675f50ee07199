#include "engine/statement-modal.h"

#include "engine/statement-patterns.h"

#include <string.h>

bool word_is_gerund(const StatementWord *w) {
        size_t n = strlen(w->p);

        return n > 5 && strcmp(w->p + n - 3, "ing") == 0 && !words_have(NOUNS_IN_ING, w->p);
}

/* The tag of "is (not) allowed", "must (not) be allowed"; 0: no such word. */
static ClaimTag modal_adjective(const char *p, bool negated) {
        return words_have(ALLOWED, p)                          ? (negated ? CLAIM_FORBIDDEN : CLAIM_PERMITTED)
               : words_have(BANNED, p)                         ? (negated ? CLAIM_PERMITTED : CLAIM_FORBIDDEN)
               : words_have("supposed|expected", p) && negated ? CLAIM_FORBIDDEN
               : words_have(NEEDED, p)                         ? (negated ? CLAIM_EXEMPT : CLAIM_REQUIRED)
               : words_have(SPARE, p)                          ? (negated ? CLAIM_REQUIRED : CLAIM_EXEMPT)
                                                               : 0;
}

/* "allowed to use X", "forbidden from using X", "X is forbidden (for skills)": from the adjective at i on. */
static bool modal_with_adjective(WordSpan s, size_t who_end, size_t i, bool negated, Modal *ret) {
        WordSpan rest = word_span_from(s, i + 1);
        size_t to;

        *ret = (Modal){.tag = modal_adjective(s.w[i].p, negated), .who = word_span_until(s, who_end)};
        if (!ret->tag)
                return false;
        if (word_span_has(rest, 0, "only")) {
                ret->only_action = true;
                rest = word_span_from(rest, 1);
        }
        if (word_span_has(rest, 0, "for") && who_end == 1 &&
            word_span_has(s, 0, "it")) { /* "it is forbidden for skills to use X" */
                to = word_span_find(rest, 1, "to");
                ret->who = word_span_from(word_span_until(rest, to), 1);
                ret->action = word_span_from(rest, to + 1);
                return true;
        }
        if (word_span_has(rest, 0, "to|from")) {
                ret->action = word_span_from(rest, 1);
                if (ret->action.n > 0 && word_is_gerund(&ret->action.w[0]))
                        ret->noun = true;
                return true;
        }
        ret->noun = true;
        ret->action = ret->who;
        ret->who = (WordSpan){0};
        if (ret->only_action && rest.n > 0) /* "allowed only in tests" */
                return false;
        if (word_span_has(rest, 0, "for") && rest.n > 1)
                ret->who = word_span_from(rest, 1);
        else if (rest.n > 0)
                return false; /* "is required by the build" */
        return true;
}

static size_t modal_skip(WordSpan s, size_t i) {
        while (word_span_has(s, i, "always|also|still|ever|strictly"))
                i++;
        return i;
}

/* The modal verb at word i, if any. */
static bool modal_at(WordSpan s, size_t i, Modal *ret) {
        bool negated = false;
        size_t k = i + 1;

        *ret = (Modal){.who = word_span_until(s, i)};
        if (word_span_has(s, i, BE)) {
                negated = word_span_has(s, k, NOT);
                if (word_span_has(s, k, "never|always") && k + 1 < s.n && !modal_adjective(s.w[k + 1].p, false)) {
                        ret->tag = negated ? CLAIM_FORBIDDEN : CLAIM_REQUIRED;
                        ret->be = true;
                        ret->action = word_span_from(s, k + 1);
                        return true;
                }
                k = modal_skip(s, k + negated);
                return k < s.n && modal_with_adjective(s, i, k, negated, ret);
        }
        if (word_span_has(s, i, "do|does|did") && word_span_has(s, k, "not")) {
                k = modal_skip(s, k + 1);
                if (word_span_has(s, k, "have|need") && word_span_has(s, k + 1, "to")) {
                        ret->tag = CLAIM_EXEMPT;
                        ret->action = word_span_from(s, k + 2);
                        return true;
                }
                ret->tag = CLAIM_FORBIDDEN;
                ret->action = word_span_from(s, k);
                return !word_span_has(s, k, "only|need|know|think|want");
        }
        if (word_span_has(s, i, "never|always")) {
                ret->tag = word_span_has(s, i, "never") ? CLAIM_FORBIDDEN : CLAIM_REQUIRED;
                ret->action = word_span_from(s, k);
                return ret->action.n > 0;
        }
        if (word_span_has(s, i, HAVE_TO) && word_span_has(s, k, "to"))
                k++;
        else if (word_span_has(s, i, "need") && word_span_has(s, k, "not")) {
                ret->tag = CLAIM_EXEMPT;
                ret->action = word_span_from(s, k + 1);
                return true;
        } else if (!word_span_has(s, i, MUST "|" MAY))
                return false;
        ret->tag = word_span_has(s, i, MAY) ? CLAIM_PERMITTED : CLAIM_REQUIRED;
        k = modal_skip(s, k);
        if (word_span_has(s, k, NOT)) {
                negated = true;
                ret->tag = CLAIM_FORBIDDEN;
                k = modal_skip(s, k + 1);
        }
        if (word_span_has(s, k, "no") && word_span_has(s, k + 1, "longer")) {
                ret->tag = CLAIM_FORBIDDEN;
                k += 2;
        }
        if (word_span_has(s, k, "only")) {
                if (negated)
                        return false; /* "must not only …" */
                ret->only_action = true;
                k = modal_skip(s, k + 1);
        }
        if (word_span_has(s, k, "be") && k + 1 < s.n && modal_adjective(s.w[k + 1].p, false)) {
                bool only = ret->only_action;

                if (!modal_with_adjective(s, i, k + 1, negated, ret))
                        return false;
                ret->only_action |= only;
                return true;
        }
        ret->action = word_span_from(s, k);
        return true;
}

/* "we decided that …": goes to the decision. False: a report, "Bob said that …". */
static bool modal_inner(WordSpan *s) {
        size_t that = word_span_find(*s, 1, "that");

        if (word_span_has(*s, 0, HEADS) && !word_span_has(*s, 1, BE "|that"))
                *s = word_span_from(*s, 1 + word_span_has(*s, 1, "to"));
        for (size_t i = 0; i < 4 && i < s->n; i++)
                if (word_span_has(*s, i, "decided|agreed|chose|resolved") && word_span_has(*s, i + 1, "to")) {
                        *s = word_span_from(*s, i + 2);
                        return true;
                }
        that = word_span_find(*s, 1, "that");
        if (that + 2 >= s->n || that > 5)
                return true;
        if (word_span_find(*s, 0, SAID) < that)
                return false;
        if (word_span_find(*s, 0, DECIDES) < that)
                *s = word_span_from(*s, that + 1);
        return true;
}

/* "because …" is a reason. */
static WordSpan modal_without_reason(WordSpan s) {
        size_t end = word_span_find(s, 1, "because|since");

        for (size_t i = 1; i + 1 < s.n; i++)
                if ((word_span_has(s, i, "so") && word_span_has(s, i + 1, "that")) ||
                    (word_span_has(s, i, "in") && word_span_has(s, i + 1, "order")) ||
                    (s.w[i].comma && word_span_has(s, i, ASIDES)))
                        end = MIN(end, i);
        return word_span_until(s, end);
}

bool modal_order(WordSpan s, Modal *ret) {
        size_t i = 0;

        while (word_span_has(s, i, CALLERS) ||
               (i == 0 && word_span_has(s, i, "the") && word_span_has(s, 1, "team|project")))
                i += word_span_has(s, i, "the") ? 2 : 1;
        *ret = (Modal){.tag = CLAIM_REQUIRED, .action = word_span_from(s, i)};
        if (word_span_has(s, i, "no") && i + 1 < s.n && !word_span_has(s, i + 1, "longer|more|one") &&
            word_span_find(s, i, BE) == s.n) {
                ret->tag = CLAIM_FORBIDDEN;
                ret->noun = true;
                ret->action = word_span_from(s, i + 1);
                return true;
        }
        if (word_span_has(s, i, "only")) {
                ret->only_action = true;
                ret->action = word_span_from(s, ++i);
        }
        if (!word_span_has(s, i, VERBS))
                return false;
        if (word_span_has(s, i, AVOIDING) || word_span_has(s, i, "allow|permit|require")) {
                size_t to = word_span_find(s, i + 1, "to"), from = word_span_find(s, i + 1, "from");

                ret->tag = word_span_has(s, i, "allow|permit") ? CLAIM_PERMITTED
                           : word_span_has(s, i, "require")    ? CLAIM_REQUIRED
                                                               : CLAIM_FORBIDDEN;
                ret->noun = true;
                ret->action = word_span_from(s, i + 1 + word_span_has(s, i + 1, "from|to"));
                if (word_span_has(s, i, "allow|permit|require|forbid") && to > i + 1 && to + 1 < s.n) {
                        ret->who = word_span_from(word_span_until(s, to), i + 1);
                        ret->action = word_span_from(s, to + 1);
                        ret->noun = false;
                } else if (word_span_has(s, i, "forbid|prohibit|ban|block|stop") && from > i + 1 && from + 1 < s.n) {
                        ret->who = word_span_from(word_span_until(s, from), i + 1);
                        ret->action = word_span_from(s, from + 1);
                }
        }
        return true;
}

bool modal_find(WordSpan s, Modal *ret, size_t *ret_at) {
        for (*ret_at = 0; *ret_at < s.n; ++*ret_at)
                if (modal_at(s, *ret_at, ret))
                        return true;
        return false;
}

bool modal_clause(WordSpan *s) {
        if (!modal_inner(s))
                return false;
        *s = modal_without_reason(*s);
        return !word_span_has(*s, 0, CONDITIONS) && word_span_find(*s, 0, GUESSES) == s->n;
}
