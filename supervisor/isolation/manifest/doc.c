#include "manifest/doc.h"

#include "base/size.h"
#include "schema/limits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONNECTS_MAX 64

const char *pointer_key(char out[static POINTER_MAX], const char *base, const char *key) {
        char shown[256];
        size_t o = strlen(base);

        diag_quote(key, strlen(key), shown, sizeof(shown));
        if (out != base)
                memcpy(out, base, o + 1);
        if (o + 2 * strlen(shown) + 2 > POINTER_MAX)
                return out;
        out[o++] = '/';
        for (const char *p = shown; *p; p++)
                if (*p == '~' || *p == '/') {
                        out[o++] = '~';
                        out[o++] = *p == '~' ? '0' : '1';
                } else
                        out[o++] = *p;
        out[o] = 0;
        return out;
}

const char *pointer_item(char out[static POINTER_MAX], const char *base, size_t i) {
        char number[24];

        snprintf(number, sizeof(number), "%zu", i);
        return pointer_key(out, base, number);
}

void doc_fault(Doc *d, const char *pointer, const char *rule, const char *fmt, ...) {
        _cleanup_free_ char *s = NULL;
        va_list ap;

        d->n_faults++;
        va_start(ap, fmt);
        s = text_vprintf(fmt, ap);
        va_end(ap);
        if (!s || finding_add(d->findings, FINDING_ERROR, d->file, 0, pointer, rule, "%s", s) < 0)
                d->no_memory = true;
}

void *doc_rows(Doc *d, const json_t *v, size_t size) {
        void *rows = calloc(json_array_size(v) + json_object_size(v) + 1, size);

        d->no_memory |= !rows;
        return rows;
}

bool doc_judge(Doc *d, int r, const char *pointer, const char *rule, const Diag *message) {
        if (r < 0)
                d->no_memory = true;
        if (r > 0)
                doc_fault(d, pointer, rule, "%s", message->text);
        return r == 0;
}

const char *doc_show(const json_t *v, char out[static 256]) {
        _cleanup_free_ char *text = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

        return diag_show(text ?: "", text ? strlen(text) : 0, out, 256);
}

static const char *doc_kind(const json_t *v) {
        static const char *const names[] = {
                "an object", "an array", "a string", "a whole number", "a number with a fraction",
                "true",      "false",    "null"};

        return names[json_typeof(v)];
}

json_t *doc_parse(Doc *d, const char *text, size_t n) {
        _cleanup_json_ json_t *j = NULL;
        json_t *version;
        Diag message = {0};
        char shown[256];

        if (!doc_judge(d, json_parse(text, n, MANIFEST_FILE_MAX, MANIFEST_DEPTH_MAX, &j, &message), "", "json",
                       &message))
                return NULL;
        if (!json_is_object(j)) {
                doc_fault(d, "", "object", "%s: must be an object", doc_kind(j));
                return NULL;
        }
        version = json_object_get(j, "version");
        if (!version) {
                doc_fault(d, "/version", "version", "missing: it must be 1");
                return NULL;
        }
        if (!json_is_integer(version) || json_integer_value(version) != 1) {
                doc_fault(d, "/version", "version", "%s: must be 1; this Lethe knows no other",
                          doc_show(version, shown));
                return NULL;
        }
        return TAKE_PTR(j);
}

bool doc_object(Doc *d, const json_t *v, const char *pointer, size_t most) {
        if (!v)
                return false;
        if (!json_is_object(v))
                doc_fault(d, pointer, "object", "%s: must be an object", doc_kind(v));
        else if (json_object_size(v) > most)
                doc_fault(d, pointer, "too-many", "%zu members: at most %zu are allowed", json_object_size(v), most);
        else
                return true;
        return false;
}

bool doc_fields(Doc *d, const json_t *v, const char *pointer, const char *const *known) {
        char at[POINTER_MAX];
        const char *key;
        json_t *item;

        if (!doc_object(d, v, pointer, SIZE_MAX))
                return false;
        json_object_foreach((json_t *)v, key, item) {
                bool found = false;

                for (size_t i = 0; known[i]; i++)
                        found = found || strcmp(known[i], key) == 0;
                if (!found)
                        doc_fault(d, pointer_key(at, pointer, key), "unknown-field", "no such field is known here");
        }
        return true;
}

