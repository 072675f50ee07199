/* Input: a schema, a newline, a value. A verdict is one of the documented ones and is the same each time; it is the same for the value's
 * canonical form (1.0 becomes 1 there), and "not" turns it round. */
#include "base/json.h"
#include "schema/jsonschema.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static bool is_text(const char *s) {
        _cleanup_json_ json_t *v = json_string(s);

        for (const char *p = s; *p; p++)
                if ((unsigned char)*p < 0x20)
                        return false;
        return v != NULL;
}

static int judge(const JsonSchema *s, const json_t *value) {
        Diag why = {0};
        int r = jsonschema_validate(s, value, &why);

        fuzz_check(r == 0 || r == JSONSCHEMA_E_INVALID || r == JSONSCHEMA_E_STEPS, "%d", r);
        fuzz_check((r == 0) == !*why.text && is_text(why.text), "%d %s", r, why.text);
        fuzz_check(jsonschema_validate(s, value, NULL) == r);
        return r;
}

/* The same schema within "not": only where no reference counts from the top of the document. */
static void check_not(const json_t *schema, const json_t *value, int verdict) {
        _cleanup_json_ json_t *turned = json_pack("{s:O}", "not", schema);
        _cleanup_jsonschema_ JsonSchema *s = NULL;
        int r = jsonschema_compile(turned, &s, NULL);

        if (r == JSONSCHEMA_E_LIMIT || r == JSONSCHEMA_E_BAD_KEYWORD) /* one level deeper; "$schema" not at the top */
                return;
        fuzz_check(r == 0, "%d", r);
        r = judge(s, value);
        fuzz_check(r == JSONSCHEMA_E_STEPS || r == (verdict == 0 ? JSONSCHEMA_E_INVALID : 0), "%d, turned %d", verdict, r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const uint8_t *newline = memchr(data, '\n', n);
        size_t n_schema = newline ? (size_t)(newline - data) : n;
        _cleanup_json_ json_t *schema = NULL, *value = NULL, *again = NULL;
        _cleanup_jsonschema_ JsonSchema *s = NULL, *twin = NULL;
        _cleanup_free_ char *text = NULL;
        Diag why = {0};
        size_t n_text;
        int r, verdict;

        if (n > 1 << 14 || json_parse((const char *)data, n_schema, 1 << 14, 32, &schema, NULL) != 0)
                return 0;
        r = jsonschema_compile(schema, &s, &why);
        fuzz_check(r >= 0 && r <= JSONSCHEMA_E_LIMIT, "%d", r);
        fuzz_check((r == 0) == (s != NULL) && (r == 0) == !*why.text && is_text(why.text), "%d %s", r, why.text);
        if (r != 0)
                return 0;
        if (!newline || json_parse((const char *)newline + 1, n - n_schema - 1, 1 << 14, 32, &value, NULL) != 0)
                return 0;
        verdict = judge(s, value);
        fuzz_check(jsonschema_compile(schema, &twin, NULL) == 0);
        fuzz_check(judge(twin, value) == verdict);
        if (verdict == JSONSCHEMA_E_STEPS)
                return 0;
        if (!memmem(data, n_schema, "$ref", 4))
                check_not(schema, value, verdict);
        r = json_canonical(value, &text, &n_text);
        if (r == -ERANGE)
                return 0;
        fuzz_check(r == 0 && json_parse(text, n_text, n_text, 32, &again, NULL) == 0);
        fuzz_check(judge(s, again) == verdict, "%s", text);
        return 0;
}
