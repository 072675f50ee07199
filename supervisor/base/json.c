#include "base/json.h"

#include "base/size.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* jansson 2.14 calls a failed allocation an invalid token, or leaves a character out of a string and goes on. */
static __thread bool json_failed;

static void *json_malloc(size_t n) {
        void *p = malloc(n);

        if (!p)
                json_failed = true;
        return p;
}

__attribute__((constructor)) static void json_notice_failures(void) {
        json_set_alloc_funcs(json_malloc, free);
}

/* The deepest nesting of brackets outside strings; a separate scan, because jansson's limit is fixed at 2048. */
static unsigned json_nesting(const char *s, size_t n) {
        unsigned depth = 0, most = 0;
        bool in_string = false;

        for (size_t i = 0; i < n; i++) {
                if (in_string) {
                        if (s[i] == '\\')
                                i++;
                        else if (s[i] == '"')
                                in_string = false;
                } else if (s[i] == '"')
                        in_string = true;
                else if (s[i] == '[' || s[i] == '{')
                        most = MAX(most, ++depth);
                else if ((s[i] == ']' || s[i] == '}') && depth > 0)
                        depth--;
        }
        return most;
}

int json_parse(const char *text, size_t n, size_t max_bytes, unsigned max_depth, json_t **ret, Diag *reterr) {
        json_error_t err;
        const char *nul;
        json_t *j;
        unsigned depth;

        if (n > max_bytes)
                return diag(reterr, JSON_E_SIZE, "%zu bytes of JSON: at most %zu are allowed", n, max_bytes);
        nul = n > 0 ? memchr(text, 0, n) : NULL;
        if (nul) { /* jansson skips a NUL after a number */
                const char *line = text;
                int lines = 1;

                for (const char *p = text; p < nul; p++)
                        if (*p == '\n') {
                                line = p + 1;
                                lines++;
                        }
                return diag(reterr, JSON_E_SYNTAX, "line %d, column %zu: a NUL byte", lines, (size_t)(nul - line) + 1);
        }
        depth = json_nesting(text, n);
        if (depth > max_depth)
                return diag(reterr, JSON_E_DEPTH, "JSON nested %u deep: at most %u levels are allowed", depth,
                            max_depth);
        json_failed = false;
        j = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &err);
        if (json_failed) {
                json_decref(j);
                return -ENOMEM;
        }
        if (!j) {
                enum json_error_code code = json_error_code(&err);
                char shown[400];

                if (code == json_error_out_of_memory)
                        return -ENOMEM;
                diag_show(err.text, strlen(err.text), shown, sizeof(shown));
                return diag(reterr, code == json_error_duplicate_key ? JSON_E_DUPLICATE : JSON_E_SYNTAX,
                            "line %d, column %d: %s", err.line, err.column, shown);
        }
        *ret = j;
        return 0;
}

json_t *json_copied(const json_t *o) {
        json_t *copy = json_copy((json_t *)o);

        if (copy && json_object_size(copy) != json_object_size(o)) {
                json_decref(copy);
                return NULL;
        }
        return copy;
}

json_t *json_u64(uint64_t v) {
        char text[24];

        if (v <= (uint64_t)JSON_INTEGER_MOST)
                return json_integer((json_int_t)v);
        snprintf(text, sizeof(text), "%" PRIu64, v);
        return json_string(text);
}

int json_get_u64(const json_t *v, uint64_t *ret) {
        const char *s;
        uint64_t u;
        char *end;

        if (json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= JSON_INTEGER_MOST) {
                *ret = (uint64_t)json_integer_value(v);
                return 0;
        }
        s = json_text(v);
        if (!s || *s < '1' || *s > '9')
                return -EINVAL;
        errno = 0;
        u = strtoull(s, &end, 10);
        if (errno || end != s + json_string_length(v) || u <= (uint64_t)JSON_INTEGER_MOST)
                return -EINVAL;
        *ret = u;
        return 0;
}

static void json_wipe_free(void *p) {
        size_t n;

        if (!p)
                return;
        n = malloc_usable_size(p);
        if (n <= 64 && n % 8 == 0) /* the usual case: without a call */
                for (size_t i = 0; i < n / 8; i++)
                        ((volatile uint64_t *)p)[i] = 0;
        else
                explicit_bzero(p, n);
        free(p);
}

void json_wipe_freed(void) {
        json_set_alloc_funcs(json_malloc, json_wipe_free);
}
