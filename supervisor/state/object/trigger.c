#include "object/trigger.h"

#include "object/intent-form.h"
#include "object/memory.h"
#include "object/select.h"
#include "record/event-types.h"
#include "record/wake.h"

#include <inttypes.h>

#define TRIGGER_VERSION_MOST ((uint64_t)JSON_INTEGER_MOST)
#define TRIGGER_DIGEST_MAX 128
#define TRIGGER_MATCH_NAME_MAX 64

/* Kinds of outcomes that are no kinds of descriptors. */
static const char *const trigger_more_kinds[] = {"child", "closed", "input"};

static bool trigger_kind_valid(const char *kind) {
        return outcome_kind_of(kind) != OUTCOME_KIND_COUNT_ ||
               name_index(trigger_more_kinds, ARRAY_SIZE(trigger_more_kinds), kind) < ARRAY_SIZE(trigger_more_kinds);
}

/* "success, failure, …": the kinds of descriptors, for messages. */
static const char *trigger_kinds(char *out, size_t n_out) {
        size_t n = 0;

        *out = 0;
        for (OutcomeKind k = 0; k < OUTCOME_KIND_COUNT_ && n < n_out; k++)
                n += (size_t)snprintf(out + n, n_out - n, "%s%s", k > 0 ? ", " : "", outcome_kind_name(k));
        return out;
}
#define TRIGGER_KINDS trigger_kinds((char[256]){0}, 256)

static int condition_read_number(const IntentForm *f, const FormPlace *at, const json_t *v, json_t *to, const char *name) {
        if (!v)
                return 0;
        if (!json_is_number(v))
                return form_bad(f, FORM_AT(at, name), v, "must be a number");
        return form_put(to, name, json_incref((json_t *)v));
}

/* Does the condition compare a value or a version? An unset slot has neither. */
static bool condition_has_value(const json_t *v) {
        return json_object_get(v, "equals") || json_object_get(v, "above") || json_object_get(v, "below") ||
               json_object_get(v, "version");
}

static int condition_read_slot(const IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        static const char *const words[] = {"set", "unset"};
        const json_t *slot = json_object_get(v, "slot"), *is = json_object_get(v, "is"),
                     *equals = json_object_get(v, "equals"), *above = json_object_get(v, "above"),
                     *below = json_object_get(v, "below"), *version = json_object_get(v, "version");
        size_t word = 0;
        uint64_t n;
        int e = form_members(f, at, v, FORM_WORDS("slot", "is", "equals", "above", "below", "version"));

        if (e == 0 && (!json_text(slot) || !form_slots.valid(json_text(slot))))
                e = form_bad(f, FORM_AT(at, "slot"), slot, "%s", form_slots.rule);
        if (e == 0 && is)
                e = form_word(f, FORM_AT(at, "is"), is, words, ARRAY_SIZE(words), &word);
        if (e == 0 && word == 1 && condition_has_value(v))
                e = form_bad(f, FORM_AT(at, "is"), is, "a slot that is unset has no value and no version to compare");
        if (e == 0 && equals && (above || below))
                e = form_bad(f, FORM_AT(at, "equals"), equals,
                             "stands beside \"above\" or \"below\"; give either");
        e = e ?: condition_read_number(f, at, above, to, "above");
        e = e ?: condition_read_number(f, at, below, to, "below");
        if (e == 0 && above && below && json_number_value(above) >= json_number_value(below))
                e = form_bad(f, at, v, "no number is above the one and below the other: can never hold");
        if (e == 0 && version) {
                e = form_count(f, FORM_AT(at, "version"), version, 1, TRIGGER_VERSION_MOST, &n);
                e = e ?: form_put(to, "version", json_u64(n));
        }
        if (e == 0 && equals)
                e = form_put(to, "equals", json_incref((json_t *)equals));
        e = e ?: form_put(to, "slot", json_incref((json_t *)slot));
        return e ?: form_put(to, "is", json_string(words[word]));
}

static int condition_read_object(const IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        const json_t *id = json_object_get(v, "object"), *state = json_object_get(v, "state"),
                     *status = json_object_get(v, "status");
        int e = form_members(f, at, v, FORM_WORDS("object", "state", "status"));

        if (e == 0 && (!json_text(id) || !region_id_valid(json_text(id))))
                e = form_bad(f, FORM_AT(at, "object"), id, "must be the id of an object, 26 letters and digits");
        if (e == 0 && f->self && json_text_is(id, f->self))
                e = form_bad(f, FORM_AT(at, "object"), id, "an object that waits for its own end never ends");
        if (e == 0 && state && !json_text_is(state, object_state_name(OBJECT_TERMINATED)))
                e = form_bad(f, FORM_AT(at, "state"), state, "must be \"%s\"", object_state_name(OBJECT_TERMINATED));
        if (e == 0 && status &&
            (!json_text(status) || outcome_kind_of(json_text(status)) == OUTCOME_KIND_COUNT_))
                e = form_bad(f, FORM_AT(at, "status"), status, "must be one of %s", TRIGGER_KINDS);
        if (e == 0 && status)
                e = form_put(to, "status", json_incref((json_t *)status));
        e = e ?: form_put(to, "object", json_incref((json_t *)id));
        return e ?: form_put(to, "state", json_string(object_state_name(OBJECT_TERMINATED)));
}

