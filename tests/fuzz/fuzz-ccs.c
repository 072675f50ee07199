/* The text of a cognitive state. What is parsed prints to a text that parses to the same state, and prints the same again; a state within the rules stays
 * within its bound when it is fitted. */
#include "cognition/ccs-check.h"
#include "cognition/ccs-text.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_ccs_ Ccs a = CCS_NULL, b = CCS_NULL;
        _cleanup_buf_ Buf first = {}, second = {};
        size_t bytes, tokens;
        Diag d = {};

        if (ccs_parse((const char *)data, n, &a, &d) != 0) {
                fuzz_check(*d.text);
                return 0;
        }
        fuzz_check(ccs_print(&a, &first) == 0);
        fuzz_check(ccs_parse(first.data, first.n, &b, &d) == 0, "%s", d.text);
        fuzz_check(ccs_equal(&a, &b));
        fuzz_check(ccs_print(&b, &second) == 0 && second.n == first.n && memcmp(first.data, second.data, first.n) == 0);
        ccs_measure(&b, &bytes, &tokens);
        fuzz_check(bytes == first.n && tokens == ccs_tokens(first.data, first.n));
        if (ccs_fit(&b, &(CcsBound){bytes / 2, tokens}, NULL, &d) == 0) {
                ccs_measure(&b, &tokens, &n);
                fuzz_check(tokens <= bytes / 2);
        }
        return 0;
}
