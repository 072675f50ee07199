/* Runs: supervisor, CLI. Entities and offers of the state under construction: read, found, replaced, written. */
#include "cognition/compress-inside.h"

/* Can types stand for each other? */
unsigned entity_kin(PhraseType t) {
        switch (t) {
        case PHRASE_DATE:
        case PHRASE_UNTIL: return 1;
        case PHRASE_TIME: return 2;
        case PHRASE_MONEY: return 3;
        case PHRASE_COUNT: return 4;
        case PHRASE_CODE: return 5;
        case PHRASE_FROM:
        case PHRASE_TO:
        case PHRASE_PLACE:
        case PHRASE_NAME:
        case PHRASE_THING:
        case PHRASE_TYPES: break;
        }
        return 6;
}

void entity_remove(Compress *c, size_t at) {
        memmove(&c->entity[at], &c->entity[at + 1], (c->n_entities - at - 1) * sizeof(c->entity[0]));
        c->n_entities--;
}

void entity_renamed(CompressEntity *e) {
        phrase_norm(e->id, e->norm, sizeof(e->norm));
        phrase_form(e->id, &e->form);
        e->kind = phrase_type_of(e->type, strlen(e->type));
}

void entity_append(Compress *c, const char *type, const char *id) {
        CompressEntity *e;

        if (c->n_entities == COMPRESS_ENTITIES)
                entity_remove(c, 0);
        e = &c->entity[c->n_entities++];
        *e = (CompressEntity){.fresh = true};
        snprintf(e->type, sizeof(e->type), "%s", type);
        snprintf(e->id, sizeof(e->id), "%s", id);
        entity_renamed(e);
}

/* The place of the entity with the same meaning, or n_entities. */
size_t entity_find(const Compress *c, PhraseType type, const char *id) {
        size_t i = c->n_entities;
        char norm[ATOM_MAX + 1];
        PhraseForm form;

        phrase_norm(id, norm, sizeof(norm));
        phrase_form(id, &form);
        while (i-- > 0) {
                const CompressEntity *e = &c->entity[i];
                PhraseType have = entity_type(e);

                if (strcmp(e->norm, norm) == 0)
                        return i;
                if (have < PHRASE_TYPES && entity_kin(have) == entity_kin(type) && phrase_form_same(&e->form, &form))
                        return i;
        }
        return c->n_entities;
}

void entity_drop(Compress *c, size_t at, const char *reason) {
        char atom[2 * ATOM_MAX];

        snprintf(atom, sizeof(atom), "%s(%s)", c->entity[at].type, c->entity[at].id);
        compress_event(c, COMPRESS_REPLACED, CCS_FOCAL_ENTITIES, atom, reason);
        entity_remove(c, at);
}

static void entity_load_offer(Compress *c, const char *text, size_t n) {
        _cleanup_phrase_text_ PhraseText t = {0};
        CompressOffer *o = &c->offer[c->n_offers];
        size_t at = 0;
        PhraseValue v;

        if (n == 0 || n >= sizeof(o->id) || memchr(text, '(', n) || c->n_offers == COMPRESS_OFFERS ||
            phrase_read(text, n, &t) < 0)
                return;
        o->type = phrase_value(&t, &at, t.n, &v) && v.at == 0 && v.end == t.n ? v.type : PHRASE_NAME;
        memcpy(o->id, text, n);
        o->id[n] = '\0';
        c->n_offers++;
}

int compress_load(Compress *c) {
        const Ccs *p = c->in->previous;

        for (size_t i = 0; i < p->field[CCS_FOCAL_ENTITIES].n; i++) {
                Atom a;
                CompressEntity *e = &c->entity[c->n_entities];

                if (atom_parse(p->field[CCS_FOCAL_ENTITIES].atoms[i], strlen(p->field[CCS_FOCAL_ENTITIES].atoms[i]), &a,
                               NULL) != 0)
                        continue;
                snprintf(e->type, sizeof(e->type), "%.*s", (int)a.parts[0].n, a.text + a.parts[0].at);
                if (a.n_parts == 2 && a.parts[1].kind == ATOM_STRING) {
                        atom_part_text(&a, 1, e->id);
                } else {
                        const char *s;
                        size_t n;
                        if (!atom_arg(&a, 0, &s, &n))
                                continue;
                        memcpy(e->id, s, n);
                        e->id[n] = '\0';
                }
                entity_renamed(e);
                c->n_entities++;
        }
        for (size_t i = 0; i < p->field[CCS_RELATIONAL_MAP].n; i++) {
                const char *s;
                size_t n;
                Atom a;

                if (atom_parse(p->field[CCS_RELATIONAL_MAP].atoms[i], strlen(p->field[CCS_RELATIONAL_MAP].atoms[i]), &a,
                               NULL) != 0)
                        continue;
                if (!atom_is(&a, "possible")) {
                        int e = ccs_add(&c->next, CCS_RELATIONAL_MAP, a.text, NULL);
                        if (e < 0)
                                return e;
                        continue;
                }
                for (size_t k = 0; k < atom_n_args(&a); k++)
                        if (atom_arg(&a, k, &s, &n))
                                entity_load_offer(c, s, n);
        }
        for (size_t i = 0; i < p->field[CCS_PREDICTIVE_CUE].n; i++)
                c->answers |= strncmp(p->field[CCS_PREDICTIVE_CUE].atoms[i], "answer(", 7) == 0;
        return 0;
}

