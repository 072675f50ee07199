/* Runs: tests. The grammar of intents and trust scopes: each member with its default, bounds and errors (O-1..O-3, O-23,
 * O-25). */
#include "tests/state/object/intent-fixture.h"
#include "base/io.h"

#include <fcntl.h>

#define DO "'do':{'skill':'a'}"
#define WITH(text) "{" DO ",'with':{" text "}}"
#define CONSTRAINTS(text) "{" DO ",'constraints':[" text "]}"
#define CHILD "{" DO "}"

// O-2: an intent, a place in its complete form, and the value there
static const struct {
        const char *what, *intent, *place, *value;
} members[] = {
        {"a skill", "{" DO "}", "do", "{'skill':'a','args':[]}"},
        {"a skill with all", "{'do':{'skill':'a-b','entry':'main','args':['x',''],'input':'text'}}", "do",
         "{'skill':'a-b','entry':'main','args':['x',''],'input':'text'}"},
        {"the defaults of with", "{" DO "}", "with",
         "{'timeout_usec':30000000,'attempts':0,'pace':{'base_usec':1000000,'min_usec':1000000,'max_usec':3600000000,'target_usec':10000000},"
         "'rest':{'elapsed':{'for_usec':60000000}},'may':[]}"},
        {"the default of until", "{" DO "}", "until", "{'success':1}"},
        {"the default of constraints", "{" DO "}", "constraints", "[]"},
        {"class", WITH("'class':'nightly'"), "with/class", "'nightly'"},
        {"timeout", WITH("'timeout':'5m'"), "with/timeout_usec", "300000000"},
        {"timeout, the least", WITH("'timeout':'1ms'"), "with/timeout_usec", "1000"},
        {"timeout, the most", WITH("'timeout':'30d'"), "with/timeout_usec", "2592000000000"},
        {"attempts", WITH("'attempts':1000000"), "with/attempts", "1000000"},
        {"pace, one of four", WITH("'pace':{'max':'2h'}"), "with/pace", "{'base_usec':1000000,'min_usec':1000000,'max_usec':7200000000,'target_usec':10000000}"},
        {"pace, all", WITH("'pace':{'base':'1ms','min':'10ms','max':'10ms','target':'365d'}"), "with/pace",
         "{'base_usec':1000,'min_usec':10000,'max_usec':10000,'target_usec':31536000000000}"},
        {"pace min of an older store", WITH("'pace':{'min_usec':1000}"), "with/pace", "{'base_usec':1000000,'min_usec':1000,'max_usec':3600000000,'target_usec':10000000}"},
        {"rest", WITH("'rest':{'elapsed':{'for':'1h'}}"), "with/rest", "{'elapsed':{'for_usec':3600000000}}"},
        {"may, in the order of the words", WITH("'may':['end','delegate']"), "with/may", "['delegate','end']"},
        {"may, all", WITH("'may':['end','sleep','mutate','delegate']"), "with/may", "['delegate','mutate','sleep','end']"},
        {"until a number", "{" DO ",'until':{'success':1000000000}}", "until", "{'success':1000000000}"},
        {"until never", "{" DO ",'until':'never'}", "until", "'never'"},
        {"until a slot", "{" DO ",'until':{'slot':'s','above':3}}", "until", "{'slot':'s','is':'set','above':3}"},
        {"until an object", "{" DO ",'until':{'object':'" OTHER "'}}", "until", "{'object':'" OTHER "','state':'terminated'}"},
        {"deadline, a time", CONSTRAINTS("{'deadline':7}"), "constraints", "[{'deadline':7}]"},
        {"deadline, a late time", CONSTRAINTS("{'deadline':'253402300799999999'}"), "constraints", "[{'deadline':'253402300799999999'}]"},
        {"deadline, a date", CONSTRAINTS("{'deadline':'1970-01-01T00:00:01Z'}"), "constraints", "[{'deadline':1000000}]"},
        {"deadline, a duration", CONSTRAINTS("{'deadline':'2h'}"), "constraints", "[{'deadline_usec':7200000000}]"},
        {"slots_write, sorted", CONSTRAINTS("{'slots_write':['b','a/x']}"), "constraints", "[{'slots_write':['a/x','b']}]"},
        {"slots_write, none", CONSTRAINTS("{'slots_write':[]}"), "constraints", "[{'slots_write':[]}]"},
        {"skills", CONSTRAINTS("{'skills':['b','a']}"), "constraints", "[{'skills':['a','b']}]"},
        {"note", CONSTRAINTS("{'note':'never on Fridays'},{'note':'never on Fridays'}"), "constraints", "[{'note':'never on Fridays'},{'note':'never on Fridays'}]"},
        {"constraints, sorted", CONSTRAINTS("{'skills':['a']},{'note':'y'},{'note':'x'},{'deadline':9}"), "constraints",
         "[{'deadline':9},{'note':'x'},{'note':'y'},{'skills':['a']}]"},
        {"wait", "{'do':{'wait':{'elapsed':{'for':'1s'}}}}", "do", "{'wait':{'elapsed':{'for_usec':1000000}}}"},
        {"steps", "{'do':{'steps':[{'skill':'a'},{'wait':{'elapsed':{'at':1}}}]}}", "do", "{'steps':[{'skill':'a','args':[]},{'wait':{'elapsed':{'at':1}}}]}"},
        {"gather, by default", "{'do':{'delegate':[" CHILD "]}}", "do/gather", "{'mode':'all'}"},
        {"gather within", "{'do':{'delegate':[" CHILD "],'gather':{'mode':'collect','within':'1d'}}}", "do/gather", "{'mode':'collect','within_usec':86400000000}"},
        {"gather any", "{'do':{'delegate':[" CHILD "],'gather':{'mode':'any'}}}", "do/gather", "{'mode':'any'}"},
        {"gather a quorum", "{'do':{'delegate':[" CHILD "," CHILD "],'gather':{'mode':'quorum','n':2}}}", "do/gather", "{'mode':'quorum','n':2}"},
        {"a child is complete, too", "{'do':{'delegate':[" CHILD "]}}", "do/delegate/0/with/attempts", "0"},
        {"1e3 is 1000", WITH("'attempts':1e3"), "with/attempts", "1000"},
};

