/* Runs: supervisor, CLI. A new value in the place of an earlier value, without the noun: "m.okafor, not j.okafor", "the
 * room is full, take 220", "from Ilse Krantz to Jens Aalto", "let us do Friday instead". */
#include "cognition/compress-inside.h"
#include "cognition/revise-patterns.h"

#include "base/ascii.h"

#include <strings.h>

#define REVISE_VALUES 4

typedef struct Revise {
        Compress *c;
        size_t at, end;               /* the sentence */
        PhraseValue new[REVISE_VALUES]; /* values without an entity */
        size_t n_new;
        size_t old; /* the entity named in the sentence, or SIZE_MAX; the last mention begins at word `said` */
        size_t said;
} Revise;

/* The length of the mention of the entity at word i: all words, or the first or last word of a name. 0: none. */
static size_t revise_mention(const PhraseText *t, size_t i, size_t end, const CompressEntity *e) {
        char norm[PHRASE_ID_MAX];
        const PhraseWord *w = &t->word[i];
        char first = t->low[w->at];
        bool begins = first == e->norm[0] || !(ascii_letter(first) || ascii_digit(first));
        const char *last;
        size_t n = 0;

        if (!begins && (w->foreign || w->n >= PHRASE_ID_MAX || !w->capital || w->n < 3))
                return 0; /* as nearly all words */
        for (size_t k = i; begins && k < end && k < i + 6; k++) {
                char word[PHRASE_ID_MAX];

                if (t->word[k].foreign || t->word[k].n >= sizeof(word))
                        return 0;
                memcpy(word, t->text + t->word[k].at, t->word[k].n);
                word[t->word[k].n] = '\0';
                phrase_norm(word, norm + n, sizeof(norm) - n);
                n = strlen(norm);
                if (strcmp(norm, e->norm) == 0)
                        return k + 1 - i;
                if (n == 0 || strncmp(norm, e->norm, n) != 0 || n + 2 >= sizeof(norm))
                        break;
                norm[n++] = ' ';
        }
        last = strrchr(e->norm, ' ');
        if (!last || !w->capital || w->n < 3 || strpbrk(e->id, "0123456789"))
                return 0;
        n = MIN(w->n, sizeof(norm) - 1);
        memcpy(norm, t->low + w->at, n);
        norm[n] = '\0';
        return (strncmp(e->norm, norm, n) == 0 && e->norm[n] == ' ') || strcmp(last + 1, norm) == 0;
}

/* Words without a name or number. */
static bool revise_plain(const CompressEntity *e) {
        for (const char *s = e->id; *s; s++)
                if ((*s < 'a' || *s > 'z') && *s != ' ')
                        return false;
        return true;
}

/* Can the value be a new one? Plain words cannot, nor can plain places. */
static bool revise_value(const PhraseValue *v) {
        if (strpbrk(v->id, "0123456789._@-"))
                return true;
        if (v->type == PHRASE_PLACE || v->type == PHRASE_TO || v->type == PHRASE_FROM)
                return v->id[0] >= 'A' && v->id[0] <= 'Z';
        return v->type != PHRASE_THING;
}

/* May word i begin a mention of an entity? A name's last word has a capital letter. */
static bool revise_may(const PhraseText *t, size_t i, uint32_t begins) {
        char first = t->low[t->word[i].at];

        return t->word[i].capital || begins >> (first & 31) & 1 || !(ascii_letter(first) || ascii_digit(first));
}

static void revise_read(Revise *r) {
        const PhraseText *t = &r->c->user;
        size_t cursor = r->at;
        uint32_t begins = 0; /* first letters of entities */
        PhraseValue v;

        for (size_t k = 0; k < r->c->n_entities; k++)
                begins |= UINT32_C(1) << (r->c->entity[k].norm[0] & 31);
        for (size_t i = r->at; i < r->end; i++)
                for (size_t k = revise_may(t, i, begins) ? 0 : r->c->n_entities; k < r->c->n_entities; k++)
                        if (revise_mention(t, i, r->end, &r->c->entity[k]) > 0 &&
                            (r->old == SIZE_MAX || !revise_plain(&r->c->entity[k]) || revise_plain(&r->c->entity[r->old]))) {
                                r->old = k;
                                r->said = i;
                        }
        while (r->n_new < REVISE_VALUES && phrase_value(t, &cursor, r->end, &v)) {
                bool known = false;

                for (size_t i = v.at; i < v.end && !known; i++)
                        for (size_t k = revise_may(t, i, begins) ? 0 : r->c->n_entities; k < r->c->n_entities && !known; k++)
                                known = revise_mention(t, i, r->end, &r->c->entity[k]) > 0;
                if (strcasecmp(v.id, "yesterday") == 0 || strcasecmp(v.id, "today") == 0)
                        continue;
                if (!known && revise_value(&v))
                        r->new[r->n_new++] = v;
        }
}

