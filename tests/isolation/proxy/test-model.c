#include "proxy/model.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct Row {
        const char *body, *model; /* model NULL: refused */
        uint64_t most_out, answers;
} Row;

static const Row requests[] = {
        {"{\"model\":\"a\"}", "a", 0, 1},
        {" {\"messages\": [{\"model\": \"b\"}], \"model\" : \"a\" , \"max_tokens\":12}\n", "a", 12, 1},
        {"{\"model\":\"\\u0061\\ud83d\\ude00\",\"n\":3,\"max_completion_tokens\":7,\"max_tokens\":5}", "a\xf0\x9f\x98\x80", 7, 3},
        {"{\"mod\\u0065l\":\"a\",\"best_of\":2,\"max_tokens\":null}", "a", 0, 2},
        {"{\"x\":[true,false,null,-1.5e+3,0,{\"model\":1}],\"model\":\"a/b\\\"c\"}", "a/b\"c", 0, 1},
        {"{}", "", 0, 1},
        {"{\"model\":\"a\",\"model\":\"b\"}", NULL},
        {"{\"model\":\"a\",\"MODEL\":\"b\"}", NULL},
        {"{\"model\":\"a\",\"max_to\xe2\x84\xaa" "ens\":5}", NULL},
        {"{\"model\":\"a\",\"models\":[\"b\"]}", NULL},
        {"{\"model\":\"a\",\"Fallbacks\":[]}", NULL},
        {"{\"model\":[\"a\"]}", NULL},
        {"{\"model\":\"\"}", NULL},
        {"{\"model\":\"a\",\"n\":0}", NULL},
        {"{\"model\":\"a\",\"max_tokens\":1e3}", NULL},
        {"{\"model\":\"a\",\"max_tokens\":18446744073709551617}", NULL},
        {"{\"model\":\"a\"", NULL},
        {"{\"model\":\"a\"}}", NULL},
        {"{\"model\":\"a\"} x", NULL},
        {"{\"model\":\"a\",}", NULL},
        {"{'model':\"a\"}", NULL},
        {"{\"model\":\"a\",\"x\":01}", NULL},
        {"{\"model\":\"a\",\"x\":-}", NULL},
        {"{\"model\":\"a\",\"x\":nul}", NULL},
        {"{\"model\":\"a\\\n\"}", NULL},
        {"{\"model\":\"a\\u00\"}", NULL},
        {"[\"model\"]", NULL},
        {"\"model\"", NULL},
        {"7", NULL},
        {"", NULL},
};

//
Test(model, a_request_says_its_model_once) {
        for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
                const Row *row = &requests[i];
                ModelRequest m;
                const char *why = model_request_parse(row->body, strlen(row->body), &m);

                cr_expect_eq(why == NULL, row->model != NULL, "%s: %s", row->body, why ?: "accepted");
                if (!row->model || why)
                        continue;
                cr_expect_str_eq(m.model, row->model, "%s: %s", row->body, m.model);
                cr_expect(m.most_out == row->most_out && m.answers == row->answers, "%s", row->body);
        }
}

//
Test(model, nesting_and_length_have_bounds) {
        char deep[512] = "{\"model\":\"a\",\"x\":", longer[512] = "{\"model\":\"";
        ModelRequest m;
        size_t n = strlen(deep);

        memset(deep + n, '[', 63);
        memset(deep + n + 63, ']', 63);
        strcpy(deep + n + 126, "}");
        cr_expect_null(model_request_parse(deep, strlen(deep), &m));
        memset(deep + n, '[', 64);
        memset(deep + n + 64, ']', 64);
        strcpy(deep + n + 128, "}");
        cr_expect_not_null(model_request_parse(deep, strlen(deep), &m));
        n = strlen(longer);
        memset(longer + n, 'a', 97);
        strcpy(longer + n + 97, "\"}");
        cr_expect_not_null(model_request_parse(longer, strlen(longer), &m));
        strcpy(longer + n + 96, "\"}");
        cr_expect_null(model_request_parse(longer, strlen(longer), &m));
}

static const struct {
        const char *text;
        bool events, has, bad;
        uint64_t in, out;
} answers[] = {
        {"{\"choices\":[{\"text\":\"\\\"usage\\\"\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4,\"total_tokens\":7}}", false, true, false, 3, 4},
        {"{\"usage\":{\"input_tokens\":3,\"output_tokens\":4,\"cache_read_input_tokens\":10}}", false, true, false, 13, 4},
        {"{\"usage\":{\"prompt_tokens\":-3,\"completion_tokens\":1e9}}", false, false, false, 0, 0},
        {"{\"x\":{\"usage\":{\"prompt_tokens\":3}}}", false, false, false, 0, 0},
        {"{\"usage\":[{\"prompt_tokens\":3}]}", false, false, false, 0, 0},
        {"{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}", false, false, true, 0, 0},
        {"hello", false, false, true, 0, 0},
        {"data: {\"choices\":[]}\n\ndata: {\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n", true, true, false, 3, 4},
        {"event: message_start\r\ndata: {\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\r\n\r\n"
         "event: message_delta\r\ndata: {\"usage\":{\"output_tokens\":15}}\r\n\r\n", true, true, false, 9, 15},
        {"data: {\"response\":{\"usage\":{\"input_tokens\":2,\"output_tokens\":6}}}\r\r", true, true, false, 2, 6},
        {"data: {\"usage\":\ndata: {\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n", true, true, false, 3, 4},
        {": usage\ndatas: {\"usage\":{\"prompt_tokens\":3}}\n\n", true, false, false, 0, 0},
        {"data: {\"usage\":{\"prompt_tokens\":3", true, false, false, 0, 0},
};

//
Test(model, usage_is_found_in_any_pieces) {
        for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
                for (size_t piece = 1; piece <= strlen(answers[i].text); piece++) {
                        ModelUsage u;

                        model_usage_begin(&u, answers[i].events);
                        for (size_t at = 0; at < strlen(answers[i].text); at += piece)
                                model_usage_feed(&u, answers[i].text + at, at + piece > strlen(answers[i].text) ? strlen(answers[i].text) - at : piece);
                        model_usage_end(&u);
                        cr_expect(u.has == answers[i].has && u.bad == answers[i].bad && u.in == answers[i].in && u.out == answers[i].out,
                                  "%s in pieces of %zu: %d %d %llu %llu", answers[i].text, piece, u.has, u.bad, (unsigned long long)u.in,
                                  (unsigned long long)u.out);
                }
}
