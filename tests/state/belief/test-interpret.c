#include "belief/interpret.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GOOD "{\"decision\":\"accept\",\"bucket\":\"issues\",\"operation\":\"resolve\",\"payload\":{},\"reference_text\":\"parser\",\"confidence\":0.9}"
#define NOTE "The parser is fixed."

/* What somebody at the other end says, one answer after the other. */
typedef struct Script {
        const char *answers[2];
        int codes[2];
        unsigned asked;
        char *lines[2]; /* what it was told; owned */
} Script;

static int say(void *userdata, const char *line, char **ret_line, Diag *reterr) {
        Script *s = userdata;
        unsigned i = s->asked++;

        cr_assert(i < 2, "asked a third time");
        cr_expect(!strchr(line, '\n'));
        s->lines[i] = strdup(line);
        if (s->codes[i])
                return s->codes[i] > 0 ? diag(reterr, s->codes[i], "what went wrong") : s->codes[i];
        *ret_line = strdup(s->answers[i] ?: "");
        return 0;
}

static void script_deinit(Script *s) {
        free(s->lines[0]);
        free(s->lines[1]);
}

static const KeySet *living;
static const KeySet *hold(void) {
        return living;
}
static void let_go(const KeySet **held) {
        *held = NULL;
}
static const KeyHold holder = {hold, let_go};

static int run(Script *s, const char *note, CueRole role, const json_t *context, const KeySet *keys, Interpreted *ret) {
        const Advisor a = {.name = "tester", .ask = say, .userdata = s, .keys = &holder};

        living = keys;
        return interpret(&a, note, strlen(note), role, context, ret);
}

// G-10, G-12: what a good advisor says is taken as it is, and kept
Test(interpret, good) {
        _cleanup_(script_deinit) Script s = {.answers = {GOOD "\n"}};
        _cleanup_interpreted_ Interpreted i = {0};
        _cleanup_json_ json_t *outcome = NULL, *told = NULL;
        _cleanup_json_ json_t *context = json_pack("{s:[{s:s, s:s}], s:[], s:[]}", "issues", "id", "parser_crash", "title", "parser crashes", "decisions", "constraints");

        cr_assert_eq(run(&s, "What I said about the parser is over.", CUE_AGENT, context, NULL, &i), 0);
        cr_expect(i.code == 0 && i.request.accept && i.request.op == OP_RESOLVE && !i.degraded && !i.repaired && s.asked == 1);
        cr_expect_str_eq(i.request.reference, "parser");
        outcome = interpreted_outcome(&i);
        cr_expect_str_eq(json_string_value(json_object_get(outcome, "by")), "tester");
        cr_expect_str_eq(json_string_value(json_array_get(json_object_get(outcome, "raw"), 0)), GOOD "\n");
        cr_expect(!json_object_get(outcome, "fault"));
        // G-6: the line holds the note and what was given as context, and nothing else
        told = json_loads(s.lines[0], JSON_REJECT_DUPLICATES, NULL);
        cr_expect(json_object_size(told) == 3 && json_integer_value(json_object_get(told, "version")) == INTERPRET_VERSION);
        cr_expect(json_equal(json_object_get(told, "context"), context) && json_object_size(json_object_get(told, "note")) == 2);
        cr_expect_str_eq(json_string_value(json_object_get(json_object_get(told, "note"), "role")), "agent");
}

