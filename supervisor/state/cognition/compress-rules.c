/* Runs: supervisor, CLI. Constraints and goals: who may add, change or lift which (C-24). */
#include "cognition/compress-inside.h"

#include "base/ascii.h"

static const char *const source_names[COMPRESS_SOURCES] = {"user", "operator", "policy"};

const char *compress_source_name(CompressSource s) {
        return source_names[s];
}

static void constraint_refuse(Compress *c, size_t at) {
        const char *atom = c->next.field[CCS_CONSTRAINTS].atoms[at];
        CompressSource s;

        c->conflicts++;
        constraint_read(atom, &s, c->conflict, sizeof(c->conflict));
        compress_event(c, COMPRESS_REFUSED, CCS_CONSTRAINTS, atom, "a source of a lower rank than the constraint's");
}

/* false: the constraint stands, because its source has a higher rank. */
static bool constraint_remove(Compress *c, size_t at, CompressSource source, CompressAct act, const char *reason) {
        const char *atom = c->next.field[CCS_CONSTRAINTS].atoms[at];
        char body[ATOM_MAX + 1];
        CompressSource s;

        if (constraint_read(atom, &s, body, sizeof(body)) && s > source) {
                constraint_refuse(c, at);
                return false;
        }
        compress_event(c, act, CCS_CONSTRAINTS, atom, reason);
        ccs_remove(&c->next, CCS_CONSTRAINTS, at);
        return true;
}

static int constraint_add(Compress *c, const char *polarity, CompressSource source, const char *body,
                          const char *reason) {
        size_t had = c->next.field[CCS_CONSTRAINTS].n;
        const char *args[] = {source_names[source], body};
        int e;

        if (had == CCS_ATOMS_MAX) {
                compress_event(c, COMPRESS_REFUSED, CCS_CONSTRAINTS, body, "no room for another constraint");
                c->conflicts++;
                return 0;
        }
        e = compress_add(c, CCS_CONSTRAINTS, polarity, args, 2);
        if (!e && c->next.field[CCS_CONSTRAINTS].n > had)
                compress_event(c, COMPRESS_ADDED, CCS_CONSTRAINTS, c->next.field[CCS_CONSTRAINTS].atoms[had], reason);
        return e;
}

static int constraint_state(Compress *c, const Rule *r, CompressSource source) {
        size_t at = r->kind == RULE_ALLOWED ? constraint_permitted(c, r->body) : SIZE_MAX;
        char have[ATOM_MAX + 1];
        CompressSource s;

        if (at == SIZE_MAX)
                at = constraint_meant(c, r->body, true);
        if (at != SIZE_MAX && constraint_read(c->next.field[CCS_CONSTRAINTS].atoms[at], &s, have, sizeof(have))) {
                const char *polarity = rule_kind_name(r->kind), *old = c->next.field[CCS_CONSTRAINTS].atoms[at];
                bool same = strncmp(old, polarity, strlen(polarity)) == 0 && old[strlen(polarity)] == '(';
                size_t n, m, shared = rule_shared(r->body, have, &n), back = rule_shared(have, r->body, &m);

                if (same && s >= source && shared == n && back == m)
                        return 0; /* said again */
                if (s > source && !(same && r->kind != RULE_ALLOWED)) {
                        constraint_refuse(c, at);
                        return 0;
                }
                if (s <= source && (!same || (constraint_limits(have) && r->limit) || back == m))
                        constraint_remove(c, at, source, COMPRESS_REPLACED, "said anew");
        }
        return constraint_add(c, rule_kind_name(r->kind), source, r->body, "the speaker stated the rule");
}

static bool constraint_of_money(const char *value) {
        _cleanup_phrase_text_ PhraseText t = {0};
        size_t at = 0;
        PhraseValue v;

        return phrase_read(value, strlen(value), &t) == 0 && phrase_value(&t, &at, t.n, &v) && v.type == PHRASE_MONEY;
}

/* Writes the new value into the constraint with the old value, or of the same kind. Returns 1 when nothing was
 * meant. */
