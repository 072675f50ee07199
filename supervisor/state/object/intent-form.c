#include "object/intent-form.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/size.h"
#include "object/intent.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#define FORM_PLACE_MAX 300

const FormNames form_skills = {skill_name_valid,
                               "a skill's name has 1 to 64 lower-case letters, digits and single hyphens inside"},
                form_slots = {slot_name_valid, "a slot's name is a letter a-z, then at most 127 of a-z 0-9 . _ / -"};

/* Writes the place from the root on; what does not fit is cut at its end. Returns the length. */
static size_t form_place_print(const FormPlace *at, char out[static FORM_PLACE_MAX], bool alone) {
        size_t n = 0;
        int more;

        if (!at->up && !alone)
                return 0;
        if (at->up)
                n = form_place_print(at->up, out, false);
        more = at->member ? snprintf(out + n, FORM_PLACE_MAX - n, "%s%s", n > 0 ? "." : "", DIAG_QUOTED(at->member))
                          : snprintf(out + n, FORM_PLACE_MAX - n, "[%zu]", at->index);
        return MIN(n + (size_t)MAX(more, 0), (size_t)FORM_PLACE_MAX - 1);
}

int form_bad(const IntentForm *f, const FormPlace *at, const json_t *v, const char *fmt, ...) {
        _cleanup_free_ char *dump = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        char place[FORM_PLACE_MAX], rule[512], shown[400];
        va_list ap;

        if (v && !dump)
                return -ENOMEM;
        form_place_print(at, place, true);
        va_start(ap, fmt);
        vsnprintf(rule, sizeof(rule), fmt, ap);
        va_end(ap);
        return dump ? diag(f->reterr, OBJECT_E_INTENT, "%s: %s: %s", place,
                           diag_show(dump, strlen(dump), shown, sizeof(shown)), rule)
                    : diag(f->reterr, OBJECT_E_INTENT, "%s: %s", place, rule);
}

/* Texts without U+0000, numbers that canonical JSON has, and bounded nesting. */
static int form_check(const IntentForm *f, const FormPlace *at, const json_t *v, unsigned depth) {
        const char *key;
        json_t *item;
        size_t i;
        int e = 0;

        if (depth > INTENT_JSON_DEPTH)
                return form_bad(f, at, NULL, "nested deeper than %d levels of JSON", INTENT_JSON_DEPTH);
        if (json_is_string(v) && !json_text(v))
                return form_bad(f, at, NULL, "a text with U+0000; remove the character");
        if (json_is_integer(v) &&
            (json_integer_value(v) > JSON_INTEGER_MOST || json_integer_value(v) < -JSON_INTEGER_MOST))
                return form_bad(f, at, v, "an integer beyond 2^53-1, which readers of JSON round");
        if (json_is_real(v) && fabs(json_real_value(v)) > (double)JSON_INTEGER_MOST && fabs(json_real_value(v)) < 1e21)
                return form_bad(f, at, v, "a number beyond 2^53-1, which readers of JSON round");
        json_array_foreach((json_t *)v, i, item)
                if ((e = form_check(f, FORM_ITEM(at, i), item, depth + 1)) != 0)
                        return e;
        json_object_foreach((json_t *)v, key, item)
                if ((e = form_check(f, FORM_AT(at, key), item, depth + 1)) != 0)
                        return e;
        return 0;
}

int form_begin(const IntentForm *f, const FormPlace *root, const json_t *v, json_t **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int e = v ? form_check(f, root, v, 1) : form_bad(f, root, NULL, "required");

        e = e ?: json_canonical(v, &text, &n);
        if (e == -ERANGE)
                return form_bad(f, root, NULL, "a number beyond 2^53-1");
        if (e == 0 && n > INTENT_BYTES_MAX)
                return form_bad(f, root, NULL, "%zu bytes: at most %d are allowed", n, INTENT_BYTES_MAX);
        if (e != 0)
                return e;
        /* canonical text is JSON; jansson's reader reports some failed allocations without a word, and loses a byte of a
         * text for others: the quick reader does neither */
        e = json_parse_own(text, n, INTENT_BYTES_MAX, INTENT_JSON_DEPTH, ret);
        return e > 0 ? -ENOMEM : e;
}

