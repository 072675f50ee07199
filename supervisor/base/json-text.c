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

const char *json_bytes(const json_t *v) {
        return json_string_value(v);
}
