/* Runs: supervisor, CLI. The predicates of an end (cues-end.h): "is fixed", "no longer fails", "can be imported again",
 * "Ops fixed X". */
#include "belief/cues-end.h"

#include <string.h>

#define NEEDS_DENIAL "without/no/not/never/forbidden/offline/ban/cannot/prohibited"

static size_t verb_adverbs(const EndText *t, size_t i) {
        return end_skip(t, i, END_BIT(ADVERB));
}

/* "any more", "any longer", "anymore". Returns the word behind; 0: no such phrase. */
static size_t verb_any_more(const EndText *t, size_t i) {
        if (end_word_is(t, i, "anymore"))
                return i + 1;
        if (end_word_is(t, i, "any") && (end_word_is(t, i + 1, "more") || end_word_is(t, i + 1, "longer")))
                return i + 2;
        return 0;
}

/* Behind "no longer", or behind a denial whose clause has "any more" (*ret_end, its first word); 0: neither. */
static size_t verb_no_longer(const EndText *t, size_t i, size_t *ret_end) {
        *ret_end = 0;
        if (end_word_is(t, i, "no") && (end_word_is(t, i + 1, "longer") || end_word_is(t, i + 1, "more")))
                return i + 2;
        if (!end_is(t, i, END_BIT(NOT)))
                return 0;
        for (size_t k = i + 1; k < end_clause_to(t, i + 1); k++)
                if (verb_any_more(t, k)) {
                        *ret_end = k;
                        return i + 1;
                }
        return 0;
}

static bool verb_done(EndVerb *v, EndClass is, size_t to) {
        v->is = is;
        v->to = to;
        return true;
}

/* "dealt with", "sorted out", "taken care of", "a thing of the past". Returns the word behind; 0: none. */
static size_t verb_phrase(const EndText *t, size_t i) {
        static const char *const phrases[] = {
                "dealt with",    "done with",           "sorted out", "ironed out",  "cleared up",   "taken care of",
                "behind us",     "a thing of the past", "no more",    "put to rest", "laid to rest", "worked out",
                "gotten rid of", "got rid of",          "sorted",     "ticked off",          "moved to done",
                "done dusted",   "done and dusted",     NULL,
        };

        for (const char *const *p = phrases; *p; p++) {
                size_t to = end_phrase(t, i, *p);

                if (to > 0)
                        return to;
        }
        return 0;
}

static size_t verb_when(const EndText *t, size_t i, size_t to) {
        while (i < to && !end_word_is(t, i, "when"))
                i++;
        return i;
}

/* The words that are no longer so: from word i to the "any more" at word `end`, or 0. */
static bool verb_ceased(const EndText *t, size_t i, size_t end, bool is, EndVerb *v) {
        size_t a = is && end_is(t, i, END_BIT(ARTICLE)) && !end_word_is(t, i, "my") ? i + 1 : i,
               to = end ? end : end_object_to(t, i);
        size_t after = end ? verb_any_more(t, end) : to;

        if (end_is(t, a, END_BIT(TROUBLE)) && (!end || a + 1 == end))
                return verb_done(v, END_TROUBLE, end ? after : a + 1);
        if (is && end_word_is(t, i, "in") && (end_word_is(t, i + 1, "force") || end_word_is(t, i + 1, "effect")))
                return verb_done(v, END_LIFT, end ? after : i + 2);
        if (is && end_is(t, i, END_BIT(VALID)))
                return verb_done(v, END_LIFT, end ? after : i + 1);
        if (!is && end_is(t, i, END_BIT(HOLDS)) && (end ? i + 1 == end : true))
                return verb_done(
                        v, end_word_is(t, i, "exists") || end_word_is(t, i, "exist") ? END_TROUBLE_OR_NAMED : END_NAMED,
                        end ? after : i + 1);
        if (end_is(t, i, END_BIT(HAPPENS)) && (end ? i + 1 == end : true))
                return verb_done(v, END_TROUBLE, end ? after : i + 1);
        if (!is && (end_word_is(t, i, "have") || end_word_is(t, i, "has") || end_word_is(t, i, "need")) &&
            end_word_is(t, i + 1, "to")) {
                v->more = i + 2;
                v->more_to = to;
                return i + 2 < to && verb_done(v, END_LIFT, after);
        }
        if (is && a > i && !end_is(t, a, END_BIT(TROUBLE)) && (end_word_is(t, i, "our") || end_word_is(t, i, "the"))) {
                v->more = a;
                v->more_to = to;
                return a < to && verb_done(v, END_REVERSE, after);
        }
        if (i >= to || end_has(t, i, verb_when(t, i, to), END_BIT(NOW_BE) | END_BIT(MODAL) | END_BIT(PRONOUN)))
                return false;
        v->more = end_is(t, i, END_BIT(FAILS)) ? i + 1 : i;
        v->more_to = to;
        return verb_done(v, END_TROUBLE, after);
}

