#include "base/json.h"
#include "schema/jsonschema.h"

#include <criterion/criterion.h>
#include <criterion/theories.h>
#include <stdio.h>
#include <string.h>

static json_t *parse(const char *text) {
        json_t *v = NULL;
        Diag why = {0};

        cr_assert(json_parse(text, strlen(text), 1 << 24, 2000, &v, &why) == 0, "%s: %s", text, why.text);
        return v;
}

static int compile(const char *schema, Diag *why) {
        _cleanup_jsonschema_ JsonSchema *s = NULL;
        _cleanup_json_ json_t *j = parse(schema);

        return jsonschema_compile(j, &s, why);
}

static int judge_json(const json_t *schema, const json_t *value, Diag *why) {
        _cleanup_jsonschema_ JsonSchema *s = NULL;
        int r = jsonschema_compile(schema, &s, why);

        cr_assert(r == 0, "compile: %d %s", r, why->text);
        return jsonschema_validate(s, value, why);
}

static int judge(const char *schema, const char *value, Diag *why) {
        _cleanup_json_ json_t *j = parse(schema), *v = parse(value);

        return judge_json(j, v, why);
}

/* C-27 rests on this: what cannot be checked is refused, with the place and the keyword. */
Test(jsonschema, refused_schemas) {
        static const struct {
                const char *schema;
                int code;
                const char *text;
        } rows[] = {
                {"{\"minimun\":3}", JSONSCHEMA_E_UNKNOWN_KEYWORD, "minimun"},
                {"{\"properties\":{\"a\":{\"items\":{\"unevaluatedItems\":false}}}}", JSONSCHEMA_E_UNKNOWN_KEYWORD,
                 "#/properties/a/items"},
                {"{\"$defs\":{\"unused\":{\"definitions\":{}}}}", JSONSCHEMA_E_UNKNOWN_KEYWORD, "#/$defs/unused"},
                {"{\"$id\":\"x\"}", JSONSCHEMA_E_UNKNOWN_KEYWORD, "$id"},
                {"{\"\\u001b[31m\":1}", JSONSCHEMA_E_UNKNOWN_KEYWORD, "\\x1b[31m"},
                {"3", JSONSCHEMA_E_BAD_KEYWORD, "object, true or false"},
                {"[]", JSONSCHEMA_E_BAD_KEYWORD, "object, true or false"},
                {"{\"items\":[true]}", JSONSCHEMA_E_BAD_KEYWORD, "#/items"},
                {"{\"type\":\"int\"}", JSONSCHEMA_E_BAD_KEYWORD, "\"type\" must be"},
                {"{\"type\":[]}", JSONSCHEMA_E_BAD_KEYWORD, "\"type\" must be"},
                {"{\"type\":[\"null\",\"null\"]}", JSONSCHEMA_E_BAD_KEYWORD, "\"type\" must be"},
                {"{\"enum\":1}", JSONSCHEMA_E_BAD_KEYWORD, "enum"},
                {"{\"multipleOf\":0}", JSONSCHEMA_E_BAD_KEYWORD, "greater than 0"},
                {"{\"minimum\":\"1\"}", JSONSCHEMA_E_BAD_KEYWORD, "must be a number"},
                {"{\"maxLength\":-1}", JSONSCHEMA_E_BAD_KEYWORD, "0 or more"},
                {"{\"maxLength\":1.5}", JSONSCHEMA_E_BAD_KEYWORD, "0 or more"},
                {"{\"required\":[\"a\",\"a\"]}", JSONSCHEMA_E_BAD_KEYWORD, "all differ"},
                {"{\"required\":\"a\"}", JSONSCHEMA_E_BAD_KEYWORD, "all differ"},
                {"{\"dependentRequired\":{\"a\":\"b\"}}", JSONSCHEMA_E_BAD_KEYWORD, "arrays of strings"},
                {"{\"allOf\":[]}", JSONSCHEMA_E_BAD_KEYWORD, "at least one"},
                {"{\"properties\":[]}", JSONSCHEMA_E_BAD_KEYWORD, "object of schemas"},
                {"{\"uniqueItems\":1}", JSONSCHEMA_E_BAD_KEYWORD, "true or false"},
                {"{\"title\":1}", JSONSCHEMA_E_BAD_KEYWORD, "must be a string"},
                {"{\"examples\":1}", JSONSCHEMA_E_BAD_KEYWORD, "must be an array"},
                {"{\"deprecated\":1}", JSONSCHEMA_E_BAD_KEYWORD, "true or false"},
                {"{\"format\":\"e-mail\"}", JSONSCHEMA_E_BAD_KEYWORD, "format"},
                {"{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", JSONSCHEMA_E_BAD_KEYWORD, "2020-12"},
                {"{\"items\":{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\"}}", JSONSCHEMA_E_BAD_KEYWORD, "at the top"},
                {"{\"$ref\":1}", JSONSCHEMA_E_BAD_KEYWORD, "$ref"},
                {"{\"$ref\":\"http://example.org/s.json\"}", JSONSCHEMA_E_REF, "no document is ever fetched"},
                {"{\"$ref\":\"other.json#/a\"}", JSONSCHEMA_E_REF, "out of the document"},
                {"{\"$ref\":\"#a\"}", JSONSCHEMA_E_REF, "anchor"},
                {"{\"$ref\":\"#/$defs/a\"}", JSONSCHEMA_E_REF, "has no target in the document"},
                {"{\"$ref\":\"#/allOf/01\",\"allOf\":[true,true]}", JSONSCHEMA_E_REF, "has no target in the document"},
                {"{\"$ref\":\"#/$defs/~2\",\"$defs\":{\"~2\":true}}", JSONSCHEMA_E_REF, "~0 nor ~1"},
                {"{\"$ref\":\"#/$defs/%zz\",\"$defs\":{\"%zz\":true}}", JSONSCHEMA_E_REF, "percent"},
                {"{\"$ref\":\"#/$defs/%00\",\"$defs\":{\"\":true}}", JSONSCHEMA_E_REF, "percent"},
                {"{\"$ref\":\"#/default\",\"default\":{\"type\":\"null\"}}", JSONSCHEMA_E_REF, "does not point at a schema"},
                {"{\"$ref\":\"#\"}", JSONSCHEMA_E_REF, "without end"},
                {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/b\"}]},\"b\":{\"not\":{\"$ref\":\"#/$defs/a\"}}}}",
                 JSONSCHEMA_E_REF, "without end"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Diag why = {0};
                int r = compile(rows[i].schema, &why);

                cr_expect(r == rows[i].code, "%s: %d, wanted %d: %s", rows[i].schema, r, rows[i].code, why.text);
                cr_expect(strstr(why.text, rows[i].text) != NULL, "%s: \"%s\" lacks \"%s\"", rows[i].schema, why.text, rows[i].text);
        }
}

Test(jsonschema, messages_name_value_keyword_and_rule) {
        static const struct {
                const char *schema, *value, *text[3];
        } rows[] = {
                {"{\"properties\":{\"a/b~c\":{\"items\":{\"minLength\":3}}}}", "{\"a/b~c\":[\"abc\",\"ab\"]}",
                 {"\"/a~1b~0c/1\"", "minLength", "2 characters, at least 3"}},
                {"{\"additionalProperties\":false}", "{\"x\":1}", {"\"/x\"", "additionalProperties", "does not know"}},
                {"{\"required\":[\"name\"]}", "{}", {"at \"\"", "required", "\"name\" is missing"}},
                {"{\"type\":[\"null\",\"integer\"]}", "1.5", {"type", "number", "null or integer"}},
                {"{\"maximum\":9007199254740993}", "9007199254740994", {"9007199254740994 is more than 9007199254740993", "", ""}},
                {"{\"pattern\":\"^a\"}", "\"b\"", {"pattern", "does not match", "^a"}},
                {"{\"uniqueItems\":true}", "[2,1,1.0]", {"uniqueItems", "items 1 and 2", ""}},
                {"{\"$defs\":{\"p\":{\"minimum\":0}},\"items\":{\"$ref\":\"#/$defs/p\"}}", "[-1]",
                 {"\"/0\"", "#/$defs/p", "-1 is less than 0"}},
                {"{\"patternProperties\":{\"^a\":false}}", "{\"a\\u001b\":1}", {"\"/a\\x1b\"", "no value is allowed", ""}},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Diag why = {0};
                int r = judge(rows[i].schema, rows[i].value, &why);

                cr_expect(r == JSONSCHEMA_E_INVALID, "%s of %s: %d", rows[i].value, rows[i].schema, r);
                for (size_t j = 0; j < 3; j++)
                        cr_expect(strstr(why.text, rows[i].text[j]) != NULL, "%s: \"%s\" lacks \"%s\"", rows[i].schema, why.text,
                                  rows[i].text[j]);
        }
}

Test(jsonschema, numbers_are_exact) {
        static const struct {
                const char *schema, *value;
                bool valid;
        } rows[] = {
                {"{\"const\":1}", "1.0", true},
                {"{\"const\":0}", "-0.0", true},
                {"{\"type\":\"integer\"}", "1e300", true},
                {"{\"type\":\"integer\"}", "1.5", false},
                {"{\"const\":9007199254740993}", "9007199254740992.0", false},
                {"{\"const\":9007199254740992}", "9007199254740992.0", true},
                {"{\"maximum\":9223372036854775807}", "9223372036854775808.0", false},
                {"{\"minimum\":-9223372036854775808}", "-9223372036854775808.0", true},
                {"{\"exclusiveMinimum\":-9223372036854775808}", "-9223372036854775808.0", false},
                {"{\"exclusiveMaximum\":1}", "0.9999999999999999", true},
                {"{\"minimum\":0.5}", "0", false},
                {"{\"minimum\":-0.5}", "0", true},
                {"{\"minimum\":-1}", "-1.5", false},
                {"{\"enum\":[[1,{\"a\":2}]]}", "[1.0,{\"a\":2.0}]", true},
                {"{\"uniqueItems\":true}", "[1,true,\"1\",[1],{\"a\":1},0,false,null,-1,1.5,1e300,9223372036854775807]", true},
                {"{\"uniqueItems\":true}", "[{\"a\":1,\"b\":[2]},3,{\"b\":[2.0],\"a\":1.0}]", false},
                {"{\"uniqueItems\":true}", "[[1,2],[2,1]]", true},
                {"{\"multipleOf\":0.1}", "0.3", true},
                {"{\"multipleOf\":0.1}", "0.35", false},
                {"{\"multipleOf\":0.01}", "4.35", true},
                {"{\"multipleOf\":3}", "9223372036854775807", false},
                {"{\"multipleOf\":7}", "9223372036854775807", true},
                {"{\"multipleOf\":10}", "-9223372036854775800", true},
                {"{\"multipleOf\":10}", "5", false},
                {"{\"multipleOf\":2.5}", "-7.5", true},
                {"{\"multipleOf\":3}", "1e300", false},
                {"{\"multipleOf\":5e-324}", "1.7976931348623157e308", true},
                {"{\"multipleOf\":2}", "0.0", true},
                {"{\"minLength\":2.0}", "\"a\"", false},
                {"{\"maxItems\":1e19}", "[1]", true},
                {"{\"maxLength\":2}", "\"\\ud83d\\ude00\\u00e9\"", true},
                {"{\"maxLength\":1}", "\"\\ud83d\\ude00\\u00e9\"", false},
                {"{\"maxLength\":1}", "\"\\u0000\"", true},
                {"{\"const\":\"a\\u0000b\"}", "\"a\\u0000c\"", false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Diag why = {0};
                int r = judge(rows[i].schema, rows[i].value, &why);

                cr_expect(r == (rows[i].valid ? 0 : JSONSCHEMA_E_INVALID), "%s of %s: %d %s", rows[i].value, rows[i].schema, r, why.text);
        }
}

static int match(const char *pattern, const char *text, Diag *why) {
        _cleanup_json_ json_t *schema = json_pack("{s:s}", "pattern", pattern), *value = json_string(text);

        cr_assert(schema && value);
        return judge_json(schema, value, why);
}

Test(jsonschema, patterns_are_read_as_ecma_262_reads_them) {
        static const struct {
                const char *pattern, *text;
                bool matches;
        } rows[] = {
                {"es", "expression", true}, /* not anchored */
                {"^a$", "a\n", false},      /* $ is the end, not the last line's end */
                {"^a$", "x\na\ny", false},  /* ^ and $ do not look at lines */
                {"^.$", "\n", false},
                {"^.$", "\r", false},
                {"^.$", "\u2028", false},
                {"^.$", "\x0b", true},
                {"^.$", "\xf0\x9f\x98\x80", true}, /* one code point */
                {"^\\v$", "\x0b", true},
                {"^\\v$", "\n", false},
                {"^\\d$", "\u0663", false}, /* an Arabic digit */
                {"^\\w$", "\u00e9", false},
                {"^\\s$", "\u00a0", true},
                {"^\\s$", "\ufeff", true},
                {"^\\S$", "\u00a0", false},
                {"^[\\s]$", "\u3000", true},
                {"^[\\S]$", "\u3000", false},
                {"^[\\S]$", "\xf4\x8f\xbf\xbf", true},
                {"^[\\s\\S]$", "\n", true},
                {"^[^]$", "\n", true},
                {"[]", "a", false},
                {"^\\u0041\\x42\\u{43}\\cJ$", "ABC\n", true},
                {"^[\\b]$", "\b", true},
                {"\\bcat\\b", "a cat.", true},
                {"^\\p{Letter}\\p{Lu}\\p{gc=Nd}\\P{L}$", "\u00e9\u00c91-", true},
                {"^\\p{Script=Greek}+$", "\u03b1\u03b2", true},
                {"^(?<x>a|b)\\k<x>$", "bb", true},
                {"^(?:(a)|b)\\1c$", "bc", true}, /* a group that took no part matches nothing */
                {"^(?=.*z)(?!y)(?<=^)x", "xz", true},
                {"^a{2,3}?$", "aaa", true},
                {"^[[]$", "[", true},
                {"^a{,2}$", "a{,2}", true},
                {"^[a-z\\-]+\\/\\.$", "a-z/.", true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Diag why = {0};
                int r = match(rows[i].pattern, rows[i].text, &why);

                cr_expect(r == (rows[i].matches ? 0 : JSONSCHEMA_E_INVALID), "row %zu, \"%s\": %d %s", i, rows[i].pattern, r, why.text);
        }
}

Test(jsonschema, patterns_beyond_ecma_262_are_refused) {
        static const char *const rows[] = {
                "a++",    "a*+",    "a?+",      "a{1}+",     "(?>a)",   "(?i)a",   "(?i:a)",   "(?R)",    "(?1)",      "(?#x)",
                "(?C)",   "(?P<n>a)", "(?'n'a)", "(?|a|b)",  "(?(1)a)", "(*UTF)a", "(*LIMIT_MATCH=1)a", "\\Aa", "a\\z", "a\\Z",
                "\\Qa\\E", "\\Ka",  "\\R",      "\\X",       "\\h",     "\\N",     "\\C",      "\\G",     "\\a",       "\\e",
                "\\g{1}", "\\o{7}", "[[:alpha:]]", "[[=a=]]", "\\01",   "\\2(a)",  "[\\1](a)", "\\x1",    "\\u12",     "\\u{}",
                "\\u{110000}", "\\pL", "\\p{^L}", "\\p{Nonsense}", "\\c1", "\\k{n}(?<n>a)", "(", ")",      "[a",        "*a",
                "a**",    "a{3,2}", "\\",       "(?<=a*)b",  "(?<1>a)", "\\_",
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *schema = json_pack("{s:s}", "pattern", rows[i]);
                _cleanup_jsonschema_ JsonSchema *s = NULL;
                Diag why = {0};
                int r = jsonschema_compile(schema, &s, &why);

                cr_expect(r == JSONSCHEMA_E_BAD_KEYWORD, "\"%s\": %d %s", rows[i], r, why.text);
        }
}

/* A skill's author writes the schema and the skill writes the value: no pair of them may take long or much stack. */
Test(jsonschema, patterns_that_explode_end) {
        static const char *const rows[] = {"^(a+)+$", "^(a|a)*$", "^(?:a|aa)+$", "(a*)*[bc]", "a*a*a*a*a*a*[bc]", "^(?=(a+)+$)b?", "(?:.*.*)*[=b]",
                                           "^(([a-z])+.)+[A-Z]([a-z])+$", "(\\1?a)*[bc](d)?"};
        char *text = malloc(200001);

        cr_assert(text != NULL);
        memset(text, 'a', 200000);
        text[199999] = '!';
        text[200000] = 0;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Diag why = {0};
                int r = match(rows[i], text, &why);

                cr_expect(r == JSONSCHEMA_E_STEPS, "\"%s\": %d %s", rows[i], r, why.text);
        }
        free(text);
}

/* Schema text that nests `open` n times around `core`. */
static char *nest(const char *open, const char *core, const char *close, unsigned n) {
        size_t room = (strlen(open) + strlen(close)) * n + strlen(core) + 1;
        char *s = calloc(1, room), *p = s;

        cr_assert(s != NULL);
        for (unsigned i = 0; i < n; i++)
                p = stpcpy(p, open);
        p = stpcpy(p, core);
        for (unsigned i = 0; i < n; i++)
                p = stpcpy(p, close);
        return s;
}

Test(jsonschema, schema_limits) {
        static const struct {
                const char *open, *close;
                unsigned fits, too_many;
        } rows[] = {
                {"{\"items\":", "}", JSONSCHEMA_DEPTH_MAX - 1, JSONSCHEMA_DEPTH_MAX},
                {"{\"not\":", "}", JSONSCHEMA_DEPTH_MAX - 1, JSONSCHEMA_DEPTH_MAX},
                {"{\"default\":[", "]}", JSONSCHEMA_DEPTH_MAX / 2 - 1, 900},
        };
        _cleanup_json_ json_t *many = json_object(), *patterns = json_object(), *chain = json_object(), *all = NULL, *props = NULL;
        _cleanup_jsonschema_ JsonSchema *s = NULL;
        char name[80], big[JSONSCHEMA_PATTERN_MAX + 2];
        Diag why;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *fits = nest(rows[i].open, "{}", rows[i].close, rows[i].fits);
                _cleanup_free_ char *more = nest(rows[i].open, "{}", rows[i].close, rows[i].too_many);
                int r;

                why.text[0] = 0;
                r = compile(fits, &why);
                /* "default" holds no schema, so that its inner objects are not read as ones. */
                cr_expect(r == 0, "%s: %d %s", rows[i].open, r, why.text);
                cr_expect(compile(more, &why) == JSONSCHEMA_E_LIMIT, "%s", rows[i].open);
        }
        for (unsigned i = 0; i < JSONSCHEMA_NODES_MAX; i++) {
                snprintf(name, sizeof(name), "p%u", i);
                json_object_set_new(many, name, json_object());
        }
        props = json_pack("{s:O}", "properties", many);
        cr_expect(jsonschema_compile(props, &s, &why) == JSONSCHEMA_E_LIMIT);
        for (unsigned i = 0; i <= JSONSCHEMA_PATTERNS_MAX; i++) {
                snprintf(name, sizeof(name), "^%u", i);
                json_object_set_new(patterns, name, json_true());
        }
        json_decref(props);
        props = json_pack("{s:O}", "patternProperties", patterns);
        cr_expect(jsonschema_compile(props, &s, &why) == JSONSCHEMA_E_LIMIT);
        memset(big, 'a', sizeof(big) - 1);
        big[sizeof(big) - 1] = 0;
        json_decref(props);
        props = json_pack("{s:s}", "pattern", big);
        cr_expect(jsonschema_compile(props, &s, &why) == JSONSCHEMA_E_LIMIT);
        /* A flat document whose references make a long chain for one value. */
        for (unsigned i = 0; i < 200; i++) {
                char ref[80];

                snprintf(name, sizeof(name), "d%u", i);
                snprintf(ref, sizeof(ref), "#/$defs/d%u", i + 1);
                json_object_set_new(chain, name, i == 199 ? json_object() : json_pack("{s:s}", "$ref", ref));
        }
        all = json_pack("{s:O}", "$defs", chain);
        cr_expect(jsonschema_compile(all, &s, &why) == JSONSCHEMA_E_LIMIT);
        cr_expect(s == NULL);
}

Test(jsonschema, work_is_bounded) {
        _cleanup_json_ json_t *wide = json_array(), *defs = json_object(), *doubling = NULL, *one = json_integer(1), *deep = json_array();
        _cleanup_json_ json_t *unique = json_pack("{s:b}", "uniqueItems", 1), *tree = NULL;
        Diag why = {0};

        /* Each definition asks the next one twice: 2^60 questions in a small schema. */
        for (unsigned i = 0; i < 30; i++) {
                char name[32], ref[40];

                snprintf(name, sizeof(name), "d%u", i);
                snprintf(ref, sizeof(ref), "#/$defs/d%u", i + 1);
                json_object_set_new(defs, name,
                                    i == 29 ? json_pack("{s:s}", "type", "integer")
                                            : json_pack("{s:[{s:s},{s:s}]}", "allOf", "$ref", ref, "$ref", ref));
        }
        doubling = json_pack("{s:O,s:s}", "$defs", defs, "$ref", "#/$defs/d0");
        cr_expect(judge_json(doubling, one, &why) == JSONSCHEMA_E_STEPS, "%s", why.text);

        /* Many items that all differ are judged; a value nested deeper than the limit is not. */
        for (int i = 0; i < 200000; i++)
                json_array_append_new(wide, json_integer(i));
        cr_expect(judge_json(unique, wide, &why) == 0, "%s", why.text);
        for (int i = 0; i < 1500; i++)
                deep = json_pack("[o]", deep);
        tree = parse("{\"items\":{\"$ref\":\"#\"}}");
        cr_expect(judge_json(tree, deep, &why) == JSONSCHEMA_E_STEPS, "%s", why.text);
        json_decref(tree);
        tree = json_pack("{s:b}", "uniqueItems", 1);
        deep = json_pack("[o,i]", deep, 1);
        cr_expect(judge_json(tree, deep, &why) == JSONSCHEMA_E_STEPS, "%s", why.text);
}

Test(jsonschema, the_compiled_schema_borrows_nothing_and_is_not_changed_by_use) {
        json_t *schema = parse("{\"properties\":{\"a\":{\"enum\":[\"x\",{\"y\":[1]}]}},\"required\":[\"a\"]}");
        _cleanup_json_ json_t *good = parse("{\"a\":{\"y\":[1.0]}}"), *bad = parse("{\"a\":\"z\"}"), *copy = json_deep_copy(good);
        JsonSchema *s = NULL;
        Diag why;

        cr_assert(jsonschema_compile(schema, &s, NULL) == 0);
        json_object_clear(schema);
        json_decref(schema);
        for (int i = 0; i < 3; i++) {
                cr_expect(jsonschema_validate(s, good, &why) == 0);
                cr_expect(jsonschema_validate(s, bad, &why) == JSONSCHEMA_E_INVALID);
                cr_expect(jsonschema_validate(s, bad, NULL) == JSONSCHEMA_E_INVALID);
        }
        cr_expect(json_equal(good, copy));
        jsonschema_free(s);
        jsonschema_free(NULL);
}
