#include "base/io.h"
#include "belief/request.h"
#include "engine/payload.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* ' stands for ". */
static char *quoted(const char *text) {
        char *s = strdup(text);

        cr_assert(s);
        for (char *p = s; *p; p++)
                if (*p == '\'')
                        *p = '"';
        return s;
}

#define ISSUE "'decision':'accept','bucket':'issues','operation':'upsert','payload':{'title':'x'},'confidence':1"
#define RESOLVE "'decision':'accept','bucket':'issues','operation':'resolve','payload':{},'confidence':1"

// G-10: every field of a request, at once
Test(request, whole) {
        _cleanup_free_ char *line = quoted("{'decision':'accept','bucket':'constraints','target_id':'no_net','operation':'upsert','payload':{'statement':'offline','why':'a\\nb'},"
                                           "'reference_text':'no network','candidate_aliases':['offline','air gap'],'confidence':0.75,'rationale':'the user says so',"
                                           "'reads':[{'bucket':'decisions','id':'use_lmdb','version':3},{'bucket':'plan','id':'main'}]}\n");
        _cleanup_canon_request_ BeliefRequest r = {0};
        Diag d = {0};

        cr_assert_eq(belief_request_parse(line, strlen(line), &r, &d), 0, "%s", d.text);
        cr_expect(r.accept && r.kind == KIND_CONSTRAINT && r.op == OP_UPSERT && r.confidence == 0.75);
        cr_expect_str_eq(r.target, "no_net");
        cr_expect_str_eq(r.reference, "no network");
        cr_expect_str_eq(r.rationale, "the user says so");
        cr_expect(json_array_size(r.aliases) == 2 && json_array_size(r.reads) == 2 && json_object_size(r.payload) == 2);
}

// G-10, G-11: the least that an accepting and a rejecting request have
Test(request, least) {
        static const char *const lines[] = {"{" ISSUE "}", "{" RESOLVE "}", "{'decision':'reject'}", "{'decision':'reject','rationale':'small talk','confidence':0}",
                                            "  {" ISSUE "}  \r\n"};

        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
                _cleanup_free_ char *line = quoted(lines[i]);
                _cleanup_canon_request_ BeliefRequest r = {0};
                Diag d = {0};

                cr_assert_eq(belief_request_parse(line, strlen(line), &r, &d), 0, "%s: %s", lines[i], d.text);
                cr_expect(r.accept == !strstr(lines[i], "reject") && !r.target && !r.reference && !r.aliases && !r.reads);
        }
}

static void refused(const char *name, const char *line, size_t n, const char *code, const char *says) {
        _cleanup_canon_request_ BeliefRequest r = {0};
        Diag d = {0};
        int e = belief_request_parse(line, n, &r, &d);

        cr_assert(e > 0 && belief_code_name(e), "%s: %d", name, e);
        cr_expect_str_eq(belief_code_name(e), code, "%s: %s: %s", name, belief_code_name(e), d.text);
        cr_expect(strstr(d.text, says), "%s: %s", name, d.text);
        cr_expect(!r.value, "%s", name);
}