int condition_read(const IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        const bool slot = json_object_get(v, "slot"), object = json_object_get(v, "object");
        _cleanup_json_ json_t *to = json_object();
        int e;

        if (!to)
                return -ENOMEM;
        if (!json_is_object(v))
                return form_bad(f, at, v, v ? "must be an object" : "required");
        if (slot == object)
                return form_bad(f, at, v, "a condition has exactly one of \"slot\" and \"object\"");
        e = slot ? condition_read_slot(f, at, v, to) : condition_read_object(f, at, v, to);
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

static int trigger_read_elapsed(IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        const json_t *moment = json_object_get(v, "at");
        uint64_t t = 0;
        bool said = false;
        int e = form_members(f, at, v, FORM_WORDS("for", "for_usec", "at"));

        e = e ?: form_duration(f, at, v, "for", 1, FORM_DURATION_MOST, &t, &said);
        if (e == 0 && said == (moment != NULL))
                return form_bad(f, at, v, "must have exactly one of \"for\" and \"at\"");
        if (e == 0 && moment)
                e = form_moment(f, FORM_AT(at, "at"), moment, &t);
        return e ?: form_put(to, said ? "for_usec" : "at", json_u64(t));
}

static int trigger_read_outcomes(IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        const json_t *kind = json_object_get(v, "kind");
        uint64_t n = 0, within = 0;
        bool said = false;
        int e = form_members(f, at, v, FORM_WORDS("kind", "n", "within", "within_usec"));

        if (e == 0 && (!json_text(kind) || !trigger_kind_valid(json_text(kind))))
                e = form_bad(f, FORM_AT(at, "kind"), kind, "must be one of %s, child, closed, input", TRIGGER_KINDS);
        e = e ?: form_count(f, FORM_AT(at, "n"), json_object_get(v, "n"), 1, TRIGGER_OUTCOMES_MAX, &n);
        e = e ?: form_duration(f, at, v, "within", 1, FORM_DURATION_MOST, &within, &said);
        e = e ?: form_put(to, "kind", json_incref((json_t *)kind));
        e = e ?: form_put(to, "n", json_u64(n));
        return e || !said ? e : form_put(to, "within_usec", json_u64(within));
}

static int trigger_read_match(const IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        _cleanup_free_ char *text = NULL;
        const char *key, *s;
        json_t *item;
        size_t n;
        int e = 0;

        if (!json_is_object(v))
                return form_bad(f, at, v, "must be an object");
        if (json_object_size(v) > TRIGGER_MATCH_MAX)
                return form_bad(f, at, NULL, "%zu members: at most %d are allowed", json_object_size(v),
                                TRIGGER_MATCH_MAX);
        json_object_foreach((json_t *)v, key, item) {
                const FormPlace *here = FORM_AT(at, key);

                if (*key == 0 || strlen(key) > TRIGGER_MATCH_NAME_MAX)
                        return form_bad(f, here, NULL, "a member's name has 1 to %d bytes", TRIGGER_MATCH_NAME_MAX);
                if (json_is_string(item))
                        e = form_text(f, here, item, 0, WAKE_MATCH_MAX, &s);
                else if (!json_is_integer(item) && !json_is_boolean(item) && !json_is_null(item))
                        e = form_bad(f, here, item, "must be text, an integer, a boolean or null");
                if (e != 0)
                        return e;
        }
        e = json_canonical(v, &text, &n); /* a row of table `wake` */
        if (e == 0 && n > WAKE_MATCH_MAX)
                e = form_bad(f, at, NULL, "%zu bytes: at most %d are allowed", n, WAKE_MATCH_MAX);
        return e < 0 || json_object_size(v) == 0 ? e : e ?: form_put(to, "match", json_incref((json_t *)v));
}

static int trigger_read_event(IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        const json_t *type = json_object_get(v, "type"), *match = json_object_get(v, "match");
        const char *s = json_text(type);
        int e = form_members(f, at, v, FORM_WORDS("type", "match"));

        if (e == 0 && s && strncmp(s, "object.", 7) == 0)
                return form_bad(f, FORM_AT(at, "type"), type,
                                "events of objects wake no object; wait for an object's end with "
                                "{\"prerequisite\":{\"object\":ID}}");
        if (e == 0 && (!s || !event_type_known(s)))
                return form_bad(f, FORM_AT(at, "type"), type,
                                "no event of this type is ever recorded; types are in schema/object.md");
        if (e == 0 && match)
                e = trigger_read_match(f, FORM_AT(at, "match"), match, to);
        return e ?: form_put(to, "type", json_incref((json_t *)type));
}

static int trigger_read_policy(IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        static const char *const kinds[] = {"allows", "not", NULL};
        const char *names[ACTION_COUNT_];
        const json_t *item;
        const char *s = NULL;
        size_t kind = 0, i;
        int e = form_only(f, at, v, kinds, &kind);

        if (e != 0)
                return e;
        at = FORM_AT(at, kinds[kind]);
        item = json_object_get(v, kinds[kind]);
        for (ObjectAction a = ACTION_EXECUTION; a < ACTION_COUNT_; a++)
                names[a - ACTION_EXECUTION] = object_action_name(a);
        if (kind == 0)
                e = form_word(f, at, item, names, ACTION_COUNT_ - ACTION_EXECUTION, &i);
        else
                e = form_text(f, at, item, 1, TRIGGER_DIGEST_MAX, &s);
        if (e == 0 && s &&
            strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:._+/=-") != strlen(s))
                e = form_bad(f, at, item, "must be a policy's digest, as `lethe object show` prints it");
        return e ?: form_put(to, kinds[kind], json_incref((json_t *)item));
}

typedef int (*TriggerReader)(IntentForm *f, const FormPlace *at, const json_t *v, json_t *to);

static int trigger_read_parts(IntentForm *f, const FormPlace *at, const json_t *v, unsigned depth, json_t **ret);

static int trigger_read_node(IntentForm *f, const FormPlace *at, const json_t *v, unsigned depth, json_t **ret) {
        static const char *const kinds[] = {"elapsed", "outcomes", "event", "policy", "prerequisite", "any", "all",
                                            NULL};
        static const TriggerReader leaves[] = {trigger_read_elapsed, trigger_read_outcomes, trigger_read_event,
                                               trigger_read_policy};
        _cleanup_json_ json_t *to = json_object(), *part = NULL;
        size_t kind = 0;
        int e = to ? form_only(f, at, v, kinds, &kind) : -ENOMEM;

        if (e != 0)
                return e;
        if (++f->nodes > TRIGGER_NODES_MAX)
                return form_bad(f, at, NULL, "a trigger has at most %d parts", TRIGGER_NODES_MAX);
        if (depth > TRIGGER_DEPTH_MAX)
                return form_bad(f, at, NULL, "triggers nest at most %d deep", TRIGGER_DEPTH_MAX);
        at = FORM_AT(at, kinds[kind]);
        v = json_object_get(v, kinds[kind]);
        if (kind < ARRAY_SIZE(leaves))
                e = (part = json_object()) ? leaves[kind](f, at, v, part) : -ENOMEM;
        else
                e = kind == ARRAY_SIZE(leaves) ? condition_read(f, at, v, &part)
                                               : trigger_read_parts(f, at, v, depth, &part);
        e = e ?: form_put(to, kinds[kind], TAKE_PTR(part));
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

static int trigger_read_parts(IntentForm *f, const FormPlace *at, const json_t *v, unsigned depth, json_t **ret) {
        _cleanup_json_ json_t *list = json_array();
        json_t *item;
        size_t i;
        int e = list ? form_array(f, at, v, false, TRIGGER_NODES_MAX) : -ENOMEM;

        json_array_foreach((json_t *)v, i, item) {
                json_t *part = NULL;

                e = e ?: trigger_read_node(f, FORM_ITEM(at, i), item, depth + 1, &part);
                e = e ?: form_add(list, part);
        }
        if (e == 0)
                *ret = TAKE_PTR(list);
        return e;
}

int trigger_read(IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        f->nodes = 0;
        return trigger_read_node(f, at, v, 1, ret);
}

int trigger_complete(const json_t *trigger, const char *self, json_t **ret, Diag *reterr) {
        IntentForm f = {.self = self, .reterr = reterr};
        const FormPlace *root = FORM_ROOT("trigger");
        _cleanup_json_ json_t *v = NULL, *to = NULL;
        int e = form_begin(&f, root, trigger, &v) ?: trigger_read(&f, root, v, &to) ?: form_end(&f, root, to);

        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

int condition_complete(const json_t *condition, const char *self, json_t **ret, Diag *reterr) {
        const IntentForm f = {.self = self, .reterr = reterr};
        const FormPlace *root = FORM_ROOT("condition");
        _cleanup_json_ json_t *v = NULL, *to = NULL;
        int e = form_begin(&f, root, condition, &v) ?: condition_read(&f, root, v, &to) ?: form_end(&f, root, to);

        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}