/* The value at "a/0/b". */
static const json_t *at(const json_t *v, const char *place) {
        char name[64];

        while (v && *place) {
                size_t n = strcspn(place, "/");

                snprintf(name, sizeof(name), "%.*s", (int)n, place);
                v = json_is_array(v) ? json_array_get(v, strtoul(name, NULL, 10)) : json_object_get(v, name);
                place += n + (place[n] == '/');
        }
        return v;
}

Test(object_intent, members_and_defaults) {
        for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
                _cleanup_json_ json_t *in = quoted(members[i].intent), *want = NULL, *out = NULL, *again = NULL;
                char value[700];
                Diag d = {0};

                snprintf(value, sizeof(value), "[%s]", members[i].value);
                want = quoted(value);
                cr_assert_eq(intent_complete(in, SELF, &out, &d), 0, "%s: %s", members[i].what, d.text);
                cr_expect(json_equal(at(out, members[i].place), json_array_get(want, 0)), "%s: %s", members[i].what, printed(out));
                cr_assert_eq(intent_complete(out, SELF, &again, &d), 0, "%s: %s", members[i].what, d.text);
                cr_expect(json_equal(out, again), "%s: %s", members[i].what, printed(again));
        }
}

static const struct {
        const char *what, *intent, *where, *rule;
} bad[] = {
        {"null", "null", "intent", "must be an object"},
        {"a list", "[]", "intent", "must be an object"},
        {"nothing to do", "{}", "do", "required"},
        {"an unknown member", "{" DO ",'why':'because'}", "why", "not a member here; members are \"do\", \"with\""},
        {"do of text", "{'do':'a'}", "do", "must be an object"},
        {"do of nothing", "{'do':{}}", "do", "exactly one of \"skill\""},
        {"do of two", "{'do':{'skill':'a','wait':{'elapsed':{'at':1}}}}", "do.wait", "not a member here"},
        {"a skill without a name", "{'do':{'skill':7}}", "do.skill", "a skill's name"},
        {"a skill with a bad name", "{'do':{'skill':'../a'}}", "do.skill", "a skill's name"},
        {"a skill in a step", "{'do':{'steps':[{'skill':'a'},{'skill':'b'},{'skill':'C'}]}}", "do.steps[2].skill", "\"C\": a skill's name"},
        {"a skill in a child", "{'do':{'delegate':[" CHILD ",{'do':{'skill':'C'}}]}}", "do.delegate[1].do.skill", "a skill's name"},
        {"an entry without a name", "{'do':{'skill':'a','entry':''}}", "do.entry", "1 to 64"},
        {"args of text", "{'do':{'skill':'a','args':'x'}}", "do.args", "must be an array"},
        {"args of numbers", "{'do':{'skill':'a','args':['x',1]}}", "do.args[1]", "must be text"},
        {"args with a NUL", "{'do':{'skill':'a','args':['x\\u0000y']}}", "do.args[0]", "U+0000"},
        {"input of an object", "{'do':{'skill':'a','input':{}}}", "do.input", "must be text"},
        {"no steps", "{'do':{'steps':[]}}", "do.steps", "must have an element"},
        {"steps in a step", "{'do':{'steps':[{'steps':[{'skill':'a'}]}]}}", "do.steps[0].steps", "no steps inside"},
        {"a step that is none", "{'do':{'steps':[null]}}", "do.steps[0]", "must be an object"},
        {"no children", "{'do':{'delegate':[]}}", "do.delegate", "must have an element"},
        {"a child that is no intent", "{'do':{'delegate':['a']}}", "do.delegate[0]", "must be an object"},
        {"gather by force", "{'do':{'delegate':[" CHILD "],'gather':{'mode':'force'}}}", "do.gather.mode", "must be \"all\", \"any\", \"quorum\" or \"collect\""},
        {"a quorum of how many", "{'do':{'delegate':[" CHILD "],'gather':{'mode':'quorum'}}}", "do.gather.n", "required: an integer from 1 to 1"},
        {"a quorum of none", "{'do':{'delegate':[" CHILD "],'gather':{'mode':'quorum','n':0}}}", "do.gather.n", "from 1 to 1"},
        {"a quorum of more than all", "{'do':{'delegate':[" CHILD "],'gather':{'mode':'quorum','n':2}}}", "do.gather.n", "from 1 to 1"},
        {"a number without a quorum", "{'do':{'delegate':[" CHILD "],'gather':{'n':1}}}", "do.gather.n", "only the mode \"quorum\""},
        {"gather within nothing", "{'do':{'delegate':[" CHILD "],'gather':{'within':'0s'}}}", "do.gather.within", "must be from"},
        {"wait for nothing", "{'do':{'wait':{'any':[]}}}", "do.wait.any", "must have an element"},
        // O-31: an object that waits for itself, in each place of a condition
        {"wait for itself", "{'do':{'wait':{'prerequisite':{'object':'" SELF "'}}}}", "do.wait.prerequisite.object", "never ends"},
        {"rest until itself", WITH("'rest':{'prerequisite':{'object':'" SELF "'}}"), "with.rest.prerequisite.object", "never ends"},
        {"until itself", "{" DO ",'until':{'object':'" SELF "'}}", "until.object", "never ends"},
        {"a child waits for it", "{'do':{'delegate':[{'do':{'wait':{'prerequisite':{'object':'" SELF "'}}}}]}}", "do.delegate[0].do.wait.prerequisite.object",
         "never ends"},
        {"with of text", "{" DO ",'with':'care'}", "with", "must be an object"},
        {"with null", "{" DO ",'with':null}", "with", "must be an object"},
        {"with an unknown member", WITH("'priority':1"), "with.priority", "not a member here"},
        {"class empty", WITH("'class':''"), "with.class", "1 to 64"},
        {"class of a number", WITH("'class':1"), "with.class", "must be text"},
        {"timeout of a number", WITH("'timeout':30"), "with.timeout", "text of a number and us"},
        {"timeout without a unit", WITH("'timeout':'30'"), "with.timeout", "text of a number and us"},
        {"timeout too short", WITH("'timeout':'999us'"), "with.timeout", "must be from 1 ms"},
        {"timeout too long", WITH("'timeout':'31d'"), "with.timeout", "must be from 1 ms"},
        {"timeout twice", WITH("'timeout':'1s','timeout_usec':1000000"), "with.timeout_usec", "give one of both"},
        {"attempts below 0", WITH("'attempts':-1"), "with.attempts", "integer from 0 to 1000000"},
        {"attempts beyond", WITH("'attempts':1000001"), "with.attempts", "integer from 0 to 1000000"},
        {"attempts and a half", WITH("'attempts':1.5"), "with.attempts", "integer from 0"},
        {"attempts NaN", WITH("'attempts':'NaN'"), "with.attempts", "integer from 0"},
        {"attempts beyond 2^53", WITH("'attempts':9007199254740993"), "with.attempts", "beyond 2^53-1"},
        {"pace of text", WITH("'pace':'slow'"), "with.pace", "must be an object"},
        {"pace unknown", WITH("'pace':{'most':'1s'}"), "with.pace.most", "not a member here"},
        {"pace base 0", WITH("'pace':{'base':'0s'}"), "with.pace.base", "must be from 1 ms"},
        {"pace min 0", WITH("'pace':{'min_usec':0}"), "with.pace.min_usec", "integer from 1000"},
        {"pace min below the least", WITH("'pace':{'min':'9999us'}"), "with.pace.min", "must be from 10 ms"},
        {"pace min above max", WITH("'pace':{'min':'2s','max':'1s'}"), "with.pace.min", "more than \"max\", 1000000"},
        {"pace target 0", WITH("'pace':{'target':'0us'}"), "with.pace.target", "must be from 1 ms"},
        {"rest of text", WITH("'rest':'long'"), "with.rest", "must be an object"},
        {"rest at an unknown event", WITH("'rest':{'event':{'type':'object.woken'}}"), "with.rest.event.type", "wake no object"},
        {"may of text", WITH("'may':'end'"), "with.may", "must be an array"},
        {"may fly", WITH("'may':['end','fly']"), "with.may[1]", "must be \"delegate\""},
        {"may twice", WITH("'may':['end','end']"), "with.may[1]", "twice"},
        {"until soon", "{" DO ",'until':'soon'}", "until", "must be \"never\""},
        {"until a number", "{" DO ",'until':3}", "until", "must be \"never\""},
        {"until null", "{" DO ",'until':null}", "until", "must be \"never\""},
        {"until no success", "{" DO ",'until':{'success':0}}", "until.success", "integer from 1"},
        {"until success and more", "{" DO ",'until':{'success':1,'slot':'a'}}", "until.slot", "not a member here"},
        {"until nothing", "{" DO ",'until':{}}", "until", "exactly one of \"slot\" and \"object\""},
        {"constraints of an object", "{" DO ",'constraints':{}}", "constraints", "must be an array"},
        {"a constraint of nothing", CONSTRAINTS("{}"), "constraints[0]", "exactly one of \"deadline\""},
        {"a constraint of text", CONSTRAINTS("'be nice'"), "constraints[0]", "exactly one of \"deadline\""},
        {"a constraint of two", CONSTRAINTS("{'note':'x','skills':['a']}"), "constraints[0].note", "not a member here"},
        {"deadline beyond 9999", CONSTRAINTS("{'deadline':'253402300800000000'}"), "constraints[0].deadline", "year 9999"},
        {"deadline of a bare number in text", CONSTRAINTS("{'deadline':'30'}"), "constraints[0].deadline", "text of a number and us"},
        {"deadline and a half", CONSTRAINTS("{'deadline':1.5}"), "constraints[0].deadline", "must be a time"},
        {"deadline of no date", CONSTRAINTS("{'deadline':'2026-13-01'}"), "constraints[0].deadline", "must be a time"},
        {"deadline at once", CONSTRAINTS("{'deadline':'0s'}"), "constraints[0].deadline", "must be from"},
        {"slots_write of a bad name", CONSTRAINTS("{'slots_write':['a','*']}"), "constraints[0].slots_write[1]", "a slot's name"},
        {"slots_write twice", CONSTRAINTS("{'slots_write':['a','b','a']}"), "constraints[0].slots_write", "twice"},
        {"skills of none", CONSTRAINTS("{'skills':[]}"), "constraints[0].skills", "must have an element"},
        {"skills of a bad name", CONSTRAINTS("{'skills':['a',1]}"), "constraints[0].skills[1]", "a skill's name"},
        {"skills without its own", CONSTRAINTS("{'skills':['b']}"), "do.skill", "the constraint \"skills\" does not have this skill"},
        {"skills without that of a child", "{'do':{'delegate':[{'do':{'steps':[{'skill':'b'}]}}]},'constraints':[{'skills':['a']}]}",
         "do.delegate[0].do.steps[0].skill", "the constraint \"skills\""},
        {"note of nothing", CONSTRAINTS("{'note':''}"), "constraints[0].note", "1 to 1024"},
};