static int constraint_change(Compress *c, const Rule *r, CompressSource source) {
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];
        size_t best = SIZE_MAX, best_shared = 0;
        bool best_own = true; /* the speaker may change the best */
        char body[ATOM_MAX + 1], next[2 * ATOM_MAX], polarity[16], old[PHRASE_ID_MAX] = "";
        CompressSource s = COMPRESS_USER;

        for (size_t i = 0; i < l->n; i++) {
                _cleanup_phrase_text_ PhraseText t = {0};
                size_t n, shared, cursor = 0;
                bool limit;
                PhraseValue v;

                if (!constraint_read(l->atoms[i], &s, body, sizeof(body)) || !strpbrk(body, "0123456789") ||
                    phrase_read(body, strlen(body), &t) < 0)
                        continue;
                shared = rule_shared(body, r->body, &n);
                shared += constraint_about_rules(r->body, &limit) && limit && constraint_limits(body);
                while (phrase_value(&t, &cursor, t.n, &v)) {
                        bool money = constraint_of_money(r->value), has = v.type == PHRASE_MONEY;
                        if (r->old[0] ? phrase_within(r->old, v.id)
                                      : v.type <= PHRASE_COUNT && money == has && shared > 0)
                                if (shared + (r->old[0] != 0) > best_shared || best == SIZE_MAX ||
                                    (shared + (r->old[0] != 0) == best_shared && !best_own && s <= source)) {
                                        best = i;
                                        best_own = s <= source;
                                        best_shared = shared + (r->old[0] != 0);
                                        snprintf(old, sizeof(old), "%s", r->old[0] ? r->old : v.id);
                                }
                }
        }
        if (best == SIZE_MAX)
                return 1;
        constraint_read(l->atoms[best], &s, body, sizeof(body));
        if (s > source) {
                constraint_refuse(c, best);
                return 0;
        }
        snprintf(polarity, sizeof(polarity), "%.*s", (int)strcspn(l->atoms[best], "("), l->atoms[best]);
        {
                const char *at = strstr(body, old), *digits = strpbrk(body, "0123456789");
                size_t n_old = strlen(old);
                char value[PHRASE_ID_MAX];

                snprintf(value, sizeof(value), "%s", r->value);
                if (!at) { /* a count with other nouns: the number alone */
                        at = digits;
                        n_old = strcspn(at, " ");
                        value[strcspn(value, " ")] = '\0';
                } else if (strchr(old, ' ') && !strchr(value, ' ') && !strchr(old, '$')) {
                        n_old = strcspn(old, " ");
                }
                snprintf(next, sizeof(next), "%.*s%s%s", (int)(at - body), body, value, at + n_old);
        }
        if (strcmp(next, body) == 0)
                return 0;
        constraint_remove(c, best, source, COMPRESS_REPLACED, "the speaker changed the value");
        return constraint_add(c, polarity, s, next, "the speaker changed the value");
}

static int constraint_lift(Compress *c, const Rule *r, CompressSource source) {
        size_t at = r->soft ? constraint_permitted(c, r->body) : constraint_given_up(c, r->body);

        if (at != SIZE_MAX)
                constraint_remove(c, at, source, COMPRESS_LIFTED, "the speaker lifted the rule");
        return 0;
}

void constraint_follow(Compress *c, const char *old, const char *value) {
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];
        char body[ATOM_MAX + 1], words[ATOM_MAX + 8], next[2 * ATOM_MAX];
        CompressSource s;

        snprintf(words, sizeof(words), " is %s", old);
        for (size_t i = 0; i < l->n; i++) {
                const char *at;

                if (strncmp(l->atoms[i], "must(", 5) != 0 || !constraint_read(l->atoms[i], &s, body, sizeof(body)) ||
                    s != COMPRESS_USER || !(at = strstr(body, words)))
                        continue;
                snprintf(next, sizeof(next), "%.*s is %s%s", (int)(at - body), body, value, at + strlen(words));
                constraint_remove(c, i, COMPRESS_USER, COMPRESS_REPLACED, "the user gave another value");
                c->failed = constraint_add(c, "must", COMPRESS_USER, next, "the user gave another value");
                return;
        }
}

/* Is the goal of the operator's? */
static bool goal_is_operators(const char *atom) {
        const char *at = strchr(atom, '(');

        return at && (strncmp(at, "(operator,", 10) == 0 || strncmp(at, "(policy,", 8) == 0);
}

static bool goal_is_empty(const char *atom) {
        return strcmp(atom, "assist(user)") == 0;
}

