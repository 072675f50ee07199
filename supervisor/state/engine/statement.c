#include "engine/statement.h"

#include "base/hash.h"
#include "engine/statement-modal.h"
#define STATEMENT_ANTONYMS
#include "engine/statement-patterns.h"
#include "engine/statement-value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PLAIN_VERB_MAX 5 /* words before the verb of a sentence without a modal verb */

/* Groups are hashes of words; the letter keeps the kinds of groups apart. */
typedef struct Group {
        char text[4096];
        size_t n;
} Group;

static void group_add(Group *g, const char *p) {
        size_t n = strlen(p);

        if (g->n + n + 1 <= sizeof(g->text)) {
                memcpy(g->text + g->n, p, n + 1);
                g->n += n + 1;
        }
}

static void group_begin(Group *g, const char *letter) {
        g->n = 0;
        group_add(g, letter);
}

static void group_add_span(Group *g, WordSpan s) {
        for (size_t i = 0; i < s.n; i++)
                if (!word_is_filler(&s.w[i]))
                        group_add(g, s.w[i].stem);
        group_add(g, "|");
}

/* "the birthday of Ann" is "Ann's birthday". */
static void group_add_name(Group *g, WordSpan s) {
        size_t of = word_span_find(s, 1, "of");

        if (of + 1 < s.n) {
                WordSpan head = word_span_until(s, of), rest = word_span_from(s, of + 1);

                for (size_t i = 0; i < rest.n; i++)
                        if (!word_is_filler(&rest.w[i]))
                                group_add(g, rest.w[i].stem);
                s = head;
        }
        group_add_span(g, s);
}

static bool claim_is_same(const Claim *a, const Claim *b) {
        return memcmp(a->group, b->group, sizeof(a->group)) == 0 && a->tag == b->tag && a->n_value == b->n_value &&
               memcmp(a->value, b->value, a->n_value) == 0;
}

static void claim_add(ClaimList *l, const Group *g, ClaimTag tag, const Claim *value) {
        uint8_t hash[HASH_BYTES];
        Claim c = {.tag = tag};

        if (l->n == STATEMENT_CLAIMS_MAX)
                return;
        if (value) {
                memcpy(c.value, value->value, value->n_value);
                c.n_value = value->n_value;
        }
        hash_bytes(g->text, g->n, hash);
        memcpy(c.group, hash, sizeof(c.group));
        for (size_t i = 0; i < l->n; i++)
                if (claim_is_same(&l->v[i], &c))
                        return;
        l->v[l->n++] = c;
}

static bool statement_says_nobody(WordSpan who) {
        for (size_t i = 0; i < who.n; i++)
                if (!word_is_filler(&who.w[i]) && !words_have(NOBODY, who.w[i].p))
                        return false;
        return true;
}

static const char *statement_antonym(const char *stem) {
        for (size_t i = 0; i < ARRAY_SIZE(antonyms); i++)
                if (strcmp(antonyms[i].stem, stem) == 0)
                        return antonyms[i].of;
        return NULL;
}

/* "enabled", "disabled": a state, and no deed. */
static bool statement_is_state(const char *stem) {
        for (size_t i = 0; i < ARRAY_SIZE(antonyms); i++)
                if (strcmp(antonyms[i].stem, stem) == 0 || strcmp(antonyms[i].of, stem) == 0)
                        return true;
        return false;
}

static ClaimTag statement_not(ClaimTag t) {
        return t == CLAIM_REQUIRED ? CLAIM_FORBIDDEN : t == CLAIM_FORBIDDEN ? CLAIM_REQUIRED : t;
}

static bool statement_participle(const StatementWord *w) {
        size_t n = strlen(w->p);

        return (n > 3 && strcmp(w->p + n - 2, "ed") == 0) || words_have(PARTICIPLES, w->p);
}