// G-11, G-22, G-23: what is wrong makes the request invalid, with its code and a message that names field, value and rule
Test(request, refused) {
        static const struct {
                const char *name, *line, *code, *says;
        } rows[] = {
                {"nothing", "", "empty", "empty"},
                {"a line feed", "\n", "empty", "empty"},
                {"not JSON", "I would resolve it", "syntax", "line 1, column 1"},
                {"JSON in words", "Here it is: {" ISSUE "}", "syntax", "line 1"},
                {"JSON in a fence", "```json {" ISSUE "} ```", "syntax", "line 1"},
                {"two values", "{" ISSUE "} {" ISSUE "}", "syntax", "end of file expected"},
                {"two lines", "{" ISSUE "}\n{" ISSUE "}", "syntax", "more than one line"},
                {"on many lines", "{\n" ISSUE "\n}", "syntax", "more than one line"},
                {"cut short", "{" ISSUE, "syntax", "line 1"},
                {"NaN", "{'decision':'reject','confidence':NaN}", "syntax", "line 1"},
                {"an array", "[]", "wrong_type", "the request is an array: an object is wanted"},
                {"a string", "'accept'", "wrong_type", "the request is a string"},
                {"a field twice", "{" ISSUE ",'decision':'reject'}", "duplicate_key", "decision"},
                {"deep", "{" ISSUE ",'reads':[[[[[[1]]]]]]}", "too_deep", "7 deep"},
                {"not UTF-8", "{" ISSUE ",'rationale':'\xff'}", "bad_utf8", "byte"},
                {"no decision", "{'bucket':'issues'}", "missing_field", "decision is missing"},
                {"another decision", "{'decision':'maybe'}", "bad_value", "decision is \"maybe\": it is accept or reject"},
                {"a decision in capitals", "{'decision':'Accept'}", "bad_value", "Accept"},
                {"a decision of another type", "{'decision':true}", "wrong_type", "decision is true: a string is wanted"},
                {"no bucket", "{'decision':'accept'}", "missing_field", "bucket is missing"},
                {"another bucket", "{'decision':'accept','bucket':'secrets','operation':'upsert','payload':{},'confidence':1}", "unknown_bucket", "\"secrets\""},
                {"a kernel", "{'decision':'accept','bucket':'agent_model_kernel','operation':'upsert','payload':{},'confidence':1}", "unknown_bucket", "agent_model_kernel"},
                {"a record of memory", "{'decision':'accept','bucket':'memory_substrate','operation':'upsert','payload':{},'confidence':1}", "unknown_bucket", "memory_substrate"},
                {"no operation", "{'decision':'accept','bucket':'issues'}", "missing_field", "operation is missing"},
                {"another operation", "{'decision':'accept','bucket':'issues','operation':'drop','payload':{},'confidence':1}", "unknown_operation", "\"drop\""},
                {"an operation of the memory service", "{'decision':'accept','bucket':'issues','operation':'delete','payload':{},'confidence':1}", "unknown_operation", "delete"},
                {"no payload", "{'decision':'accept','bucket':'issues','operation':'resolve','confidence':1}", "missing_field", "payload is missing"},
                {"a payload of another type", "{'decision':'accept','bucket':'issues','operation':'resolve','payload':'x','confidence':1}", "wrong_type", "payload is a string"},
                {"no confidence", "{'decision':'accept','bucket':'issues','operation':'resolve','payload':{}}", "missing_field", "confidence is missing"},
                {"too sure", "{'decision':'accept','bucket':'issues','operation':'resolve','payload':{},'confidence':1.5}", "out_of_range", "confidence is 1.5: it is from 0 to 1"},
                {"less than unsure", "{'decision':'reject','confidence':-0.1}", "out_of_range", "confidence is -0.1"},
                {"confidence as text", "{'decision':'reject','confidence':'1'}", "wrong_type", "confidence is a string: a number is wanted"},
                {"confidence as truth", "{'decision':'reject','confidence':true}", "wrong_type", "confidence is true"},
                {"a number beyond", "{'decision':'reject','confidence':1e999}", "syntax", "line 1"},
                {"an id in capitals", "{" RESOLVE ",'target_id':'Parser'}", "bad_target", "target_id is \"Parser\""},
                {"an id of another scope", "{" RESOLVE ",'target_id':'payments/parser'}", "bad_target", "of the note's own scope"},
                {"a forged id", "{" RESOLVE ",'target_id':'01kac7fw9q3v5tn8x2m4r6p0yz'}", "bad_target", "01kac7fw9q3v5tn8x2m4r6p0yz"},
                {"an id with NUL", "{" RESOLVE ",'target_id':'parser\\u0000x'}", "control_character", "target_id has the control character 0x00"},
                {"a long id", "{" RESOLVE ",'target_id':'a1234567890123456789012345678901234567890123456789012345678901234'}", "bad_target", "target_id"},
                {"no id but a number", "{" RESOLVE ",'target_id':7}", "wrong_type", "target_id is a whole number"},
                {"null for nothing", "{" RESOLVE ",'target_id':null}", "wrong_type", "target_id is null"},
                {"another plan", "{'decision':'accept','bucket':'plan','operation':'upsert','target_id':'other','payload':{'content':'x'},'confidence':1}", "bad_target", "one plan, main"},
                {"a task without an id", "{'decision':'accept','bucket':'task_state','operation':'upsert','payload':{'status':'x'},'confidence':1}", "missing_field", "target_id is missing"},
                {"a field that is none", "{" ISSUE ",'priority':1}", "unknown_field", "\"priority\" is no field"},
                {"a field with a bad name", "{" ISSUE ",'\x1b[0m':1}", "syntax", "control character"},
                {"a field of the service", "{" ISSUE ",'applied_successfully':true}", "service_metadata", "\"applied_successfully\" is filled in by the service"},
                {"another scope", "{" ISSUE ",'scope':'payments'}", "service_metadata", "\"scope\""},
                {"a version", "{" ISSUE ",'version':7}", "service_metadata", "\"version\""},
                {"its own findings", "{" RESOLVE ",'matched_target_id':'parser'}", "service_metadata", "matched_target_id"},
                {"a field of the service in the payload", "{'decision':'accept','bucket':'issues','operation':'upsert','payload':{'title':'x','state':'resolved'},'confidence':1}",
                 "service_metadata", "payload.state"},
                {"reject and more", "{'decision':'reject','bucket':'issues'}", "field_not_allowed", "bucket does not go with decision reject"},
                {"reject with a payload", "{'decision':'reject','payload':{}}", "field_not_allowed", "payload"},
                {"an empty reference", "{" RESOLVE ",'reference_text':' '}", "empty", "reference_text is empty"},
                {"a reference on two lines", "{" RESOLVE ",'reference_text':'a\\nb'}", "control_character", "reference_text"},
                {"a reference that turns", "{" RESOLVE ",'reference_text':'a\xE2\x80\xAE'}", "control_character", "cannot be seen"},
                {"aliases as text", "{" RESOLVE ",'candidate_aliases':'a, b'}", "wrong_type", "candidate_aliases is a string: an array is wanted"},
                {"an alias that is none", "{" RESOLVE ",'candidate_aliases':['a',1]}", "wrong_type", "candidate_aliases[1] is a whole number"},
                {"too many aliases", "{" RESOLVE ",'candidate_aliases':['1','2','3','4','5','6','7','8','9','10','11','12','13','14','15','16','17']}", "too_large", "17 entries: at most 16"},
                {"a read of nothing", "{" RESOLVE ",'reads':[{'bucket':'issues'}]}", "missing_field", "reads[0] has no id"},
                {"a read of a number", "{" RESOLVE ",'reads':[1]}", "wrong_type", "reads[0] is a whole number"},
                {"a read of more", "{" RESOLVE ",'reads':[{'bucket':'issues','id':'ab','scope':'x'}]}", "unknown_field", "reads[0]"},
                {"a read of another bucket", "{" RESOLVE ",'reads':[{'bucket':'x','id':'ab'}]}", "unknown_bucket", "reads[0] is \"x\""},
                {"a read of another scope", "{" RESOLVE ",'reads':[{'bucket':'issues','id':'x/ab'}]}", "bad_target", "x/ab"},
                {"a read of version 0", "{" RESOLVE ",'reads':[{'bucket':'issues','id':'ab','version':0}]}", "out_of_range", "reads[0]"},
                {"a read of version x", "{" RESOLVE ",'reads':[{'bucket':'issues','id':'ab','version':'x'}]}", "wrong_type", "reads[0]"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *line = quoted(rows[i].line);

                refused(rows[i].name, line, strlen(line), rows[i].code, rows[i].says);
        }
}

// G-23: a line of 1 MB is refused before it is parsed, whatever it holds
Test(request, large) {
        static const char fillers[] = {'[', '{', ' ', '"', 'x', 0};

        for (size_t i = 0; i < sizeof(fillers); i++) {
                _cleanup_free_ char *line = malloc(1 << 20);

                cr_assert(line);
                memset(line, fillers[i], 1 << 20);
                refused("1 MB", line, 1 << 20, "too_large", "at most 262144");
        }
}

// G-39: the seven buckets and four operations: what a bucket does not have is refused, whatever the payload
Test(request, operations) {
        static const struct {
                Kind kind;
                bool has[4]; /* upsert append invalidate resolve */
        } rows[] = {
                {KIND_PLAN, {true, false, false, false}}, {KIND_CONSTRAINT, {true, false, true, false}}, {KIND_ISSUE, {true, false, false, true}},
                {KIND_DECISION, {false, true, true, false}}, {KIND_RESULT, {false, true, false, false}}, {KIND_TASK_STATE, {true, false, false, false}},
                {KIND_LEARNING, {false, true, false, false}},
        };
        static const Op ops[] = {OP_UPSERT, OP_APPEND, OP_INVALIDATE, OP_RESOLVE};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (size_t k = 0; k < ARRAY_SIZE(ops); k++) {
                        const char *name = kind_name(rows[i].kind), *main = payload_main(rows[i].kind, ops[k]);
                        _cleanup_json_ json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:{}, s:i}", "decision", "accept", "bucket", name, "operation", op_name(ops[k]),
                                                             "target_id", rows[i].kind == KIND_PLAN ? "main" : "parse_csv", "payload", "confidence", 1);
                        _cleanup_canon_request_ BeliefRequest r = {0};
                        int e;

                        if (main)
                                json_object_set_new(json_object_get(o, "payload"), main, json_string("x"));
                        e = belief_request_read(o, &r, NULL);
                        cr_expect_eq(e, rows[i].has[k] ? 0 : BELIEF_E_NOT_OF_BUCKET, "%s %s: %d", name, op_name(ops[k]), e);
                        cr_expect(rows[i].has[k] || !main, "%s %s has a payload and is no operation", name, op_name(ops[k]));
                }
}

static char *document(void) {
        char path[4096], *text;
        size_t n;

        snprintf(path, sizeof(path), "%s/governed.md", getenv("LETHE_SCHEMA_DIR"));
        cr_assert_eq(io_read_file(AT_FDCWD, path, 1 << 20, &text, &n), 0, "%s", path);
        return text;
}

// G-23: schema/governed.md says what the tables say
Test(request, documented) {
        _cleanup_free_ char *text = document();

        for (int code = 1; code < CANON_CODE_COUNT_; code++) {
                char row[64];

                snprintf(row, sizeof(row), "\n| `%s` | ", belief_code_name(code));
                cr_expect(strstr(text, row), "governed.md has no row %s", row);
        }
}