Test(object_intent, refused) {
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_json_ json_t *in = quoted(bad[i].intent), *out = NULL;
                Diag d = {0};

                expect_refused(bad[i].what, intent_complete(in, SELF, &out, &d), OBJECT_E_INTENT, bad[i].where, bad[i].rule, &d);
                cr_expect_null(out, "%s", bad[i].what);
        }
}

/* An intent of a size: n elements of a list, or n levels. */
static json_t *sized(const char *of, size_t n) {
        json_t *list = json_array(), *v;
        _cleanup_free_ char *text = calloc(1, n + 1);

        memset(text, 'x', n);
        if (strcmp(of, "levels") == 0) {
                json_decref(list);
                v = quoted(CHILD);
                for (size_t i = 0; i < n; i++)
                        v = json_pack("{s:{s:[o]}}", "do", "delegate", v);
                return v;
        }
        if (strcmp(of, "brackets") == 0) {
                for (size_t i = 0; i < n; i++)
                        list = json_pack("[o]", list);
                return json_pack("{s:{s:s}, s:o}", "do", "skill", "a", "constraints", list);
        }
        for (size_t i = 0; i < n; i++)
                if (strcmp(of, "steps") == 0)
                        json_array_append_new(list, json_pack("{s:s}", "skill", "a"));
                else if (strcmp(of, "children") == 0)
                        json_array_append_new(list, quoted("{'do':{'wait':{'elapsed':{'at':1}}}}"));
                else if (strcmp(of, "constraints") == 0)
                        json_array_append_new(list, json_pack("{s:s}", "note", "n"));
                else if (strcmp(of, "skills") == 0)
                        json_array_append_new(list, i == 0 ? json_string("a") : json_sprintf("s%zu", i));
                else
                        json_array_append_new(list, json_string(""));
        if (strcmp(of, "steps") == 0)
                return json_pack("{s:{s:o}}", "do", "steps", list);
        if (strcmp(of, "children") == 0)
                return json_pack("{s:{s:o}}", "do", "delegate", list);
        if (strcmp(of, "constraints") == 0)
                return json_pack("{s:{s:s}, s:o}", "do", "skill", "a", "constraints", list);
        if (strcmp(of, "skills") == 0)
                return json_pack("{s:{s:s}, s:[{s:o}]}", "do", "skill", "a", "constraints", "skills", list);
        if (strcmp(of, "args") == 0)
                return json_pack("{s:{s:s, s:o}}", "do", "skill", "a", "args", list);
        json_decref(list);
        if (strcmp(of, "arg") == 0)
                return json_pack("{s:{s:s, s:[s]}}", "do", "skill", "a", "args", text);
        if (strcmp(of, "note") == 0)
                return json_pack("{s:{s:s}, s:[{s:s}]}", "do", "skill", "a", "constraints", "note", text);
        return json_pack("{s:{s:s, s:s}}", "do", "skill", "a", of, text);
}

