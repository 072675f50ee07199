/* Runs: tests. Wake triggers: the grammar with each bound and error, what holds and what is unmet, and the laws of any, all,
 * time and needs over random triggers (O-30, O-31, O-32, O-33, O-34). */
#include "record/wake.h"
#include "tests/state/object/intent-fixture.h"

#define AT9999 "'253402300799999999'"

static const struct {
        const char *what, *written, *complete;
} good[] = {
        // O-31
        {"elapsed for", "{'elapsed':{'for':'90s'}}", "{'elapsed':{'for_usec':90000000}}"},
        {"elapsed for, days", "{'elapsed':{'for':'7d'}}", "{'elapsed':{'for_usec':604800000000}}"},
        {"elapsed for, half an hour", "{'elapsed':{'for':'0.5h'}}", "{'elapsed':{'for_usec':1800000000}}"},
        {"elapsed for, the least", "{'elapsed':{'for':'1us'}}", "{'elapsed':{'for_usec':1}}"},
        {"elapsed for, the most", "{'elapsed':{'for':'36500d'}}", "{'elapsed':{'for_usec':3153600000000000}}"},
        {"elapsed at", "{'elapsed':{'at':5}}", "{'elapsed':{'at':5}}"},
        {"elapsed at, 5.0 is 5", "{'elapsed':{'at':5.0}}", "{'elapsed':{'at':5}}"},
        {"elapsed at a date", "{'elapsed':{'at':'1970-01-02'}}", "{'elapsed':{'at':86400000000}}"},
        {"elapsed at the end of 9999", "{'elapsed':{'at':" AT9999 "}}", "{'elapsed':{'at':" AT9999 "}}"},
        {"outcomes", "{'outcomes':{'kind':'failure','n':3,'within':'1h'}}", "{'outcomes':{'kind':'failure','n':3,'within_usec':3600000000}}"},
        {"outcomes, the most", "{'outcomes':{'kind':'input','n':64}}", "{'outcomes':{'kind':'input','n':64}}"},
        {"outcomes of a child", "{'outcomes':{'kind':'child','n':1}}", "{'outcomes':{'kind':'child','n':1}}"},
        {"a closed aggregate", "{'outcomes':{'kind':'closed','n':1}}", "{'outcomes':{'kind':'closed','n':1}}"},
        {"slot", "{'prerequisite':{'slot':'a/b'}}", "{'prerequisite':{'slot':'a/b','is':'set'}}"},
        {"slot unset", "{'prerequisite':{'slot':'a','is':'unset'}}", "{'prerequisite':{'slot':'a','is':'unset'}}"},
        {"slot equals", "{'prerequisite':{'slot':'a','equals':{'b':[1.0,null]}}}", "{'prerequisite':{'slot':'a','is':'set','equals':{'b':[1,null]}}}"},
        {"slot between", "{'prerequisite':{'slot':'a','above':-1.5,'below':2}}", "{'prerequisite':{'slot':'a','is':'set','above':-1.5,'below':2}}"},
        {"slot version", "{'prerequisite':{'slot':'a','version':9}}", "{'prerequisite':{'slot':'a','is':'set','version':9}}"},
        {"object", "{'prerequisite':{'object':'" OTHER "'}}", "{'prerequisite':{'object':'" OTHER "','state':'terminated'}}"},
        {"object with a status", "{'prerequisite':{'object':'" OTHER "','status':'success'}}",
         "{'prerequisite':{'object':'" OTHER "','state':'terminated','status':'success'}}"},
        {"event", "{'event':{'type':'slot.written'}}", "{'event':{'type':'slot.written'}}"},
        {"event, an empty match is none", "{'event':{'type':'slot.written','match':{}}}", "{'event':{'type':'slot.written'}}"},
        {"event with a match", "{'event':{'type':'invocation.ended','match':{'outcome':'ok','code':0,'x':null,'y':true}}}",
         "{'event':{'type':'invocation.ended','match':{'outcome':'ok','code':0,'x':null,'y':true}}}"},
        {"policy allows", "{'policy':{'allows':'execution'}}", "{'policy':{'allows':'execution'}}"},
        {"policy not", "{'policy':{'not':'sha256:00'}}", "{'policy':{'not':'sha256:00'}}"},
        {"any and all", "{'any':[{'all':[{'elapsed':{'for':'1s'}}]},{'policy':{'allows':'reentry'}}]}",
         "{'any':[{'all':[{'elapsed':{'for_usec':1000000}}]},{'policy':{'allows':'reentry'}}]}"},
};

