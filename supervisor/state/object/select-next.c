/* The proposal in a skill's result: a wish, which intent, scope and policy judge (O-23, O-25, O-45, O-47). */
#include "object/select-inside.h"

#include "object/intent.h"
#include "object/trigger.h"

#include <stdio.h>

/* The proposal stays undone; the next entry says why. Returns 0: the next rule decides. */
static int select_refuse(Selection *s, const char *why) {
        free(s->refused);
        s->refused = strdup(why);
        return s->refused ? 0 : -ENOMEM;
}

/* Of select_take() and the like, for take() of the table below. */
static int select_taken(int r) {
        return r > 0 ? 0 : r;
}

bool select_may(const ObjectMemory *m, const char *what) {
        const json_t *word;
        size_t i;

        json_array_foreach(json_object_get(json_object_get(m->intent, "with"), "may"), i, word)
                if (json_text_is(word, what))
                        return true;
        return false;
}

/* An event of the ledger tells of slots, too, and of much that has no name in a trust scope. */
static int select_check_event(const json_t *reads, const json_t *event, Diag *why) {
        const char *type = json_text(json_object_get(event, "type"));

        if (!type || json_text_is(reads, "*") ||
            (strncmp(type, "slot.", 5) == 0 && json_text(json_object_get(json_object_get(event, "match"), "slot"))))
                return 0;
        return diag(why, OBJECT_E_SCOPE,
                    "event \"%s\": where reads is a list, a result may wait for slot.* events that match a \"slot\" of "
                    "the list", DIAG_QUOTED(type));
}

/* Each slot of a condition must be one that the object may read: waking up, or ending, tells its value. */
static int select_check_reads(const json_t *reads, const json_t *v, Diag *why) {
        const json_t *slot = json_object_get(v, "slot"), *name;
        bool may = !json_is_string(slot) || json_text_is(reads, "*");
        const char *member;
        json_t *inner;
        size_t i;
        int r = 0;

        json_array_foreach(reads, i, name)
                may = may || json_equal(slot, name);
        if (!may)
                return diag(why, OBJECT_E_SCOPE, "slot \"%s\" is not among the reads of the trust scope",
                            DIAG_QUOTED(json_text(slot) ?: ""));
        r = select_check_event(reads, json_object_get(v, "event"), why);
        json_object_foreach((json_t *)v, member, inner)
                r = r ?: select_check_reads(reads, inner, why);
        json_array_foreach(v, i, inner)
                r = r ?: select_check_reads(reads, inner, why);
        return r;
}

/* Adds the deadline to each intent that the action delegates, at any depth. The JSON depth of intents bounds the depth. */
static int select_add_deadline(const json_t *action, uint64_t deadline) {
        const json_t *child, *step;
        size_t i;
        int r = 0;

        json_array_foreach(json_object_get(action, "steps"), i, step)
                r = r ?: select_add_deadline(step, deadline);
        json_array_foreach(json_object_get(action, "delegate"), i, child) {
                json_t *one = r == 0 ? json_pack("{s:o}", "deadline", json_u64(deadline)) : NULL;

                if (r == 0 && json_array_append_new(json_object_get(child, "constraints"), one) < 0)
                        r = -ENOMEM;
                r = r ?: select_add_deadline(json_object_get(child, "do"), deadline);
        }
        return r;
}

/* O-23: a skill drops the deadline of its object neither by a mutation nor by children. *intent: complete; replaced. */
static int select_bound_children(const Selection *s, json_t **intent, Diag *why) {
        uint64_t deadline = select_deadline_usec(s);
        _cleanup_json_ json_t *bounded = NULL, *complete = NULL;
        int r;

        if (deadline >= JSON_TIME_MAX)
                return 0;
        bounded = json_deep_copy(*intent);
        r = bounded ? select_add_deadline(json_object_get(bounded, "do"), deadline) : -ENOMEM;
        r = r ?: intent_complete(bounded, s->m->object, &complete, why);
        if (r == 0) {
                json_decref(*intent);
                *intent = TAKE_PTR(complete);
        }
        return r;
}

