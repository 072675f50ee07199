/* Runs: supervisor, CLI. Named parameters of the user become entities whose type is the noun; a new value for the same
 * noun takes the place of the old value. */
#include "cognition/compress-inside.h"

#include <strings.h>

/* The entity whose value the speaker names as the old value, or n_entities. */
static size_t bind_old(const Compress *c, const char *old) {
        size_t i = c->n_entities;
        char norm[ATOM_MAX + 1];

        phrase_norm(old, norm, sizeof(norm));
        while (norm[0] && i-- > 0)
                if (strcmp(c->entity[i].norm, norm) == 0)
                        return i;
        return c->n_entities;
}

/* The kind of a value: of dates, times, amounts, and the rest. */
static unsigned bind_kind(const char *id) {
        _cleanup_phrase_text_ PhraseText t = {0};
        size_t at = 0;
        PhraseValue v;

        if (phrase_read(id, strlen(id), &t) < 0 || !phrase_value(&t, &at, t.n, &v))
                return 0;
        return entity_kin(v.type);
}

/* Can the values be of one series without a word in common? With a digit, and as identifiers with a prefix as long. */
static bool bind_series(const char *a, const char *b) {
        size_t n = strcspn(a, "-_./: 0123456789"), m = strcspn(b, "-_./: 0123456789");

        return strpbrk(b, "0123456789") && (n == m || a[n] == ' ');
}

/* The entity of the same noun; if the speaker changes something, also of a like noun or the one value of the same form.
 */
static size_t bind_same(const Compress *c, const Named *n) {
        size_t best = c->n_entities, rivals = 0;
        unsigned best_score = 0, kind = bind_kind(n->value);

        for (size_t i = c->n_entities; i-- > 0;) {
                const CompressEntity *e = &c->entity[i];
                unsigned alike, form, score;

                if (entity_type(e) != PHRASE_TYPES)
                        continue;
                alike = named_alike(e->type, n->noun);
                form = named_form(e->id, n->value);
                if (form > 0 && bind_kind(e->id) != kind)
                        form = 0;
                if (alike >= 3)
                        score = 1000 * alike + form;
                else if (alike > 0 && (form >= NAMED_STRONG || (n->revises && form > 0)))
                        score = 100 * alike + form;
                else if (!e->fresh && (form >= NAMED_STRONG || (form > 0 && n->revises && bind_series(e->id, n->value))))
                        score = form;
                else
                        continue;
                if (score > best_score) {
                        best = i;
                        best_score = score;
                        rivals = 0;
                } else if (score == best_score) {
                        rivals++;
                }
        }
        return best_score < 100 && rivals > 0 ? c->n_entities : best;
}

/* "58 degrees", "60 degrees": counts of one unit. */
static bool bind_unit(const char *a, const char *b) {
        const char *x = strrchr(a, ' '), *y = strrchr(b, ' ');

        return x && y && strcasecmp(x, y) == 0;
}

/* "The drill starts 14:20. … Shift the start to 14:50": the only value of the kind without a name, or n_entities. */
static size_t bind_unnamed(const Compress *c, const Named *n) {
        unsigned kind = bind_kind(n->value);
        size_t found = c->n_entities;

        for (size_t i = 0; i < c->n_entities && kind > 0 && kind <= 4; i++) {
                PhraseType type = entity_type(&c->entity[i]);

                if (c->entity[i].fresh || type == PHRASE_TYPES || entity_kin(type) != kind ||
                    (kind == 4 && !bind_unit(c->entity[i].id, n->value)))
                        continue;
                if (found < c->n_entities)
                        return c->n_entities;
                found = i;
        }
        return found;
}

static void bind_set(Compress *c, const Named *n) {
        size_t at = n->old[0] ? bind_old(c, n->old) : c->n_entities, same;
        char norm[ATOM_MAX + 1];

        if (at == c->n_entities)
                at = bind_same(c, n);
        if (at == c->n_entities && n->revises)
                at = bind_unnamed(c, n);
        phrase_norm(n->value, norm, sizeof(norm));
        if (at < c->n_entities) {
                if (strcmp(c->entity[at].norm, norm) == 0)
                        entity_remove(c, at);
                else
                        entity_drop(c, at, "the user gave another value");
        }
        same = bind_old(c, n->value);
        if (same < c->n_entities)
                entity_remove(c, same);
        entity_append(c, n->noun, n->value);
        c->set++;
}