Test(object_trigger, the_complete_form) {
        for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
                _cleanup_json_ json_t *in = quoted(good[i].written), *want = quoted(good[i].complete), *out = NULL, *again = NULL;
                Diag d = {0};

                cr_assert_eq(trigger_complete(in, SELF, &out, &d), 0, "%s: %s", good[i].what, d.text);
                cr_expect(json_equal(out, want), "%s: %s", good[i].what, printed(out));
                cr_assert_eq(trigger_complete(out, SELF, &again, &d), 0, "%s: %s", good[i].what, d.text);
                cr_expect(json_equal(out, again), "%s: %s", good[i].what, printed(again));
        }
}

#define LONG128 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
        const char *what, *written, *where, *rule;
} bad[] = {
        {"text", "'soon'", "trigger", "must be an object"},
        {"null", "null", "trigger", "must be an object"},
        {"empty", "{}", "trigger", "exactly one member"},
        {"two", "{'elapsed':{'at':1},'policy':{'allows':'mutation'}}", "trigger", "exactly one member"},
        {"an unknown word", "{'later':{}}", "later", "not a member here"},
        {"empty any", "{'any':[]}", "any", "must have an element"},
        {"empty all", "{'all':[]}", "all", "must have an element"},
        {"any of no array", "{'any':{'elapsed':{'at':1}}}", "any", "must be an array"},
        {"all of no trigger", "{'all':[{'elapsed':{'at':1}},7]}", "all[1]", "must be an object"},
        {"empty any inside", "{'all':[{'any':[]}]}", "all[0].any", "must have an element"},
        {"elapsed empty", "{'elapsed':{}}", "elapsed", "exactly one of"},
        {"elapsed twice", "{'elapsed':{'for':'1s','at':1}}", "elapsed", "exactly one of"},
        {"elapsed for a number", "{'elapsed':{'for':30}}", "elapsed.for", "text of a number and us, ms, s, m, h or d"},
        {"elapsed without a unit", "{'elapsed':{'for':'30'}}", "elapsed.for", "text of a number and us"},
        {"elapsed with a dot and no unit", "{'elapsed':{'for':'30.'}}", "elapsed.for", "text of a number and us"},
        {"elapsed of parsecs", "{'elapsed':{'for':'5 parsecs'}}", "elapsed.for", "text of a number and us"},
        {"elapsed negative", "{'elapsed':{'for':'-1s'}}", "elapsed.for", "text of a number and us"},
        {"elapsed NaN", "{'elapsed':{'for':'NaNs'}}", "elapsed.for", "text of a number and us"},
        {"elapsed for 0", "{'elapsed':{'for':'0s'}}", "elapsed.for", "must be from"},
        {"elapsed beyond a hundred years", "{'elapsed':{'for':'36501d'}}", "elapsed.for", "must be from"},
        {"elapsed overflows in hours", "{'elapsed':{'for':'9999999999999999h'}}", "elapsed.for", "must be from"},
        {"elapsed overflows in days", "{'elapsed':{'for':'2501999792d'}}", "elapsed.for", "must be from"},
        {"elapsed of digits without end", "{'elapsed':{'for':'99999999999999999999999999999999999s'}}", "elapsed.for", "must be from"},
        {"elapsed for beside for_usec", "{'elapsed':{'for':'1s','for_usec':1}}", "elapsed.for_usec", "give one of both"},
        {"elapsed for_usec 0", "{'elapsed':{'for_usec':0}}", "elapsed.for_usec", "integer from 1"},
        {"elapsed for_usec of text", "{'elapsed':{'for_usec':'1'}}", "elapsed.for_usec", "integer from 1"},
        {"elapsed at a word", "{'elapsed':{'at':'tomorrow'}}", "elapsed.at", "must be a time"},
        {"elapsed at an age", "{'elapsed':{'at':'5m'}}", "elapsed.at", "must be a time"},
        {"elapsed at -1", "{'elapsed':{'at':-1}}", "elapsed.at", "must be a time"},
        {"elapsed at 1.5", "{'elapsed':{'at':1.5}}", "elapsed.at", "must be a time"},
        {"elapsed at beyond 9999", "{'elapsed':{'at':'253402300800000000'}}", "elapsed.at", "year 9999"},
        {"elapsed at beyond 2^53", "{'elapsed':{'at':9007199254740993}}", "elapsed.at", "beyond 2^53-1"},
        {"elapsed at beyond 2^53, as a fraction", "{'elapsed':{'at':1e18}}", "elapsed.at", "beyond 2^53-1"},
        {"elapsed unknown", "{'elapsed':{'in':'1s'}}", "elapsed.in", "not a member here"},
        {"outcomes without a kind", "{'outcomes':{'n':1}}", "outcomes.kind", "must be one of success"},
        {"outcomes of a kind that is none", "{'outcomes':{'kind':'good','n':1}}", "outcomes.kind", "must be one of success"},
        {"outcomes without n", "{'outcomes':{'kind':'failure'}}", "outcomes.n", "required: an integer from 1 to 64"},
        {"outcomes n 0", "{'outcomes':{'kind':'failure','n':0}}", "outcomes.n", "integer from 1 to 64"},
        {"outcomes n 65", "{'outcomes':{'kind':'failure','n':65}}", "outcomes.n", "integer from 1 to 64"},
        {"outcomes n 1.5", "{'outcomes':{'kind':'failure','n':1.5}}", "outcomes.n", "integer from 1 to 64"},
        {"outcomes n of text", "{'outcomes':{'kind':'failure','n':'1'}}", "outcomes.n", "integer from 1 to 64"},
        {"outcomes within 0", "{'outcomes':{'kind':'failure','n':1,'within':'0s'}}", "outcomes.within", "must be from"},
        {"prerequisite of nothing", "{'prerequisite':{}}", "prerequisite", "exactly one of \"slot\" and \"object\""},
        {"prerequisite of both", "{'prerequisite':{'slot':'a','object':'" OTHER "'}}", "prerequisite", "exactly one of"},
        {"prerequisite of text", "{'prerequisite':'a'}", "prerequisite", "must be an object"},
        {"slot with a bad name", "{'prerequisite':{'slot':'A'}}", "prerequisite.slot", "a slot's name"},
        {"slot with a long name", "{'prerequisite':{'slot':'a" LONG128 "'}}", "prerequisite.slot", "a slot's name"},
        {"slot is lost", "{'prerequisite':{'slot':'a','is':'lost'}}", "prerequisite.is", "must be \"set\" or \"unset\""},
        {"slot unset with a value", "{'prerequisite':{'slot':'a','is':'unset','equals':1}}", "prerequisite.is", "unset has no value"},
        {"slot unset with a version", "{'prerequisite':{'slot':'a','is':'unset','version':1}}", "prerequisite.is", "unset has no value"},
        {"slot equals and above", "{'prerequisite':{'slot':'a','equals':1,'above':0}}", "prerequisite.equals", "give either"},
        {"slot above text", "{'prerequisite':{'slot':'a','above':'NaN'}}", "prerequisite.above", "must be a number"},
        {"slot below true", "{'prerequisite':{'slot':'a','below':true}}", "prerequisite.below", "must be a number"},
        {"slot between nothing", "{'prerequisite':{'slot':'a','above':2,'below':2}}", "prerequisite", "can never hold"},
        {"slot version 0", "{'prerequisite':{'slot':'a','version':0}}", "prerequisite.version", "integer from 1"},
        {"slot equals beyond 2^53", "{'prerequisite':{'slot':'a','equals':[9007199254740992]}}", "prerequisite.equals[0]", "beyond 2^53-1"},
        {"slot and a stranger", "{'prerequisite':{'slot':'a','status':'success'}}", "prerequisite.status", "not a member here"},
        {"object of no id", "{'prerequisite':{'object':'me'}}", "prerequisite.object", "the id of an object"},
        // O-31: an object that waits for itself
        {"object itself", "{'prerequisite':{'object':'" SELF "'}}", "prerequisite.object", "its own end"},
        {"object itself, inside", "{'any':[{'elapsed':{'at':1}},{'all':[{'prerequisite':{'object':'" SELF "'}}]}]}",
         "any[1].all[0].prerequisite.object", "its own end"},
        {"object that is dormant", "{'prerequisite':{'object':'" OTHER "','state':'dormant'}}", "prerequisite.state", "\"terminated\""},
        {"object with no such status", "{'prerequisite':{'object':'" OTHER "','status':'closed'}}", "prerequisite.status", "must be one of success"},
        {"event without a type", "{'event':{}}", "event.type", "no event of this type"},
        {"event of no such type", "{'event':{'type':'moon.rises'}}", "event.type", "no event of this type"},
        {"event of an object", "{'event':{'type':'object.entry'}}", "event.type", "wake no object"},
        {"event of objects to come", "{'event':{'type':'object.anything'}}", "event.type", "wake no object"},
        {"event of a prefix", "{'event':{'type':'slot.'}}", "event.type", "no event of this type"},
        {"event with a deep match", "{'event':{'type':'slot.read','match':{'a':[1]}}}", "event.match.a", "must be text"},
        {"event with a fraction", "{'event':{'type':'slot.read','match':{'a':1.5}}}", "event.match.a", "must be text"},
        {"event with nine members", "{'event':{'type':'slot.read','match':{'a':1,'b':1,'c':1,'d':1,'e':1,'f':1,'g':1,'h':1,'i':1}}}", "event.match",
         "at most 8"},
        {"event with a large match", "{'event':{'type':'slot.read','match':{'a':'" LONG128 "','b':'" LONG128 "','c':'" LONG128 "','d':'" LONG128 "'}}}", "event.match",
         "at most 512"},
        {"event with a nameless member", "{'event':{'type':'slot.read','match':{'':1}}}", "event.match.", "1 to 64 bytes"},
        {"event with a long name", "{'event':{'type':'slot.read','match':{'" LONG128 "':1}}}", "event.match." , "1 to 64 bytes"},
        {"policy of nothing", "{'policy':{}}", "policy", "exactly one member"},
        {"policy allows flying", "{'policy':{'allows':'flying'}}", "policy.allows", "must be \"execution\""},
        {"policy allows none", "{'policy':{'allows':'none'}}", "policy.allows", "must be \"execution\""},
        {"policy not a digest", "{'policy':{'not':'a b'}}", "policy.not", "a policy's digest"},
        {"policy not empty", "{'policy':{'not':''}}", "policy.not", "1 to 128"},
        {"a NUL", "{'policy':{'not':'a\\u0000'}}", "policy.not", "U+0000"},
};

