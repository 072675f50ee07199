#include "base/json.h"

#include <errno.h>
#include <string.h>

/* The store writes canonical JSON, nearly always plain: no escapes, no byte beyond ASCII, no fractions. Such text is
 * read here in a single pass that also checks the canonical form, at a third of the cost of a general reader. */

typedef struct Plain {
        const char *p, *end;
        unsigned depth; /* levels still allowed */
} Plain;

static int plain_value(Plain *s, json_t **ret);

static bool json_plain_take(Plain *s, char c) {
        if (s->p == s->end || *s->p != c)
                return false;
        s->p++;
        return true;
}

/* The text between quotes: borrowed. */
static bool plain_string(Plain *s, const char **ret, size_t *ret_n) {
        const char *from;

        if (!json_plain_take(s, '"'))
                return false;
        for (from = s->p; s->p < s->end && *s->p != '"'; s->p++)
                if (*s->p < 0x20 || *s->p > 0x7e || *s->p == '\\') /* a byte beyond ASCII is negative */
                        return false;
        *ret = from;
        *ret_n = (size_t)(s->p - from);
        return json_plain_take(s, '"');
}

static int json_plain_number(Plain *s, json_t **ret) {
        bool negative = json_plain_take(s, '-');
        const char *from = s->p;
        json_int_t v = 0;

        while (s->p < s->end && *s->p >= '0' && *s->p <= '9' && s->p - from < 16)
                v = v * 10 + (*s->p++ - '0');
        if (s->p == from || (*from == '0' && (negative || s->p - from > 1)) || v > JSON_INTEGER_MOST)
                return JSON_E_SYNTAX;
        *ret = json_integer(negative ? -v : v);
        return *ret ? 0 : -ENOMEM;
}

static int plain_array(Plain *s, json_t **ret) {
        _cleanup_json_ json_t *a = json_array();
        int r = a ? 0 : -ENOMEM;

        for (bool first = true; r == 0 && !json_plain_take(s, ']'); first = false) {
                json_t *item = NULL;

                if (!first && !json_plain_take(s, ','))
                        return JSON_E_SYNTAX;
                r = plain_value(s, &item);
                if (r == 0 && json_array_append_new(a, item) < 0)
                        r = -ENOMEM;
        }
        if (r == 0)
                *ret = json_incref(a);
        return r;
}

/* Keys must ascend, without duplicates. */
static int plain_object(Plain *s, json_t **ret) {
        _cleanup_json_ json_t *o = json_object();
        const char *key, *before = NULL;
        size_t n, n_before = 0;
        int r = o ? 0 : -ENOMEM;

        for (; r == 0 && !json_plain_take(s, '}'); before = key, n_before = n) {
                json_t *item = NULL;
                int order;

                if (before && !json_plain_take(s, ','))
                        return JSON_E_SYNTAX;
                if (!plain_string(s, &key, &n) || !json_plain_take(s, ':'))
                        return JSON_E_SYNTAX;
                order = before ? memcmp(before, key, MIN(n_before, n)) : -1;
                if (order > 0 || (order == 0 && n_before >= n))
                        return JSON_E_SYNTAX;
                r = plain_value(s, &item);
                if (r == 0 && json_object_setn_new_nocheck(o, key, n, item) < 0)
                        r = -ENOMEM;
        }
        if (r == 0)
                *ret = json_incref(o);
        return r;
}

static int json_plain_word(Plain *s, const char *text, json_t *v, json_t **ret) {
        size_t n = strlen(text);

        if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n) != 0)
                return JSON_E_SYNTAX;
        s->p += n;
        *ret = v;
        return 0;
}

static int plain_value(Plain *s, json_t **ret) {
        const char *text;
        size_t n;
        int r;

        if (s->p == s->end)
                return JSON_E_SYNTAX;
        switch (*s->p) {
        case '"':
                if (!plain_string(s, &text, &n))
                        return JSON_E_SYNTAX;
                *ret = json_stringn_nocheck(text, n);
                return *ret ? 0 : -ENOMEM;
        case '{':
        case '[':
                if (s->depth == 0)
                        return JSON_E_DEPTH;
                s->depth--;
                r = *s->p++ == '{' ? plain_object(s, ret) : plain_array(s, ret);
                s->depth++;
                return r;
        case 't':
                return json_plain_word(s, "true", json_true(), ret);
        case 'f':
                return json_plain_word(s, "false", json_false(), ret);
        case 'n':
                return json_plain_word(s, "null", json_null(), ret);
        default:
                return json_plain_number(s, ret);
        }
}

int json_parse_plain(const char *text, size_t n, unsigned max_depth, json_t **ret) {
        Plain s = {text, text + n, max_depth};
        json_t *v = NULL;
        int r = plain_value(&s, &v);

        if (r == 0 && s.p != s.end) {
                json_decref(v);
                r = JSON_E_SYNTAX;
        }
        if (r == 0)
                *ret = v;
        return r;
}

int json_parse_own(const char *text, size_t n, size_t max_bytes, unsigned max_depth, json_t **ret) {
        int r = n <= max_bytes ? json_parse_plain(text, n, max_depth, ret) : JSON_E_SIZE;

        return r > 0 ? json_parse(text, n, max_bytes, max_depth, ret, NULL) : r;
}

/* From the opening quote to the closing quote, the first behind an even number of backslashes; or NULL. */
static const char *plain_string_end(const char *from, const char *end) {
        const char *p = from;

        while ((p = memchr(p + 1, '"', (size_t)(end - p - 1)))) {
                const char *before = p;

                while (before[-1] == '\\')
                        before--;
                if ((p - before) % 2 == 0)
                        return p;
        }
        return NULL;
}

/* Goes behind a key or a value: to the colon, the comma, or the closing bracket around. */
static bool json_plain_skip(const char **p, const char *end) {
        unsigned depth = 0;

        for (; *p < end; (*p)++) {
                char c = **p;

                if (c == '"') {
                        *p = plain_string_end(*p, end);
                        if (!*p)
                                return false;
                } else if (c == '{' || c == '[')
                        depth++;
                else if (depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']'))
                        return true;
                else if (c == '}' || c == ']')
                        depth--;
        }
        return false;
}

int json_member_own(const char *text, size_t n, const char *name, const char **ret, size_t *ret_n) {
        const char *p = text, *end = text + n;
        size_t n_name = strlen(name);

        if (n < 2 || *p != '{')
                return JSON_E_SYNTAX;
        do {
                const char *key = ++p, *v;
                size_t n_key;

                if (p < end && *p == '}' && p == text + 1)
                        break;
                if (!json_plain_skip(&p, end) || *p != ':')
                        return JSON_E_SYNTAX;
                n_key = (size_t)(p - key);
                v = ++p;
                if (!json_plain_skip(&p, end) || p == v || *p == ':' || *p == ']')
                        return JSON_E_SYNTAX;
                if (n_key == n_name + 2 && memcmp(key + 1, name, n_name) == 0) {
                        *ret = v;
                        *ret_n = (size_t)(p - v);
                        return 0;
                }
        } while (*p == ',');
        return -ENOENT;
}
