/* Apart from json.c because the digest skill, which links Jansson alone, uses these functions, too. */
#include "base/json.h"

#include <string.h>

const char *json_text(const json_t *v) {
        const char *s = json_string_value(v);

        return s && strlen(s) == json_string_length(v) ? s : NULL;
}

bool json_text_is(const json_t *v, const char *text) {
        const char *s = json_text(v);

        return s && strcmp(s, text) == 0;
}

json_t *json_sorted(const json_t *list, int (*compare)(const void *a, const void *b)) {
        size_t most = json_array_size(list) + json_object_size(list), n = 0; /* one of both is 0 */
        _cleanup_free_ json_t **v = calloc(most + 1, sizeof(json_t *));
        _cleanup_json_ json_t *sorted = json_array();
        const char *key;
        json_t *one;

        if (!v || !sorted)
                return NULL;
        for (; n < json_array_size(list); n++)
                v[n] = json_array_get(list, n);
        json_object_foreach((json_t *)list, key, one)
                v[n++] = one;
        qsort(v, n, sizeof(json_t *), compare);
        for (size_t i = 0; i < n; i++)
                if (json_array_append(sorted, v[i]) < 0)
                        return NULL;
        return TAKE_PTR(sorted);
}

const char *json_bytes(const json_t *v) {
        return json_string_value(v);
}
