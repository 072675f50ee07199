/* Runs: supervisor, CLI. Values in the talk: values said or accepted by the user are entities; the
 * agent's offers stand as possible(...) until then. */
#include "cognition/compress-inside.h"
#include "cognition/talk-patterns.h"

#include "base/ascii.h"

#define TALK_ANY(t, at, end, list) phrase_any(t, at, end, list, ARRAY_SIZE(list))

static bool talk_same_noun(const char *a, const char *b) {
        const char *x = strchr(a, ' '), *y = strchr(b, ' ');
        size_t n, m;

        if (!x || !y)
                return false;
        while (strchr(x + 1, ' '))
                x = strchr(x + 1, ' ');
        while (strchr(y + 1, ' '))
                y = strchr(y + 1, ' ');
        x++;
        y++;
        n = strlen(x) - (x[strlen(x) - 1] == 's');
        m = strlen(y) - (y[strlen(y) - 1] == 's');
        return n == m && memcmp(x, y, n) == 0;
}

/* The entity replaced by a new value of the user, or n_entities. */
static size_t talk_stale(const Compress *c, PhraseType type, const char *id) {
        bool proposed = false, object = false;
        size_t i;

        for (i = c->n_entities; type == PHRASE_COUNT && i-- > 0;)
                if (entity_type(&c->entity[i]) == PHRASE_COUNT && talk_same_noun(c->entity[i].id, id))
                        return i;
        if (type == PHRASE_THING || type == PHRASE_CODE || type == PHRASE_MONEY)
                return c->n_entities;
        for (i = 0; i < c->n_offers; i++) {
                proposed |= entity_kin(c->offer[i].type) == entity_kin(type);
                object |= entity_kin(c->offer[i].type) == entity_kin(PHRASE_NAME);
        }
        if ((c->rejects || c->revises) && c->confirms) {
                for (i = c->n_entities; i-- > 0;) {
                        const CompressEntity *e = &c->entity[i];
                        if (e->fresh || entity_type(e) >= PHRASE_TYPES || strcmp(e->type, phrase_type_name(type)) != 0)
                                continue;
                        for (size_t k = 0; k < c->n_offers; k++)
                                if (entity_kin(c->offer[k].type) == entity_kin(type) && phrase_same(c->offer[k].id, e->id))
                                        return i;
                }
        }
        if (proposed && !object && !c->confirms) /* "On March 4th?" "No, on the 5th": the agent's value alone falls */
                return c->n_entities;
        if (!c->revises && !(c->others && type != PHRASE_NAME) && !(type == PHRASE_FROM && !c->goal_new))
                return c->n_entities;
        for (i = c->n_entities; i-- > 0;)
                if (!c->entity[i].fresh && strcmp(c->entity[i].type, phrase_type_name(type)) == 0 &&
                    (type != PHRASE_COUNT || named_form(c->entity[i].id, id) > 0))
                        return i;
        return c->n_entities;
}

/* said: by the user, whose form stays; otherwise accepted. */
static void talk_entity(Compress *c, PhraseType type, const char *id, bool said) {
        size_t i = entity_find(c, type, id);

        if (i < c->n_entities) {
                CompressEntity e = c->entity[i];
                PhraseType have = entity_type(&e);

                if (said && strlen(id) <= ATOM_MAX - 10 && (have >= PHRASE_TYPES || entity_kin(have) == entity_kin(type)) &&
                    !(type == PHRASE_THING && have != PHRASE_THING))
                        snprintf(e.id, sizeof(e.id), "%s", id);
                if (said && (have == PHRASE_THING || have == PHRASE_NAME || have == PHRASE_PLACE) &&
                    type != PHRASE_THING)
                        snprintf(e.type, sizeof(e.type), "%s", phrase_type_name(type));
                e.fresh = true;
                entity_renamed(&e);
                entity_remove(c, i);
                c->entity[c->n_entities++] = e;
                return;
        }
        if (said && (i = talk_stale(c, type, id)) < c->n_entities) {
                constraint_follow(c, c->entity[i].id, id);
                entity_drop(c, i, "the user said another value");
        }
        entity_append(c, phrase_type_name(type), id);
        if (said)
                c->fresh |= 1U << type;
}