Test(object_intent, bounds) {
        static const struct {
                const char *of;
                size_t n;
                const char *rule; /* NULL: taken */
        } rows[] = {
                {"steps", INTENT_STEPS_MAX, NULL},
                {"steps", INTENT_STEPS_MAX + 1, "do.steps: 65 elements: at most 64"},
                {"children", 100, NULL},
                {"children", INTENT_CHILDREN_MAX + 1, "do.delegate: 1025 elements: at most 1024"},
                {"children", 1000, "with its defaults: at most 65536"},
                {"children", 2000, "intent: "},
                {"args", INTENT_ARGS_MAX, NULL},
                {"args", INTENT_ARGS_MAX + 1, "do.args: 257 elements: at most 256"},
                {"constraints", INTENT_CONSTRAINTS_MAX, NULL},
                {"constraints", INTENT_CONSTRAINTS_MAX + 1, "constraints: 65 elements: at most 64"},
                {"skills", INTENT_NAMES_MAX, NULL},
                {"skills", INTENT_NAMES_MAX + 1, "constraints[0].skills: 257 elements: at most 256"},
                {"arg", INTENT_TEXT_MAX, NULL},
                {"arg", INTENT_TEXT_MAX + 1, "do.args[0]: "},
                {"input", INTENT_INPUT_MAX, NULL},
                {"input", INTENT_INPUT_MAX + 1, "do.input: "},
                {"input", INTENT_BYTES_MAX, "bytes: at most 65536 are allowed"},
                {"note", 1024, NULL},
                {"note", 1025, "constraints[0].note: "},
                {"entry", 64, NULL},
                {"entry", 65, "do.entry: "},
                {"levels", INTENT_DEPTH_MOST, NULL},
                {"levels", INTENT_DEPTH_MOST + 1, "delegations nest at most 16 deep"},
                {"levels", 400, "nested deeper than 80 levels"},
                {"brackets", 1000, "nested deeper than 80 levels"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *in = sized(rows[i].of, rows[i].n), *out = NULL;
                Diag d = {0};
                int e = intent_complete(in, NULL, &out, &d);

                cr_expect_eq(e, rows[i].rule ? OBJECT_E_INTENT : 0, "%zu %s: %d %s", rows[i].n, rows[i].of, e, d.text);
                cr_expect(!rows[i].rule || strstr(d.text, rows[i].rule), "%zu %s: %s", rows[i].n, rows[i].of, d.text);
        }
}

/* A megabyte of brackets is no intent, and costs no stack. */
Test(object_intent, a_megabyte_of_nesting) {
        const size_t n = 1 << 20;
        _cleanup_free_ char *text = malloc(n);
        json_t *v = NULL;
        Diag d = {0};

        memset(text, '[', n / 2);
        memset(text + n / 2, ']', n / 2);
        cr_expect_eq(json_parse(text, n, n, INTENT_JSON_DEPTH, &v, &d), JSON_E_DEPTH, "%s", d.text);
        cr_expect_null(v);
}

static const struct {
        const char *what, *scope, *intent, *complete; /* scope NULL: the default */
} scopes[] = {
        // O-3
        {"the default", NULL, "{" DO "}", "{'skills':['a'],'reads':[],'writes':[],'depth':0,'fanout':64}"},
        {"the default of a tree", NULL, "{'do':{'steps':[{'skill':'z'},{'delegate':[{'do':{'delegate':[{'do':{'skill':'b'}},{'do':{'skill':'z'}}]}}]}]}}",
         "{'skills':['b','z'],'reads':[],'writes':[],'depth':2,'fanout':64}"},
        {"the default of one that may delegate", NULL, WITH("'may':['delegate']"), "{'skills':['a'],'reads':[],'writes':[],'depth':1,'fanout':64}"},
        {"the default of a wait", NULL, "{'do':{'wait':{'elapsed':{'at':1}}}}", "{'skills':[],'reads':[],'writes':[],'depth':0,'fanout':64}"},
        {"empty", "{}", "{" DO "}", "{'skills':['a'],'reads':[],'writes':[],'depth':0,'fanout':64}"},
        {"all", "{'skills':'*','reads':'*','writes':'*','depth':16,'fanout':1024}", "{" DO "}", "{'skills':'*','reads':'*','writes':'*','depth':16,'fanout':1024}"},
        {"none", "{'skills':[],'depth':0,'fanout':0}", "{" DO "}", "{'skills':[],'reads':[],'writes':[],'depth':0,'fanout':0}"},
        {"sorted", "{'skills':['b','a'],'writes':['z/y','m']}", "{" DO "}", "{'skills':['a','b'],'reads':[],'writes':['m','z/y'],'depth':0,'fanout':64}"},
};

static json_t *completed(const char *text) {
        _cleanup_json_ json_t *in = quoted(text);
        json_t *out = NULL;
        Diag d = {0};

        cr_assert_eq(intent_complete(in, NULL, &out, &d), 0, "%s: %s", text, d.text);
        return out;
}

Test(object_intent, scopes) {
        for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
                _cleanup_json_ json_t *intent = completed(scopes[i].intent), *in = scopes[i].scope ? quoted(scopes[i].scope) : NULL,
                                      *want = quoted(scopes[i].complete), *out = NULL, *again = NULL;
                Diag d = {0};

                cr_assert_eq(intent_scope_complete(in, intent, &out, &d), 0, "%s: %s", scopes[i].what, d.text);
                cr_expect(json_equal(out, want), "%s: %s", scopes[i].what, printed(out));
                cr_assert_eq(intent_scope_complete(out, intent, &again, &d), 0, "%s: %s", scopes[i].what, d.text);
                cr_expect(json_equal(out, again), "%s", scopes[i].what);
        }
}