/* An action with an object. */
typedef struct Deed {
        WordSpan who, object, rest; /* rest: behind the object of a passive sentence */
        char verb[TERM_BYTES_MAX + 1];
        ClaimTag tag;
} Deed;

static void deed_group(const Deed *d, const char *letter, bool who, bool object, Group *g) {
        group_begin(g, letter);
        group_add_span(g, who && !statement_says_nobody(d->who) ? d->who : (WordSpan){0});
        group_add(g, d->verb);
        if (object) {
                group_add_span(g, d->object);
                group_add_span(g, d->rest);
        }
}

static void deed_claim(const Deed *d, const Modal *m, ClaimList *l) {
        bool positive = d->tag == CLAIM_REQUIRED || d->tag == CLAIM_PERMITTED;
        Claim value = {0};
        Group g;

        deed_group(d, "deed", true, true, &g);
        claim_add(l, &g, d->tag, NULL);
        if (positive && d->object.n > 0) {
                deed_group(d, "object", true, false, &g);
                group_add_span(&g, d->rest);
                value_of_words(d->object, &value);
                claim_add(l, &g, m->only_action ? CLAIM_USES_ONLY : CLAIM_USES, &value);
        }
        if (positive && !statement_says_nobody(d->who)) {
                deed_group(d, "doer", false, true, &g);
                value_of_words(d->who, &value);
                claim_add(l, &g, m->only_who ? CLAIM_DONE_ONLY_BY : CLAIM_DONE_BY, &value);
        }
}

/* "retry at least 3 times": a different number is opposed. */
static void deed_quantity(const Deed *d, ClaimList *l) {
        Claim value = {0};
        size_t from, end;
        Group g;

        if (d->tag != CLAIM_REQUIRED || !value_quantity(d->object, &from, &end, &value))
                return;
        group_begin(&g, "value");
        group_add_span(&g, statement_says_nobody(d->who) ? (WordSpan){0} : d->who);
        group_add(&g, d->verb);
        group_add_span(&g, word_span_until(d->object, from));
        group_add_span(&g, word_span_from(d->object, end));
        group_add_span(&g, d->rest);
        claim_add(l, &g, CLAIM_VALUE, &value);
}

/* The objects of "use TLS and IPv6"; "or" of a duty leaves the choice open. */
static void deed_objects(Deed *d, const Modal *m, ClaimList *l) {
        WordSpan all = d->object;
        size_t part = word_span_find(all, 0, "and|or|nor");
        bool open = d->tag == CLAIM_REQUIRED && word_span_find(all, 0, "or") < all.n;

        if (open || part == all.n || part == 0 || m->only_action) {
                deed_claim(d, m, l);
                deed_quantity(d, l);
                return;
        }
        for (size_t from = 0; from < all.n;) {
                size_t end = from;

                while (end < all.n && !word_span_has(all, end, "and|or|nor") && !(end > from && all.w[end].comma))
                        end++;
                d->object = (WordSpan){all.w + from, end - from};
                if (d->object.n > 0)
                        deed_claim(d, m, l);
                from = end + word_span_has(all, end, "and|or|nor");
        }
}

static void deed_act(Deed *d, const Modal *m, ClaimList *l) {
        const char *of = statement_antonym(d->verb);
        size_t instead = 0, from;
        Deed other = *d;

        if (of && (d->tag == CLAIM_REQUIRED || d->tag == CLAIM_FORBIDDEN)) {
                strcpy(d->verb, of);
                d->tag = statement_not(d->tag);
        }
        while (instead < d->object.n &&
               !(word_span_has(d->object, instead, "instead|rather") &&
                 word_span_has(d->object, instead + 1, "of|than")) &&
               !(instead > 0 && word_span_has(d->object, instead, "not")))
                instead++;
        from = instead + (word_span_has(d->object, instead, "not") ? 1 : 2);
        if (d->tag == CLAIM_REQUIRED && from < d->object.n) {
                other.object = word_span_from(d->object, from);
                other.tag = CLAIM_FORBIDDEN;
                deed_objects(&other, m, l);
        }
        d->object = word_span_until(d->object, instead);
        deed_objects(d, m, l);
}

