/* Runs: supervisor, CLI. Goals: named, named anew, given up, reached (C-10, C-24). */
#include "cognition/compress-inside.h"

/* The rank of the goal: the first argument names a source above the user. */
static CompressSource goal_rank(const char *atom) {
        const char *at = strchr(atom, '(');

        for (CompressSource s = COMPRESS_OPERATOR; at && s < COMPRESS_SOURCES; s++) {
                size_t n = strlen(compress_source_name(s));

                if (strncmp(at + 1, compress_source_name(s), n) == 0 && at[1 + n] == ',')
                        return s;
        }
        return COMPRESS_USER;
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

static bool goal_same(const char *object, const char *atom) {
        size_t n, m, shared = rule_shared(object, strchr(atom, '('), &n),
                     back = rule_shared(strchr(atom, '('), object, &m);

        return shared == n && back == m;
}

static void goal_remove(Compress *c, size_t at, CompressAct act, const char *reason) {
        compress_event(c, act, CCS_GOAL_ORIENTATION, c->next.field[CCS_GOAL_ORIENTATION].atoms[at], reason);
        ccs_remove(&c->next, CCS_GOAL_ORIENTATION, at);
}

bool compress_goal_drop(Compress *c, const Rule *r, CompressSource source) {
        const CcsList *l = &c->next.field[CCS_GOAL_ORIENTATION];
        size_t best = SIZE_MAX, best_shared = 0, n, own = 0, only = SIZE_MAX;
        bool named = r->kind == RULE_DROP;

        for (size_t i = 0; i < l->n; i++) {
                size_t shared = goal_is_empty(l->atoms[i]) ? 0 : rule_shared(strchr(l->atoms[i], '('), r->body, &n);

                if (named && shared == 0 && !goal_is_empty(l->atoms[i])) { /* "the migration goal": migrate(…) */
                        char verb[40];

                        snprintf(verb, sizeof(verb), "%.*s", (int)strcspn(l->atoms[i], "(") - 1, l->atoms[i]);
                        shared = strlen(verb) > 3 && strcasestr(r->body, verb) != NULL;
                }
                if (shared > 0 && shared >= best_shared) {
                        best = i;
                        best_shared = shared;
                }
                if (!goal_is_empty(l->atoms[i]) && goal_rank(l->atoms[i]) <= source) {
                        own++;
                        only = i;
                }
        }
        if (best == SIZE_MAX && named && own == 1)
                best = only;
        if (best == SIZE_MAX)
                return false;
        if (goal_rank(l->atoms[best]) > source) {
                compress_event(c, COMPRESS_REFUSED, CCS_GOAL_ORIENTATION, l->atoms[best],
                               "a source of a lower rank than the goal's");
                snprintf(c->conflict, sizeof(c->conflict), "%.*s", RULE_BODY_MAX, r->body);
                c->conflicts++;
                return true;
        }
        goal_remove(c, best, COMPRESS_LIFTED, "the speaker gave the goal up, or it is reached");
        return true;
}

int compress_goal(Compress *c, const Rule *r, CompressSource source) {
        CcsList *l = &c->next.field[CCS_GOAL_ORIENTATION];
        const char *open = strchr(r->body, '(');
        char object[RULE_BODY_MAX], name[40], atom[2 * ATOM_MAX];
        size_t max, n_before = l->n;
        int e;

        if (!open || (c->begins && !r->strong))
                return 0;
        snprintf(object, sizeof(object), "%.*s", (int)strlen(open + 1) - 1, open + 1);
        snprintf(name, sizeof(name), "%.*s", (int)(open - r->body), r->body);
        if (!r->strong && !r->wanted && goal_passes(name)) {
                snprintf(c->request, sizeof(c->request), "%s", r->body);
                return 0;
        }
        for (size_t i = 0; i < l->n; i++) {
                size_t n, m, shared, back;
                if (goal_rank(l->atoms[i]) > COMPRESS_USER || goal_is_empty(l->atoms[i]))
                        continue;
                if (r->anew && goal_same(object, l->atoms[i]))
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
        for (size_t i = l->n; r->anew && i-- > 0;)
                if (goal_rank(l->atoms[i]) <= source)
                        goal_remove(c, i, COMPRESS_REPLACED, "the speaker named another goal in its place");
        if (l->n == max) {
                compress_event(c, COMPRESS_REFUSED, CCS_GOAL_ORIENTATION, r->body, "no room for another goal");
                snprintf(c->no_room, sizeof(c->no_room), "goal %.*s", RULE_BODY_MAX, r->body);
                for (char *p = c->no_room; *p; p++)
                        if (*p == '(' || *p == ')')
                                *p = *p == '(' ? ' ' : '\0';
                return 0;
        }
        n_before = l->n;
        if (source == COMPRESS_USER)
                e = compress_add(c, CCS_GOAL_ORIENTATION, name, &(const char *){object}, 1);
        else
                e = compress_add(c, CCS_GOAL_ORIENTATION, name, (const char *[]){compress_source_name(source), object},
                                 2);
        if (!e && l->n > n_before) {
                snprintf(atom, sizeof(atom), "%s", l->atoms[l->n - 1]);
                compress_event(c, COMPRESS_ADDED, CCS_GOAL_ORIENTATION, atom, "the speaker named the goal");
                c->goal_new = true;
        }
        return e;
}
