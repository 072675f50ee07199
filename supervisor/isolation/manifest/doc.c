#include "manifest/doc.h"

#include "base/size.h"
#include "schema/limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define POINTER_MAX 512

/* Appends a key, if there is room. */
static void pointer_add(char out[static POINTER_MAX], const char *key) {
        char shown[256];
        size_t o = strlen(out);

        diag_quote(key, strlen(key), shown, sizeof(shown));
        if (o + 2 * strlen(shown) + 2 > POINTER_MAX)
                return;
        out[o++] = '/';
        for (const char *p = shown; *p; p++)
                if (*p == '~' || *p == '/') {
                        out[o++] = '~';
                        out[o++] = *p == '~' ? '0' : '1';
                } else
                        out[o++] = *p;
        out[o] = 0;
}

static void pointer_of(const Node *n, char out[static POINTER_MAX]) {
        char number[24];

        if (!n->above) {
                *out = 0;
                return;
        }
        pointer_of(n->above, out);
        snprintf(number, sizeof(number), "%zu", n->i);
        pointer_add(out, n->key ?: number);
}

bool doc_fault(Doc *d, const Node *at, const char *rule, const char *fmt, ...) {
        _cleanup_free_ char *s = NULL;
        char pointer[POINTER_MAX];
        va_list ap;

        d->n_faults++;
        va_start(ap, fmt);
        s = text_vprintf(fmt, ap);
        va_end(ap);
        pointer_of(at, pointer);
        if (!s || finding_add(d->findings, FINDING_ERROR, d->file, 0, pointer, rule, "%s", s) < 0)
                d->no_memory = true;
        return false;
}

void *doc_rows(Doc *d, const Node *v, size_t size) {
        void *rows = calloc(json_array_size(v->v) + json_object_size(v->v) + 1, size);

        d->no_memory |= !rows;
        return rows;
}

bool doc_judge(Doc *d, int r, const Node *at, const char *rule, const Diag *message) {
        if (r < 0)
                d->no_memory = true;
        if (r > 0)
                doc_fault(d, at, rule, "%s", message->text);
        return r == 0;
}

const char *doc_show(const Node *v, char out[static 256]) {
        _cleanup_free_ char *text = v->v ? json_dumps(v->v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

        return diag_show(text ?: "", text ? strlen(text) : 0, out, 256);
}

static const char *doc_kind(const Node *v) {
        static const char *const names[] = {
                "an object", "an array", "a string", "a whole number", "a number with a fraction",
                "true",      "false",    "null"};

        return names[json_typeof(v->v)];
}

json_t *doc_parse(Doc *d, const char *text, size_t n) {
        _cleanup_json_ json_t *j = NULL;
        Node whole = {0};
        Diag message = {0};
        const Node *version;

        if (!doc_judge(d, json_parse(text, n, MANIFEST_FILE_MAX, MANIFEST_DEPTH_MAX, &j, &message), &whole, "json",
                       &message))
                return NULL;
        whole.v = j;
        version = MEMBER(&whole, "version");
        if (!doc_object(d, &whole, SIZE_MAX))
                return NULL;
        if (!version->v)
                doc_fault(d, version, "version", "missing: it must be 1");
        else if (!json_is_integer(version->v) || json_integer_value(version->v) != 1)
                doc_fault(d, version, "version", "%s: must be 1; this Lethe knows no other", DOC_SHOWN(version));
        else
                return TAKE_PTR(j);
        return NULL;
}

bool doc_object(Doc *d, const Node *v, size_t most) {
        size_t n = json_object_size(v->v);

        if (v->v && !json_is_object(v->v))
                return doc_fault(d, v, "object", "%s: must be an object", doc_kind(v));
        return n <= most ? v->v != NULL : doc_fault(d, v, "too-many", "%zu members: at most %zu are allowed", n, most);
}

bool doc_fields(Doc *d, const Node *v, const char *const *known) {
        const char *key;
        json_t *item;

        if (!doc_object(d, v, SIZE_MAX))
                return false;
        json_object_foreach((json_t *)v->v, key, item) {
                if (word_index(known, key) < 0)
                        doc_fault(d, MEMBER(v, key), "unknown-field", "no such field is known here");
        }
        return true;
}

bool doc_array(Doc *d, const Node *v, size_t most) {
        size_t n = json_array_size(v->v);

        if (v->v && !json_is_array(v->v))
                return doc_fault(d, v, "array", "%s: must be an array", doc_kind(v));
        return n <= most ? v->v != NULL : doc_fault(d, v, "too-many", "%zu items: at most %zu are allowed", n, most);
}

bool doc_string(Doc *d, const Node *v, size_t least, size_t most, const char **ret) {
        const char *s = json_bytes(v->v);

        if (!v->v)
                return false;
        if (!s)
                return doc_fault(d, v, "string", "%s: must be a string", doc_kind(v));
        if (!json_text(v->v))
                return doc_fault(d, v, "string-nul", "must not have a NUL character");
        if (strlen(s) < least || strlen(s) > most)
                return doc_fault(d, v, "string-length", "%zu bytes: from %zu to %zu are allowed", strlen(s), least,
                                 most);
        *ret = s;
        return true;
}

bool doc_bool(Doc *d, const Node *v, bool *ret) {
        if (!v->v)
                return false;
        if (!json_is_boolean(v->v))
                return doc_fault(d, v, "boolean", "%s: must be true or false", doc_kind(v));
        *ret = json_is_true(v->v);
        return true;
}

bool doc_count(Doc *d, const Node *v, uint64_t least, uint64_t most, uint64_t *ret) {
        json_int_t n = json_integer_value(v->v);

        if (!v->v)
                return false;
        if (!json_is_integer(v->v) || n < 0 || (uint64_t)n < least || (uint64_t)n > most)
                return doc_fault(d, v, "count", "%s: must be a whole number from %" PRIu64 " to %" PRIu64,
                                 DOC_SHOWN(v), least, most);
        *ret = (uint64_t)n;
        return true;
}

bool doc_word(Doc *d, const Node *v, const char *const *words, size_t *ret) {
        char list[256] = "";
        size_t o = 0;

        if (!v->v)
                return false;
        for (size_t i = 0; words[i]; i++) {
                if (json_text_is(v->v, words[i])) {
                        *ret = i;
                        return true;
                }
                o += (size_t)snprintf(list + o, sizeof(list) - o, "%s\"%s\"", i > 0 ? " or " : "", words[i]);
        }
        return doc_fault(d, v, "word", "%s: must be %s", DOC_SHOWN(v), list);
}

bool doc_tier(Doc *d, const Node *v, Tier *ret) {
        size_t i;

        if (!doc_word(d, v, tier_words, &i))
                return false;
        *ret = (Tier)(TIER_LANDLOCK + i);
        return true;
}

bool doc_duration(Doc *d, const Node *v, const DurationRule *rule, uint64_t *ret) {
        const char *s;
        uint64_t usec;

        if (!doc_string(d, v, 1, 32, &s))
                return false;
        if (duration_parse(s, &usec) < 0 || usec < rule->least_usec || usec > rule->most_usec)
                return doc_fault(d, v, rule->name, "%s: must be a time from %s", DOC_SHOWN(v), rule->range);
        *ret = usec;
        return true;
}

bool doc_cancel_bound(Doc *d, const Node *v, uint64_t *ret) {
        static const DurationRule rule = {CANCEL_BOUND_LEAST_USEC, CANCEL_BOUND_MOST_USEC, "cancel-bound",
                                          "10ms to 60s"};

        return doc_duration(d, v, &rule, ret);
}

bool doc_grace(Doc *d, const Node *v, uint64_t *ret) {
        static const DurationRule rule = {CANCEL_BOUND_LEAST_USEC, CANCEL_BOUND_MOST_USEC, "grace", GRACE_RANGE};

        return doc_duration(d, v, &rule, ret);
}

bool doc_session_idle(Doc *d, const Node *v, uint64_t *ret) {
        static const DurationRule rule = {SESSION_IDLE_LEAST_USEC, SESSION_IDLE_MOST_USEC, "session-idle",
                                          "100ms to 24h"};

        return doc_duration(d, v, &rule, ret);
}

void doc_budgets(Doc *d, const Node *v, Budget *ret) {
        const char *known[BUDGET_FIELDS + 1] = {0};

        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                known[i] = budget_fields[i].name;
        if (!doc_fields(d, v, known))
                return;
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                const BudgetField *f = &budget_fields[i];
                const Node *item = MEMBER(v, f->name);
                Diag message = {0};

                if (item->v)
                        doc_judge(d, budget_parse_json(f, item->v, budget_at(ret, f), &message), item, "budget",
                                  &message);
        }
}

