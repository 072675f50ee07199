/* A note, for the interpreter that is built in: refused with a code and words, or a request that anybody's would be judged the same as. What it names, the note
 * names: no id is ever made up. The first byte says whose note it is. */
#include "belief/cues.h"
#include "belief/cues-draft.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void check_request(const BeliefRequest *r, CueRole role, const char *note, size_t n) {
        _cleanup_canon_request_ BeliefRequest again = {0};
        _cleanup_free_ char *text = NULL, *text_again = NULL;
        size_t n_text;

        fuzz_check(r->accept || (r->rationale && strcmp(r->rationale, CUE_NO_CUE) == 0));
        fuzz_check(role == CUE_AGENT || !r->accept || r->kind == KIND_RESULT);
        fuzz_check(!r->target || memmem(note, n, r->target, strlen(r->target)), "%s", r->target);
        fuzz_check(!r->accept || r->confidence >= 0.5);
        fuzz_check(json_canonical(r->value, &text, &n_text) == 0);
        fuzz_check(belief_request_parse(text, n_text, &again, NULL) == 0, "%s", text);
        fuzz_check(json_canonical(again.value, &text_again, &n_text) == 0 && strcmp(text, text_again) == 0, "%s", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_canon_request_ BeliefRequest r = {0}, second = {0};
        _cleanup_json_ json_t *hints = NULL;
        _cleanup_free_ char *note = NULL;
        CueRole role;
        Diag why = {0};
        const char *clause;
        size_t n_clause;
        int e;

        if (n < 1)
                return 0;
        role = data[0] & 1 ? CUE_TOOL_RESULT : CUE_AGENT;
        note = malloc(n); /* of its own and without a NUL behind it, so that a byte too far is seen */
        memcpy(note, data + 1, --n);
        e = cues_interpret(note, n, role, &r, &why);
        fuzz_check(e >= 0 && (e == 0 || belief_code_name(e)), "%d", e);
        fuzz_check((e == 0) == !*why.text && (e == 0) == (r.value != NULL), "%d %s", e, why.text);
        fuzz_check(cues_interpret(note, n, role, &second, NULL) == e && (e != 0 || json_equal(r.value, second.value)), "not the same twice");
        if (e == 0)
                check_request(&r, role, note, n);
        cues_first_clause(note, n, &clause, &n_clause);
        fuzz_check(n_clause == 0 || (clause >= note && clause + n_clause <= note + n));
        if (utf8_valid(note, n, NULL)) {
                hints = cues_hints(note, n);
                fuzz_check(json_array_size(hints) <= CANON_ALIASES_MAX);
        }
        return 0;
}