/* A text for now is no objective: "write the hand-over". */
static bool goal_passes(const char *name) {
        static const char *const verbs[] = {"write", "draft", "prepare", "summarize", "summarise", "list", "show", "tell",
                                            "explain", "describe", "print", "answer", "reply", "compose", "repeat"};

        for (size_t k = 0; k < ARRAY_SIZE(verbs); k++)
                if (strcmp(verbs[k], name) == 0)
                        return true;
        return false;
}

static int goal_state(Compress *c, const Rule *r, CompressSource source) {
        CcsList *l = &c->next.field[CCS_GOAL_ORIENTATION];
        const char *open = strchr(r->body, '(');
        char object[RULE_BODY_MAX], name[40], atom[2 * ATOM_MAX];
        size_t max, n_before = l->n;
        int e;

        if (!open || (c->begins && !r->strong))
                return 0;
        snprintf(object, sizeof(object), "%.*s", (int)strlen(open + 1) - 1, open + 1);
        snprintf(name, sizeof(name), "%.*s", (int)(open - r->body), r->body);
        if (!r->strong && goal_passes(name)) {
                snprintf(c->request, sizeof(c->request), "%s", r->body);
                return 0;
        }
        for (size_t i = 0; i < l->n; i++) {
                size_t n, m, shared, back;
                if (goal_is_operators(l->atoms[i]) || goal_is_empty(l->atoms[i]))
                        continue;
                if (r->counted)
                        return 0; /* an amount of the goal */
                shared = rule_shared(object, strchr(l->atoms[i], '('), &n);
                back = rule_shared(strchr(l->atoms[i], '('), object, &m);
                if (shared == 0 && n > 0)
                        continue;
                if (r->strong ? shared < n || back < m : false)
                        continue;
                return 0; /* a request about the object of a goal */
        }
        ccs_field_bounds(CCS_GOAL_ORIENTATION, &(size_t){0}, &max);
        for (size_t i = 0; i < l->n; i++)
                if (goal_is_empty(l->atoms[i])) {
                        ccs_remove(&c->next, CCS_GOAL_ORIENTATION, i);
                        break;
                }
        if (l->n == max)
                for (size_t i = 0; i < l->n; i++)
                        if (!goal_is_operators(l->atoms[i]) || source > COMPRESS_USER) {
                                compress_event(c, COMPRESS_REPLACED, CCS_GOAL_ORIENTATION, l->atoms[i],
                                               "the speaker named another goal");
                                ccs_remove(&c->next, CCS_GOAL_ORIENTATION, i);
                                break;
                        }
        if (l->n == max)
                return 0;
        n_before = l->n;
        if (source == COMPRESS_USER)
                e = compress_add(c, CCS_GOAL_ORIENTATION, name, &(const char *){object}, 1);
        else
                e = compress_add(c, CCS_GOAL_ORIENTATION, name, (const char *[]){source_names[source], object}, 2);
        if (!e && l->n > n_before) {
                snprintf(atom, sizeof(atom), "%s", l->atoms[l->n - 1]);
                compress_event(c, COMPRESS_ADDED, CCS_GOAL_ORIENTATION, atom, "the speaker named the goal");
                c->goal_new = true;
        }
        return e;
}

int compress_rules(Compress *c, const PhraseText *t, CompressSource source) {
        size_t at = 0;
        int e = 0;
        Rule r;

        while (!e && rule_next(t, &at, &r)) {
                Rule goal;

                switch (r.kind) {
                case RULE_MUST:
                case RULE_MUST_NOT:
                case RULE_ALLOWED:
                case RULE_AVOID:
                        e = constraint_state(c, &r, source);
                        if (!e && r.limit && rule_goal(t, r.at, r.end, &goal))
                                e = goal_state(c, &goal, source);
                        break;
                case RULE_LIFT: e = constraint_lift(c, &r, source); break;
                case RULE_CHANGE:
                        e = constraint_change(c, &r, source);
                        if (e == 1 && r.limit) {
                                r.kind = RULE_MUST;
                                e = constraint_state(c, &r, source);
                        } else if (e == 1) {
                                e = rule_goal(t, r.at, r.end, &goal) ? goal_state(c, &goal, source) : 0;
                        }
                        break;
                case RULE_GOAL: e = goal_state(c, &r, source); break;
                case RULE_DROP:
                case RULE_KINDS: break;
                }
        }
        return e;
}