/* "VLAN 412": the number, for a bare number to replace; "cluster eu-prod-2": the identifier, for one of its form. NULL:
 * neither. */
static const char *revise_number(const CompressEntity *e, const PhraseValue *v) {
        const char *last = strrchr(e->id, ' ');

        if (last && strpbrk(last, "0123456789") && strpbrk(last, "-_.") && !strchr(v->id, ' ') &&
            named_form(last + 1, v->id) >= NAMED_STRONG)
                return last + 1;
        return last && ascii_letter(e->id[0]) && last[1] && strspn(last + 1, "0123456789") == strlen(last + 1) &&
                               strspn(v->id, "0123456789") == strlen(v->id) && strlen(v->id) == strlen(last + 1)
                       ? last + 1
                       : NULL;
}

/* "Number of cycles: 32", then "35 cycles": a bare number, and a count of the noun. */
static bool revise_counts(const CompressEntity *e, const PhraseValue *v) {
        const char *noun = strchr(v->id, ' ');
        size_t n;

        return noun && e->id[0] && strspn(e->id, "0123456789") == strlen(e->id) && ascii_digit(v->id[0]) &&
               rule_shared(noun + 1, e->type, &n) > 0;
}

/* Two or three words with capitals, without a digit. */
static bool revise_person(const char *id) {
        size_t words = 0;

        for (const char *p = id; *p; p += strcspn(p, " "), p += *p == ' ') {
                if (*p < 'A' || *p > 'Z')
                        return false;
                words++;
        }
        return words >= 2 && words <= 3 && !strpbrk(id, "0123456789");
}

/* How alike entity and value are: 0 not at all. */
static unsigned revise_form(const CompressEntity *e, const PhraseValue *v) {
        PhraseType have = entity_type(e);

        if (revise_number(e, v))
                return strpbrk(v->id, "-_.") ? NAMED_STRONG : 1;
        if (have == PHRASE_TYPES && revise_counts(e, v))
                return NAMED_STRONG;
        if (have < PHRASE_TYPES && entity_kin(have) != entity_kin(v->type))
                return 0;
        if (entity_kin(v->type) <= 2) { /* dates and times in any form */
                _cleanup_phrase_text_ PhraseText t = {0};
                PhraseValue own;
                size_t at = 0;

                return phrase_read(e->id, strlen(e->id), &t) == 0 && phrase_value(&t, &at, t.n, &own) &&
                       entity_kin(own.type) == entity_kin(v->type);
        }
        return named_form(e->id, v->id);
}

/* The only new value of the sentence for the entity, or NULL. */
static const PhraseValue *revise_successor(const Revise *r, const CompressEntity *e) {
        const PhraseValue *found = NULL;

        for (size_t i = 0; i < r->n_new; i++)
                if (revise_form(e, &r->new[i]) > 0) {
                        if (found)
                                return NULL;
                        found = &r->new[i];
                }
        if (!found && r->n_new == 1 && entity_kin(r->new[0].type) == 6 && r->new[0].id[0] >= 'A' && r->new[0].id[0] <= 'Z' &&
            e->id[0] >= 'A' && e->id[0] <= 'Z' && !strpbrk(e->id, "0123456789"))
                found = &r->new[0]; /* both are names */
        return found;
}

/* The words [at, end), with a sign before, say nothing else. */
static void revise_taken(PhraseText *t, size_t at, size_t end) {
        for (size_t i = at - (at > 0 && phrase_is(t, at - 1, "$")); i < end; i++)
                t->word[i].foreign = true;
}

/* from: where the sentence begins. */
static void revise_set(Compress *c, size_t at, size_t from, const PhraseValue *v) {
        CompressEntity e = c->entity[at];
        const char *number = revise_number(&e, v);
        char id[2 * ATOM_MAX];
        size_t n;

        for (size_t i = 0; i < c->user.n; i++) /* the words of the earlier value say nothing else */
                if ((n = revise_mention(&c->user, i, c->user.n, &e)) > 0)
                        revise_taken(&c->user, i, i + n);
        snprintf(id, sizeof(id), "%.*s%s", number ? (int)(number - e.id) : 0, e.id, v->id);
        if (number)
                revise_taken(&c->user, v->at, v->end);
        else if (entity_type(&e) == PHRASE_TYPES && c->n_taken < COMPRESS_TAKEN)
                c->taken[c->n_taken++] = (CompressSpan){from, v->end};
        constraint_follow(c, e.id, v->id);
        entity_drop(c, at, "the user gave another value");
        entity_append(c, entity_type(&e) == PHRASE_TYPES ? e.type : phrase_type_name(number ? PHRASE_NAME : v->type), id);
        c->set += entity_type(&e) == PHRASE_TYPES;
        c->fresh |= 1U << v->type;
}

