#include "base/decimal.h"
#include "schema/jsonschema-internal.h"

#include <errno.h>
#include <string.h>

#define TWO_63 9223372036854775808.0

static int number_cmp_integer_real(int64_t i, double d) {
        int64_t whole;
        double rest;

        if (d >= TWO_63)
                return -1;
        if (d < -TWO_63)
                return 1;
        whole = (int64_t)d;
        if (i != whole)
                return i < whole ? -1 : 1;
        rest = d - (double)whole; /* exact: a double with a fraction is below 2^53 */
        return rest > 0 ? -1 : rest < 0;
}

int schema_number_cmp(const json_t *a, const json_t *b) {
        if (json_is_integer(a) && json_is_integer(b)) {
                int64_t x = json_integer_value(a), y = json_integer_value(b);

                return x < y ? -1 : x > y;
        }
        if (json_is_integer(a))
                return number_cmp_integer_real(json_integer_value(a), json_real_value(b));
        if (json_is_integer(b))
                return -number_cmp_integer_real(json_integer_value(b), json_real_value(a));
        return json_real_value(a) < json_real_value(b) ? -1 : json_real_value(a) > json_real_value(b);
}

/* A double of 2^63 or more has no fraction; below, the conversion cuts it off. (trunc() would need libm.) */
static bool number_is_whole(double d) {
        return !(d < TWO_63 && d >= -TWO_63) || (double)(int64_t)d == d;
}

bool schema_number_is_integer(const json_t *v) {
        return json_is_integer(v) || (json_is_real(v) && number_is_whole(json_real_value(v)));
}

/* |v| = digits * 10^exponent, without a zero at the end of digits; for a real, the shortest exact digits. */
typedef struct Decimal {
        uint64_t digits;
        int exponent;
} Decimal;

static Decimal number_decimal(const json_t *v) {
        Decimal r = {0};

        if (json_is_integer(v)) {
                int64_t i = json_integer_value(v);

                r.digits = i < 0 ? -(uint64_t)i : (uint64_t)i;
        } else {
                double d = json_real_value(v);
                char text[DECIMAL_DIGITS_MAX];
                int n = d == 0 ? 0 : decimal_shortest(d, text, &r.exponent);

                for (int i = 0; i < n; i++)
                        r.digits = r.digits * 10 + (uint64_t)(text[i] - '0');
                r.exponent -= n;
        }
        while (r.digits && r.digits % 10 == 0) {
                r.digits /= 10;
                r.exponent++;
        }
        return r;
}

bool schema_number_is_multiple(const json_t *v, const json_t *of) {
        Decimal a = number_decimal(v), b = number_decimal(of);
        unsigned __int128 rest, power = 10, divisor;
        unsigned k;

        if (a.digits == 0)
                return true;
        if (a.exponent < b.exponent)
                return false; /* digits(a) ends in no zero: no divisor ending in zero divides it */
        divisor = b.digits;
        rest = a.digits % divisor;
        power %= divisor;
        for (k = (unsigned)(a.exponent - b.exponent); k > 0; k >>= 1) {
                if (k & 1)
                        rest = rest * power % divisor;
                power = power * power % divisor;
        }
        return rest == 0;
}

int schema_equal(const json_t *a, const json_t *b, SchemaSteps *steps) {
        const char *key;
        json_t *item;
        int r;

        r = schema_steps_take(steps, 1);
        if (r != 0)
                return r;
        if (json_is_number(a) && json_is_number(b))
                return schema_number_cmp(a, b) == 0 ? 0 : JSONSCHEMA_E_INVALID;
        if (json_typeof(a) != json_typeof(b))
                return JSONSCHEMA_E_INVALID;
        if (json_is_string(a)) {
                size_t n = json_string_length(a);

                if (n != json_string_length(b))
                        return JSONSCHEMA_E_INVALID;
                r = schema_steps_take(steps, n / 64);
                return r ? r : memcmp(json_bytes(a), json_bytes(b), n) == 0 ? 0 : JSONSCHEMA_E_INVALID;
        }
        if (!json_is_array(a) && !json_is_object(a))
                return 0;
        if (steps->depth >= JSONSCHEMA_EVAL_DEPTH_MAX)
                return JSONSCHEMA_E_STEPS;
        steps->depth++;
        if (json_is_array(a)) {
                r = json_array_size(a) == json_array_size(b) ? 0 : JSONSCHEMA_E_INVALID;
                for (size_t i = 0; r == 0 && i < json_array_size(a); i++)
                        r = schema_equal(json_array_get(a, i), json_array_get(b, i), steps);
        } else {
                r = json_object_size(a) == json_object_size(b) ? 0 : JSONSCHEMA_E_INVALID;
                if (r == 0)
                        json_object_foreach((json_t *)a, key, item) {
                                const json_t *other = json_object_get(b, key);

                                r = other ? schema_equal(item, other, steps) : JSONSCHEMA_E_INVALID;
                                if (r != 0)
                                        break;
                        }
        }
        steps->depth--;
        return r;
}