Test(object_intent, bad_scopes) {
        static const struct {
                const char *what, *scope, *where, *rule;
        } rows[] = {
                {"text", "'*'", "scope", "must be an object"},
                {"null", "null", "scope", "must be an object"},
                {"unknown", "{'files':'*'}", "scope.files", "not a member here"},
                {"skills of a word", "{'skills':'all'}", "scope.skills", "a list of names, or \"*\""},
                {"skills with a star", "{'skills':['*']}", "scope.skills[0]", "a skill's name"},
                {"reads of a bad name", "{'reads':['A']}", "scope.reads[0]", "a slot's name"},
                {"writes twice", "{'writes':['a','a']}", "scope.writes", "twice"},
                {"depth 17", "{'depth':17}", "scope.depth", "from 0 to 16"},
                {"depth of text", "{'depth':'1'}", "scope.depth", "from 0 to 16"},
                {"fanout 1025", "{'fanout':1025}", "scope.fanout", "from 0 to 1024"},
                {"fanout -1", "{'fanout':-1}", "scope.fanout", "from 0 to 1024"},
        };
        _cleanup_json_ json_t *intent = completed("{" DO "}");

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *in = quoted(rows[i].scope), *out = NULL;
                Diag d = {0};

                expect_refused(rows[i].what, intent_scope_complete(in, intent, &out, &d), OBJECT_E_INTENT, rows[i].where, rows[i].rule, &d);
        }
}

