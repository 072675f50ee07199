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

/* The number of a constraint that is replaced is no value of its own any more. */
static void constraint_forget(Compress *c, const char *body) {
        for (size_t i = c->n_entities; i-- > 0;)
                if (!c->entity[i].fresh && entity_type(&c->entity[i]) < PHRASE_TYPES &&
                    strpbrk(c->entity[i].id, "0123456789") && phrase_within(c->entity[i].id, body))
                        entity_drop(c, i, "the constraint has another value");
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
        if (act == COMPRESS_REPLACED)
                constraint_forget(c, body);
        snprintf(c->lifted, sizeof(c->lifted), "%s", atom);
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
                snprintf(c->no_room, sizeof(c->no_room), "%.*s", RULE_BODY_MAX, body);
                c->conflicts++;
                return 0;
        }
        e = compress_add(c, CCS_CONSTRAINTS, polarity, args, 2);
        if (!e && c->next.field[CCS_CONSTRAINTS].n > had)
                compress_event(c, COMPRESS_ADDED, CCS_CONSTRAINTS, c->next.field[CCS_CONSTRAINTS].atoms[had], reason);
        return e;
}

/* The prohibition with most words of a permission, at least half of the shorter. SIZE_MAX: no prohibition. */
static size_t constraint_opposed(const Compress *c, const char *body) {
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];
        size_t best = SIZE_MAX, best_shared = 0;

        for (size_t i = 0; i < l->n; i++) {
                char have[ATOM_MAX + 1];
                CompressSource s;
                size_t n, m, shared;

                if ((strncmp(l->atoms[i], "must_not(", 9) != 0 && strncmp(l->atoms[i], "avoid(", 6) != 0) ||
                    !constraint_read(l->atoms[i], &s, have, sizeof(have)))
                        continue;
                shared = rule_shared(have, body, &n);
                rule_shared(body, have, &m);
                if (shared > best_shared && 2 * shared >= MIN(n, m)) {
                        best = i;
                        best_shared = shared;
                }
        }
        return best;
}

/* "You can call at night if it is urgent": says something only against a prohibition. */
static int constraint_permit(Compress *c, const Rule *r, CompressSource source) {
        static const char *const terms[] = {"if", "until", "till", "unless", "up to",
                                            "when", "as long as", "within", "provided", "once"};
        size_t at = constraint_opposed(c, r->body);

        if (at == SIZE_MAX || !constraint_remove(c, at, source, COMPRESS_LIFTED, "the speaker lifted the rule"))
                return 0;
        return PHRASE_WITHIN(terms, r->body) > 0
                       ? constraint_add(c, "allowed", source, r->body, "the speaker stated the rule")
                       : 0;
}

/* Bounds of the same unit about the same matter. */
static bool constraint_same_limit(const char *a, const char *b) {
        static const char *const idle[] = {"most", "least", "more", "less", "under", "below",
                                           "budget", "limit", "up",   "exceed", "maximum", "deadline",
                                           "cap",    "spend", "go",   "pay",    "use",     "within"};
        size_t n, shared = rule_shared(a, b, &n), m = 0;

        for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
                if (phrase_within(idle[i], a) && phrase_within(idle[i], b))
                        m++;
        return !strchr(a, '$') == !strchr(b, '$') && shared > m;
}

