/* Runs: tests. The outcome descriptor of an execution, from the end of its region and the skill's result. */
#include "perform/outcome.h"

#include "base/json.h"

#include <criterion/criterion.h>
#include <string.h>

#define EXITED "{\"outcome\":\"exited\",\"exit_code\":0,\"signal\":null}"

static json_t *parse(const char *text) {
        json_t *v = NULL;
        Diag d = {0};

        if (text)
                cr_assert_eq(json_parse(text, strlen(text), 1 << 20, JSON_DEPTH_DEFAULT, &v, &d), 0, "%s: %s", text, d.text);
        return v;
}

static char *print(const json_t *v) {
        char *text = NULL;

        cr_assert_eq(json_canonical(v, &text, NULL), 0);
        return text;
}

/* O-14, O-48: every end of a region has its kind. expect: the descriptor without latency_usec. */
static const struct {
        const char *what, *ending, *result, *discards, *expect, *next;
} ends[] = {
        {"no result", EXITED, NULL, "", "{\"exit_code\":0,\"kind\":\"success\"}", NULL},
        {"a text is a value", EXITED, "\"done\"", "", "{\"exit_code\":0,\"kind\":\"success\",\"value\":\"done\"}", NULL},
        {"null is a value", EXITED, "null", "", "{\"exit_code\":0,\"kind\":\"success\",\"value\":null}", NULL},
        {"an object of its own is a value", EXITED, "{\"value\":1,\"n\":2}", "", "{\"exit_code\":0,\"kind\":\"success\",\"value\":{\"n\":2,\"value\":1}}", NULL},
        {"a said success", EXITED, "{\"outcome\":\"success\",\"value\":[1]}", "", "{\"exit_code\":0,\"kind\":\"success\",\"value\":[1]}", NULL},
        {"a proposal alone", EXITED, "{\"next\":{\"end\":\"enough\"}}", "", "{\"exit_code\":0,\"kind\":\"success\"}", "{\"end\":\"enough\"}"},
        {"partial", EXITED, "{\"outcome\":\"partial\",\"remainder\":[\"b\",\"c\"],\"value\":1}", "",
         "{\"exit_code\":0,\"kind\":\"partial\",\"remainder\":[\"b\",\"c\"],\"value\":1}", NULL},
        {"partial, of an input", EXITED, "{\"outcome\":\"partial\",\"remainder\":\"b c\"}", "", "{\"exit_code\":0,\"kind\":\"partial\",\"remainder\":\"b c\"}", NULL},
        {"negative", EXITED, "{\"outcome\":\"negative\",\"capability\":\"gpu\"}", "", "{\"capability\":\"gpu\",\"exit_code\":0,\"kind\":\"negative\"}", NULL},
        {"nothing was kept", EXITED, "1", "discard_asked",
         "{\"exit_code\":0,\"kind\":\"failure\",\"reason\":\"nothing that the region proposed was kept: discard_asked\"}", NULL},
        {"an exit code", "{\"outcome\":\"exited\",\"exit_code\":3,\"signal\":null}", "{\"outcome\":\"success\"}", "", "{\"exit_code\":3,\"kind\":\"failure\"}", NULL},
        {"an exit code of 124 is the skill's own", "{\"outcome\":\"exited\",\"exit_code\":124,\"signal\":null}", NULL, "", "{\"exit_code\":124,\"kind\":\"failure\"}", NULL},
        {"a signal", "{\"outcome\":\"signaled\",\"exit_code\":null,\"signal\":11}", NULL, "", "{\"kind\":\"failure\",\"signal\":11}", NULL},
        {"the deadline", "{\"outcome\":\"timed_out\",\"reason\":\"ran for 2 s\"}", NULL, "", "{\"kind\":\"timeout\",\"reason\":\"timed_out: ran for 2 s\"}", NULL},
        {"memory", "{\"outcome\":\"out_of_region\",\"reason\":\"r\"}", NULL, "", "{\"kind\":\"failure\",\"reason\":\"out_of_region: r\"}", NULL},
        {"output", "{\"outcome\":\"output_exceeded\"}", NULL, "", "{\"kind\":\"failure\",\"reason\":\"output_exceeded\"}", NULL},
        {"denied", "{\"outcome\":\"denied\",\"reason\":\"a gate\"}", NULL, "", "{\"kind\":\"denied\",\"reason\":\"denied: a gate\"}", NULL},
        {"a signal to the supervisor", "{\"outcome\":\"cancelled\",\"signal\":15,\"reason\":\"Terminated\"}", NULL, "",
         "{\"kind\":\"interrupted\",\"reason\":\"cancelled: Terminated\",\"signal\":15}", NULL},
        {"set-up", "{\"outcome\":\"setup_failed\",\"reason\":\"no program\"}", NULL, "", "{\"kind\":\"fault\",\"reason\":\"setup_failed: no program\"}", NULL},
        {"the guard", "{\"outcome\":\"guard_lost\"}", NULL, "", "{\"kind\":\"fault\",\"reason\":\"guard_lost\"}", NULL},
        {"nothing is known", "{}", NULL, "", "{\"kind\":\"fault\",\"reason\":\"none\"}", NULL},
};