bool doc_path(Doc *d, const Node *v, char **ret) {
        Diag message = {0};
        const char *s;

        return doc_string(d, v, 1, 4095, &s) && doc_judge(d, path_normalise(s, ret, &message), v, "path", &message);
}

bool doc_file(Doc *d, const Node *v, char **ret_path, bool *ret_write) {
        const Node *path = MEMBER(v, "path"), *access = MEMBER(v, "access");
        size_t word = 0;

        if (!path->v || !access->v)
                return doc_fault(d, v, "required", "\"path\" and \"access\" are required");
        if (!doc_path(d, path, ret_path))
                return false;
        *ret_write = doc_word(d, access, WORDS("read", "write"), &word) && word == 1;
        return true;
}

void doc_words(Doc *d, const Node *v, const char *const *words, size_t most, unsigned *ret) {
        if (!doc_array(d, v, most))
                return;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *at = ITEM(v, i);
                size_t word = 0;

                if (!doc_word(d, at, words, &word))
                        continue;
                if (*ret & 1U << word)
                        doc_fault(d, at, "twice", "\"%s\" stands there twice", words[word]);
                *ret |= 1U << word;
        }
}

void doc_names(Doc *d, const Node *v, size_t most, const NameRule *rule, char ***ret) {
        if (!doc_array(d, v, most))
                return;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *at = ITEM(v, i);
                const char *s;

                if (!doc_string(d, at, 1, rule->most, &s))
                        continue;
                if (!rule->valid(s))
                        doc_fault(d, at, rule->name, "\"%s\": %s", DIAG_QUOTED(s),
                                  rule->text);
                else if (strv_has(*ret, s))
                        doc_fault(d, at, "twice", "\"%s\" stands there twice", s);
                else
                        d->no_memory |= strv_add(ret, s) < 0;
        }
}

void doc_slot_names(Doc *d, const Node *v, char ***ret) {
        static const NameRule rule = {slot_name_valid, SLOT_NAME_MAX, "slot-name",
                                      "a slot's name has lower-case letters, digits and \"._/-\", a letter first"};

        doc_names(d, v, SLOT_LIST_MAX, &rule, ret);
}

void doc_scope(Doc *d, const Node *v, char **ret) {
        const char *scope;

        if (!doc_string(d, v, 1, SCOPE_NAME_BYTES, &scope))
                return;
        if (!scope_name_valid(scope))
                doc_fault(d, v, "scope-name",
                          "%s: a scope's name has 1 to 64 of a-z 0-9 . _ -, a letter or digit first",
                          DOC_SHOWN(v));
        else if (!(*ret = strdup(scope)))
                d->no_memory = true;
}