/* The earlier value meant by a value without a noun: the most alike, the latest of equals; of amounts any, of values
 * without a name the ones with a word in common ("room 214", "room 220"). strong: those alone. */
static size_t revise_meant(const Compress *c, const PhraseValue *v, bool strong, bool person) {
        size_t best = SIZE_MAX;
        unsigned best_form = 0;

        for (size_t i = 0; i < c->n_entities; i++) {
                PhraseType type = entity_type(&c->entity[i]);
                bool named = type == PHRASE_TYPES || (type == PHRASE_MONEY && v->type == PHRASE_MONEY);
                unsigned form = c->entity[i].fresh ? 0 : revise_form(&c->entity[i], v);

                if (person && !c->entity[i].fresh && revise_person(c->entity[i].id) && revise_person(v->id))
                        form = NAMED_STRONG;

                if (form >= (strong || !named ? NAMED_STRONG : 1) && form >= best_form) {
                        best = i;
                        best_form = form;
                }
        }
        return best;
}

/* "The conference was moved to October 9": the only date or time of the state, or SIZE_MAX. */
static size_t revise_shifted(const Compress *c, const PhraseValue *v) {
        size_t found = SIZE_MAX;

        for (size_t i = 0; i < c->n_entities && entity_kin(v->type) <= 2; i++) {
                if (c->entity[i].fresh || revise_form(&c->entity[i], v) == 0)
                        continue;
                if (found != SIZE_MAX)
                        return SIZE_MAX;
                found = i;
        }
        return found;
}

static bool revise_not(const PhraseText *t, size_t i) {
        return i > 0 && (phrase_match(t, i - 1, i, "not") || phrase_match(t, i - 1, i, "no"));
}

void compress_revised(Compress *c) {
        for (size_t i = 0; i < c->n_taken; i++)
                revise_taken(&c->user, c->taken[i].at, c->taken[i].end);
}

void compress_revise(Compress *c, bool guess) {
        const PhraseText *t = &c->user;
        size_t pending = SIZE_MAX; /* of the sentence before: the value is of no use any more */
        bool sorry = false;

        for (size_t at = 0, end; at < t->n; at = end) {
                Revise r = {.c = c, .at = at, .old = SIZE_MAX};
                const PhraseValue *v;
                bool asks, turns, revises, ends, person = false;

                end = r.end = phrase_sentence_end(t, at);
                asks = (t->text[t->word[end - 1].at] == '?' && !phrase_match(t, at, end, "could you") &&
                        !phrase_match(t, at, end, "can you") && !phrase_match(t, at, end, "would you")) || phrase_any(t, at, end, revise_guesses, ARRAY_SIZE(revise_guesses));
                turns = phrase_any(t, at, end, revise_turns, ARRAY_SIZE(revise_turns));
                revises = phrase_any(t, at, end, revise_words, ARRAY_SIZE(revise_words));
                turns |= revises;
                c->revises |= revises && !asks;
                if (asks || t->word[at].foreign)
                        continue;
                revise_read(&r);
                if (sorry && r.n_new > 0)
                        turns = revises = true;
                sorry = revises && r.n_new == 0 && r.old == SIZE_MAX; /* "Sorry, wrong tag. It's LT-4417." */
                ends = r.old != SIZE_MAX && phrase_any(t, at, end, revise_ends, ARRAY_SIZE(revise_ends)) &&
                       !phrase_any(t, at, end, revise_others, ARRAY_SIZE(revise_others));
                if (r.old == SIZE_MAX && pending != SIZE_MAX && r.n_new > 0)
                        r.old = pending;
                else if (r.old != SIZE_MAX && !turns && !ends && !revise_not(t, r.said))
                        r.old = SIZE_MAX;
                pending = SIZE_MAX;
                if (guess) {
                        if (r.n_new != 1)
                                continue;
                        r.old = SIZE_MAX; /* a thing of another kind, as in "the conference moved to …" */
                        if (phrase_any(t, at, end, revise_shifts, ARRAY_SIZE(revise_shifts)))
                                r.old = revise_shifted(c, &r.new[0]);
                        else
                                person = phrase_any(t, at, end, revise_persons, ARRAY_SIZE(revise_persons));
                        if (r.old == SIZE_MAX && (turns || person))
                                r.old = revise_meant(c, &r.new[0], !revises, person);
                        if (r.old != SIZE_MAX)
                                revise_set(c, r.old, at, &r.new[0]);
                        continue;
                }
                if (r.old != SIZE_MAX && (v = revise_successor(&r, &c->entity[r.old])) != NULL)
                        revise_set(c, r.old, at, v);
                else if (ends)
                        pending = r.old;
        }
}