bool doc_array(Doc *d, const json_t *v, const char *pointer, size_t most) {
        if (!v)
                return false;
        if (!json_is_array(v))
                doc_fault(d, pointer, "array", "%s: must be an array", doc_kind(v));
        else if (json_array_size(v) > most)
                doc_fault(d, pointer, "too-many", "%zu items: at most %zu are allowed", json_array_size(v), most);
        else
                return true;
        return false;
}

bool doc_string(Doc *d, const json_t *v, const char *pointer, size_t least, size_t most, const char **ret) {
        const char *s = json_bytes(v);

        if (!v)
                return false;
        if (!s)
                doc_fault(d, pointer, "string", "%s: must be a string", doc_kind(v));
        else if (!json_text(v))
                doc_fault(d, pointer, "string-nul", "must not have a NUL character");
        else if (strlen(s) < least || strlen(s) > most)
                doc_fault(d, pointer, "string-length", "%zu bytes: from %zu to %zu are allowed", strlen(s), least,
                          most);
        else {
                *ret = s;
                return true;
        }
        return false;
}

bool doc_bool(Doc *d, const json_t *v, const char *pointer, bool *ret) {
        if (!v)
                return false;
        if (!json_is_boolean(v)) {
                doc_fault(d, pointer, "boolean", "%s: must be true or false", doc_kind(v));
                return false;
        }
        *ret = json_is_true(v);
        return true;
}

bool doc_count(Doc *d, const json_t *v, const char *pointer, uint64_t least, uint64_t most, uint64_t *ret) {
        char shown[256];

        if (!v)
                return false;
        if (!json_is_integer(v) || json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) < least ||
            (uint64_t)json_integer_value(v) > most) {
                doc_fault(d, pointer, "count", "%s: must be a whole number from %" PRIu64 " to %" PRIu64,
                          doc_show(v, shown), least, most);
                return false;
        }
        *ret = (uint64_t)json_integer_value(v);
        return true;
}

bool doc_word(Doc *d, const json_t *v, const char *pointer, const char *const *words, size_t *ret) {
        char list[256] = "", shown[256];
        size_t o = 0;

        if (!v)
                return false;
        for (size_t i = 0; words[i]; i++) {
                if (json_text_is(v, words[i])) {
                        *ret = i;
                        return true;
                }
                o += (size_t)snprintf(list + o, sizeof(list) - o, "%s\"%s\"", i > 0 ? " or " : "", words[i]);
        }
        doc_fault(d, pointer, "word", "%s: must be %s", doc_show(v, shown), list);
        return false;
}

bool doc_tier(Doc *d, const json_t *v, const char *pointer, Tier *ret) {
        static const char *const words[] = {"landlock", "namespaces", NULL};
        size_t i;

        if (!doc_word(d, v, pointer, words, &i))
                return false;
        *ret = i == 0 ? TIER_LANDLOCK : TIER_NAMESPACES;
        return true;
}

bool doc_duration(Doc *d, const json_t *v, const char *pointer, const DurationRule *rule, uint64_t *ret) {
        char shown[256];
        const char *s;
        uint64_t usec;

        if (!doc_string(d, v, pointer, 1, 32, &s))
                return false;
        if (duration_parse(s, &usec) < 0 || usec < rule->least_usec || usec > rule->most_usec) {
                doc_fault(d, pointer, rule->name, "%s: must be a time from %s", doc_show(v, shown), rule->range);
                return false;
        }
        *ret = usec;
        return true;
}

bool doc_cancel_bound(Doc *d, const json_t *v, const char *pointer, uint64_t *ret) {
        static const DurationRule rule = {CANCEL_BOUND_LEAST_USEC, CANCEL_BOUND_MOST_USEC, "cancel-bound",
                                          "10ms to 60s"};

        return doc_duration(d, v, pointer, &rule, ret);
}

void doc_budgets(Doc *d, const json_t *v, const char *pointer, Budget *ret) {
        const char *known[BUDGET_FIELDS + 1] = {0};

        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                known[i] = budget_fields[i].name;
        if (!doc_fields(d, v, pointer, known))
                return;
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                const json_t *item = json_object_get(v, known[i]);
                char at[POINTER_MAX];
                Diag message = {0};

                if (item)
                        doc_judge(d,
                                  budget_parse_json(&budget_fields[i], item, budget_at(ret, &budget_fields[i]),
                                                    &message),
                                  pointer_key(at, pointer, known[i]), "budget", &message);
        }
}