static bool verb_becomes(const EndText *t, size_t from, size_t to) {
        for (size_t i = from; i < to; i++)
                if (end_word_is(t, i, "become") || end_word_is(t, i, "became"))
                        return true;
        return false;
}

/* The opposite of a trouble, behind "is": the row has to know the trouble. */
static bool verb_opposite(const EndText *t, size_t from, size_t i, EndVerb *v) {
        static const struct {
                const char *state, *trouble;
        } opposites[] = {
                {"stable", "fail/flaky/unstable"},
                {"reliable", "fail/flaky/unreliable"},
                {"deterministic", "fail/flaky"},
                {"steady", "fail/flaky/unstable"},
                {"green", "fail/flaky/red"},
                {"empty", "full"},
                {"up", "down"},
                {"reachable", "down/unreachable"},
                {"fast", "slow/seconds/long"},
                {"quick", "slow/seconds/long"},
                {"available", "down/unavailable"},
                {"online", "down/offline"},
        };

        i = verb_adverbs(t, i);
        for (size_t k = 0; k < ARRAY_SIZE(opposites); k++)
                if (end_word_is(t, i, opposites[k].state) &&
                    (end_has(t, from, end_clause_to(t, i), END_BIT(CHANGE)) || verb_becomes(t, from, i))) {
                        v->needs = opposites[k].trouble;
                        return verb_done(v, END_TROUBLE, i + 1);
                }
        return false;
}

/* Behind a form of "be", "got", "has been". */
static bool verb_passive(const EndText *t, size_t from, size_t i, EndVerb *v) {
        size_t k = verb_phrase(t, i), end;

        if (k)
                return verb_done(v, END_TROUBLE, k);
        if (end_is(t, i, END_BIT(DONE) | END_BIT(DONE_SLANG)) && !end_word_is(t, i, "ok"))
                return verb_done(v, END_TROUBLE, i + 1);
        if (end_is(t, i, END_BIT(OVER)))
                return verb_done(v, END_TROUBLE_OR_NAMED,
                                 i + 1 + (end_word_is(t, i, "gone") && end_word_is(t, i + 1, "away")));
        if (end_is(t, i, END_BIT(LIFTED)) && end_is(t, i, END_BIT(REVERSED)))
                return verb_done(v, END_NAMED, i + 1);
        if (end_is(t, i, END_BIT(LIFTED)))
                return verb_done(v, END_LIFT, i + 1);
        if (end_is(t, i, END_BIT(REVERSED)))
                return verb_done(v, END_REVERSE, i + 1);
        k = verb_no_longer(t, i, &end);
        if (k)
                return verb_ceased(t, verb_adverbs(t, k), end, true, v);
        if (end_word_is(t, i, "off") && end_word_is(t, i + 1, "the") && end_word_is(t, i + 2, "table"))
                return verb_done(v, END_REVERSE, i + 3);
        if ((end_word_is(t, i, "allowed") || end_word_is(t, i, "able")) &&
            end_has(t, from, end_clause_to(t, i), END_BIT(CHANGE))) {
                bool allowed = end_word_is(t, i, "allowed");

                v->more = i + 1 + end_word_is(t, i + 1, "to");
                v->more_to = end_object_to(t, v->more);
                v->needs = allowed ? NEEDS_DENIAL : NULL;
                return (allowed || v->more < v->more_to) && verb_done(v, allowed ? END_LIFT : END_TROUBLE, v->more_to);
        }
        v->plain = end_is(t, i, END_BIT(WORKS_PLAIN)) && end_has(t, from, end_clause_to(t, i), END_BIT(CHANGE));
        if (v->plain)
                return verb_done(v, END_TROUBLE, i + 1);
        return verb_opposite(t, from, i, v);
}

