/* The JSON parser and the canonical form: what is accepted and can be written is read back as the same, and written the same. */
#include "base/json.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
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
                return 0;
        }
        fuzz_check(!memchr(data, 0, n));
        r = json_canonical(v, &one, &n_one);
        fuzz_check(r == 0 || r == -ERANGE, "%d", r);
        if (r != 0)
                return 0;
        fuzz_check(json_parse(one, n_one, n_one, 40, &again, NULL) == 0, "%s", one);
        fuzz_check(json_canonical(again, &two, &n_two) == 0);
        fuzz_check(n_one == n_two && memcmp(one, two, n_one) == 0, "%s\n%s", one, two);
        return 0;
}
