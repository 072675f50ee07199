/* Runs: supervisor. */
#include "region/region-denial.h"

#include "base/diag.h"
#include "region/region-key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WITHHELD "(withheld: it holds a region's key)"

/* The object as a JSON string: owned. *ret_exact is false when bytes were escaped or cut. */
static char *denial_object_text(const char *object, size_t n, bool *ret_exact) {
        if (n <= DENIAL_OBJECT_MAX && !memchr(object, 0, n)) {
                json_t *probe = json_stringn(object, n); /* NULL when it is not UTF-8 */

                if (probe) {
                        json_decref(probe);
                        *ret_exact = true;
                        return strndup(object, n);
                }
        }
        char quoted[512];

        *ret_exact = false;
        return strdup(diag_quote(object, n, quoted, sizeof(quoted)));
}

static int denials_enter(Denials *d, const char *rule, const char *operation, const char *object, size_t n_object,
                         const char *allow_with, uint64_t count) {
        _cleanup_free_ char *text = NULL;
        Denial entry = {.count = count};
        bool exact;

        /* A path invented by a program stays in the record forever. A path with a key must not (I-10, I-11). */
        if (region_keys_in_text(object, n_object) != 0) {
                object = WITHHELD;
                n_object = strlen(WITHHELD);
                allow_with = NULL;
        }
        text = denial_object_text(object, n_object, &exact);
        if (!text)
                return -ENOMEM;
        d->total += count;
        for (size_t i = 0; i < d->n; i++)
                if (strcmp(d->v[i].object, text) == 0 && strcmp(d->v[i].operation, operation) == 0 &&
                    strcmp(d->v[i].rule, rule) == 0) {
                        d->v[i].count += count;
                        return 0;
                }
        if (d->n >= DENIALS_MAX) {
                d->others += count;
                return 0;
        }
        if (!GROW(d->v, d->n))
                return -ENOMEM;
        entry.rule = strdup(rule);
        entry.operation = strdup(operation);
        entry.allow_with = allow_with && exact ? strdup(allow_with) : NULL;
        if (!entry.rule || !entry.operation || (allow_with && exact && !entry.allow_with)) {
                free(entry.rule);
                free(entry.operation);
                free(entry.allow_with);
                return -ENOMEM;
        }
        entry.object = TAKE_PTR(text);
        d->v[d->n++] = entry;
        return 0;
}

int denials_add_many(Denials *d, const char *rule, const char *operation, const char *object, size_t n_object,
                     const char *allow_with, uint64_t count) {
        int e = denials_enter(d, rule, operation, object, n_object, allow_with, count);

        d->others += e < 0 ? count : 0;
        return e;
}

int denials_add(Denials *d, const char *rule, const char *operation, const char *object, size_t n_object,
                const char *allow_with) {
        return denials_add_many(d, rule, operation, object, n_object, allow_with, 1);
}

json_t *denials_to_json(const Denials *d, size_t max_bytes) {
        _cleanup_json_ json_t *list = json_array();
        uint64_t left = d->others;
        size_t n = 2;

        if (!list)
                return NULL;
        for (size_t i = 0; i < d->n; i++) {
                const Denial *v = &d->v[i];
                _cleanup_json_ json_t *one = json_pack("{s:s, s:s, s:s, s:I, s:s?}", "rule", v->rule, "operation",
                                                       v->operation, "object", v->object, "count",
                                                       (json_int_t)v->count, "allow_with", v->allow_with);
                size_t size = one ? json_dumpb(one, NULL, 0, JSON_COMPACT | JSON_ENSURE_ASCII) + 1 : 0;

                if (!one)
                        return NULL;
                if (left > d->others || n + size > max_bytes) {
                        left += v->count;
                        continue;
                }
                n += size;
                if (json_array_append(list, one) < 0)
                        return NULL;
        }
        if (left && json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:n}", "rule", "others", "operation",
                                                          "any", "object", "denials beyond the list", "count",
                                                          (json_int_t)left, "allow_with")) < 0)
                return NULL;
        return TAKE_PTR(list);
}

void denials_deinit(Denials *d) {
        for (size_t i = 0; i < d->n; i++) {
                free(d->v[i].rule);
                free(d->v[i].operation);
                free(d->v[i].object);
                free(d->v[i].allow_with);
        }
        free(d->v);
        *d = (Denials){};
}

static char *denial_member(const char *name, json_t *value) {
        _cleanup_json_ json_t *o = json_object();
        char *all, *s = NULL;
        size_t n;

        if (!o || !value || json_object_set_new(o, name, value) < 0)
                return NULL;
        all = json_dumps(o, JSON_ENCODE_ANY);
        if (!all)
                return NULL;
        n = strlen(all);
        if (n > 2) /* the member alone, without the braces of the object */
                s = strndup(all + 1, n - 2);
        free(all);
        return s;
}

char *denial_allow_file(const char *path, bool write) {
        if (*path != '/')
                return NULL;
        return denial_member("files", json_pack("[{s:s, s:s}]", "path", path, "access", write ? "write" : "read"));
}

char *denial_allow_connect(const char *address) {
        return denial_member("network", json_pack("{s:[s]}", "connect", address));
}