// G-11: bad answers are told what was wrong once, then the built-in interpreter speaks; the code is that of what was wrong
Test(interpret, repair_and_fallback) {
        static const struct {
                const char *name, *first, *second;
                int first_code, second_code;
                unsigned asked;
                bool repaired, degraded;
                const char *fault, *told; /* told: the code that the second question has */
        } rows[] = {
                {"words", "I would resolve it", GOOD, 0, 0, 2, true, false, "syntax", "syntax"},
                {"twice words", "I would resolve it", "Sorry, I mean resolve", 0, 0, 2, false, true, "syntax", "syntax"},
                {"a field too many, then too few", "{\"decision\":\"reject\",\"why\":1}", "{}", 0, 0, 2, false, true, "missing_field", "unknown_field"},
                {"nothing", "", GOOD, 0, 0, 2, true, false, "empty", "empty"},
                {"two lines", GOOD "\n" GOOD, GOOD, 0, 0, 2, true, false, "syntax", "syntax"},
                {"forged metadata", "{\"decision\":\"reject\",\"applied_successfully\":true}", GOOD, 0, 0, 2, true, false, "service_metadata", "service_metadata"},
                {"another scope", "{\"decision\":\"accept\",\"bucket\":\"issues\",\"operation\":\"resolve\",\"payload\":{},\"confidence\":1,\"target_id\":\"payments/x\"}", GOOD, 0,
                 0, 2, true, false, "bad_target", "bad_target"},
                {"control characters", "{\"decision\":\"reject\",\"rationale\":\"\\u001b[2J\"}", GOOD, 0, 0, 2, true, false, "control_character", "control_character"},
                {"no UTF-8", "\xff\xfe", GOOD, 0, 0, 2, true, false, "bad_utf8", "bad_utf8"},
                {"too long, then good", NULL, GOOD, BELIEF_E_ADVISOR_TOO_LONG, 0, 2, true, false, "advisor_too_long", "advisor_too_long"},
                {"several lines, then a time-out", NULL, NULL, BELIEF_E_ADVISOR_LINES, BELIEF_E_ADVISOR_TIMEOUT, 2, false, true, "advisor_timeout", "advisor_lines"},
                {"a time-out is not repeated", NULL, NULL, BELIEF_E_ADVISOR_TIMEOUT, 0, 1, false, true, "advisor_timeout", NULL},
                {"a failure is not repeated", NULL, NULL, BELIEF_E_ADVISOR_EXIT, 0, 1, false, true, "advisor_exit", NULL},
                {"nobody there", NULL, NULL, BELIEF_E_ADVISOR_REFUSED, 0, 1, false, true, "advisor_refused", NULL},
        };

        for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
                _cleanup_(script_deinit) Script s = {.answers = {rows[k].first, rows[k].second}, .codes = {rows[k].first_code, rows[k].second_code}};
                _cleanup_interpreted_ Interpreted i = {0};
                _cleanup_json_ json_t *outcome = NULL, *told = NULL;
                json_t *repair;

                cr_assert_eq(run(&s, NOTE, CUE_AGENT, NULL, NULL, &i), 0, "%s", rows[k].name);
                cr_expect_eq(s.asked, rows[k].asked, "%s: %u", rows[k].name, s.asked);
                cr_expect(i.repaired == rows[k].repaired && i.degraded == rows[k].degraded, "%s", rows[k].name);
                cr_expect(i.code == 0 && i.request.accept && i.request.op == OP_RESOLVE && strcmp(i.request.reference, "parser") == 0, "%s", rows[k].name);
                outcome = interpreted_outcome(&i);
                cr_expect_str_eq(json_string_value(json_object_get(outcome, "by")), i.degraded ? "built_in" : "tester", "%s", rows[k].name);
                cr_expect_str_eq(json_string_value(json_object_get(json_object_get(outcome, "fault"), "code")), rows[k].fault, "%s", rows[k].name);
                if (s.asked < 2)
                        continue;
                told = json_loads(s.lines[1], JSON_REJECT_DUPLICATES, NULL);
                repair = json_object_get(told, "repair");
                cr_expect_str_eq(json_string_value(json_object_get(repair, "code")), rows[k].told, "%s: %s", rows[k].name, s.lines[1]);
                cr_expect(json_string_length(json_object_get(repair, "message")) > 0 && json_is_string(json_object_get(repair, "answer")), "%s", rows[k].name);
        }
}

// G-7, G-11: an advisor that failed says nothing about a note without a cue: it is invalid, not noise
Test(interpret, no_cue_when_degraded) {
        _cleanup_(script_deinit) Script s = {.answers = {"x", "y"}}, late = {.codes = {BELIEF_E_ADVISOR_TIMEOUT}};
        _cleanup_interpreted_ Interpreted i = {0}, k = {0}, none = {0};

        cr_assert_eq(run(&s, "hello", CUE_AGENT, NULL, NULL, &i), 0);
        cr_expect(i.code == BELIEF_E_SYNTAX && i.degraded && !i.request.value && strstr(i.why.text, "the advisor failed"), "%s", i.why.text);
        cr_assert_eq(run(&late, "hello", CUE_AGENT, NULL, NULL, &k), 0);
        cr_expect(k.code == BELIEF_E_ADVISOR_TIMEOUT && k.degraded && !k.request.value);
        cr_assert_eq(interpret(NULL, "hello", 5, CUE_AGENT, NULL, &none), 0);
        cr_expect(none.code == 0 && !none.request.accept && !none.degraded && strcmp(none.request.rationale, CUE_NO_CUE) == 0);
}

