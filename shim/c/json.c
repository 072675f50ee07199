/* Runs: skill. */
#include "json.h"

#include "lethe.h"

#include <string.h>

#define DEPTH_MAX 128

static size_t json_utf8_step(const unsigned char *s, size_t n) {
        static const struct {
                unsigned char mask, lead, least;
        } forms[] = {{0x80, 0x00, 0x00}, {0xE0, 0xC0, 0xC2}, {0xF0, 0xE0, 0xE0}, {0xF8, 0xF0, 0xF0}};

        for (size_t len = 1; len <= 4; len++) {
                if ((s[0] & forms[len - 1].mask) != forms[len - 1].lead || s[0] < forms[len - 1].least)
                        continue;
                if (len > n || s[0] > 0xF4)
                        return 0;
                for (size_t i = 1; i < len; i++)
                        if ((s[i] & 0xC0) != 0x80)
                                return 0;
                if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
                    (s[0] == 0xF4 && s[1] > 0x8F))
                        return 0;
                return len;
        }
        return 0;
}

bool json_utf8_valid(const char *s, size_t n) {
        for (size_t i = 0, step; i < n; i += step)
                if ((step = json_utf8_step((const unsigned char *)s + i, n - i)) == 0)
                        return false;
        return true;
}

static int json_hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *json_skip_space(const char *p, const char *end) {
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
                p++;
        return p;
}

/* Each skip_ function returns the end of the token at p, or NULL when the text at p is not that token. */
static const char *json_skip_string(const char *p, const char *end) {
        if (p >= end || *p++ != '"')
                return NULL;
        while (p < end && *p != '"') {
                if ((unsigned char)*p < 0x20)
                        return NULL;
                if (*p++ != '\\')
                        continue;
                if (p >= end)
                        return NULL;
                if (*p == 'u') {
                        for (int i = 1; i <= 4; i++)
                                if (p + i >= end || json_hex_digit(p[i]) < 0)
                                        return NULL;
                        p += 5;
                } else if (strchr("\"\\/bfnrt", *p) && *p)
                        p++;
                else
                        return NULL;
        }
        return p < end ? p + 1 : NULL;
}

static const char *json_skip_digits(const char *p, const char *end) {
        const char *from = p;

        while (p < end && *p >= '0' && *p <= '9')
                p++;
        return p > from ? p : NULL;
}

static const char *json_skip_number(const char *p, const char *end) {
        if (p < end && *p == '-')
                p++;
        if (p < end && *p == '0')
                p++;
        else if (!(p = json_skip_digits(p, end)))
                return NULL;
        if (p < end && *p == '.' && !(p = json_skip_digits(p + 1, end)))
                return NULL;
        if (p < end && (*p == 'e' || *p == 'E')) {
                p++;
                if (p < end && (*p == '+' || *p == '-'))
                        p++;
                p = json_skip_digits(p, end);
        }
        return p;
}

static const char *json_skip_value(const char *p, const char *end, int depth);

static const char *json_skip_container(const char *p, const char *end, int depth) {
        char close = *p == '{' ? '}' : ']';

        p = json_skip_space(p + 1, end);
        if (p < end && *p == close)
                return p + 1;
        while (p && p < end) {
                if (close == '}') {
                        p = json_skip_string(p, end);
                        p = p ? json_skip_space(p, end) : NULL;
                        if (!p || p >= end || *p++ != ':')
                                return NULL;
                        p = json_skip_space(p, end);
                }
                p = json_skip_value(p, end, depth);
                p = p ? json_skip_space(p, end) : NULL;
                if (!p || p >= end)
                        return NULL;
                if (*p == close)
                        return p + 1;
                if (*p++ != ',')
                        return NULL;
                p = json_skip_space(p, end);
        }
        return NULL;
}

static const char *json_skip_value(const char *p, const char *end, int depth) {
        static const char *const words[] = {"true", "false", "null"};

        if (p >= end)
                return NULL;
        if (*p == '{' || *p == '[')
                return depth < DEPTH_MAX ? json_skip_container(p, end, depth + 1) : NULL;
        if (*p == '"')
                return json_skip_string(p, end);
        for (size_t i = 0; i < 3; i++)
                if ((size_t)(end - p) >= strlen(words[i]) && memcmp(p, words[i], strlen(words[i])) == 0)
                        return p + strlen(words[i]);
        return json_skip_number(p, end);
}

bool json_valid(const char *s, size_t n) {
        const char *end = s + n, *p = json_skip_value(json_skip_space(s, end), end, 0);

        return p && json_skip_space(p, end) == end;
}