/* Do both have a value of one kind: money, or a count of the same noun? */
static bool bind_alike(const char *constraint, const char *value) {
        _cleanup_phrase_text_ PhraseText a = {0}, b = {0};
        size_t at = 0, i = 0;
        PhraseValue v, w;

        if (phrase_read(value, strlen(value), &a) < 0 || phrase_read(constraint, strlen(constraint), &b) < 0 ||
            !phrase_value(&a, &at, a.n, &v))
                return false;
        while (phrase_value(&b, &i, b.n, &w)) {
                const char *x = strchr(v.id, ' '), *y = strchr(w.id, ' ');

                if (v.type == w.type && (v.type == PHRASE_MONEY || (v.type == PHRASE_COUNT && x && y && strcmp(x, y) == 0)))
                        return true;
        }
        return false;
}

/* Has the constraint all the words of the noun? The limit of "parking_limit" is what "no more than $70 on parking" is, and
 * "the limit", an amount, is that of a rule with an amount. */
static bool bind_speaks_of(const char *constraint, const char *noun, const char *value) {
        static const char *const limits[] = {"limit", "cap", "budget", "maximum", "ceiling", "threshold"};
        size_t words, shared = rule_shared(noun, constraint, &words);
        bool alone = words == 1 && bind_alike(constraint, value);

        for (size_t i = 0; i < ARRAY_SIZE(limits) && (shared > 0 || alone) && shared + 1 == words; i++)
                shared += phrase_within(limits[i], noun) && constraint_limits(constraint);
        return words > 0 && shared == words;
}

/* Does a constraint speak of the value, so that the change is one of the constraint? */
static bool bind_constrained(const Compress *c, const Named *n) {
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];
        char noun[NAMED_NOUN_MAX + 1];

        if (entity_named(c) > 0 && (bind_old(c, n->old) < c->n_entities || bind_same(c, n) < c->n_entities))
                return false;
        snprintf(noun, sizeof(noun), "%s", n->noun);
        for (char *p = noun; *p; p++)
                if (*p == '_')
                        *p = ' ';
        for (size_t i = 0; i < l->n; i++) {
                if (!strpbrk(l->atoms[i], "0123456789"))
                        continue;
                if ((n->old[0] && phrase_within(n->old, l->atoms[i])) || bind_speaks_of(l->atoms[i], noun, n->value))
                        return true;
        }
        return false;
}

static void bind_options(Compress *c) {
        Named options[NAMED_OPTIONS];
        size_t n = named_options(&c->decision, options), k;

        if (n == 0)
                return;
        for (size_t i = options[0].at; i < options[n - 1].end; i++)
                c->decision.word[i].foreign = true; /* no offers of things */
        k = named_choice(&c->user, options, n);
        if (k < n)
                bind_set(c, &options[k]);
}

void compress_bind(Compress *c) {
        size_t at = 0;
        char old[PHRASE_ID_MAX] = "";
        Named n;

        if (c->begins)
                return;
        bind_options(c);
        while (named_next(&c->user, &at, &n)) {
                if (bind_constrained(c, &n))
                        continue;
                if (!n.noun[0]) {
                        memcpy(old, n.old, sizeof(old));
                        if (bind_old(c, old) == c->n_entities)
                                continue;
                } else {
                        if (!n.old[0] && old[0]) {
                                memcpy(n.old, old, sizeof(n.old));
                                n.revises = true;
                        }
                        old[0] = '\0';
                        bind_set(c, &n);
                }
                for (size_t i = n.at; i < n.end; i++)
                        c->user.word[i].foreign = true;
        }
        if (old[0] && bind_old(c, old) < c->n_entities)
                entity_drop(c, bind_old(c, old), "the user gave it up");
}