int form_end(const IntentForm *f, const FormPlace *root, const json_t *v) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int e = json_canonical(v, &text, &n);

        return e == 0 && n > INTENT_BYTES_MAX
                       ? form_bad(f, root, NULL, "%zu bytes with its defaults: at most %d are allowed", n,
                                  INTENT_BYTES_MAX)
                       : e;
}

/* "a", "b" or "c". Returns out. */
static const char *form_list(const char *const *words, size_t n, char *out, size_t n_out) {
        size_t used = 0;

        *out = 0;
        for (size_t i = 0; i < n && used < n_out; i++)
                used += (size_t)snprintf(out + used, n_out - used, "%s\"%s\"", i == 0 ? "" : i + 1 < n ? ", " : " or ",
                                         words[i]);
        return out;
}

static size_t form_length(const char *const *words) {
        size_t n = 0;

        while (words[n])
                n++;
        return n;
}

int form_members(const IntentForm *f, const FormPlace *at, const json_t *v, const char *const *known) {
        const size_t n = form_length(known);
        const char *key;
        char list[400];
        json_t *item;

        if (!json_is_object(v))
                return form_bad(f, at, v, v ? "must be an object" : "required");
        json_object_foreach((json_t *)v, key, item)
                if (name_index(known, n, key) == n)
                        return form_bad(f, FORM_AT(at, key), item, "not a member here; members are %s",
                                        form_list(known, n, list, sizeof(list)));
        return 0;
}

int form_only(const IntentForm *f, const FormPlace *at, const json_t *v, const char *const *known, size_t *ret) {
        const size_t n = form_length(known);
        char list[400];
        int e = form_members(f, at, v, known);

        if (e != 0)
                return e;
        if (json_object_size(v) != 1)
                return form_bad(f, at, v, "must have exactly one member: %s", form_list(known, n, list, sizeof(list)));
        *ret = name_index(known, n, json_object_iter_key(json_object_iter((json_t *)v)));
        return 0;
}

int form_array(const IntentForm *f, const FormPlace *at, const json_t *v, bool empty, size_t most) {
        if (!json_is_array(v))
                return form_bad(f, at, v, v ? "must be an array" : "required");
        if (!empty && json_array_size(v) == 0)
                return form_bad(f, at, v, "must have an element");
        return json_array_size(v) > most
                       ? form_bad(f, at, NULL, "%zu elements: at most %zu are allowed", json_array_size(v), most)
                       : 0;
}

int form_text(const IntentForm *f, const FormPlace *at, const json_t *v, size_t least, size_t most, const char **ret) {
        const char *s = json_text(v);

        if (!s)
                return form_bad(f, at, v, v ? "must be text" : "required");
        if (strlen(s) < least || strlen(s) > most)
                return form_bad(f, at, v, "%zu bytes: must have %zu to %zu", strlen(s), least, most);
        *ret = s;
        return 0;
}

int form_count(const IntentForm *f, const FormPlace *at, const json_t *v, uint64_t least, uint64_t most, uint64_t *ret) {
        uint64_t n;

        if (json_get_u64(v, &n) < 0 || n < least || n > most)
                return form_bad(f, at, v, "%s%" PRIu64 " to %" PRIu64,
                                v ? "must be an integer from " : "required: an integer from ", least, most);
        *ret = n;
        return 0;
}

int form_word(const IntentForm *f, const FormPlace *at, const json_t *v, const char *const *words, size_t n, size_t *ret) {
        const char *s = json_text(v);
        char list[400];
        size_t i = s ? name_index(words, n, s) : n;

        if (i == n)
                return form_bad(f, at, v, "%s %s",
                                v ? "must be" : "required:", form_list(words, n, list, sizeof(list)));
        *ret = i;
        return 0;
}