size_t json_compact(const char *s, size_t n, char *out) {
        const char *end = s + n, *stop;
        size_t o = 0;

        while ((s = json_skip_space(s, end)) < end) {
                stop = *s == '"' ? json_skip_string(s, end) : s + 1;
                memcpy(out + o, s, (size_t)(stop - s));
                o += (size_t)(stop - s);
                s = stop;
        }
        return o;
}

Span json_member(Span object, const char *key) {
        const char *end = object.p + object.n, *p = json_skip_space(object.p, end);
        size_t n_key = strlen(key);

        if (p >= end || *p != '{')
                return (Span){NULL, 0};
        p = json_skip_space(p + 1, end);
        while (p < end && *p == '"') {
                const char *name = p + 1, *name_end = json_skip_string(p, end) - 1, *value, *value_end;

                value = json_skip_space(json_skip_space(name_end + 1, end) + 1, end); /* past the colon */
                value_end = json_skip_value(value, end, 0);
                if ((size_t)(name_end - name) == n_key && memcmp(name, key, n_key) == 0)
                        return (Span){value, (size_t)(value_end - value)};
                p = json_skip_space(value_end, end);
                if (p < end && *p == ',')
                        p = json_skip_space(p + 1, end);
        }
        return (Span){NULL, 0};
}

bool json_is(Span value, const char *text) {
        return value.p && value.n == strlen(text) && memcmp(value.p, text, value.n) == 0;
}

/* Writes bytes while there is room, and counts all bytes. */
static void json_put(char *out, size_t room, ptrdiff_t *o, const char *bytes, size_t n) {
        for (size_t i = 0; i < n; i++, (*o)++)
                if ((size_t)*o + 1 < room)
                        out[*o] = bytes[i];
}

static void json_put_end(char *out, size_t room, ptrdiff_t o) {
        if (room > 0)
                out[(size_t)o < room ? (size_t)o : room - 1] = 0;
}

ptrdiff_t lethe_json_quote(const char *text, size_t n, char *out, size_t room) {
        static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt", hex[] = "0123456789abcdef";
        ptrdiff_t o = 0;

        if (!json_utf8_valid(text, n))
                return -1;
        json_put(out, room, &o, "\"", 1);
        for (size_t i = 0; i < n; i++) {
                const char *special = text[i] ? strchr(plain, text[i]) : NULL;

                if (special)
                        json_put(out, room, &o, (char[]){'\\', letters[special - plain]}, 2);
                else if ((unsigned char)text[i] < 0x20)
                        json_put(out, room, &o, (char[]){'\\', 'u', '0', '0', hex[text[i] >> 4], hex[text[i] & 15]}, 6);
                else
                        json_put(out, room, &o, text + i, 1);
        }
        json_put(out, room, &o, "\"", 1);
        json_put_end(out, room, o);
        return o;
}

static unsigned json_unit_at(const char *p) {
        return (unsigned)(json_hex_digit(p[0]) << 12 | json_hex_digit(p[1]) << 8 | json_hex_digit(p[2]) << 4 |
                          json_hex_digit(p[3]));
}

ptrdiff_t lethe_json_unquote(const char *json, char *out, size_t room) {
        static const char letters[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";
        size_t n = strlen(json);
        const char *end = json + n, *stop;
        ptrdiff_t o = 0;

        json = json_skip_space(json, end);
        stop = json_skip_string(json, end);
        if (!stop || json_skip_space(stop, end) != end)
                return -1;
        for (const char *p = json + 1; p < stop - 1; p++) {
                char utf8[4];
                unsigned c;

                if (*p != '\\') {
                        json_put(out, room, &o, p, 1);
                        continue;
                }
                if (*++p != 'u') {
                        json_put(out, room, &o, plain + (strchr(letters, *p) - letters), 1);
                        continue;
                }
                c = json_unit_at(p + 1);
                p += 4;
                if (c >= 0xD800 && c < 0xDC00 && p + 6 < stop && p[1] == '\\' && p[2] == 'u' &&
                    (json_unit_at(p + 3) & 0xFC00) == 0xDC00) {
                        c = 0x10000 + ((c & 0x3FF) << 10) + (json_unit_at(p + 3) & 0x3FF);
                        p += 6;
                } else if (c >= 0xD800 && c < 0xE000)
                        return -1; /* half of a surrogate pair is no character */
                if (c < 0x80)
                        json_put(out, room, &o, (char[]){(char)c}, 1);
                else {
                        int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

                        utf8[0] = (char)((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | c >> 6 * more);
                        for (int i = 1; i <= more; i++)
                                utf8[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3F));
                        json_put(out, room, &o, utf8, (size_t)more + 1);
                }
        }
        json_put_end(out, room, o);
        return o;
}