size_t entity_named(const Compress *c) {
        size_t n = 0;

        for (size_t i = 0; i < c->n_entities; i++)
                n += entity_type(&c->entity[i]) == PHRASE_TYPES;
        return n;
}

/* "today", "2 people": of the moment, not of the task. */
static bool entity_passing(const CompressEntity *e) {
        static const char *const days[] = {"today", "tonight", "tomorrow", "yesterday", "this week", "this month",
                                           "next week", "last week", "this weekend", "last month", "next month"};

        for (size_t k = 0; k < ARRAY_SIZE(days); k++)
                if (strcmp(e->norm, days[k]) == 0)
                        return true;
        return false;
}

/* A value in lower case without a digit or sign: words without a name. */
static bool entity_plain(const CompressEntity *e) {
        PhraseType type = entity_type(e);

        if (type != PHRASE_THING && type != PHRASE_PLACE && type != PHRASE_TO && type != PHRASE_FROM)
                return false;
        for (const char *s = e->id; *s; s++)
                if (!(*s >= 'a' && *s <= 'z') && *s != ' ' && *s != '\'')
                        return false;
        return true;
}

/* Does the value stand in a constraint, a goal, or a named parameter? */
static bool entity_repeats(const Compress *c, size_t at) {
        static const CcsField fields[] = {CCS_CONSTRAINTS, CCS_GOAL_ORIENTATION};

        for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
                for (size_t i = 0; i < c->next.field[fields[k]].n; i++)
                        if (phrase_within(c->entity[at].id, c->next.field[fields[k]].atoms[i]))
                                return true;
        for (size_t i = 0; i < c->n_entities; i++)
                if (i != at && entity_type(&c->entity[i]) == PHRASE_TYPES &&
                    phrase_within(c->entity[at].id, c->entity[i].id))
                        return true;
        return false;
}

static void entity_evict(Compress *c, size_t at, const char *reason) {
        char atom[2 * ATOM_MAX];

        snprintf(atom, sizeof(atom), "%s(%s)", c->entity[at].type, c->entity[at].id);
        compress_event(c, COMPRESS_EVICTED, CCS_FOCAL_ENTITIES, atom, reason);
        entity_remove(c, at);
}

/* Things go first, words without a name and names apart; then other values without a noun. The newest remain. */
static void entity_bound(Compress *c, size_t max) {
        size_t named = entity_named(c), things = 0, plain = 0, loose = 0;
        bool names = named >= COMPRESS_NAMED;
        size_t room = COMPRESS_LOOSE - MIN((named - MIN(named, (size_t)COMPRESS_NAMED) + 1) / 2, (size_t)COMPRESS_LOOSE);

        for (size_t i = c->n_entities; i-- > 0;) {
                PhraseType type = entity_type(&c->entity[i]);

                if (type == PHRASE_TYPES)
                        continue;
                if ((names || type == PHRASE_MONEY || type == PHRASE_THING || type == PHRASE_COUNT) && entity_repeats(c, i))
                        entity_remove(c, i);
                else if (type == PHRASE_THING && ++*(entity_plain(&c->entity[i]) ? &plain : &things) + 2 * named >
                                                             COMPRESS_THINGS)
                        entity_remove(c, i);
                else if (names && (entity_plain(&c->entity[i]) || entity_passing(&c->entity[i]) || ++loose > room))
                        entity_remove(c, i);
        }
        for (size_t i = 0; i < c->n_entities && c->n_entities > max;)
                if (entity_type(&c->entity[i]) < PHRASE_TYPES)
                        entity_evict(c, i, "more entities than the field has room for");
                else
                        i++;
        while (c->n_entities > max)
                entity_evict(c, 0, "more entities than the field has room for");
}

int compress_store(Compress *c) {
        size_t max, n_args = 0, bytes = 12;
        const char *args[COMPRESS_OFFERS];
        int e = 0;

        ccs_field_bounds(CCS_FOCAL_ENTITIES, &(size_t){0}, &max);
        entity_bound(c, max);
        for (size_t i = 0; i < c->n_entities && !e; i++)
                e = compress_add(c, CCS_FOCAL_ENTITIES, c->entity[i].type, &(const char *){c->entity[i].id}, 1);
        for (size_t i = 0; i < c->n_offers && !e; i++) {
                size_t n = strlen(c->offer[i].id) + 2;
                if (bytes + n > ATOM_MAX || entity_find(c, c->offer[i].type, c->offer[i].id) < c->n_entities)
                        continue;
                bytes += n;
                args[n_args++] = c->offer[i].id;
        }
        if (!e && n_args > 0) {
                if (c->next.field[CCS_RELATIONAL_MAP].n == 24)
                        ccs_remove(&c->next, CCS_RELATIONAL_MAP, 0);
                e = compress_add(c, CCS_RELATIONAL_MAP, "possible", args, n_args);
        }
        return e;
}