static int select_next_delegate(Selection *s, const json_t *next, Diag *why) {
        const json_t *list = json_object_get(next, "delegate"), *child;
        _cleanup_json_ json_t *intent = json_pack("{s:{s:O, s:O*}}", "do", "delegate", list, "gather",
                                                  json_object_get(next, "gather"));
        _cleanup_json_ json_t *complete = NULL, *scope = NULL;
        int r = intent ? select_scope(s, &scope) : -ENOMEM;
        size_t i;

        if (r == 0)
                r = intent_complete(intent, s->m->object, &complete, why) ?: select_bound_children(s, &complete, why);
        if (r != 0)
                return r;
        if (json_object_get(s->m->fold, "delegation"))
                return diag(why, OBJECT_E_SCOPE, "delegate: a delegation is open");
        if (json_array_size(list) > json_number(scope, "fanout"))
                return diag(why, OBJECT_E_SCOPE, "delegate: %zu children, but scope and policy allow %zu",
                            json_array_size(list), (size_t)json_number(scope, "fanout"));
        json_array_foreach(json_object_get(json_object_get(complete, "do"), "delegate"), i, child) {
                _cleanup_json_ json_t *inner = NULL;

                r = intent_scope_of_child(scope, child, &inner);
                if (r > 0)
                        return diag(why, r, "delegate: child %zu needs more than the trust scope allows", i);
                if (r < 0)
                        return r;
        }
        r = intent_within(complete, scope, why) ?: select_check_reads(json_object_get(scope, "reads"), complete, why);
        return r != 0 ? r : select_taken(select_delegation(s, "proposed", json_object_get(complete, "do"), true));
}

static int select_next_mutate(Selection *s, const json_t *next, Diag *why) {
        const json_t *mutate = json_object_get(next, "mutate"), *reason = json_object_get(mutate, "why");
        _cleanup_json_ json_t *after = NULL;
        int r = json_is_object(json_object_get(mutate, "intent"))
                        ? intent_complete(json_object_get(mutate, "intent"), s->m->object, &after, why)
                        : diag(why, OBJECT_E_INTENT, "mutate: \"intent\" must be an intent");

        if (r == 0 && reason && (!json_text(reason) || json_string_length(reason) > MEMORY_FOLD_REASON_MAX))
                r = diag(why, OBJECT_E_INTENT, "mutate: \"why\" must be text of at most %d bytes",
                         MEMORY_FOLD_REASON_MAX);
        if (r == 0)
                r = intent_refine_check(s->m->intent, after, json_str(mutate, "how"),
                                        json_object_get(s->m->context, "scope"), why);
        if (r != 0)
                return r;
        return select_taken(
                select_take(s, ACTION_MUTATION, "proposed",
                            json_pack("{s:O, s:O, s:O, s:s}", "how", json_object_get(mutate, "how"), "before",
                                      s->m->intent, "after", after, "why", json_text(reason) ?: "proposed")));
}

static int select_next_sleep(Selection *s, const json_t *next, Diag *why) {
        _cleanup_json_ json_t *trigger = NULL;
        int r = trigger_complete(json_object_get(next, "sleep"), s->m->object, &trigger, why);

        if (r == 0)
                r = select_check_reads(json_object_get(json_object_get(s->m->context, "scope"), "reads"), trigger, why);
        return r != 0 ? r : select_taken(select_dormancy(s, "sleep", TAKE_PTR(trigger)));
}

static int select_next_end(Selection *s, const json_t *next, Diag *why) {
        const json_t *reason = json_object_get(next, "end");

        if (!json_text(reason) || json_string_length(reason) == 0 ||
            json_string_length(reason) > MEMORY_FOLD_REASON_MAX)
                return diag(why, OBJECT_E_INTENT, "end: the reason must be text of 1 to %d bytes",
                            MEMORY_FOLD_REASON_MAX);
        return select_taken(select_take(
                s, ACTION_TERMINATION, "ended",
                json_pack("{s:s, s:s, s:O}", "reason", "ended", "by", "skill", "why", reason)));
}

/* take() returns 0: decided, OBJECT_E_*: not possible, -errno. */
static const struct SelectProposal {
        const char *member;
        ObjectAction action;
        int (*take)(Selection *s, const json_t *next, Diag *why);
} select_proposals[] = {
        {"delegate", ACTION_DELEGATION, select_next_delegate},
        {"mutate", ACTION_MUTATION, select_next_mutate},
        {"sleep", ACTION_DORMANCY, select_next_sleep},
        {"end", ACTION_TERMINATION, select_next_end},
};

int select_next(Selection *s) {
        const json_t *next = json_object_get(s->m->fold, "next");
        const struct SelectProposal *p = NULL;
        Diag why = {""};
        int r;

        if (!next)
                return 0;
        for (size_t i = 0; !p && i < ARRAY_SIZE(select_proposals); i++)
                if (json_object_get(next, select_proposals[i].member))
                        p = &select_proposals[i];
        if (!p || json_object_size(next) != (json_object_get(next, "gather") && p->action == ACTION_DELEGATION ? 2 : 1))
                return select_refuse(s, "a proposal has one of the members delegate, mutate, sleep and end");
        if (!select_may(s->m, p->member))
                return select_refuse(s, "the intent's with.may does not name it");
        if (!select_allows(s, p->action))
                return select_refuse(s, "the policy does not allow it");
        r = p->take(s, next, &why);
        if (r > 0)
                return select_refuse(s, why.text);
        return r < 0 ? r : 1;
}