/* Is the word part of a goal? */
static bool talk_topic(const Compress *c, const char *word, size_t n) {
        char w[PHRASE_ID_MAX];
        size_t words;

        if (n >= sizeof(w))
                return false;
        memcpy(w, word, n);
        w[n] = '\0';
        for (size_t i = 0; i < c->next.field[CCS_GOAL_ORIENTATION].n; i++)
                if (rule_shared(w, c->next.field[CCS_GOAL_ORIENTATION].atoms[i], &words) > 0)
                        return true;
        return false;
}

/* Words of goals at both ends of a thing say nothing new. */
static bool talk_trim(const Compress *c, char *id) {
        size_t n, before = strlen(id);
        char *end;

        while (*id && (n = strcspn(id, " ")) > 0 && talk_topic(c, id, n))
                memmove(id, id + n + (id[n] == ' '), strlen(id + n + (id[n] == ' ')) + 1);
        while (*id) {
                end = strrchr(id, ' ');
                end = end ? end + 1 : id;
                if (!talk_topic(c, end, strlen(end)))
                        break;
                *(end > id ? end - 1 : end) = '\0';
        }
        return strlen(id) < before;
}

static void talk_user_values(Compress *c) {
        const PhraseText *t = &c->user;
        bool named = entity_named(c) >= COMPRESS_NAMED;
        PhraseValue v;

        for (size_t at = 0; at < t->n;) {
                size_t end = phrase_sentence_end(t, at), cursor = at;
                bool question = t->text[t->word[end - 1].at] == '?' && t->word[at].class & PW_QUESTION &&
                                !phrase_match(t, at, end, "can you") && !phrase_match(t, at, end, "could you") &&
                                !phrase_match(t, at, end, "could i") && !phrase_match(t, at, end, "can i");

                if (named && (question || TALK_ANY(t, at, end, talk_guesses))) {
                        at = end;
                        continue;
                }
                while (phrase_value(t, &cursor, end, &v)) {
                        if (named && t->word[v.at].class & PW_NUMBER && !t->word[v.at].digit)
                                continue;
                        if (v.type == PHRASE_THING || v.type == PHRASE_PLACE || v.type == PHRASE_TO ||
                            v.type == PHRASE_FROM) {
                                if (!t->word[v.at].capital)
                                        talk_trim(c, v.id);
                                if (v.type == PHRASE_THING && question)
                                        continue;
                        }
                        if (v.id[0] && v.type != PHRASE_CODE)
                                talk_entity(c, v.type, v.id, true);
                        else if (v.id[0] && !question)
                                talk_entity(c, v.type, v.id, true);
                }
                at = end;
        }
}

/* The new values of the agent's text. */
static void talk_decision_values(Compress *c) {
        const PhraseText *t = &c->decision;
        CompressOffer found[COMPRESS_OFFERS];
        size_t n = 0, cursor = 0;
        bool capitals = false;
        PhraseValue v;

        for (size_t i = 0; i < t->n; i++)
                capitals |= t->word[i].capital && !t->word[i].begins;
        while (n < COMPRESS_OFFERS && phrase_value(t, &cursor, t->n, &v)) {
                if (v.type == PHRASE_CODE || v.type == PHRASE_MONEY || (v.type == PHRASE_COUNT && !c->confirms))
                        continue;
                if (v.type == PHRASE_THING) {
                        bool cut = talk_trim(c, v.id);

                        if (!v.id[0] || (!strchr(v.id, ' ') && capitals && !cut) ||
                            (t->word[v.at].begins && !strchr(v.id, ' ')))
                                continue;
                }
                if (v.type == PHRASE_FROM || v.type == PHRASE_TO)
                        if (!t->word[v.at].capital)
                                talk_trim(c, v.id);
                if (!v.id[0])
                        continue;
                found[n].type = v.type;
                memcpy(found[n++].id, v.id, PHRASE_ID_MAX);
        }
        if (n > 0 && (!c->answers || c->proposes)) {
                memcpy(c->offer, found, n * sizeof(found[0]));
                c->n_offers = n;
        }
}