Test(object_trigger, refused) {
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_json_ json_t *in = quoted(bad[i].written), *out = NULL;
                Diag d = {0};
                int e = trigger_complete(in, SELF, &out, &d);

                if (strcmp(bad[i].where + strlen(bad[i].where) - 1, ".") == 0) { /* the name that follows is refused itself */
                        cr_expect(e == OBJECT_E_INTENT && strncmp(d.text, bad[i].where, strlen(bad[i].where)) == 0 && strstr(d.text, bad[i].rule),
                                  "%s: %s", bad[i].what, d.text);
                        continue;
                }
                expect_refused(bad[i].what, e, OBJECT_E_INTENT, bad[i].where, bad[i].rule, &d);
                cr_expect_null(out, "%s", bad[i].what);
        }
}

/* `n` triggers side by side, or inside each other. */
static json_t *crowd(size_t n, bool deep) {
        json_t *v = json_pack("{s:{s:i}}", "elapsed", "at", 1), *list = json_array();

        for (size_t i = 0; !deep && i < n; i++)
                json_array_append(list, v);
        for (size_t i = 1; deep && i < n; i++)
                v = json_pack("{s:[o]}", "any", v);
        if (deep) {
                json_decref(list);
                return v;
        }
        json_decref(v);
        return json_pack("{s:o}", "all", list);
}

