/* The JSON parser and the canonical form: what is accepted and can be written is read back as the same, and written the same. */
#include "base/json.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

/* Nothing that canonical text may hold and the quick reader leaves to the other. */
static bool is_plain(const char *text, size_t n) {
        bool in_string = false;

        for (size_t i = 0; i < n; i++) {
                if (text[i] < 0x20 || text[i] > 0x7e || text[i] == '\\')
                        return false;
                if (!in_string && (text[i] == '.' || text[i] == '+' || (text[i] == 'e' && i + 1 < n && text[i + 1] == '-')))
                        return false; /* a fraction, an exponent */
                if (text[i] == '"')
                        in_string = !in_string;
        }
        return true;
}

/* What the quick reader takes is canonical, and the same value; it takes all canonical text that is plain. */
static void check_plain(const char *text, size_t n, const json_t *v, const char *canonical, size_t n_canonical) {
        _cleanup_json_ json_t *plain = NULL;
        bool same = canonical && n == n_canonical && memcmp(text, canonical, n) == 0;
        int r = json_parse_plain(text, n, 40, &plain);

        fuzz_check(r >= 0 && (r == 0) == (plain != NULL));
        if (r == 0) {
                fuzz_check(v && same && json_equal(plain, (json_t *)v), "%.*s", (int)n, text);
        } else if (same)
                fuzz_check(!is_plain(text, n), "%.*s", (int)n, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_json_ json_t *v = NULL, *again = NULL;
        _cleanup_free_ char *one = NULL, *two = NULL;
        size_t n_one, n_two;
        Diag why = {0};
        int r = json_parse((const char *)data, n, 1 << 16, 40, &v, &why);

        fuzz_check(r >= 0 && r <= JSON_E_SIZE);
        fuzz_check((r == 0) == (v != NULL) && (r == 0) == !*why.text, "%d %s", r, why.text);
        if (r != 0) {
                _cleanup_json_ json_t *text = json_string(why.text);

                fuzz_check(text != NULL, "the message is not UTF-8");
                check_plain((const char *)data, n, NULL, NULL, 0);
                return 0;
        }
        fuzz_check(!memchr(data, 0, n));
        r = json_canonical(v, &one, &n_one);
        fuzz_check(r == 0 || r == -ERANGE, "%d", r);
        check_plain((const char *)data, n, v, r == 0 ? one : NULL, n_one);
        if (r != 0)
                return 0;
        fuzz_check(json_parse(one, n_one, n_one, 40, &again, NULL) == 0, "%s", one);
        fuzz_check(json_canonical(again, &two, &n_two) == 0);
        fuzz_check(n_one == n_two && memcmp(one, two, n_one) == 0, "%s\n%s", one, two);
        check_plain(one, n_one, again, one, n_one);
        return 0;
}
