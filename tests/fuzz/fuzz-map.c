/* `lethe map`: a line of input reaches the region as it is, and a result is one line of JSON whatever the region printed. A-17. */
#include "cli/map-line.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static json_t *parsed(const char *text, size_t n) {
        json_t *v = NULL;

        fuzz_check(json_parse(text, n, n, 160, &v, NULL) == 0, "%.*s", (int)n, text);
        return v;
}

static void check_request(const char *line, size_t n) {
        _cleanup_buf_ Buf open = {0}, request = {0};
        _cleanup_json_ json_t *v = NULL;
        const json_t *input;

        fuzz_check(map_request_open(json_pack("{s:s, s:[s]}", "skill", "s", "args", "\"a"), &open) == 0);
        fuzz_check(map_request(&open, 7, line, n, &request) == 0);
        fuzz_check(memchr(request.data, '\n', request.n) == request.data + request.n - 1);
        v = parsed(request.data, request.n);
        input = json_object_get(json_object_get(v, "params"), "stdin");
        fuzz_check(json_integer_value(json_object_get(v, "id")) == 7);
        fuzz_check(json_string_length(input) == n + 1 && memcmp(json_bytes(input), line, n) == 0);
}

static void check_result(const Buf *output, bool text) {
        _cleanup_json_ json_t *answer = NULL, *v = NULL, *want = NULL;
        _cleanup_buf_ Buf line = {0};
        const char *out = output->n ? output->data : "";
        MapVerdict verdict;
        int code = 0;
        Diag d = {0};

        answer = json_pack("{s:i, s:{s:i, s:s%, s:s%}}", "id", 1, "result", "exit_code", 0, "stdout", out, output->n,
                           "stderr", out, output->n);
        fuzz_check(answer && map_result(answer, text, 0, &verdict, &line, &code, &d) == 0);
        fuzz_check(memchr(line.data, '\n', line.n) == line.data + line.n - 1);
        v = parsed(line.data, line.n);
        fuzz_check(json_is_true(json_object_get(v, "ok")) == (verdict == MAP_OK));
        fuzz_check(text ? verdict == MAP_OK : verdict == MAP_OK || verdict == MAP_FAILED);
        if (text)
                want = json_stringn(out, output->n);
        else if (verdict != MAP_OK || json_is_null(json_object_get(v, "value")))
                return;
        else
                want = parsed(out, output->n);
        fuzz_check(json_equal(json_object_get(v, "value"), want), "%s", line.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const char *text = (const char *)data;
        _cleanup_buf_ Buf output = {0};
        Diag d = {0};
        int r = memchr(text, '\n', n) ? 1 : map_check(text, n, &d);

        fuzz_check(r >= 0);
        if (r == 0)
                check_request(text, n);
        fuzz_check(buf_add_plain(&output, text, n) == 0);
        check_result(&output, false);
        check_result(&output, true);
        return 0;
}