Test(object_trigger, bounds_of_nodes_and_depth) {
        static const struct {
                const char *what;
                size_t n;
                bool deep;
                const char *rule; /* NULL: taken */
        } rows[] = {
                {"64 parts with the all", TRIGGER_NODES_MAX - 1, false, NULL},
                {"65 parts", TRIGGER_NODES_MAX, false, "at most 64 parts"},
                {"100000 parts", 100000, false, "at most"},
                {"8 deep", TRIGGER_DEPTH_MAX, true, NULL},
                {"9 deep", TRIGGER_DEPTH_MAX + 1, true, "at most 8 deep"},
                {"700 deep", 700, true, "nested deeper than 80 levels"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *in = crowd(rows[i].n, rows[i].deep), *out = NULL;
                Diag d = {0};
                int e = trigger_complete(in, NULL, &out, &d);

                cr_expect_eq(e, rows[i].rule ? OBJECT_E_INTENT : 0, "%s: %d %s", rows[i].what, e, d.text);
                cr_expect(!rows[i].rule || strstr(d.text, rows[i].rule), "%s: %s", rows[i].what, d.text);
        }
}

// O-31: a match is a row of a table, and has the bound of the row
Test(object_trigger, bounds_of_a_match) {
        static const struct {
                const char *what;
                size_t n;
                const char *rule; /* NULL: taken */
        } rows[] = {
                {"512 bytes in all", WAKE_MATCH_MAX - strlen("{\"m\":\"\"}"), NULL},
                {"513 bytes in all", WAKE_MATCH_MAX - strlen("{\"m\":\"\"}") + 1, "event.match: 513 bytes: at most 512 are allowed"},
                {"a text of 513 bytes", WAKE_MATCH_MAX + 1, "event.match.m: "},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *text = calloc(1, rows[i].n + 1);
                _cleanup_json_ json_t *in = NULL, *out = NULL;
                Diag d = {0};
                int e;

                memset(text, 'x', rows[i].n);
                in = json_pack("{s:{s:s, s:{s:s}}}", "event", "type", "slot.written", "match", "m", text);
                e = trigger_complete(in, NULL, &out, &d);
                cr_expect_eq(e, rows[i].rule ? OBJECT_E_INTENT : 0, "%s: %d %s", rows[i].what, e, d.text);
                cr_expect(!rows[i].rule || strncmp(d.text, rows[i].rule, strlen(rows[i].rule)) == 0, "%s: %s", rows[i].what, d.text);
        }
}

#define FACTS                                                                                                              \
        "{'slots':{'n':{'version':3,'value':5},'t':{'version':1,'value':'x'},'empty':{'version':0},'none':null},"          \
        "'objects':{'" OTHER "':{'state':'terminated','status':'success'},'" THIRD "':{'state':'dormant'}},"               \
        "'events':[{'type':'slot.written','seq':41},{'type':'invocation.ended','seq':42,'match':{'outcome':'ok'}}]}"
#define COUNTS "{'failure':[100,200,900],'success':[500],'timeout':[900,100]}"
#define POLICY "{'ref':'sha256:aa','verdict':'allowed','allows':{'execution':true,'mutation':false}}"

/* since 1000, now 5000 */
static const struct {
        const char *what, *trigger;
        bool holds;
        const char *answer;
} sights[] = {
        // O-32, O-34
        {"elapsed", "{'elapsed':{'for_usec':4000}}", true, "{'trigger':{'elapsed':{'for_usec':4000}},'evidence':{'at':5000,'now':5000}}"},
        {"elapsed, one short", "{'elapsed':{'for_usec':4001}}", false, "{'unmet':[{'elapsed':{'for_usec':4001},'until':5001}]}"},
        {"elapsed at", "{'elapsed':{'at':5000}}", true, "{'trigger':{'elapsed':{'at':5000}},'evidence':{'at':5000,'now':5000}}"},
        {"elapsed at later", "{'elapsed':{'at':5001}}", false, "{'unmet':[{'elapsed':{'at':5001},'until':5001}]}"},
        {"outcomes", "{'outcomes':{'kind':'failure','n':3}}", true,
         "{'trigger':{'outcomes':{'kind':'failure','n':3}},'evidence':{'kind':'failure','n':3,'first':100,'last':900}}"},
        {"outcomes, too few", "{'outcomes':{'kind':'failure','n':4}}", false, "{'unmet':[{'outcomes':{'kind':'failure','n':4}}]}"},
        {"outcomes of another kind", "{'outcomes':{'kind':'input','n':1}}", false, "{'unmet':[{'outcomes':{'kind':'input','n':1}}]}"},
        {"outcomes within", "{'outcomes':{'kind':'failure','n':2,'within_usec':100}}", true,
         "{'trigger':{'outcomes':{'kind':'failure','n':2,'within_usec':100}},'evidence':{'kind':'failure','n':2,'first':100,'last':200}}"},
        {"outcomes not within", "{'outcomes':{'kind':'failure','n':2,'within_usec':99}}", false, "{'unmet':[{'outcomes':{'kind':'failure','n':2,'within_usec':99}}]}"},
        {"outcomes within, the clock was set back", "{'outcomes':{'kind':'timeout','n':2,'within_usec':1}}", true,
         "{'trigger':{'outcomes':{'kind':'timeout','n':2,'within_usec':1}},'evidence':{'kind':'timeout','n':2,'first':900,'last':100}}"},
        {"slot set", "{'prerequisite':{'slot':'n','is':'set'}}", true, "{'trigger':{'prerequisite':{'slot':'n','is':'set'}},'evidence':{'slot':'n','version':3}}"},
        {"slot never written", "{'prerequisite':{'slot':'empty','is':'set'}}", false, "{'unmet':[{'prerequisite':{'slot':'empty','is':'set'}}]}"},
        {"slot that is not there", "{'prerequisite':{'slot':'none','is':'set'}}", false, "{'unmet':[{'prerequisite':{'slot':'none','is':'set'}}]}"},
        {"slot unset", "{'prerequisite':{'slot':'none','is':'unset'}}", true,
         "{'trigger':{'prerequisite':{'slot':'none','is':'unset'}},'evidence':{'slot':'none','version':0}}"},
        {"slot unset, but set", "{'prerequisite':{'slot':'n','is':'unset'}}", false, "{'unmet':[{'prerequisite':{'slot':'n','is':'unset'}}]}"},
        {"slot equals", "{'prerequisite':{'slot':'t','is':'set','equals':'x'}}", true,
         "{'trigger':{'prerequisite':{'slot':'t','is':'set','equals':'x'}},'evidence':{'slot':'t','version':1}}"},
        {"slot equals another", "{'prerequisite':{'slot':'t','is':'set','equals':'y'}}", false, "{'unmet':[{'prerequisite':{'slot':'t','is':'set','equals':'y'}}]}"},
        {"slot above", "{'prerequisite':{'slot':'n','is':'set','above':4.5}}", true,
         "{'trigger':{'prerequisite':{'slot':'n','is':'set','above':4.5}},'evidence':{'slot':'n','version':3}}"},
        {"slot not above itself", "{'prerequisite':{'slot':'n','is':'set','above':5}}", false, "{'unmet':[{'prerequisite':{'slot':'n','is':'set','above':5}}]}"},
        {"slot below", "{'prerequisite':{'slot':'n','is':'set','below':6}}", true,
         "{'trigger':{'prerequisite':{'slot':'n','is':'set','below':6}},'evidence':{'slot':'n','version':3}}"},
        {"slot not below itself", "{'prerequisite':{'slot':'n','is':'set','below':5}}", false, "{'unmet':[{'prerequisite':{'slot':'n','is':'set','below':5}}]}"},
        {"text is above nothing", "{'prerequisite':{'slot':'t','is':'set','above':-9}}", false, "{'unmet':[{'prerequisite':{'slot':'t','is':'set','above':-9}}]}"},
        {"slot of a version", "{'prerequisite':{'slot':'n','is':'set','version':3}}", true,
         "{'trigger':{'prerequisite':{'slot':'n','is':'set','version':3}},'evidence':{'slot':'n','version':3}}"},
        {"slot of an older version", "{'prerequisite':{'slot':'n','is':'set','version':4}}", false, "{'unmet':[{'prerequisite':{'slot':'n','is':'set','version':4}}]}"},
        {"object", "{'prerequisite':{'object':'" OTHER "','state':'terminated'}}", true,
         "{'trigger':{'prerequisite':{'object':'" OTHER "','state':'terminated'}},'evidence':{'object':'" OTHER "','state':'terminated','status':'success'}}"},
        {"object with its status", "{'prerequisite':{'object':'" OTHER "','state':'terminated','status':'failure'}}", false,
         "{'unmet':[{'prerequisite':{'object':'" OTHER "','state':'terminated','status':'failure'}}]}"},
        {"object that sleeps", "{'prerequisite':{'object':'" THIRD "','state':'terminated'}}", false,
         "{'unmet':[{'prerequisite':{'object':'" THIRD "','state':'terminated'}}]}"},
        {"event", "{'event':{'type':'slot.written'}}", true, "{'trigger':{'event':{'type':'slot.written'}},'evidence':{'type':'slot.written','seq':41}}"},
        {"event with its match", "{'event':{'type':'invocation.ended','match':{'outcome':'ok'}}}", true,
         "{'trigger':{'event':{'type':'invocation.ended','match':{'outcome':'ok'}}},'evidence':{'type':'invocation.ended','seq':42}}"},
        {"event with another match", "{'event':{'type':'invocation.ended','match':{'outcome':'no'}}}", false,
         "{'unmet':[{'event':{'type':'invocation.ended','match':{'outcome':'no'}}}]}"},
        {"event seen with a match alone", "{'event':{'type':'invocation.ended'}}", false, "{'unmet':[{'event':{'type':'invocation.ended'}}]}"},
        {"policy allows", "{'policy':{'allows':'execution'}}", true,
         "{'trigger':{'policy':{'allows':'execution'}},'evidence':{'ref':'sha256:aa','allows':'execution'}}"},
        {"policy does not allow", "{'policy':{'allows':'mutation'}}", false, "{'unmet':[{'policy':{'allows':'mutation'}}]}"},
        {"policy says nothing", "{'policy':{'allows':'reentry'}}", false, "{'unmet':[{'policy':{'allows':'reentry'}}]}"},
        {"another policy", "{'policy':{'not':'sha256:bb'}}", true, "{'trigger':{'policy':{'not':'sha256:bb'}},'evidence':{'ref':'sha256:aa'}}"},
        {"the same policy", "{'policy':{'not':'sha256:aa'}}", false, "{'unmet':[{'policy':{'not':'sha256:aa'}}]}"},
        {"any: the first that holds, alone", "{'any':[{'elapsed':{'at':9000}},{'policy':{'not':'sha256:bb'}},{'event':{'type':'slot.written'}}]}", true,
         "{'trigger':{'policy':{'not':'sha256:bb'}},'evidence':{'ref':'sha256:aa'}}"},
        {"any: all are unmet", "{'any':[{'elapsed':{'at':9000}},{'policy':{'not':'sha256:aa'}}]}", false,
         "{'unmet':[{'elapsed':{'at':9000},'until':9000},{'policy':{'not':'sha256:aa'}}]}"},
        {"all", "{'all':[{'policy':{'not':'sha256:bb'}},{'any':[{'elapsed':{'at':9000}},{'event':{'type':'slot.written'}}]}]}", true,
         "{'trigger':{'all':[{'policy':{'not':'sha256:bb'}},{'event':{'type':'slot.written'}}]},"
         "'evidence':{'all':[{'ref':'sha256:aa'},{'type':'slot.written','seq':41}]}}"},
        {"all: what is missing, alone", "{'all':[{'policy':{'not':'sha256:bb'}},{'elapsed':{'for_usec':9000}}]}", false,
         "{'unmet':[{'elapsed':{'for_usec':9000},'until':10000}]}"},
};

Test(object_trigger, what_holds_and_what_is_unmet) {
        _cleanup_json_ json_t *facts = quoted(FACTS), *counts = quoted(COUNTS), *policy = quoted(POLICY);
        const TriggerView view = {.now_usec = 5000, .since_usec = 1000, .counts = counts, .facts = facts, .policy = policy};

        for (size_t i = 0; i < ARRAY_SIZE(sights); i++) {
                _cleanup_json_ json_t *trigger = quoted(sights[i].trigger), *want = quoted(sights[i].answer), *complete = NULL, *ret = NULL;
                Diag d = {0};

                cr_assert_eq(trigger_complete(trigger, SELF, &complete, &d), 0, "%s: %s", sights[i].what, d.text);
                cr_assert(json_equal(trigger, complete), "%s: not complete", sights[i].what);
                cr_assert_eq(trigger_holds(trigger, &view, &ret), sights[i].holds, "%s", sights[i].what);
                cr_expect(json_equal(ret, want), "%s: %s", sights[i].what, printed(ret));
        }
}

Test(object_trigger, a_denied_policy_allows_nothing) {
        _cleanup_json_ json_t *trigger = quoted("{'policy':{'allows':'execution'}}"), *ret = NULL,
                              *policy = quoted("{'ref':'a','verdict':'denied','allows':{'execution':true}}");

        cr_expect_eq(trigger_holds(trigger, &(TriggerView){.policy = policy}, &ret), 0);
}

/* Entries of other nodes may hold anything. */
Test(object_trigger, a_malformed_trigger_never_holds) {
        static const char *const rows[] = {
                "null", "[]", "'x'", "{}", "{'any':[]}", "{'all':[]}", "{'all':{}}", "{'any':[7]}", "{'soon':{}}", "{'prerequisite':{}}", "{'outcomes':{}}",
                "{'outcomes':{'kind':'failure','n':0}}", "{'elapsed':{'at':1},'event':{'type':'slot.written'}}",
                "{'any':[{'any':[{'any':[{'any':[{'any':[{'any':[{'any':[{'any':[{'elapsed':{'at':1}}]}]}]}]}]}]}]}]}",
        };
        _cleanup_json_ json_t *counts = quoted(COUNTS);

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *trigger = quoted(rows[i]), *ret = NULL;

                cr_expect_eq(trigger_holds(trigger, &(TriggerView){.now_usec = 5, .counts = counts}, &ret), -EUCLEAN, "%s", rows[i]);
                cr_expect_null(ret, "%s", rows[i]);
        }
}