Test(perform_outcome, of_region) { // O-14, O-48
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                _cleanup_json_ json_t *ending = parse(ends[i].ending), *result = parse(ends[i].result), *o = NULL, *next = NULL;
                _cleanup_free_ char *text = NULL, *said = NULL;

                cr_assert_eq(outcome_of_region(ending, 1234, result, ends[i].discards, &o, &next), 0, "%s", ends[i].what);
                cr_expect_eq(json_number(o, "latency_usec"), 1234, "%s", ends[i].what);
                json_object_del(o, "latency_usec");
                text = print(o);
                cr_expect_str_eq(text, ends[i].expect, "%s: %s", ends[i].what, text);
                said = next ? print(next) : NULL;
                cr_expect((said == NULL) == (ends[i].next == NULL) && (!said || strcmp(said, ends[i].next) == 0), "%s: %s", ends[i].what, said ?: "no proposal");
        }
}

/* A result with the words of an outcome is refused when it says something else: nothing of the region is kept then. */
static const struct {
        const char *what, *result, *message;
} refused[] = {
        {"another word", "{\"outcome\":\"sunny\"}", "\"success\", \"partial\" or \"negative\""},
        {"a number", "{\"outcome\":1}", "\"success\""},
        {"a failure", "{\"outcome\":\"failure\"}", "a failure is an exit code"},
        {"a member of its own", "{\"outcome\":\"success\",\"temperature\":3}", "\"temperature\""},
        {"partial without a remainder", "{\"outcome\":\"partial\"}", "remainder"},
        {"an empty remainder", "{\"outcome\":\"partial\",\"remainder\":[]}", "1 to 256 texts"},
        {"a remainder of numbers", "{\"outcome\":\"partial\",\"remainder\":[1]}", "element 0"},
        {"a remainder with U+0000", "{\"outcome\":\"partial\",\"remainder\":[\"a\",\"b\\u0000\"]}", "element 1"},
        {"a remainder of a success", "{\"outcome\":\"success\",\"remainder\":[\"a\"]}", "goes with \"outcome\": \"partial\""},
        {"negative without a capability", "{\"outcome\":\"negative\"}", "capability"},
        {"an empty capability", "{\"outcome\":\"negative\",\"capability\":\"\"}", "1 to 256 bytes"},
        {"a capability of a success", "{\"next\":{},\"capability\":\"gpu\"}", "goes with \"outcome\": \"negative\""},
        {"a proposal that is a text", "{\"next\":\"end\"}", "\"next\""},
};

Test(perform_outcome, refused_results) { // O-48
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                _cleanup_json_ json_t *ending = parse(EXITED), *result = parse(refused[i].result), *o = NULL, *next = NULL;
                Diag d = {0};

                cr_expect_eq(outcome_check_result(result, &d), 1, "%s", refused[i].what);
                cr_expect(strstr(d.text, refused[i].message), "%s: %s", refused[i].what, d.text);
                cr_assert_eq(outcome_of_region(ending, 1, result, "", &o, &next), 0, "%s", refused[i].what);
                cr_expect(json_text_is(json_object_get(o, "kind"), "failure") && json_text_is(json_object_get(o, "reason"), d.text), "%s", refused[i].what);
                cr_expect(!next && !json_object_get(o, "remainder") && !json_object_get(o, "value"), "%s", refused[i].what);
        }
}

Test(perform_outcome, a_large_value_is_refused) { // O-48, O-54
        static char text[OUTCOME_VALUE_MAX + 64];
        _cleanup_json_ json_t *fits = NULL, *beyond = NULL;
        Diag d = {0};

        memset(text, 'x', sizeof(text));
        fits = json_stringn(text, OUTCOME_VALUE_MAX - 4); /* ["…"] */
        beyond = json_stringn(text, OUTCOME_VALUE_MAX - 3);
        cr_expect_eq(outcome_check_result(fits, &d), 0, "%s", d.text);
        cr_expect_eq(outcome_check_result(beyond, &d), 1);
        cr_expect(strstr(d.text, "65537 bytes"), "%s", d.text);
}

Test(perform_outcome, of_refusals) { // O-14, O-48, O-49
        Refusal by_policy = {.by_policy = true, .why = {"forbidden"}}, missing = {.code = 127, .why = {"no such skill"}};
        _cleanup_json_ json_t *a = outcome_of_refusal("convert", &by_policy), *b = outcome_of_refusal("convert", &missing);
        _cleanup_free_ char *one = print(a), *two = print(b);

        cr_expect_str_eq(one, "{\"kind\":\"denied\",\"latency_usec\":0,\"reason\":\"forbidden\"}");
        cr_expect_str_eq(two, "{\"capability\":\"skill:convert\",\"kind\":\"negative\",\"latency_usec\":0,\"reason\":\"no such skill\"}");
}