#define SCOPE(skills, reads, writes, depth, fanout) \
        "{'skills':" skills ",'reads':" reads ",'writes':" writes ",'depth':" depth ",'fanout':" fanout "}"

// O-25
Test(object_intent, a_scope_within_another) {
        static const struct {
                const char *what, *scope, *where, *rule; /* where NULL: within */
        } rows[] = {
                {"the same", SCOPE("['a','b']", "['r']", "'*'", "2", "8"), NULL, NULL},
                {"less", SCOPE("[]", "[]", "['w']", "0", "0"), NULL, NULL},
                {"a further skill", SCOPE("['a','c']", "[]", "[]", "0", "0"), "scope.skills[1]", "does not have this name"},
                {"all skills", SCOPE("'*'", "[]", "[]", "0", "0"), "scope.skills", "the outer scope is a list"},
                {"a further read", SCOPE("[]", "['s']", "[]", "0", "0"), "scope.reads[0]", "does not have this name"},
                {"all reads", SCOPE("[]", "'*'", "[]", "0", "0"), "scope.reads", "the outer scope is a list"},
                {"deeper", SCOPE("[]", "[]", "[]", "3", "0"), "scope.depth", "allows 2"},
                {"wider", SCOPE("[]", "[]", "[]", "0", "9"), "scope.fanout", "allows 8"},
                {"no scope", "'*'", "scope.skills", "must be a list of names"},
                {"an empty one", "{}", "scope.skills", "must be a list of names"},
                {"without writes", "{'skills':[],'reads':[],'depth':0,'fanout':0}", "scope.writes", "must be a list of names"},
                {"a depth below 0", SCOPE("[]", "[]", "[]", "-1", "0"), "scope.depth", "allows 2"},
        };
        _cleanup_json_ json_t *outer = quoted(SCOPE("['a','b']", "['r']", "'*'", "2", "8"));

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *scope = quoted(rows[i].scope);
                Diag d = {0};
                int e = intent_scope_within(scope, outer, &d);

                if (rows[i].where)
                        expect_refused(rows[i].what, e, OBJECT_E_SCOPE, rows[i].where, rows[i].rule, &d);
                else
                        cr_expect_eq(e, 0, "%s: %s", rows[i].what, d.text);
        }
}