static int constraint_state(Compress *c, const Rule *r, CompressSource source) {
        size_t at = r->kind == RULE_ALLOWED ? constraint_permitted(c, r->body) : SIZE_MAX;
        char have[ATOM_MAX + 1];
        CompressSource s;

        if (r->weak)
                return constraint_permit(c, r, source);
        if (at == SIZE_MAX)
                at = constraint_meant(c, r->body, true);
        for (size_t i = c->next.field[CCS_CONSTRAINTS].n;
             at == SIZE_MAX && r->kind == RULE_MUST && r->limit && i-- > 0;)
                if (strncmp(c->next.field[CCS_CONSTRAINTS].atoms[i], "must(", 5) == 0 &&
                    constraint_read(c->next.field[CCS_CONSTRAINTS].atoms[i], &s, have, sizeof(have)) &&
                    constraint_limits(have) && constraint_same_limit(r->body, have))
                        at = i;
        if (at != SIZE_MAX && constraint_read(c->next.field[CCS_CONSTRAINTS].atoms[at], &s, have, sizeof(have))) {
                const char *polarity = rule_kind_name(r->kind), *old = c->next.field[CCS_CONSTRAINTS].atoms[at];
                bool same = strncmp(old, polarity, strlen(polarity)) == 0 && old[strlen(polarity)] == '(';
                size_t n, m, shared = rule_shared(r->body, have, &n), back = rule_shared(have, r->body, &m);

                bool bars = r->kind == RULE_MUST_NOT && strncmp(old, "avoid(", 6) == 0;

                if ((same || bars) && s >= source && shared == n && back == m)
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

/* Does the text name an amount of money? */
static bool constraint_of_money(const char *value) {
        _cleanup_phrase_text_ PhraseText t = {0};
        size_t at = 0;
        PhraseValue v;

        if (phrase_read(value, strlen(value), &t) < 0)
                return false;
        while (phrase_value(&t, &at, t.n, &v))
                if (v.type == PHRASE_MONEY)
                        return true;
        return false;
}

/* The body with the new value in place of the old one, or of its first number. */
static void constraint_write(const char *body, const char *old, const char *with, char *next, size_t n_next) {
        const char *at = *old ? strstr(body, old) : NULL, *digits = strpbrk(body, "0123456789");
        size_t n_old = strlen(old);
        char value[PHRASE_ID_MAX];

        snprintf(value, sizeof(value), "%s", with);
        if (!at) { /* a count with other nouns: the number alone */
                at = digits;
                n_old = strcspn(at, " ");
                value[strcspn(value, " ")] = '\0';
                if (at > body && at[-1] == '$' && value[0] == '$')
                        memmove(value, value + 1, strlen(value));
        } else if (strchr(old, ' ') && !strchr(value, ' ') && !strchr(old, '$')) {
                n_old = strcspn(old, " ");
        } else if (!strchr(old, ' ') && at[n_old] == ' ') { /* "20 minutes instead of 15" */
                value[strcspn(value, " ")] = '\0';
        }
        snprintf(next, n_next, "%.*s%s%s", (int)(at - body), body, value, at + n_old);
}

int constraint_rewrite(Compress *c, size_t at, CompressSource source, const char *body) {
        const char *atom = c->next.field[CCS_CONSTRAINTS].atoms[at];
        char polarity[16], have[ATOM_MAX + 1];
        CompressSource s = source;

        snprintf(polarity, sizeof(polarity), "%.*s", (int)strcspn(atom, "("), atom);
        constraint_read(atom, &s, have, sizeof(have));
        if (!constraint_remove(c, at, source, COMPRESS_REPLACED, "the speaker changed the value"))
                return 0;
        return constraint_add(c, polarity, s, body, "the speaker changed the value");
}

/* "Forget the limit of $1,200; it's $1,500 now": the rule that the same input lifted, with another value. */
static int constraint_again(Compress *c, const Rule *r, CompressSource source) {
        char body[ATOM_MAX + 1], next[2 * ATOM_MAX], polarity[16];
        CompressSource s;

        if (!constraint_read(c->lifted, &s, body, sizeof(body)) || s > source)
                return 1;
        snprintf(polarity, sizeof(polarity), "%.*s", (int)strcspn(c->lifted, "("), c->lifted);
        constraint_write(body, "", r->value, next, sizeof(next));
        c->lifted[0] = '\0';
        return constraint_add(c, polarity, s, next, "the speaker changed the value");
}

/* "Let us say $650 instead": the amount of money of the only constraint with an amount. */
static bool constraint_only_amount(const CcsList *l) {
        size_t n = 0;

        for (size_t i = 0; i < l->n; i++)
                n += constraint_of_money(l->atoms[i]);
        return n == 1;
}

/* Writes the new value into the constraint with the old value, or of the same kind. Returns 1 when nothing was
 * meant. */
static int constraint_change(Compress *c, const Rule *r, CompressSource source) {
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];
        size_t best = SIZE_MAX, best_shared = 0;
        bool best_own = true; /* the speaker may change the best */
        char body[ATOM_MAX + 1], next[2 * ATOM_MAX], old[PHRASE_ID_MAX] = "";
        CompressSource s = COMPRESS_USER;

        for (size_t i = 0; i < l->n; i++) {
                _cleanup_phrase_text_ PhraseText t = {0};
                size_t n, shared;
                bool limit;
                PhraseValue v;

                if (!constraint_read(l->atoms[i], &s, body, sizeof(body)) || !strpbrk(body, "0123456789") ||
                    phrase_read(body, strlen(body), &t) < 0)
                        continue;
                shared = rule_shared(body, r->body, &n);
                shared += constraint_about_rules(r->body, &limit) && limit && constraint_limits(body);
                for (size_t w = 0; w < t.n; w++) {
                        size_t cursor = w > 0 && phrase_is(&t, w - 1, "$") ? w - 1 : w;

                        if (!(t.word[w].digit || t.word[w].class & PW_NUMBER) || !phrase_value(&t, &cursor, t.n, &v))
                                continue;
                        bool money = constraint_of_money(r->value), has = v.type == PHRASE_MONEY;
                        if (r->old[0] ? phrase_within(r->old, v.id)
                                      : v.type <= PHRASE_COUNT && money == has &&
                                                 (shared > 0 || (money && constraint_only_amount(l))))
                                if (shared + (r->old[0] != 0) > best_shared || best == SIZE_MAX ||
                                    (shared + (r->old[0] != 0) == best_shared && !best_own && s <= source)) {
                                        best = i;
                                        best_own = s <= source;
                                        best_shared = shared + (r->old[0] != 0);
                                        snprintf(old, sizeof(old), "%s", r->old[0] ? r->old : v.id);
                                }
                }
        }
        if (best == SIZE_MAX && c->lifted[0] && strpbrk(c->lifted, "0123456789") && !r->old[0])
                return constraint_again(c, r, source);
        if (best == SIZE_MAX)
                return 1;
        constraint_read(l->atoms[best], &s, body, sizeof(body));
        constraint_write(body, old, r->value, next, sizeof(next));
        if (strcmp(next, body) == 0)
                return 0;
        return constraint_rewrite(c, best, source, next);
}

static int constraint_lift(Compress *c, const Rule *r, CompressSource source) {
        size_t at = r->soft ? constraint_permitted(c, r->body) : constraint_given_up(c, r->body);

        if (at == SIZE_MAX && !r->soft && compress_goal_drop(c, r, source))
                return 0;
        if (at == SIZE_MAX && !r->soft)
                at = constraint_hinted(c, r->body);
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

/* "Write the next update, facts only": one text, and no rule. "Write each update …" is a rule. */
static bool rule_is_of_one_text(const PhraseText *t, const Rule *r) {
        static const char *const verbs[] = {"write", "draft", "prepare", "compose", "summarize", "summarise"};

        return r->kind == RULE_MUST && r->at + 1 < r->end && t->word[r->at + 1].class & PW_ARTICLE &&
               phrase_any(t, r->at, r->at + 1, verbs, ARRAY_SIZE(verbs)) && !phrase_match(t, r->at + 1, r->end, "any");
}

int compress_rules(Compress *c, const PhraseText *t, CompressSource source) {
        size_t at = 0;
        int e = 0;
        Rule r;

        while (!e && rule_next(t, &at, &r)) {
                Rule goal = {}; /* rule_goal() sets what is so */

                if (source == COMPRESS_USER && rule_is_of_one_text(t, &r)) {
                        if (rule_goal(t, r.at, r.end, &goal))
                                e = compress_goal(c, &goal, source);
                        continue;
                }
                switch (r.kind) {
                case RULE_MUST:
                case RULE_MUST_NOT:
                case RULE_ALLOWED:
                case RULE_AVOID:
                        e = constraint_state(c, &r, source);
                        if (!e && r.limit && rule_goal(t, r.at, r.end, &goal))
                                e = compress_goal(c, &goal, source);
                        break;
                case RULE_LIFT: e = constraint_lift(c, &r, source); break;
                case RULE_CHANGE:
                        e = constraint_change(c, &r, source);
                        if (e == 1 && r.limit) {
                                r.kind = RULE_MUST;
                                e = constraint_state(c, &r, source);
                        } else if (e == 1) {
                                e = rule_goal(t, r.at, r.end, &goal) ? compress_goal(c, &goal, source) : 0;
                        }
                        break;
                case RULE_GOAL: e = compress_goal(c, &r, source); break;
                case RULE_DROP: compress_goal_drop(c, &r, source); break;
                case RULE_KINDS: break;
                }
        }
        if (!e && c->next.field[CCS_GOAL_ORIENTATION].n == 0 && !c->begins) /* the last goal is given up */
                e = compress_add(c, CCS_GOAL_ORIENTATION, "assist", &(const char *){"user"}, 1);
        return e;
}