bool doc_path(Doc *d, const json_t *v, const char *pointer, char **ret) {
        Diag message = {0};
        const char *s;

        if (!doc_string(d, v, pointer, 1, 4095, &s))
                return false;
        return doc_judge(d, path_normalise(s, ret, &message), pointer, "path", &message);
}

bool doc_file(Doc *d, const json_t *v, const char *pointer, char **ret_path, bool *ret_write) {
        static const char *const words[] = {"read", "write", NULL};
        const json_t *path = json_object_get(v, "path"), *access = json_object_get(v, "access");
        char at[POINTER_MAX];
        size_t word = 0;

        if (!path || !access)
                doc_fault(d, pointer, "required", "\"path\" and \"access\" are required");
        if (!path || !access || !doc_path(d, path, pointer_key(at, pointer, "path"), ret_path))
                return false;
        *ret_write = doc_word(d, access, pointer_key(at, pointer, "access"), words, &word) && word == 1;
        return true;
}

void doc_connects(Doc *d, const json_t *v, const char *pointer, NetGrant **ret, size_t *ret_n) {
        NetGrant *list;
        size_t n = 0;

        if (!doc_array(d, v, pointer, CONNECTS_MAX))
                return;
        list = doc_rows(d, v, sizeof(*list));
        if (!list)
                return;
        for (size_t i = 0; i < json_array_size(v); i++) {
                char at[POINTER_MAX];
                Diag message = {0};
                const char *s;

                pointer_item(at, pointer, i);
                if (!doc_string(d, json_array_get(v, i), at, 1, 128, &s) ||
                    !doc_judge(d, net_parse(s, &list[n], &message), at, "address", &message))
                        continue;
                for (size_t k = 0; k < n; k++)
                        if (net_same(&list[k], &list[n]))
                                doc_fault(d, at, "twice", "\"%s\" stands there twice", s);
                n++;
        }
        *ret = list;
        *ret_n = n;
}

void doc_words(Doc *d, const json_t *v, const char *pointer, const char *const *words, size_t most, unsigned *ret) {
        if (!doc_array(d, v, pointer, most))
                return;
        for (size_t i = 0; i < json_array_size(v); i++) {
                char at[POINTER_MAX];
                size_t word = 0;

                pointer_item(at, pointer, i);
                if (!doc_word(d, json_array_get(v, i), at, words, &word))
                        continue;
                if (*ret & 1U << word)
                        doc_fault(d, at, "twice", "\"%s\" stands there twice", words[word]);
                *ret |= 1U << word;
        }
}

void doc_names(Doc *d, const json_t *v, const char *pointer, size_t most, const NameRule *rule, char ***ret) {
        if (!doc_array(d, v, pointer, most))
                return;
        for (size_t i = 0; i < json_array_size(v); i++) {
                char at[POINTER_MAX], shown[256];
                const char *s;

                pointer_item(at, pointer, i);
                if (!doc_string(d, json_array_get(v, i), at, 1, rule->most, &s))
                        continue;
                if (!rule->valid(s))
                        doc_fault(d, at, rule->name, "\"%s\": %s", diag_quote(s, strlen(s), shown, sizeof(shown)),
                                  rule->text);
                else if (strv_has(*ret, s))
                        doc_fault(d, at, "twice", "\"%s\" stands there twice", s);
                else
                        d->no_memory |= strv_add(ret, s) < 0;
        }
}

void doc_slot_names(Doc *d, const json_t *v, const char *pointer, char ***ret) {
        static const NameRule rule = {slot_name_valid, SLOT_NAME_MAX, "slot-name",
                                      "a slot's name has lower-case letters, digits and \"._/-\", a letter first"};

        doc_names(d, v, pointer, SLOT_LIST_MAX, &rule, ret);
}

void doc_scope(Doc *d, const json_t *v, const char *pointer, char **ret) {
        char shown[256];
        const char *scope;

        if (!doc_string(d, v, pointer, 1, SCOPE_NAME_BYTES, &scope))
                return;
        if (!scope_name_valid(scope))
                doc_fault(d, pointer, "scope-name",
                          "%s: a scope's name has 1 to 64 of a-z 0-9 . _ -, a letter or digit first",
                          doc_show(v, shown));
        else if (!(*ret = strdup(scope)))
                d->no_memory = true;
}