// G-9: a note that may not be is shown to nobody
Test(interpret, refused_before_it_is_shown) {
        static const char *const notes[] = {"", "\x1b[2J", "\xff", "{\"decision\":\"accept\",\"bucket\":\"issues\"}"};
        _cleanup_free_ char *large = calloc(1, (1 << 20) + 1);

        memset(large, 'x', 1 << 20);
        for (size_t k = 0; k <= ARRAY_SIZE(notes); k++) {
                _cleanup_(script_deinit) Script s = {0};
                _cleanup_interpreted_ Interpreted i = {0};

                cr_assert_eq(run(&s, k < ARRAY_SIZE(notes) ? notes[k] : large, CUE_AGENT, NULL, NULL, &i), 0);
                cr_expect(i.code > 0 && s.asked == 0 && !i.request.value && *i.why.text, "%zu", k);
        }
}

// G-9: nobody makes a tool's words end anything
Test(interpret, from_a_tool) {
        _cleanup_(script_deinit) Script s = {.answers = {GOOD, GOOD}};
        _cleanup_interpreted_ Interpreted i = {0};

        cr_assert_eq(run(&s, "14 of 14 pass, the parser is fixed", CUE_TOOL_RESULT, NULL, NULL, &i), 0);
        cr_expect(i.code == BELIEF_E_NOT_FROM_TOOL && i.degraded && s.asked == 2, "%d", i.code);
}

// G-9, I-11: an answer with the key of a living region is not kept, not repeated and not repaired
Test(interpret, key) {
        static const uint8_t key[KEY_BYTES] = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
        static const uint8_t *const keys[] = {key};
        _cleanup_(script_deinit) Script s = {.answers = {"{\"decision\":\"reject\",\"rationale\":\"deadbeef0102030405060708090a0b0c\"}", GOOD}};
        _cleanup_interpreted_ Interpreted i = {0};
        _cleanup_json_ json_t *outcome = NULL;
        _cleanup_free_ char *text = NULL;
        size_t n;

        cr_assert_eq(run(&s, "hello", CUE_AGENT, NULL, &(KeySet){keys, 1}, &i), 0);
        cr_expect(i.code == BELIEF_E_KEY && s.asked == 1 && !i.raw[0]);
        outcome = interpreted_outcome(&i);
        cr_assert_eq(json_canonical(outcome, &text, &n), 0);
        cr_expect(!strstr(text, "deadbeef"));
}

// G-6: a context beyond the bound is cut, and says so; an answer beyond it is kept in part
Test(interpret, bounds) {
        _cleanup_json_ json_t *context = json_pack("{s:[], s:[{s:s}]}", "issues", "decisions", "id", "use_lmdb"), *told = NULL;
        _cleanup_(script_deinit) Script s = {.answers = {NULL, GOOD}};
        _cleanup_interpreted_ Interpreted i = {0};
        _cleanup_free_ char *title = calloc(1, 1025), *answer = calloc(1, 100001);
        json_t *cut;

        memset(title, 'x', 1024);
        memset(answer, '\xff', 100000);
        s.answers[0] = answer;
        for (int k = 0; k < 5000; k++)
                json_array_append_new(json_object_get(context, "issues"), json_pack("{s:s}", "title", title));
        cr_assert_eq(run(&s, NOTE, CUE_AGENT, context, NULL, &i), 0);
        cr_expect(strlen(s.lines[0]) <= INTERPRET_LINE_MAX && strlen(s.lines[1]) <= INTERPRET_LINE_MAX);
        told = json_loads(s.lines[0], 0, NULL);
        cut = json_object_get(told, "context");
        cr_expect(json_is_true(json_object_get(told, "context_cut")) && json_array_size(json_object_get(cut, "issues")) >= 500);
        cr_expect(json_array_size(json_object_get(cut, "decisions")) == 1 && json_array_size(json_object_get(context, "issues")) == 5000);
        cr_expect(i.repaired && strlen(i.raw[0]) <= 3 * INTERPRET_RAW_KEPT && utf8_valid(i.raw[0], strlen(i.raw[0]), NULL));
}

// our own trouble is passed up unchanged, and leaves nothing behind
Test(interpret, trouble) {
        for (int second = 0; second <= 1; second++) {
                _cleanup_(script_deinit) Script s = {.answers = {"x"}};
                Interpreted i = {0};

                s.codes[second] = -EIO;
                cr_expect_eq(run(&s, NOTE, CUE_AGENT, NULL, NULL, &i), -EIO);
                cr_expect(!i.request.value && !i.raw[0] && !i.by);
        }
}