/* "must not be used by skills". */
static void statement_passive(const Modal *m, WordSpan action, ClaimList *l) {
        size_t by = word_span_find(action, 1, "by");
        Modal all = *m;
        Deed d = {.tag = m->tag, .object = m->who, .rest = word_span_from(action, 1)};

        strcpy(d.verb, action.w[0].stem);
        if (by < action.n) {
                d.who = word_span_from(action, by + 1);
                d.rest = word_span_from(word_span_until(action, by), 1);
                all.only_who |= m->only_action || (by > 1 && word_span_has(action, by - 1, "only"));
                if (d.rest.n > 0 && word_span_has(d.rest, d.rest.n - 1, "only"))
                        d.rest.n--;
                if (d.who.n > 1 && word_span_has(d.who, d.who.n - 1, "only")) {
                        all.only_who = true;
                        d.who.n--;
                }
        } else if (m->only_who) { /* "only TLS may be used" */
                all.only_action = true;
                all.only_who = false;
        } else if (m->only_action) /* "may only be used in tests": a place, no object */
                return;
        if (by < action.n)
                all.only_action = false;
        deed_act(&d, &all, l);
}

/* "network access", "force pushing to main", "the use of eval": the thing under a rule. */
static void statement_thing(const Modal *m, WordSpan thing, ClaimList *l) {
        Deed d = {.tag = m->tag, .who = m->who, .object = thing};
        size_t first = 0;

        while (first < thing.n && word_is_filler(&thing.w[first]))
                first++;
        thing = word_span_from(thing, first);
        strcpy(d.verb, "use");
        d.object = thing;
        if (thing.n > 1 && word_is_gerund(&thing.w[0])) {
                strcpy(d.verb, thing.w[0].stem);
                d.object = word_span_from(thing, 1);
        } else if (thing.n > 2 && word_span_has(thing, 0, "use|usage") && word_span_has(thing, 1, "of"))
                d.object = word_span_from(thing, 2);
        if (d.object.n > 0)
                deed_act(&d, m, l);
}

/* "is PostgreSQL": excludes other values, if the subject has a single value. */
static bool statement_excludes(WordSpan who, WordSpan what, const Claim *value) {
        bool names = what.n > 0 && what.n <= 4, single = false;
        size_t of = word_span_find(who, 1, "of"), head = (of < who.n ? of : who.n) - 1;

        if (value->value[0] != VALUE_WORDS)
                return true;
        if (who.n == 0 || word_span_has(who, 0, UNNAMED))
                return false;
        for (size_t i = 0; i < what.n; i++)
                names &= what.w[i].capital || what.w[i].literal || word_is_filler(&what.w[i]);
        for (size_t i = 0; i < who.n; i++)
                single |= word_span_has(who, i, SINGLE_VALUED);
        if (names)
                return single || (head > 0 && (who.w[0].owner || strcmp(who.w[0].p, "the") == 0));
        return single && word_span_has(who, head, SINGLE_VALUED) && what.n == 1 && !statement_participle(&what.w[0]) &&
               !words_have(NO_NAMES, what.w[0].p);
}

/* "X is Y", "X must be Y". */
static void statement_be(ClaimTag tag, WordSpan who, WordSpan what, ClaimList *l) {
        const char *of = what.n == 1 ? statement_antonym(what.w[0].stem) : NULL;
        Claim value = {0};
        Group g;

        if (who.n == 0 || what.n == 0)
                return;
        group_begin(&g, "be");
        group_add_name(&g, who);
        if (of)
                group_add(&g, of);
        else
                group_add_span(&g, what);
        if (of)
                group_add(&g, "|");
        claim_add(l, &g, of ? statement_not(tag) : tag, NULL);
        value_of(what, false, &value);
        if (tag == CLAIM_REQUIRED && statement_excludes(who, what, &value)) {
                group_begin(&g, "value");
                group_add_name(&g, who);
                claim_add(l, &g, CLAIM_VALUE, &value);
        }
}