int form_moment(const IntentForm *f, const FormPlace *at, const json_t *v, uint64_t *ret) {
        const char *s = json_text(v);
        uint64_t t;

        /* text with a dash is a date; an age ("90s") has none */
        if ((s && strchr(s, '-') ? clock_parse_moment(s, 0, &t) : json_get_u64(v, &t)) < 0)
                return form_bad(f, at, v,
                                "must be a time: microseconds since 1970, or a date in UTC as in \"2026-12-01T08:00\"");
        if (t > FORM_YEAR_9999_USEC)
                return form_bad(f, at, v, "a time beyond year 9999 never comes");
        *ret = t;
        return 0;
}

/* A number and its unit. The unit is required: a bare number is of seconds for some readers, of usec for others. */
static int form_duration_parse(const char *s, uint64_t *ret) {
        size_t n = strlen(s);
        uint64_t v;
        char hours[64];
        int r;

        if (n == 0 || n >= sizeof(hours) || ascii_digit(s[n - 1]) || s[n - 1] == '.')
                return -EINVAL;
        if (s[n - 1] != 'd')
                return duration_parse(s, ret);
        memcpy(hours, s, n + 1);
        hours[n - 1] = 'h';
        r = duration_parse(hours, &v);
        if (r == 0 && __builtin_mul_overflow(v, 24, &v))
                r = -ERANGE;
        if (r == 0)
                *ret = v;
        return r;
}

int form_duration(const IntentForm *f, const FormPlace *at, const json_t *o, const char *name, uint64_t least, uint64_t most,
                  uint64_t *ret, bool *ret_said) {
        char usec[32], from[SIZE_TEXT_MAX], to[SIZE_TEXT_MAX];
        const json_t *written = json_object_get(o, name), *complete;
        const FormPlace *here = FORM_AT(at, name);
        const char *s = json_text(written);
        uint64_t t = 0;
        int r;

        snprintf(usec, sizeof(usec), "%s_usec", name);
        complete = json_object_get(o, usec);
        if (!written && !complete)
                return 0;
        if (written && complete)
                return form_bad(f, FORM_AT(at, usec), complete, "stands beside \"%s\"; give one of both", name);
        if (complete)
                r = form_count(f, FORM_AT(at, usec), complete, least, most, &t);
        else if ((r = s ? form_duration_parse(s, &t) : -EINVAL) == -EINVAL)
                r = form_bad(f, here, written, "must be text of a number and us, ms, s, m, h or d, as in \"30s\"");
        else if (r < 0 || t < least || t > most)
                r = form_bad(f, here, written, "must be from %s to %s", duration_format(least, from),
                             duration_format(most, to));
        if (r != 0)
                return r;
        *ret = t;
        if (ret_said)
                *ret_said = true;
        return 0;
}

static int form_compare(const void *a, const void *b) {
        const char *x = json_text(*(json_t *const *)a), *y = json_text(*(json_t *const *)b);

        return strcmp(x, y);
}

int form_names(const IntentForm *f, const FormPlace *at, const json_t *v, bool empty, const FormNames *kind, json_t **ret) {
        _cleanup_json_ json_t *sorted = NULL;
        const json_t *item;
        size_t i;
        int e = form_array(f, at, v, empty, INTENT_NAMES_MAX);

        if (e != 0)
                return e;
        json_array_foreach((json_t *)v, i, item)
                if (!json_text(item) || !kind->valid(json_text(item)))
                        return form_bad(f, FORM_ITEM(at, i), item, "%s", kind->rule);
        sorted = json_sorted(v, form_compare);
        if (!sorted)
                return -ENOMEM;
        for (i = 1; i < json_array_size(sorted); i++)
                if (json_equal(json_array_get(sorted, i - 1), json_array_get(sorted, i)))
                        return form_bad(f, at, json_array_get(sorted, i), "stands there twice");
        *ret = TAKE_PTR(sorted);
        return 0;
}