static const struct {
        const char *what, *trigger, *needs;
        uint64_t due;
} wants[] = {
        // O-30: the earliest time of the clock; UINT64_MAX: the clock alone never wakes it
        {"elapsed", "{'elapsed':{'for_usec':7}}", "{'slots':[],'objects':[],'events':[],'policy':false}", 1007},
        {"elapsed at", "{'elapsed':{'at':3}}", "{'slots':[],'objects':[],'events':[],'policy':false}", 3},
        {"outcomes", "{'outcomes':{'kind':'child','n':1}}", "{'slots':[],'objects':[],'events':[],'policy':false}", UINT64_MAX},
        {"slot", "{'prerequisite':{'slot':'a','is':'set'}}", "{'slots':['a'],'objects':[],'events':[],'policy':false}", UINT64_MAX},
        {"object", "{'prerequisite':{'object':'" OTHER "','state':'terminated'}}", "{'slots':[],'objects':['" OTHER "'],'events':[],'policy':false}",
         UINT64_MAX},
        {"policy", "{'policy':{'allows':'reentry'}}", "{'slots':[],'objects':[],'events':[],'policy':true}", UINT64_MAX},
        {"each name once", "{'any':[{'event':{'type':'slot.read'}},{'event':{'type':'slot.read'}},{'prerequisite':{'slot':'a','is':'set'}},{'prerequisite':{'slot':'a','is':'unset'}}]}",
         "{'slots':['a'],'objects':[],'events':[{'type':'slot.read'}],'policy':false}", UINT64_MAX},
        {"any: the first time", "{'any':[{'elapsed':{'at':9}},{'elapsed':{'at':4}},{'policy':{'not':'a'}}]}", "{'slots':[],'objects':[],'events':[],'policy':true}", 4},
        {"all: the last time", "{'all':[{'elapsed':{'at':9}},{'elapsed':{'at':4}}]}", "{'slots':[],'objects':[],'events':[],'policy':false}", 9},
        {"all with a slot: its time", "{'all':[{'elapsed':{'at':9}},{'prerequisite':{'slot':'a','is':'set'}}]}", "{'slots':['a'],'objects':[],'events':[],'policy':false}", 9},
        {"all with a slot or a later time", "{'all':[{'any':[{'prerequisite':{'slot':'a','is':'set'}},{'elapsed':{'at':20}}]},{'elapsed':{'at':9}}]}",
         "{'slots':['a'],'objects':[],'events':[],'policy':false}", 9},
};

