#include "engine/payload.h"

#include "base/buf.h"
#include "base/clean.h"
#include "engine/payload-check.h"
#include "refs/reserved-names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ORDER_MAX 9999

enum { STATEMENT = 2048, TEXT = 4096, LONG_TEXT = 16 * 1024, WHOLE_PAGE = 512 * 1024 };

static const char *const severities[] = {"low", "medium", "high", "critical", NULL};
static const char *const outcomes[] = {"passed", "failed", "partial", NULL};
static const char *const lifecycles[] = {"active", "superseded", "invalidated", NULL};

#define EPISODIC "episodic"
#define SEMANTIC "semantic"
#define OBSERVATIONAL "observational"
const char *const payload_types[] = {EPISODIC, SEMANTIC, OBSERVATIONAL, NULL};

const PayloadField payload_fields[] = {
        /* governed memory (G-23) */
        {KIND_PLAN, OP_UPSERT, NULL, "content", PAYLOAD_TEXT, true, 2 * LONG_TEXT, NULL},
        {KIND_CONSTRAINT, OP_UPSERT, NULL, "statement", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_CONSTRAINT, OP_UPSERT, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        {KIND_CONSTRAINT, OP_INVALIDATE, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        {KIND_ISSUE, OP_UPSERT, NULL, "title", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_ISSUE, OP_UPSERT, NULL, "detail", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_ISSUE, OP_UPSERT, NULL, "severity", PAYLOAD_CHOICE, false, 0, severities},
        {KIND_ISSUE, OP_RESOLVE, NULL, "resolution", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_DECISION, OP_APPEND, NULL, "decision", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_DECISION, OP_APPEND, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        {KIND_DECISION, OP_APPEND, NULL, "alternatives", PAYLOAD_LINES, false, STATEMENT, NULL},
        {KIND_DECISION, OP_INVALIDATE, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        {KIND_DECISION, OP_INVALIDATE, NULL, "superseded_by", PAYLOAD_ID, false, 0, NULL},
        {KIND_RESULT, OP_APPEND, NULL, "summary", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_RESULT, OP_APPEND, NULL, "task", PAYLOAD_ID, false, 0, NULL},
        {KIND_RESULT, OP_APPEND, NULL, "outcome", PAYLOAD_CHOICE, false, 0, outcomes},
        {KIND_RESULT, OP_APPEND, NULL, "detail", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_TASK_STATE, OP_UPSERT, NULL, "status", PAYLOAD_LINE, true, 128, NULL},
        {KIND_TASK_STATE, OP_UPSERT, NULL, "detail", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_LEARNING, OP_APPEND, NULL, "statement", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_LEARNING, OP_APPEND, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        /* the memory service (M-6, M-7, M-8) */
        {KIND_MEMORY, OP_SAVE, EPISODIC, "summary", PAYLOAD_TEXT, true, LONG_TEXT, NULL},
        {KIND_MEMORY, OP_SAVE, EPISODIC, "context", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_MEMORY, OP_SAVE, EPISODIC, "participants", PAYLOAD_LINES, false, 256, NULL},
        {KIND_MEMORY, OP_SAVE, SEMANTIC, "subject", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_MEMORY, OP_SAVE, SEMANTIC, "predicate", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_MEMORY, OP_SAVE, SEMANTIC, "object", PAYLOAD_TEXT, true, LONG_TEXT, NULL},
        {KIND_MEMORY, OP_SAVE, SEMANTIC, "confidence", PAYLOAD_SHARE, false, 0, NULL},
        {KIND_MEMORY, OP_SAVE, OBSERVATIONAL, "subject", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_MEMORY, OP_SAVE, OBSERVATIONAL, "observed", PAYLOAD_TEXT, true, LONG_TEXT, NULL},
        {KIND_MEMORY, OP_SAVE, OBSERVATIONAL, "source", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_MEMORY, OP_SAVE, OBSERVATIONAL, "at", PAYLOAD_LINE, false, 64, NULL},
        {KIND_KNOWLEDGE, OP_SAVE, NULL, "title", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_KNOWLEDGE, OP_SAVE, NULL, "text", PAYLOAD_TEXT, true, WHOLE_PAGE, NULL},
        {KIND_KNOWLEDGE, OP_SAVE, NULL, "tags", PAYLOAD_LINES, false, 64, NULL},
        {KIND_SKILL, OP_SAVE, NULL, "name", PAYLOAD_LINE, true, 256, NULL},
        {KIND_SKILL, OP_SAVE, NULL, "description", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_SKILL, OP_SAVE, NULL, "steps", PAYLOAD_STEPS, true, LONG_TEXT, NULL},
        {KIND_SKILL, OP_SAVE, NULL, "trigger", PAYLOAD_LINE, false, STATEMENT, NULL},
        /* cognition (C-14, C-22): sources and reasons stand beside the payload, because only the text is indexed */
        {KIND_CCS, OP_SAVE, NULL, "text", PAYLOAD_TEXT, true, LONG_TEXT, NULL},
        {KIND_EVIDENCE, OP_SAVE, NULL, "text", PAYLOAD_RAW, true, WHOLE_PAGE, NULL},
        /* kernels (M-29): the whole kernel after the patch */
        {KIND_AGENT_KERNEL, OP_PATCH, NULL, "rules", PAYLOAD_RULES, true, TEXT, lifecycles},
        {KIND_WORLD_KERNEL, OP_PATCH, NULL, "rules", PAYLOAD_RULES, true, TEXT, lifecycles},
};
const size_t n_payload_fields = ARRAY_SIZE(payload_fields);

static bool payload_field_is_of(const PayloadField *f, Kind kind, Op op, const char *type) {
        return f->kind == kind && f->op == op && (!f->type || (type && strcmp(f->type, type) == 0));
}

static const PayloadField *payload_field_find(Kind kind, Op op, const char *type, const char *name) {
        for (size_t i = 0; i < n_payload_fields; i++)
                if (payload_field_is_of(&payload_fields[i], kind, op, type) &&
                    strcmp(payload_fields[i].name, name) == 0)
                        return &payload_fields[i];
        return NULL;
}

const char *payload_main(Kind kind, Op op) {
        for (size_t i = 0; i < n_payload_fields; i++)
                if (payload_fields[i].kind == kind && payload_fields[i].op == op && payload_fields[i].required)
                        return payload_fields[i].name;
        return NULL;
}

int payload_check_text(const char *at, const json_t *v, size_t max, bool one_line, Diag *reterr) {
        const char *s = json_bytes(v);
        size_t n = json_string_length(v);

        if (!s)
                return diag(reterr, PAYLOAD_E_TYPE, "%s is not a string", at);
        if (n > max)
                return diag(reterr, PAYLOAD_E_TOO_LARGE, "%s has %zu bytes: at most %zu are allowed", at, n, max);
        if (clean_check(at, s, n, one_line, reterr))
                return PAYLOAD_E_CONTROL;
        return clean_blank(s, n) ? diag(reterr, PAYLOAD_E_EMPTY, "%s is empty", at) : 0;
}

static int payload_check_raw(const char *at, const json_t *v, size_t max, Diag *reterr) {
        if (!json_is_string(v))
                return diag(reterr, PAYLOAD_E_TYPE, "%s is not a string", at);
        if (json_string_length(v) > max)
                return diag(reterr, PAYLOAD_E_TOO_LARGE, "%s has %zu bytes: at most %zu are allowed", at,
                            json_string_length(v), max);
        if (!json_text(v))
                return diag(reterr, PAYLOAD_E_CONTROL, "%s has the character U+0000", at);
        return json_string_length(v) == 0 ? diag(reterr, PAYLOAD_E_EMPTY, "%s is empty", at) : 0;
}

int payload_check_id(const char *at, Kind kind, const json_t *v, Diag *reterr) {
        int r = payload_check_text(at, v, RECORD_ID_MAX - 1, true, reterr);

        if (r == 0 && !record_id_valid(kind, json_text(v)))
                r = diag(reterr, PAYLOAD_E_ID, "%s is \"%s\": an id is %s", at,
                         DIAG_QUOTED_N(json_bytes(v), json_string_length(v)), record_id_rule(kind));
        return r;
}

int payload_check_choice(const char *const *choices, const char *at, const json_t *v, Diag *reterr) {
        const char *s = json_bytes(v);
        char words[200] = "";

        if (!s)
                return diag(reterr, PAYLOAD_E_TYPE, "%s is not a string", at);
        for (const char *const *c = choices; *c; c++) {
                if (json_text_is(v, *c))
                        return 0;
                snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s", *words ? ", " : "", *c);
        }
        return diag(reterr, PAYLOAD_E_VALUE, "%s is \"%s\": allowed are %s", at,
                    DIAG_QUOTED_N(s, json_string_length(v)), words);
}

int payload_check_list(const char *at, const json_t *v, size_t most, const char *of, Diag *reterr) {
        if (!json_is_array(v))
                return diag(reterr, PAYLOAD_E_TYPE, "%s is not an array of %s", at, of);
        if (json_array_size(v) > most)
                return diag(reterr, PAYLOAD_E_TOO_LARGE, "%s has %zu entries: at most %zu are allowed", at,
                            json_array_size(v), most);
        return 0;
}

static int payload_check_lines(const PayloadField *f, const char *at, const json_t *v, Diag *reterr) {
        int r = payload_check_list(at, v, PAYLOAD_LIST_MAX, "strings", reterr);

        for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
                char one[112];

                snprintf(one, sizeof(one), "%s[%zu]", at, i);
                r = payload_check_text(one, json_array_get(v, i), f->max, true, reterr);
        }
        return r;
}

int payload_check_members(const char *at, const json_t *o, const char *const *names, Diag *reterr) {
        const char *key;
        json_t *v;

        if (!json_is_object(o))
                return diag(reterr, PAYLOAD_E_TYPE, "%s is not an object", at);
        json_object_foreach((json_t *)o, key, v) {
                bool known = false;

                for (const char *const *n = names; *n; n++)
                        known |= strcmp(*n, key) == 0;
                if (!known)
                        return reserved_name_is(key)
                                       ? diag(reterr, PAYLOAD_E_OWNED,
                                              "%s.%s is filled in by the service: no payload may hold it", at, key)
                                       : diag(reterr, PAYLOAD_E_UNKNOWN, "%s.%s is an unknown field", at,
                                              DIAG_QUOTED(key));
        }
        for (const char *const *n = names; *n; n++)
                if (!json_object_get(o, *n))
                        return diag(reterr, PAYLOAD_E_MISSING, "%s.%s is missing", at, *n);
        return 0;
}

static int payload_check_steps(const PayloadField *f, const char *at, const json_t *v, Diag *reterr) {
        static const char *const members[] = {"order", "instruction", NULL};
        bool taken[ORDER_MAX + 1] = {false};
        int r = payload_check_list(at, v, PAYLOAD_STEPS_MAX, "steps", reterr);

        if (r == 0 && json_array_size(v) == 0)
                return diag(reterr, PAYLOAD_E_EMPTY, "%s is empty", at);
        for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
                const json_t *step = json_array_get(v, i), *order = json_object_get(step, "order");
                json_int_t n = json_integer_value(order);
                char one[112], what[140];

                snprintf(one, sizeof(one), "%s[%zu]", at, i);
                snprintf(what, sizeof(what), "%s.instruction", one);
                r = payload_check_members(one, step, members, reterr);
                if (r == 0 && !json_is_integer(order))
                        r = diag(reterr, PAYLOAD_E_TYPE, "%s.order is not an integer", one);
                if (r == 0 && (n < 0 || n > ORDER_MAX))
                        r = diag(reterr, PAYLOAD_E_VALUE, "%s.order is %lld: 0 to %d is allowed", one, (long long)n,
                                 ORDER_MAX);
                if (r == 0 && taken[n])
                        r = diag(reterr, PAYLOAD_E_VALUE, "%s.order is %lld, as in another step: orders are unique",
                                 one, (long long)n);
                if (r == 0)
                        r = payload_check_text(what, json_object_get(step, "instruction"), f->max, false, reterr);
                if (r == 0)
                        taken[n] = true;
        }
        return r;
}

static int payload_check_share(const char *at, const json_t *v, Diag *reterr) {
        if (!json_is_number(v))
                return diag(reterr, PAYLOAD_E_TYPE, "%s is not a number", at);
        if (!(json_number_value(v) >= 0 && json_number_value(v) <= 1))
                return diag(reterr, PAYLOAD_E_VALUE, "%s is %g: 0 to 1 is allowed", at, json_number_value(v));
        return 0;
}

static int payload_check_field(const PayloadField *f, const json_t *v, Diag *reterr) {
        char at[64];

        snprintf(at, sizeof(at), "payload.%s", f->name);
        switch (f->form) {
        case PAYLOAD_LINE:
        case PAYLOAD_TEXT:
                return payload_check_text(at, v, f->max, f->form == PAYLOAD_LINE, reterr);
        case PAYLOAD_RAW:
                return payload_check_raw(at, v, f->max, reterr);
        case PAYLOAD_ID:
                return payload_check_id(at, f->kind, v, reterr);
        case PAYLOAD_CHOICE:
                return payload_check_choice(f->choices, at, v, reterr);
        case PAYLOAD_LINES:
                return payload_check_lines(f, at, v, reterr);
        case PAYLOAD_SHARE:
                return payload_check_share(at, v, reterr);
        case PAYLOAD_STEPS:
                return payload_check_steps(f, at, v, reterr);
        case PAYLOAD_RULES:
                return payload_check_rules(f, at, v, reterr);
        }
        return 0;
}

/* Only records of memory have a type, from a short list. */
static int payload_check_type(Kind kind, Op op, const char *type, Diag *reterr) {
        bool has = type && *type;

        if (op != OP_SAVE)
                return 0;
        if (kind != KIND_MEMORY)
                return has ? diag(reterr, PAYLOAD_E_VALUE, "a record of %s has no type", kind_name(kind)) : 0;
        if (!has)
                return diag(reterr, PAYLOAD_E_MISSING, "the type is missing: episodic, semantic or observational");
        for (const char *const *t = payload_types; *t; t++)
                if (strcmp(*t, type) == 0)
                        return 0;
        return diag(reterr, PAYLOAD_E_VALUE, "the type is \"%s\": episodic, semantic or observational is allowed",
                    DIAG_QUOTED(type));
}

int payload_check(Kind kind, Op op, const char *type, const json_t *payload, Diag *reterr) {
        const char *key;
        json_t *v;
        int r = payload_check_type(kind, op, type, reterr);

        if (r != 0)
                return r;
        if (payload && !json_is_object(payload))
                return diag(reterr, PAYLOAD_E_TYPE, "payload is not an object");
        json_object_foreach((json_t *)payload, key, v) {
                const PayloadField *f = payload_field_find(kind, op, type, key);

                if (!f && reserved_name_is(key))
                        return diag(reterr, PAYLOAD_E_OWNED,
                                    "payload.%s is filled in by the service: no payload may hold it", key);
                if (!f)
                        return diag(reterr, PAYLOAD_E_UNKNOWN, "payload.%s is no field of %s%s%s %s",
                                    DIAG_QUOTED(key), type ? type : "",
                                    type && *type ? " " : "", kind_name(kind), op_name(op));
                r = payload_check_field(f, v, reterr);
                if (r != 0)
                        return r;
        }
        for (size_t i = 0; i < n_payload_fields; i++) {
                const PayloadField *f = &payload_fields[i];

                if (payload_field_is_of(f, kind, op, type) && f->required && !json_object_get(payload, f->name))
                        return diag(reterr, PAYLOAD_E_MISSING, "payload.%s is missing", f->name);
        }
        return 0;
}

int record_payload_check(Kind kind, Op op, const char *type, const json_t *payload, Diag *reterr) {
        int e = payload_check(kind, op, type, payload, reterr);

        if (e <= 0)
                return e;
        return e == PAYLOAD_E_OWNED       ? ENGINE_E_SERVICE_FIELD
               : e == PAYLOAD_E_TOO_LARGE ? ENGINE_E_TOO_LARGE
                                          : ENGINE_E_BAD_PAYLOAD;
}

static int payload_name_compare(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int payload_add_text(const json_t *v, Buf *out) {
        int r = 0;

        if (json_is_string(v)) {
                r = buf_add(out, json_bytes(v), json_string_length(v));
                return r < 0 ? r : buf_add(out, "\n", 1);
        }
        for (size_t i = 0; r == 0 && i < json_array_size(v); i++)
                r = payload_add_text(json_array_get(v, i), out);
        if (json_is_object(v)) {
                _cleanup_free_ const char **names = calloc(json_object_size(v) + 1, sizeof(*names));
                size_t n = 0;
                const char *key;
                json_t *member;

                if (!names)
                        return -ENOMEM;
                json_object_foreach((json_t *)v, key, member)
                        names[n++] = key;
                qsort(names, n, sizeof(*names), payload_name_compare);
                for (size_t i = 0; r == 0 && i < n; i++)
                        r = payload_add_text(json_object_get(v, names[i]), out);
        }
        return r;
}

int payload_text(const json_t *payload, char **ret, size_t *ret_n) {
        _cleanup_buf_ Buf out = {0};
        int r = payload_add_text(payload, &out) ?: buf_add(&out, "", 0);

        if (r < 0)
                return r;
        *ret_n = out.n;
        *ret = out.data ? TAKE_PTR(out.data) : strdup("");
        return *ret ? 0 : -ENOMEM;
}