/* "can be imported again", "may use the network now", "can be closed" */
static bool verb_can(const EndText *t, size_t from, size_t i, EndVerb *v) {
        const bool may = end_word_is(t, i, "may"), can = end_word_is(t, i, "can"),
                   change = end_has(t, from, end_clause_to(t, i), END_BIT(CHANGE));
        size_t k = end_skip(t, i + 1, END_BIT(ADVERB) | END_BIT(CHANGE));

        if (can && end_word_is(t, k, "be") && end_word_is(t, k + 1, "closed"))
                return (k + 2 == t->s->n || end_clause_begins(t, k + 2)) && verb_done(v, END_TROUBLE, k + 2);
        if ((!may && !can) || !change || k >= t->s->n)
                return false;
        if (end_word_is(t, k, "be"))
                k = end_skip(t, k + 1, END_BIT(ADVERB));
        v->more = k;
        v->more_to = end_object_to(t, k);
        if (k >= v->more_to || end_has(t, k, v->more_to, END_BIT(DONE)))
                return false;
        if (may)
                v->needs = NEEDS_DENIAL;
        if (can && end_is(t, from, END_BIT(SELF)) && from + 1 == i) { /* "I can import pandas again" */
                v->object = v->more;
                v->object_to = v->more_to;
                v->more = v->more_to = 0;
                return verb_done(v, END_TROUBLE, v->object_to);
        }
        return verb_done(v, may ? END_LIFT : END_TROUBLE, v->more_to);
}

/* The words [from, at) do something: "we", "Anna", "the security team", "this patch", "rebuilding the cache". */
static bool verb_is_agent(const EndText *t, size_t from, size_t at) {
        const CueWord *w = &t->s->words[from];
        size_t to = at;

        while (to > from && end_is(t, to - 1, END_BIT(ADVERB) | END_BIT(HAVE)) && !end_is(t, to - 1, END_BIT(SELF)))
                to--;
        from = end_skip(t, from, END_BIT(ADVERB));
        if (from >= to)
                return true;
        if (end_is(t, from, END_BIT(SELF)) && end_is(t, to - 1, END_BIT(BE)) &&
            to == from + 2) /* "we are done with X" */
                to--;
        if (end_has(t, from, to,
                    END_BIT(DENIES) | END_BIT(DOUBT) | END_BIT(PARTIAL) | END_BIT(NOW_BE) | END_BIT(MODAL) |
                            END_BIT(JOIN)))
                return false;
        if (to == from + 1)
                return end_is(t, from, END_BIT(SELF) | END_BIT(TEAM)) || end_word_is(t, from, "this") ||
                       (t->tags[from] == 0 && !t->id[from] && w->n > 1 && *w->s >= 'A' && *w->s <= 'Z');
        if (w->n > 5 && memcmp(w->s + w->n - 3, "ing", 3) == 0)
                return true;
        return to - from <= 4 && end_is(t, to - 1, END_BIT(TEAM)) && end_is(t, from, END_BIT(ARTICLE));
}

static bool verb_object(const EndText *t, size_t from, EndClass is, EndVerb *v) {
        v->object = from;
        v->object_to = end_object_to(t, from);
        return from < v->object_to && verb_done(v, is, v->object_to);
}

/* Without an agent: "there is no X any more", "no more X", "it is no longer required that X". */
static bool verb_impersonal(const EndText *t, size_t from, size_t at, EndVerb *v) {
        size_t i = at, end, k;

        if (i == from && end_word_is(t, i, "no") && end_word_is(t, i + 1, "more"))
                return verb_object(t, i + 2, END_TROUBLE, v);
        if (i != from + 1 || !end_is(t, i, END_BIT(NOW_BE)))
                return false;
        if (end_word_is(t, from, "it") && (k = verb_no_longer(t, i + 1, &end)) != 0 && !end &&
            end_is(t, k, END_BIT(VALID)) && (end_word_is(t, k + 1, "that") || end_word_is(t, k + 1, "to")))
                return verb_object(t, k + 2, END_LIFT, v);
        if (!end_word_is(t, from, "there") || !end_word_is(t, i + 1, "no") ||
            !verb_object(t, i + 2 + end_word_is(t, i + 2, "more"), END_TROUBLE, v))
                return false;
        k = verb_any_more(t, v->to);
        v->to = k ? k : v->to;
        return k || end_word_is(t, i + 2, "more");
}