/* "Casa Bela sounds good": of several names the one that the user says. */
static bool talk_names(const Compress *c, const CompressOffer *o) {
        char said[512];

        snprintf(said, sizeof(said), "%.*s", (int)MIN(c->in->input.n, sizeof(said) - 1), c->in->input.text);
        return phrase_within(o->id, said);
}

static void talk_accept(Compress *c) {
        bool named = false;

        for (size_t i = 0; i < c->n_offers; i++)
                named |= c->offer[i].type == PHRASE_NAME && talk_names(c, &c->offer[i]);
        for (size_t i = 0; i < c->n_offers; i++) {
                CompressOffer *o = &c->offer[i];
                size_t k = entity_find(c, o->type, o->id);

                if (named && o->type == PHRASE_NAME && !talk_names(c, o))
                        continue;

                if (c->confirms && k == c->n_entities && o->type != PHRASE_NAME && o->type != PHRASE_COUNT &&
                    o->type != PHRASE_TIME)
                        continue;
                if (c->regrets && k == c->n_entities && entity_kin(o->type) <= 2)
                        for (size_t e = c->n_entities; e-- > 0;)
                                if (strcmp(c->entity[e].type, phrase_type_name(o->type)) == 0) {
                                        entity_drop(c, e, "the user accepted another value");
                                        break;
                                }
                talk_entity(c, o->type, o->id, false);
        }
        c->accepted = c->n_offers > 0;
        c->n_offers = 0;
}

static void talk_judge(Compress *c) {
        const PhraseText *t = &c->user, *d = &c->decision;
        static const char *const acts[] = {"book", "reserve", "buy", "purchase", "schedule",
                                           "visit", "take", "rent", "get"};
        static const char *const those[] = {"it", "that", "this", "there", "them"};

        for (size_t at = 0; at < t->n;) {
                size_t end = phrase_sentence_end(t, at);
                const PhraseWord *w = &t->word[at];
                bool short_yes = false, other = TALK_ANY(t, at, end, talk_others),
                     negated = TALK_ANY(t, at, end, ((const char *const[]){"not", "isn't", "doesn't", "don't"}));

                c->others |= other;
                c->revises |= TALK_ANY(t, at, end, talk_revises);
                c->rejects |= at == 0 && w->class & PW_NO;
                c->asks |= t->text[t->word[end - 1].at] == '?' || (w->class & PW_QUESTION && !(w->class & PW_VERB));
                for (size_t i = at; i < end && end - at <= 8 && t->text[t->word[end - 1].at] != '?'; i++)
                        short_yes |= t->word[i].class & PW_YES && !t->word[i].foreign;
                if (!negated && !other && !w->foreign &&
                    (w->class & PW_YES || short_yes || TALK_ANY(t, at, end, talk_accepts) ||
                     (TALK_ANY(t, at, end, acts) && TALK_ANY(t, at, end, those))))
                        c->accepts = true;
                at = end;
        }
        c->confirms = TALK_ANY(d, 0, d->n, talk_confirms);
        for (size_t i = 0; i < d->n && !c->confirms; i++)
                c->confirms = (i == 0 || !(d->word[i - 1].class & PW_QUESTION || d->word[i - 1].class & PW_UNIT ||
                                           phrase_match(d, i - 1, i, "if"))) &&
                              TALK_ANY(d, i, MIN(i + 3, d->n), talk_repeats) && d->low[d->word[i].at] != 'o' &&
                              (phrase_match(d, i, d->n, "you") || phrase_match(d, i, d->n, "you'd") ||
                               phrase_match(d, i, d->n, "so"));
        c->regrets = TALK_ANY(d, 0, d->n, talk_regrets);
        c->proposes = TALK_ANY(d, 0, d->n, talk_offers);
        c->asked = d->n > 0 && d->text[d->word[d->n - 1].at] == '?';
}

void compress_talk(Compress *c) {
        bool named = entity_named(c) >= COMPRESS_NAMED;

        talk_judge(c);
        if (named && !c->proposes) /* the agent repeats parameters; only their names count */
                c->n_offers = 0;
        else
                talk_decision_values(c);
        if (c->others || (c->rejects && !c->accepts)) {
                talk_user_values(c);
                c->n_offers = 0;
        } else {
                if (c->accepts)
                        talk_accept(c);
                talk_user_values(c);
        }
}