/* "must be enabled", "is not used": a state, or a passive verb. */
static void statement_state(const Modal *m, WordSpan what, ClaimList *l) {
        bool deed = what.n > 0 && statement_participle(&what.w[0]);

        if (!deed || (what.n == 1 && statement_is_state(what.w[0].stem)))
                statement_be(m->tag, m->who, what, l);
        if (deed)
                statement_passive(m, what, l);
}

static void statement_modal(const Modal *m, ClaimList *l) {
        Deed d = {.tag = m->tag, .who = m->who};
        WordSpan action = m->action;

        while (action.n > 0 && word_is_filler(&action.w[0]))
                action = word_span_from(action, 1);
        if (action.n > 2 && word_span_has(action, action.n - 1, "all") && word_span_has(action, action.n - 2, "at"))
                action.n -= 2;
        if (action.n == 0)
                return;
        if (m->noun)
                statement_thing(m, action, l);
        else if (m->be || word_span_has(action, 0, "be"))
                statement_state(m, word_span_from(action, m->be ? 0 : 1), l);
        else {
                Modal all = *m;
                size_t from = 1;

                strcpy(d.verb, action.w[0].stem);
                if (action.n > 3 && word_span_has(action, 0, "make") && word_span_has(action, 1, "use") &&
                    word_span_has(action, 2, "of")) {
                        strcpy(d.verb, "use");
                        from = 3;
                }
                if (word_span_has(action, from, "only")) { /* "use only TLS" */
                        all.only_action = true;
                        from++;
                } else if (action.n > from + 1 && word_span_has(action, action.n - 1, "only")) {
                        all.only_action = true;
                        action.n--;
                }
                d.object = word_span_from(action, from);
                if (d.object.n > 1 && word_span_has(d.object, 0, "no")) { /* "must have no network" */
                        d.object = word_span_from(d.object, 1);
                        d.tag = statement_not(d.tag);
                }
                deed_act(&d, &all, l);
        }
}

/* "only admins may", "nobody may": the first word counts for the whole. */
static void statement_first_word(WordSpan s, size_t at, Modal *m) {
        bool only = word_span_has(s, 0, "only|just"), nobody = word_span_has(s, 0, "no|nobody|none|neither");

        if (at == 0 || !(only || nobody))
                return;
        if (m->who.n > 0)
                m->who = word_span_from(m->who, 1 + (nobody && word_span_has(m->who, 1, "one|of")));
        else if (m->noun)
                m->action = word_span_from(m->action, 1);
        m->only_action |= only && m->noun; /* "only TLS is allowed" */
        m->only_who |= only && !m->noun;
        if (nobody)
                m->tag = m->tag == CLAIM_FORBIDDEN ? CLAIM_REQUIRED : CLAIM_FORBIDDEN;
}

/* "X is Y", "X is not used by Y". False: no such sentence. */
static bool statement_copula(WordSpan s, ClaimList *l) {
        size_t i = word_span_find(s, 1, BE), from = i + 1;
        WordSpan what;
        ClaimTag tag;

        if (i + 1 >= s.n)
                return false;
        if (word_span_has(s, from, "no") && word_span_has(s, from + 1, "longer"))
                from += 2;
        else if (word_span_has(s, from, NOT))
                from++;
        tag = from > i + 1 ? CLAIM_FORBIDDEN : CLAIM_REQUIRED;
        what = word_span_from(s, from);
        statement_state(&(Modal){.tag = tag, .who = word_span_until(s, i)}, what, l);
        return true;
}