// O-25: a policy only narrows
Test(object_intent, a_scope_clipped_by_policy) {
        static const struct {
                const char *what, *policy;
                uint64_t depth, fanout;
        } rows[] = {
                {"less of both", "{'depth':1,'fanout':3}", 1, 3},
                {"none", "{'depth':0,'fanout':0}", 0, 0},
                {"more of both", "{'depth':16,'fanout':1024}", 2, 8},
                {"says nothing", "{}", 2, 8},
        };
        _cleanup_json_ json_t *scope = quoted(SCOPE("['a']", "['r']", "'*'", "2", "8"));

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *policy = quoted(rows[i].policy), *out = NULL;

                cr_assert_eq(intent_scope_clip(scope, policy, &out), 0, "%s", rows[i].what);
                cr_expect(json_number(out, "depth") == rows[i].depth && json_number(out, "fanout") == rows[i].fanout, "%s: %s", rows[i].what, printed(out));
                cr_expect_eq(intent_scope_within(out, scope, NULL), 0, "%s", rows[i].what);
        }
}

#define TWO_DEEP "{'do':{'delegate':[{'do':{'delegate':[" CHILD "]}}]}}"

// O-25
Test(object_intent, an_intent_within_its_scope) {
        static const struct {
                const char *what, *intent, *scope, *where, *rule;
        } rows[] = {
                {"its skill", "{" DO "}", SCOPE("['a']", "[]", "[]", "0", "0"), NULL, NULL},
                {"all skills", "{" DO "}", SCOPE("'*'", "[]", "[]", "0", "0"), NULL, NULL},
                {"another skill", "{'do':{'steps':[{'skill':'a'},{'skill':'b'}]}}", SCOPE("['a']", "[]", "[]", "0", "0"), "do.steps[1].skill",
                 "the trust scope does not have this skill"},
                {"a child's skill", "{'do':{'delegate':[{'do':{'skill':'b'}}]}}", SCOPE("['a']", "[]", "[]", "1", "1"), "do.delegate[0].do.skill",
                 "the trust scope does not have this skill"},
                {"deep enough", TWO_DEEP, SCOPE("['a']", "[]", "[]", "2", "1"), NULL, NULL},
                {"too deep", TWO_DEEP, SCOPE("['a']", "[]", "[]", "1", "1"), "do.delegate[0].do.delegate", "allows a depth of 1"},
                {"too wide", "{'do':{'delegate':[" CHILD "," CHILD "]}}", SCOPE("['a']", "[]", "[]", "1", "1"), "do.delegate", "allows a fanout of 1"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *intent = completed(rows[i].intent), *scope = quoted(rows[i].scope);
                Diag d = {0};
                int e = intent_within(intent, scope, &d);

                if (rows[i].where)
                        expect_refused(rows[i].what, e, OBJECT_E_SCOPE, rows[i].where, rows[i].rule, &d);
                else
                        cr_expect_eq(e, 0, "%s: %s", rows[i].what, d.text);
        }
}

// O-25: the scope of a child is within that of its parent, one level less deep, with the child's skills alone
Test(object_intent, the_scope_of_a_child) {
        static const struct {
                const char *what, *scope, *child, *want; /* want NULL: refused */
        } rows[] = {
                {"its skills alone", SCOPE("['a','b']", "['r']", "['w']", "2", "8"), "{" DO "}", SCOPE("['a']", "['r']", "['w']", "1", "8")},
                {"its skills alone, of all", SCOPE("'*'", "'*'", "'*'", "1", "8"), "{" DO "}", SCOPE("['a']", "'*'", "'*'", "0", "8")},
                {"the last level", SCOPE("['a']", "[]", "[]", "0", "8"), "{" DO "}", NULL},
                {"a foreign skill", SCOPE("['b']", "[]", "[]", "2", "8"), "{" DO "}", NULL},
                {"more levels than are left", SCOPE("['a']", "[]", "[]", "1", "8"), "{'do':{'delegate':[" CHILD "]}}", NULL},
                {"more children than allowed", SCOPE("['a']", "[]", "[]", "2", "0"), "{'do':{'delegate':[" CHILD "]}}", NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *scope = quoted(rows[i].scope), *child = completed(rows[i].child), *out = NULL,
                                      *want = rows[i].want ? quoted(rows[i].want) : NULL;

                cr_expect_eq(intent_scope_of_child(scope, child, &out), want ? 0 : OBJECT_E_SCOPE, "%s", rows[i].what);
                cr_expect(!want ? !out : json_equal(out, want), "%s", rows[i].what);
                if (out)
                        cr_expect_eq(intent_scope_within(out, scope, NULL), 0, "%s", rows[i].what);
        }
}

/* The examples of schema/object.md are good, and its list of types is the list of the source. */
Test(object_intent, the_examples_of_the_documentation) {
        _cleanup_json_ json_t *intent = completed("{" DO "}");
        _cleanup_free_ char *text = NULL;
        char path[4096];
        size_t n, seen = 0;

        snprintf(path, sizeof(path), "%s/object.md", getenv("LETHE_SCHEMA_DIR"));
        cr_assert_eq(io_read_file(AT_FDCWD, path, 1 << 20, &text, &n), 0, "%s", path);
        for (char *p = text, *end; (p = strstr(p, "\n```json\n")); p = end) {
                _cleanup_json_ json_t *v = NULL, *out = NULL;
                Diag d = {0};
                int e;

                p += strlen("\n```json\n");
                end = strstr(p, "\n```");
                cr_assert(end, "%s", p);
                cr_assert_eq(json_parse(p, (size_t)(end - p), 1 << 20, 64, &v, &d), 0, "%.*s: %s", (int)(end - p), p, d.text);
                if (json_object_get(v, "version")) /* an entry, not written by people */
                        continue;
                seen++;
                e = json_object_get(v, "do")       ? intent_complete(v, NULL, &out, &d)
                    : json_object_get(v, "fanout") ? intent_scope_complete(v, intent, &out, &d)
                                                   : trigger_complete(v, NULL, &out, &d);
                cr_expect_eq(e, 0, "%.*s: %s", (int)(end - p), p, d.text);
        }
        cr_expect_geq(seen, 5);
#define EVENT_TYPE(type, detail)                                                                                           \
        cr_expect(strncmp(type, "object.", 7) == 0 ? !strstr(text, "`" type "`") : strstr(text, "`" type "`") != NULL, "%s", type);
#include "record/event-types.def"
#undef EVENT_TYPE
}