/* The row is the object: "we got rid of X". */
static bool verb_active(const EndText *t, size_t from, size_t at, EndVerb *v) {
        static const struct {
                const char *phrase;
                EndClass is;
        } phrases[] = {
                {"put an end to", END_TROUBLE_OR_NAMED},
                {"took care of", END_TROUBLE},
                {"got rid of", END_TROUBLE_OR_NAMED},
                {"gotten rid of", END_TROUBLE_OR_NAMED},
                {"did away with", END_NAMED},
                {"done away with", END_NAMED},
                {"dealt with", END_TROUBLE},
                {"sorted out", END_TROUBLE},
                {"ironed out", END_TROUBLE},
                {"cleared up", END_TROUBLE},
                {"gave up on", END_REVERSE},
                {"given up on", END_REVERSE},
                {"gave up", END_REVERSE},
                {"given up", END_REVERSE},
                {"went back on", END_REVERSE},
        };
        const bool self = at > from && end_is(t, from, END_BIT(SELF));
        size_t i = at, end, k;

        if ((i > from && end_has(t, i - 1, i, END_BIT(DENIES))) || !verb_is_agent(t, from, at))
                return false;
        for (size_t p = 0; p < ARRAY_SIZE(phrases); p++)
                if ((k = end_phrase(t, i, phrases[p].phrase)) != 0)
                        return verb_object(t, k, phrases[p].is, v);
        if (end_is(t, i, END_BIT(DID_LIFT) | END_BIT(DID_REVERSE)))
                return verb_object(t, i + 1,
                                   !end_is(t, i, END_BIT(DID_LIFT))      ? END_REVERSE
                                   : !end_is(t, i, END_BIT(DID_REVERSE)) ? END_LIFT
                                                                         : END_NAMED,
                                   v);
        if ((end_word_is(t, i, "managed") || (i > from && end_word_is(t, i, "able"))) && end_word_is(t, i + 1, "to") &&
            end_is(t, i + 2, END_BIT(TO_FIX)))
                return verb_object(t, i + 3, END_TROUBLE, v);
        if (self && (k = verb_no_longer(t, i, &end)) != 0 && end_word_is(t, k, "use"))
                return verb_object(t, k + 1, END_REVERSE, v) && (!end || (v->to = verb_any_more(t, end)));
        if (end_word_is(t, i, "decided") && end_word_is(t, i + 1, "against") && t->id[MIN(i + 2, t->s->n - 1)])
                return verb_object(t, i + 2, END_REVERSE, v);
        if (end_is(t, i, END_BIT(DID)))
                return verb_object(t, i + 1, END_TROUBLE, v);
        if (self && ((k = end_phrase(t, i, "done with")) != 0 || (k = end_phrase(t, i, "rid of")) != 0))
                return verb_object(t, k, END_TROUBLE_OR_NAMED, v);
        if (self && end_word_is(t, i, "can") && end_word_is(t, k = end_skip(t, i + 1, END_BIT(ADVERB)), "close"))
                return verb_object(t, k + 1, END_TROUBLE, v) && (v->to == t->s->n || end_clause_begins(t, v->to));
        if (end_is(t, i, END_BIT(FIXES)) && (i == from || end_is(t, from, END_BIT(ARTICLE))))
                return verb_object(t, i + 1, END_TROUBLE, v);
        return false;
}

/* "Closing X as fixed", "Marked X as resolved" */
static bool verb_marks(const EndText *t, size_t from, size_t at, EndVerb *v) {
        size_t k;

        if (at != from || !(end_word_is(t, at, "closing") || end_word_is(t, at, "closed") ||
                            end_word_is(t, at, "marking") || end_word_is(t, at, "marked")))
                return false;
        for (k = at + 1; k < end_clause_to(t, at + 1) && !end_word_is(t, k, "as"); k++)
                ;
        if (!end_word_is(t, k, "as") || k == at + 1 || !end_is(t, k + 1, END_BIT(DONE)))
                return false;
        v->object = at + 1;
        v->object_to = k;
        return verb_done(v, END_TROUBLE, k + 2);
}

/* "no_network: withdrawn", "Decision use_redis revoked": the word i behind a row's id. */
bool end_label_ends(const EndText *t, size_t from, size_t i) {
        return i > from && t->id[i - 1] && end_is(t, i, END_BIT(LIFTED) | END_BIT(REVERSED));
}