/* "skills use the network": a known verb behind a noun. */
static void statement_plain(WordSpan s, ClaimList *l) {
        for (size_t i = 1; i + 1 < s.n && i < PLAIN_VERB_MAX; i++) {
                size_t n = strlen(s.w[i].p);
                char base[TERM_BYTES_MAX + 1];

                memcpy(base, s.w[i].p, n + 1);
                if (n > 2 && base[n - 1] == 's')
                        base[n - 1] = 0;
                if (!words_have(VERBS, s.w[i].p) && !words_have(VERBS, base))
                        continue;
                if (!word_is_filler(&s.w[i - 1]))
                        statement_modal(&(Modal){.tag = CLAIM_REQUIRED,
                                                 .who = word_span_until(s, i),
                                                 .action = word_span_from(s, i)},
                                        l);
                return;
        }
}

static void statement_sentence(WordSpan s, ClaimList *l) {
        Modal m = {0};
        size_t at;

        if (!modal_clause(&s))
                return;
        if (modal_find(s, &m, &at)) {
                statement_first_word(s, at, &m);
                statement_modal(&m, l);
        } else if (modal_order(s, &m))
                statement_modal(&m, l);
        else if (!statement_copula(s, l))
                statement_plain(s, l);
}

int statement_claims(Tokenizer *bag, const char *text, size_t n, ClaimList *ret) {
        _cleanup_free_ StatementWords *s = malloc(sizeof(*s));
        size_t at = 0;
        int r = s ? 0 : -ENOMEM;

        ret->n = 0;
        n = MIN(n, (size_t)STATEMENT_BYTES_MAX);
        while (r == 0 && (r = statement_next(bag, text, n, &at, s)) > 0) {
                if (!s->question && !s->too_long)
                        statement_sentence((WordSpan){s->w, s->n}, ret);
                r = 0;
        }
        return r;
}

/* Words of a predicate that make the triple a sentence. */
#define MOOD NOT "|no|" MUST "|" MAY "|only|always|need|needs|cannot"

int statement_triple(Tokenizer *bag, const char *subject, const char *predicate, const char *object, ClaimList *ret) {
        _cleanup_free_ StatementWords *s = calloc(3, sizeof(*s));
        const char *const parts[] = {subject, predicate, object};
        Claim value = {0};
        WordSpan pred;
        Group g;
        int r = s ? 0 : -ENOMEM;

        ret->n = 0;
        for (size_t i = 0; r == 0 && i < 3; i++) {
                size_t at = 0;

                r = MIN(0,
                        statement_next(bag, parts[i], MIN(strlen(parts[i]), (size_t)STATEMENT_BYTES_MAX), &at, &s[i]));
        }
        if (r < 0 || s[0].n == 0 || s[1].n == 0 || s[2].n == 0)
                return r;
        pred = (WordSpan){s[1].w, s[1].n};
        if (word_span_find(pred, 0, MOOD) < pred.n) {
                char text[STATEMENT_BYTES_MAX + 4];
                int k = snprintf(text, sizeof(text), "%.600s %.300s %.900s", subject, predicate, object);

                return statement_claims(bag, text, MIN((size_t)k, sizeof(text) - 1), ret);
        }
        group_begin(&g, "value");
        group_add_name(&g, (WordSpan){s[0].w, s[0].n});
        g.n -= 2; /* subject and predicate are a single name: "Ann", "birthday" is "Ann's birthday" */
        while (pred.n > 1 && word_span_has(pred, 0, "has|have|had|" BE))
                pred = word_span_from(pred, 1);
        while (pred.n > 1 && word_span_has(pred, pred.n - 1, BE "|of|on"))
                pred.n--;
        if (!word_span_has(pred, 0, BE))
                group_add_span(&g, pred);
        else
                group_add(&g, "|");
        value_of((WordSpan){s[2].w, s[2].n}, true, &value);
        claim_add(ret, &g, CLAIM_VALUE, &value);
        return 0;
}
