/* What an interpreter says: refused with a code and words, or a request within its bounds, which is the same request once more when it is written down. */
#include "belief/request.h"
#include "engine/payload.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_canon_request_ BeliefRequest r = {0}, again = {0};
        _cleanup_json_ json_t *message = NULL;
        _cleanup_free_ char *text = NULL, *text_again = NULL;
        Diag why = {0};
        size_t n_text;
        int e = belief_request_parse((const char *)data, n, &r, &why);

        fuzz_check(e >= 0 && (e == 0 || belief_code_name(e)), "%d", e);
        fuzz_check((e == 0) == !*why.text && (e == 0) == (r.value != NULL), "%d %s", e, why.text);
        message = json_string(why.text);
        fuzz_check(message != NULL, "the message is not UTF-8");
        if (e != 0)
                return 0;
        fuzz_check(r.confidence >= 0 && r.confidence <= 1);
        if (r.accept) {
                const char *main = payload_main(r.kind, r.op);

                fuzz_check(kind_class(r.kind) == CLASS_CANON && kind_has_op(r.kind, r.op) && json_is_object(r.payload));
                fuzz_check(!r.target || record_id_valid(r.kind, r.target), "%s", r.target);
                fuzz_check(!main || json_string_length(json_object_get(r.payload, main)) > 0);
                fuzz_check(json_array_size(r.aliases) <= CANON_ALIASES_MAX && json_array_size(r.reads) <= CANON_READS_MAX);
        } else
                fuzz_check(!r.payload && !r.target && !r.aliases && r.kind == KIND_NONE && r.op == OP_NONE);
        fuzz_check(json_canonical(r.value, &text, &n_text) == 0);
        fuzz_check(belief_request_parse(text, n_text, &again, NULL) == 0, "%s", text);
        fuzz_check(json_canonical(again.value, &text_again, &n_text) == 0 && strcmp(text, text_again) == 0, "%s", text);
        return 0;
}