static bool verb_subject(const EndText *t, size_t from, size_t at, EndVerb *v) {
        size_t i = verb_adverbs(t, at), end, k;

        if (at == from)
                return false;
        k = verb_no_longer(t, i, &end);
        if (k && !end_is(t, at - 1, END_BIT(BE)))
                return verb_ceased(t, verb_adverbs(t, k), end, end_is(t, i, END_BIT(BE)), v);
        if (end_is(t, i, END_BIT(DO)))
                return (k = verb_no_longer(t, i + 1, &end)) && verb_ceased(t, verb_adverbs(t, k), end, false, v);
        if (end_is(t, i, END_BIT(HAVE))) {
                i = verb_adverbs(t, i + 1);
                if (end_word_is(t, i, "gone") || end_is(t, i, END_BIT(VANISHED)))
                        return verb_done(v, END_TROUBLE_OR_NAMED, i + 1 + end_word_is(t, i + 1, "away"));
                if (end_is(t, i, END_BIT(STOPPED)) && end_is(t, i + 1, END_BIT(FAILS) | END_BIT(HAPPENS)))
                        return verb_done(v, END_TROUBLE, i + 2);
                if (end_is(t, i, END_BIT(AMOUNT) | END_BIT(ROOM)) &&
                    end_has(t, from, end_clause_to(t, i), END_BIT(CHANGE))) {
                        i = end_skip(t, i, END_BIT(AMOUNT));
                        v->needs = "full/space/room";
                        return end_is(t, i, END_BIT(ROOM)) && verb_done(v, END_TROUBLE, i + 1);
                }
                return end_is(t, i, END_BIT(BE)) && verb_passive(t, from, verb_adverbs(t, i + 1), v);
        }
        if (end_is(t, i, END_BIT(NOW_BE)))
                return verb_passive(t, from, verb_adverbs(t, i + 1), v);
        if (end_word_is(t, i, "can") || end_word_is(t, i, "may"))
                return verb_can(t, from, i, v);
        if (end_word_is(t, i, "went") && end_word_is(t, i + 1, "away"))
                return verb_done(v, END_TROUBLE, i + 2);
        if (end_is(t, i, END_BIT(VANISHED)) && !end_word_is(t, i, "ceased"))
                return verb_done(v, END_TROUBLE, i + 1);
        if ((end_word_is(t, i, "resolved") || end_word_is(t, i, "fixed")) && end_word_is(t, i + 1, "itself"))
                return verb_done(v, END_TROUBLE, i + 2);
        if (end_is(t, i, END_BIT(STOPPED)) && end_is(t, i + 1, END_BIT(FAILS) | END_BIT(HAPPENS)))
                return verb_done(v, END_TROUBLE, i + 2);
        if (end_is(t, i, END_BIT(WORKS)) && !end_is(t, i - 1, END_BIT(PREPOSITION)) &&
            end_has(t, i, end_clause_to(t, i), END_BIT(CHANGE)) && !end_is(t, i - 1, END_BIT(MODAL))) {
                v->plain = end_is(t, i, END_BIT(WORKS_PLAIN));
                v->more = v->plain ? 0 : i;
                v->more_to = v->plain ? 0 : i + 1;
                return verb_done(v, END_TROUBLE, i + 1);
        }
        if (end_is(t, i, END_BIT(STOPPED)) && (end_word_is(t, i + 1, "applying") || end_word_is(t, i + 1, "holding")))
                return verb_done(v, END_NAMED, i + 2);
        if (end_phrase(t, i, "ticked off") || end_phrase(t, i, "moved to done"))
                return verb_done(v, END_TROUBLE, verb_phrase(t, i));
        /* a label: "X: fixed", "X -> resolved", "X fixed in a3f9c21" */
        if ((end_is(t, i, END_BIT(DONE)) || end_word_is(t, i, "gone")) &&
            (i + 1 == t->s->n || t->s->words[i].stop || t->s->words[i - 1].stop ||
             end_tail(t, i + 1) == end_clause_to(t, i + 1)))
                return verb_done(v, END_TROUBLE, i + 1);
        return end_label_ends(t, from, i) && end_tail(t, i + 1) == end_clause_to(t, i + 1) &&
               verb_done(v, end_is(t, i, END_BIT(REVERSED)) ? END_REVERSE : END_LIFT, i + 1);
}

bool end_verb_at(const EndText *t, size_t from, size_t at, EndVerb *ret) {
        EndVerb v = {0};
        bool found;

        if (at >= t->s->n || t->s->words[at].quoted)
                return false;
        found = verb_marks(t, from, at, &v) || verb_impersonal(t, from, at, &v);
        if (!found) {
                v = (EndVerb){0};
                found = verb_active(t, from, at, &v);
        }
        if (!found) {
                v = (EndVerb){0};
                found = verb_subject(t, from, at, &v);
        }
        if (found)
                *ret = v;
        return found;
}