Test(object_trigger, needs_and_the_time_of_the_first_look) {
        for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
                _cleanup_json_ json_t *trigger = quoted(wants[i].trigger), *want = quoted(wants[i].needs), *needs = NULL;
                uint64_t due = 0;

                cr_assert_eq(trigger_needs(trigger, 1000, &needs, &due), 0, "%s", wants[i].what);
                cr_expect(json_equal(needs, want), "%s: %s", wants[i].what, printed(needs));
                cr_expect_eq(due, wants[i].due, "%s: %" PRIu64, wants[i].what, due);
        }
}

/* The clock of the entry is any number: no sum wraps around. */
Test(object_trigger, times_do_not_wrap) {
        _cleanup_json_ json_t *trigger = quoted("{'elapsed':{'for_usec':3153600000000000}}"), *needs = NULL, *ret = NULL;
        uint64_t due = 0;

        cr_assert_eq(trigger_needs(trigger, UINT64_MAX - 5, &needs, &due), 0);
        cr_expect_eq(due, UINT64_MAX);
        cr_expect_eq(trigger_holds(trigger, &(TriggerView){.now_usec = UINT64_MAX - 1, .since_usec = UINT64_MAX - 5}, &ret), 0);
}

// O-11, O-31: a clock that was set back ends each wait of a length, and no wait for a time.
Test(object_trigger, a_clock_that_was_set_back) {
        static const struct {
                const char *what, *trigger;
                uint64_t now;
                bool backoff, holds;
        } rows[] = {
                {"a length, at its beginning", "{'elapsed':{'for_usec':10}}", 5000, false, false},
                {"a length, before its beginning", "{'elapsed':{'for_usec':10}}", 4999, false, true},
                {"a length, a year before", "{'elapsed':{'for_usec':10}}", 1, false, true},
                {"all: a length, and a time", "{'all':[{'elapsed':{'for_usec':10}},{'elapsed':{'at':5010}}]}", 1, false, false},
                {"a time, before the beginning", "{'elapsed':{'at':5010}}", 4999, false, false},
                {"a backoff, at its beginning", "{'elapsed':{'at':5010}}", 5000, true, false},
                {"a backoff, before its beginning", "{'elapsed':{'at':5010}}", 4999, true, true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *trigger = quoted(rows[i].trigger), *ret = NULL;
                TriggerView view = {.now_usec = rows[i].now, .since_usec = 5000, .backoff = rows[i].backoff};

                cr_expect_eq(trigger_holds(trigger, &view, &ret), rows[i].holds, "%s: %s", rows[i].what, printed(ret));
        }
}