static uint64_t number_hash_mix(uint64_t h, uint64_t v) {
        h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
        return h ^ h >> 29;
}

static uint64_t number_hash_text(const char *s, size_t n) {
        uint64_t h = n;

        for (size_t i = 0; i < n; i++)
                h = number_hash_mix(h, (unsigned char)s[i]);
        return h;
}

/* Equal values have equal hashes. */
static int number_hash_value(const json_t *v, SchemaSteps *steps, uint64_t *ret) {
        uint64_t h = (uint64_t)json_typeof(v), one;
        const char *key;
        json_t *item;
        int r = schema_steps_take(steps, 1 + json_string_length(v) / 64);

        if (r != 0)
                return r;
        if (json_is_number(v)) {
                double d = json_number_value(v);

                if (json_is_integer(v))
                        one = (uint64_t)json_integer_value(v);
                else if (d >= -TWO_63 && d < TWO_63 && number_is_whole(d))
                        one = (uint64_t)(int64_t)d;
                else
                        memcpy(&one, &d, sizeof(one));
                *ret = number_hash_mix(JSON_INTEGER, one);
                return 0;
        }
        if (json_is_string(v))
                h = number_hash_mix(h, number_hash_text(json_bytes(v), json_string_length(v)));
        if (!json_is_array(v) && !json_is_object(v)) {
                *ret = h;
                return 0;
        }
        if (steps->depth >= JSONSCHEMA_EVAL_DEPTH_MAX)
                return JSONSCHEMA_E_STEPS;
        steps->depth++;
        for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
                r = number_hash_value(json_array_get(v, i), steps, &one);
                h = number_hash_mix(h, one);
        }
        json_object_foreach((json_t *)v, key, item) {
                r = number_hash_value(item, steps, &one);
                if (r != 0)
                        break;
                h += number_hash_mix(number_hash_text(key, strlen(key)), one); /* a sum: keys have no order */
        }
        steps->depth--;
        *ret = h;
        return r;
}

typedef struct Hashed {
        uint64_t hash;
        size_t index;
} Hashed;

static int number_hashed_cmp(const void *a, const void *b) {
        const Hashed *x = a, *y = b;

        if (x->hash != y->hash)
                return x->hash < y->hash ? -1 : 1;
        return x->index < y->index ? -1 : x->index > y->index;
}

int schema_all_differ(const json_t *array, SchemaSteps *steps, size_t *ret_first, size_t *ret_second) {
        size_t n = json_array_size(array);
        _cleanup_free_ Hashed *all = NULL;
        int r;

        if (n < 2)
                return 0;
        all = calloc(n, sizeof(*all));
        if (!all)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                all[i].index = i;
                r = number_hash_value(json_array_get(array, i), steps, &all[i].hash);
                if (r != 0)
                        return r;
        }
        qsort(all, n, sizeof(*all), number_hashed_cmp);
        for (size_t i = 1; i < n; i++)
                for (size_t j = i; j > 0 && all[j - 1].hash == all[i].hash; j--) {
                        r = schema_equal(json_array_get(array, all[j - 1].index), json_array_get(array, all[i].index),
                                         steps);
                        if (r == JSONSCHEMA_E_INVALID)
                                continue;
                        if (r == 0) {
                                *ret_first = all[j - 1].index;
                                *ret_second = all[i].index;
                                return JSONSCHEMA_E_INVALID;
                        }
                        return r;
                }
        return 0;
}
