#include "tests/state/object/history.h"

#include "object/trigger.h"

static void select_start(History *h) {
        if (h->m.state != OBJECT_EVALUATION)
                history_add(h, ENTRY_EVALUATION, NULL, NULL);
        history_add(h, ENTRY_STARTED, NULL,
                    history_json("{\"skill\":\"convert\",\"args\":[],\"deadline_usec\":1,\"step\":0,\"attempt\":1}"));
}

/* A story: words, each a thing that happens.
 *   start         an execution begins          KIND          it begins and ends so, with the row's outcome and next
 *   cycle         selection, and its entries   child:N:KIND  child N (of 1000) ends
 *   +N            N seconds go by              input         somebody says something
 *   node:a|b      the object is there from now end           on request */
static void select_tell(History *h, const char *story, const char *outcome, const char *next) {
        _cleanup_free_ char *copy = strdup(story);
        char *save = NULL;

        for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
                _cleanup_json_ json_t *local = history_local(h, "allowed", NULL);
                _cleanup_(selected_deinit) Selected s = {0};
                char id[REGION_ID_MAX], kind[32];
                unsigned n;

                if (strcmp(word, "start") == 0)
                        select_start(h);
                else if (strcmp(word, "cycle") == 0) {
                        history_select(h, local, &s);
                        history_perform(h, &s);
                } else if (sscanf(word, "child:%u:%31s", &n, kind) == 2) {
                        _cleanup_json_ json_t *o = history_json("{\"kind\":\"%s\"}", kind);
                        json_t *note;

                        cr_assert_eq(memory_child_note(&h->m, history_id(n, id), o, &note, &h->d), 0, "%s", h->d.text);
                        history_add(h, ENTRY_CHILD, NULL, note);
                } else if (*word == '+')
                        h->now += HISTORY_SEC * strtoull(word + 1, NULL, 10);
                else if (strcmp(word, "input") == 0)
                        history_add(h, ENTRY_INPUT, NULL, history_json("{\"from\":\"model\",\"input\":{\"end\":\"now\"}}"));
                else if (strncmp(word, "node:", 5) == 0)
                        h->node = word[5] == 'b' ? "node-b" : "node-a";
                else if (strcmp(word, "end") == 0)
                        history_add(h, ENTRY_TERMINATED, NULL, history_json("{\"reason\":\"requested\"}"));
                else {
                        json_t *o = history_json("%s", outcome ?: "{\"latency_usec\":0}");

                        cr_assert_neq(outcome_kind_of(word), OUTCOME_KIND_COUNT_, "%s", word);
                        json_object_set_new(o, "kind", json_string(word));
                        select_start(h);
                        history_add(h, ENTRY_OUTCOME, o, next ? history_json("{\"next\":%s}", next) : NULL);
                }
        }
}

#define DO(more) "{\"do\":{\"skill\":\"convert\",\"args\":[\"a\",\"b\",\"c\"]}" more "}"
#define WITH(with) DO(",\"until\":\"never\",\"with\":" with)
#define MAY(what) WITH("{\"may\":[\"" what "\"]}")
#define CHILD "{\"do\":{\"skill\":\"convert\"}}"
#define DELEGATES(gather) "{\"do\":{\"delegate\":[" CHILD "," CHILD "," CHILD "],\"gather\":" gather "}}"
#define CONVERT "{\"skills\":[\"convert\"],\"reads\":[\"go\"],\"writes\":[],\"depth\":1,\"fanout\":3}"

static const struct {
        const char *name, *intent, *scope, *story;
        const char *outcome, *next;  /* of executions in the story; NULL: none */
        const char *verdict, *policy; /* NULL: allowed; policy: members over those of history_local() */
        const char *facts;
        ObjectAction action;
        const char *reason, *data; /* data: a part of its canonical text */
} select_rows[] = {
        /* rules 1 to 3 */
        {"the first step", DO(""), NULL, "", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"args\":[\"a\",\"b\",\"c\"],\"attempt\":1"},
        {"an execution runs", DO(""), NULL, "start", NULL, NULL, NULL, NULL, NULL, ACTION_NONE, "running", NULL},
        {"asleep", WITH("{}"), NULL, "failure cycle", NULL, NULL, NULL, NULL, NULL, ACTION_NONE, "asleep", NULL},
        {"awake", WITH("{}"), NULL, "failure cycle +2", NULL, NULL, NULL, NULL, NULL, ACTION_REENTRY, "trigger", "\"elapsed\""},
        {"awake, denied", WITH("{}"), NULL, "failure cycle +2", NULL, NULL, "denied", NULL, NULL, ACTION_REENTRY, "trigger", "\"elapsed\""},
        /* rule 4, O-15 */
        {"denied", DO(""), NULL, "", NULL, NULL, "denied", NULL, NULL, ACTION_DORMANCY, "denied", "{\"policy\":{\"not\":\"sha256:policy\"}}"},
        {"denied for ever", DO(""), NULL, "", NULL, NULL, "denied", "{\"on_denied\":\"terminate\"}", NULL, ACTION_TERMINATION, "policy", "\"reason\":\"policy\""},
        {"no verdict", DO(""), NULL, "", NULL, NULL, "maybe", NULL, NULL, ACTION_DORMANCY, "denied", NULL},
        {"denied and satisfied", DO(""), NULL, "success", NULL, NULL, "denied", NULL, NULL, ACTION_DORMANCY, "denied", NULL},
        {"no executions", DO(""), NULL, "", NULL, NULL, NULL, "{\"allows\":{\"execution\":false}}", NULL, ACTION_DORMANCY, "denied", "{\"policy\":{\"allows\":\"execution\"}}"},
        {"no delegations", DELEGATES("{}"), NULL, "", NULL, NULL, NULL, "{\"allows\":{\"delegation\":false}}", NULL, ACTION_DORMANCY, "denied", "{\"policy\":{\"allows\":\"delegation\"}}"},
        {"no executions, for ever", DO(""), NULL, "", NULL, NULL, NULL, "{\"allows\":{\"execution\":false},\"on_denied\":\"terminate\"}", NULL, ACTION_TERMINATION, "policy", NULL},
        {"no terminations", DO(""), NULL, "success", NULL, NULL, NULL, "{\"allows\":{\"termination\":false}}", NULL, ACTION_DORMANCY, "denied", "{\"policy\":{\"allows\":\"termination\"}}"},
        {"no dormancy", WITH("{}"), NULL, "failure", NULL, NULL, NULL, "{\"allows\":{\"dormancy\":false}}", NULL, ACTION_DORMANCY, "backoff", NULL},
        {"no dormancy, for ever", WITH("{}"), NULL, "failure", NULL, NULL, NULL, "{\"allows\":{\"dormancy\":false},\"on_denied\":\"terminate\"}", NULL, ACTION_TERMINATION, "policy", NULL},
        {"no reentry", WITH("{}"), NULL, "failure cycle +2", NULL, NULL, NULL, "{\"allows\":{\"reentry\":false}}", NULL, ACTION_NONE, "denied", NULL},
        {"no end of a sleeper", DO(",\"until\":\"never\",\"constraints\":[{\"deadline\":\"1m\"}]"), NULL, "failure cycle +60", NULL, NULL, NULL, "{\"allows\":{\"termination\":false}}", NULL, ACTION_NONE, "denied", NULL},
        {"few children", DELEGATES("{}"), NULL, "", NULL, NULL, NULL, "{\"fanout\":2}", NULL, ACTION_DORMANCY, "denied", "\"not\""},
        {"not so deep", "{\"do\":{\"delegate\":[{\"do\":{\"delegate\":[" CHILD "]}}]}}", NULL, "", NULL, NULL, NULL, "{\"depth\":1}", NULL, ACTION_DORMANCY, "denied", "\"not\""},
        {"so deep", "{\"do\":{\"delegate\":[{\"do\":{\"delegate\":[" CHILD "]}}]}}", NULL, "", NULL, NULL, NULL, "{\"depth\":2}", NULL, ACTION_DELEGATION, "step", NULL},
        {"no depth", DELEGATES("{}"), NULL, "", NULL, NULL, NULL, "{\"depth\":0}", NULL, ACTION_DORMANCY, "denied", "\"not\""},
        /* rule 5, O-35 */
        {"satisfied", DO(""), NULL, "success", NULL, NULL, NULL, NULL, NULL, ACTION_TERMINATION, "satisfied", NULL},
        {"one of two rounds", DO(",\"until\":{\"success\":2}"), NULL, "success", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "rest", "\"for_usec\":60000000"},
        {"two rounds", DO(",\"until\":{\"success\":2}"), NULL, "success success", NULL, NULL, NULL, NULL, NULL, ACTION_TERMINATION, "satisfied", NULL},
        {"a condition holds", DO(",\"until\":{\"slot\":\"go\"}"), CONVERT, "", NULL, NULL, NULL, NULL, "{\"slots\":{\"go\":{\"version\":3,\"value\":1}}}", ACTION_TERMINATION, "satisfied", "\"evidence\""},
        {"no condition holds", DO(",\"until\":{\"slot\":\"go\"}"), CONVERT, "", NULL, NULL, NULL, NULL, "{\"slots\":{\"go\":null}}", ACTION_EXECUTION, "step", NULL},
        /* rule 6 */
        {"before the deadline", DO(",\"constraints\":[{\"deadline\":\"1m\"}]"), NULL, "+59", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"timeout_usec\":1000000"},
        {"the deadline", DO(",\"constraints\":[{\"deadline\":\"1m\"}]"), NULL, "+60", NULL, NULL, NULL, NULL, NULL, ACTION_TERMINATION, "deadline", NULL},
        {"a deadline at a time", DO(",\"constraints\":[{\"note\":\"x\"},{\"deadline\":1700000001000000}]"), NULL, "+1", NULL, NULL, NULL, NULL, NULL, ACTION_TERMINATION, "deadline", NULL},
        {"the deadline wakes", DO(",\"until\":\"never\",\"constraints\":[{\"deadline\":\"1m\"}]"), NULL, "success", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "rest", "\"trigger\":{\"any\":[{\"elapsed\":{\"for_usec\":60000000}},{\"elapsed\":{\"at\":1700000060000000}}]}"},
        {"the deadline of a sleeper", "{\"do\":{\"wait\":{\"any\":[{\"outcomes\":{\"kind\":\"input\",\"n\":1}}]}},\"constraints\":[{\"deadline\":\"1m\"}]}", NULL, "cycle +60", NULL, NULL, NULL, NULL, NULL, ACTION_TERMINATION, "deadline", NULL},
        {"a sleeper before the deadline", "{\"do\":{\"wait\":{\"any\":[{\"outcomes\":{\"kind\":\"input\",\"n\":1}}]}},\"constraints\":[{\"deadline\":\"1m\"}]}", NULL, "cycle +59", NULL, NULL, NULL, NULL, NULL, ACTION_NONE, "asleep", NULL},
        {"attempts", WITH("{\"attempts\":2}"), NULL, "failure +9 timeout", NULL, NULL, NULL, NULL, NULL, ACTION_TERMINATION, "attempts", NULL},
        {"a success between", WITH("{\"attempts\":2}"), NULL, "failure success failure", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "rest", NULL},
        /* rule 7, O-22..O-25, O-45 */
        {"may end", MAY("end"), NULL, "success", NULL, "{\"end\":\"all is done\"}", NULL, NULL, NULL, ACTION_TERMINATION, "ended", "\"why\":\"all is done\""},
        {"may not end", MAY("sleep"), NULL, "success", NULL, "{\"end\":\"all is done\"}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "\"refused_next\":\"the intent's with.may does not name it\""},
        {"a decided proposal", MAY("sleep"), NULL, "success cycle +60 cycle", NULL, "{\"end\":\"x\"}", NULL, NULL, NULL, ACTION_EXECUTION, "step", NULL},
        {"may sleep", MAY("sleep"), NULL, "success", NULL, "{\"sleep\":{\"elapsed\":{\"for\":\"9s\"}}}", NULL, NULL, NULL, ACTION_DORMANCY, "sleep", "\"for_usec\":9000000"},
        {"sleeps badly", MAY("sleep"), NULL, "success", NULL, "{\"sleep\":{\"elapsed\":{}}}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "\"refused_next\""},
        {"sleeps on a slot", MAY("sleep"), CONVERT, "success", NULL, "{\"sleep\":{\"prerequisite\":{\"slot\":\"go\"}}}", NULL, NULL, NULL, ACTION_DORMANCY, "sleep", NULL},
        {"sleeps on events of a slot", MAY("sleep"), CONVERT, "success", NULL, "{\"sleep\":{\"event\":{\"type\":\"slot.written\",\"match\":{\"slot\":\"go\"}}}}", NULL, NULL, NULL, ACTION_DORMANCY, "sleep", NULL},
        {"sleeps on events of others", MAY("sleep"), CONVERT, "success", NULL, "{\"sleep\":{\"event\":{\"type\":\"slot.written\",\"match\":{\"slot\":\"secret\"}}}}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "among the reads"},
        {"sleeps on events of any slot", MAY("sleep"), CONVERT, "success", NULL, "{\"sleep\":{\"any\":[{\"elapsed\":{\"for\":\"1h\"}},{\"event\":{\"type\":\"slot.written\",\"match\":{\"version\":7}}}]}}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "where reads is a list"},
        {"sleeps on events of all", MAY("sleep"), CONVERT, "success", NULL, "{\"sleep\":{\"event\":{\"type\":\"session.opened\",\"match\":{\"slot\":\"go\"}}}}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "where reads is a list"},
        {"sleeps on events, and may read all", MAY("sleep"), NULL, "success", NULL, "{\"sleep\":{\"event\":{\"type\":\"session.opened\"}}}", NULL, NULL, NULL, ACTION_DORMANCY, "sleep", NULL},
        {"sleeps on a slot of others", MAY("sleep"), CONVERT, "success", NULL, "{\"sleep\":{\"prerequisite\":{\"slot\":\"secret\",\"equals\":1}}}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "among the reads"},
        {"may delegate", MAY("delegate"), NULL, "success", NULL, "{\"delegate\":[" CHILD "],\"gather\":{\"mode\":\"any\"}}", NULL, NULL, NULL, ACTION_DELEGATION, "proposed", "\"proposed\":true,\"serial\":1"},
        {"delegates with the last success", DO(",\"until\":{\"success\":1},\"with\":{\"may\":[\"delegate\"]}"), NULL, "success", NULL, "{\"delegate\":[" CHILD "]}", NULL, NULL, NULL, ACTION_DELEGATION, "proposed", NULL},
        {"is satisfied, and may not delegate", DO(",\"until\":{\"success\":1}"), NULL, "success", NULL, "{\"delegate\":[" CHILD "]}", NULL, NULL, NULL, ACTION_TERMINATION, "satisfied", NULL},
        {"may not delegate", MAY("mutate"), NULL, "success", NULL, "{\"delegate\":[" CHILD "]}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "refused_next"},
        {"delegates a skill beyond", MAY("delegate"), CONVERT, "success", NULL, "{\"delegate\":[{\"do\":{\"skill\":\"shell\"}}]}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "refused_next"},
        {"delegates a skill beyond a constraint", DO(",\"until\":\"never\",\"with\":{\"may\":[\"delegate\"]},\"constraints\":[{\"skills\":[\"convert\",\"fetch\"]}]"), NULL, "success", NULL, "{\"delegate\":[{\"do\":{\"skill\":\"shell\"}}]}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "refused_next"},
        {"delegates a skill of a constraint", DO(",\"until\":\"never\",\"with\":{\"may\":[\"delegate\"]},\"constraints\":[{\"skills\":[\"convert\",\"fetch\"]}]"), NULL, "success", NULL, "{\"delegate\":[{\"do\":{\"skill\":\"fetch\"}}]}", NULL, NULL, NULL, ACTION_DELEGATION, "proposed", NULL},
        {"delegates deeper", MAY("delegate"), CONVERT, "success", NULL, "{\"delegate\":[{\"do\":{\"delegate\":[" CHILD "]}}]}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "refused_next"},
        {"delegates to more", MAY("delegate"), CONVERT, "success", NULL, "{\"delegate\":[" CHILD "," CHILD "," CHILD "," CHILD "]}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "4 children, but scope and policy allow 3"},
        {"a child that looks at slots", MAY("delegate"), CONVERT, "success", NULL, "{\"delegate\":[{\"do\":{\"skill\":\"convert\"},\"until\":{\"slot\":\"secret\"}}]}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "among the reads"},
        {"the policy allows no delegation", MAY("delegate"), NULL, "success", NULL, "{\"delegate\":[" CHILD "]}", NULL, "{\"allows\":{\"delegation\":false}}", NULL, ACTION_DORMANCY, "rest", "\"refused_next\":\"the policy does not allow it\""},
        {"may mutate", MAY("mutate"), NULL, "success", NULL, "{\"mutate\":{\"how\":\"narrow\",\"intent\":{\"do\":{\"skill\":\"convert\",\"args\":[\"b\",\"c\"]},\"until\":\"never\",\"with\":{\"may\":[\"mutate\"]}},\"why\":\"a is done\"}}", NULL, NULL, NULL, ACTION_MUTATION, "proposed", "\"why\":\"a is done\""},
        {"widens", MAY("mutate"), NULL, "success", NULL, "{\"mutate\":{\"how\":\"narrow\",\"intent\":{\"do\":{\"skill\":\"convert\",\"args\":[\"a\",\"b\",\"c\",\"d\"]},\"until\":\"never\",\"with\":{\"may\":[\"mutate\"]}}}}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "refused_next"},
        {"allows itself more", MAY("mutate"), NULL, "success", NULL, "{\"mutate\":{\"how\":\"narrow\",\"intent\":{\"do\":{\"skill\":\"convert\",\"args\":[\"a\"]},\"until\":\"never\",\"with\":{\"may\":[\"mutate\",\"end\"]}}}}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "refused_next"},
        {"two proposals", MAY("end"), NULL, "success", NULL, "{\"end\":\"x\",\"sleep\":{\"elapsed\":{\"for\":\"9s\"}}}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "refused_next"},
        {"no proposal at all", MAY("end"), NULL, "success", NULL, "[\"end\"]", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "refused_next"},
        {"an end without reason", MAY("end"), NULL, "success", NULL, "{\"end\":\"\"}", NULL, NULL, NULL, ACTION_DORMANCY, "rest", "refused_next"},
        {"an input is no proposal", MAY("end"), NULL, "input", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", NULL},
        /* rule 8 and step delegate, O-24..O-28 */
        {"delegates", DELEGATES("{\"mode\":\"quorum\",\"n\":2}"), NULL, "", NULL, NULL, NULL, NULL, NULL, ACTION_DELEGATION, "step", "\"gather\":{\"mode\":\"quorum\",\"n\":2},\"serial\":1"},
        {"waits for children", DELEGATES("{}"), NULL, "cycle", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "children", "\"trigger\":{\"outcomes\":{\"kind\":\"closed\",\"n\":1}}"},
        {"waits for a time", DELEGATES("{\"within\":\"9s\"}"), NULL, "cycle", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "children", "{\"elapsed\":{\"at\":1700000009000000}}"},
        {"one child ended", DELEGATES("{}"), NULL, "cycle cycle child:1000:success", NULL, NULL, NULL, NULL, NULL, ACTION_NONE, "asleep", NULL},
        {"all children ended", DELEGATES("{}"), NULL, "cycle cycle child:1000:success child:1001:success child:1002:success", NULL, NULL, NULL, NULL, NULL, ACTION_REENTRY, "trigger", "\"closed\""},
        {"gathered", DELEGATES("{}"), NULL, "cycle child:1000:success child:1001:success child:1002:success", NULL, NULL, NULL, NULL, NULL, ACTION_TERMINATION, "satisfied", NULL},
        {"a child failed", DELEGATES("{}"), NULL, "cycle child:1000:success child:1001:failure child:1002:success", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "backoff", "\"w\":3"},
        {"the rest again", DELEGATES("{}"), NULL, "cycle child:1000:success child:1001:failure child:1002:success +9", NULL, NULL, NULL, NULL, NULL, ACTION_DELEGATION, "again", "\"gather\":{\"mode\":\"all\"},\"serial\":2"},
        {"the rest succeeds", DELEGATES("{}"), NULL, "cycle child:1000:success child:1001:failure child:1002:success +9 cycle child:1003:success", NULL, NULL, NULL, NULL, NULL, ACTION_TERMINATION, "satisfied", NULL},
        {"a proposed one beside the steps", MAY("delegate"), NULL, "partial cycle child:1000:success", NULL, "{\"delegate\":[" CHILD "]}", NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"attempt\":1"},
        /* rule 9, O-49..O-52 */
        {"backs off", WITH("{}"), NULL, "failure", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "backoff", "\"backoff\":{\"delay_usec\":1624504,\"w\":7},\"not_before\":0,\"reason\":\"backoff\",\"trigger\":{\"elapsed\":{\"at\":1700000001624504}}"},
        {"backs off by a pace of an older store", WITH("{\"pace\":{\"base_usec\":1000,\"min_usec\":1000,\"max_usec\":1000}}"), NULL, "failure", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "backoff", "\"delay_usec\":10000"},
        {"backs off longer", WITH("{}"), NULL, "failure +9 timeout", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "backoff", "\"w\":17"},
        {"a slow one", WITH("{}"), NULL, "failure", "{\"latency_usec\":10000000}", NULL, NULL, NULL, NULL, ACTION_DORMANCY, "backoff", "\"delay_usec\":3249008"},
        {"backed off", WITH("{}"), NULL, "failure +2", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"attempt\":2"},
        {"backed off on another node", WITH("{}"), NULL, "failure cycle node:b +2 cycle", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"attempt\":2"},
        {"a success resets", WITH("{}"), NULL, "failure timeout success cycle +60 cycle failure", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "backoff", "\"w\":7"},
        {"this node cannot", WITH("{}"), NULL, "negative", "{\"capability\":\"gpu\"}", NULL, NULL, NULL, NULL, ACTION_DORMANCY, "negative", "{\"any\":[{\"policy\":{\"not\":\"sha256:policy\"}},{\"outcomes\":{\"kind\":\"input\",\"n\":1}},{\"event\":{\"type\":\"skill.registered\"}}]}"},
        {"this node cannot for long", WITH("{}"), NULL, "negative +999999", "{\"capability\":\"gpu\"}", NULL, NULL, NULL, NULL, ACTION_DORMANCY, "negative", NULL},
        {"another node can", WITH("{}"), NULL, "negative node:b", "{\"capability\":\"gpu\"}", NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", NULL},
        {"another node failed", WITH("{}"), NULL, "negative node:b failure node:a +9", "{\"capability\":\"gpu\"}", NULL, NULL, NULL, NULL, ACTION_DORMANCY, "negative", NULL},
        {"something was said", WITH("{}"), NULL, "negative cycle input cycle", "{\"capability\":\"gpu\"}", NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", NULL},
        {"a timeout raises", WITH("{\"timeout\":\"10s\"}"), NULL, "timeout +9", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"timeout_usec\":20000000"},
        {"raised once", DO(",\"until\":\"never\",\"with\":{\"timeout\":\"10s\"},\"constraints\":[{\"note\":\"x\"}]"), NULL, "timeout failure +99", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"timeout_usec\":20000000"},
        {"two timeouts split", WITH("{}"), NULL, "timeout timeout", NULL, NULL, NULL, NULL, NULL, ACTION_MUTATION, "timeout", "{\"steps\":[{\"args\":[\"a\"],\"skill\":\"convert\"},{\"args\":[\"b\",\"c\"],\"skill\":\"convert\"}]}"},
        {"the first half", WITH("{\"timeout\":\"10s\"}"), NULL, "timeout timeout cycle +99", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"args\":[\"a\"],\"attempt\":3,\"deadline_usec\":1700000109000000"},
        {"nothing to split", "{\"do\":{\"skill\":\"convert\",\"args\":[\"a\"]}}", NULL, "timeout timeout", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "backoff", "\"w\":20"},
        {"options stay together", "{\"do\":{\"skill\":\"convert\",\"args\":[\"--to\",\"a\"]}}", NULL, "timeout timeout", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "backoff", NULL},
        {"no mutation is allowed", WITH("{}"), NULL, "timeout timeout", NULL, NULL, NULL, "{\"allows\":{\"mutation\":false}}", NULL, ACTION_DORMANCY, "backoff", NULL},
        {"the remainder", WITH("{}"), NULL, "partial +9", "{\"remainder\":[\"c\"]}", NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"args\":[\"c\"]"},
        {"a remainder as input", WITH("{}"), NULL, "partial +9", "{\"remainder\":\"from 7\"}", NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"input\":\"from 7\""},
        {"a remainder of no form", WITH("{}"), NULL, "partial +9", "{\"remainder\":[1]}", NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"args\":[\"a\",\"b\",\"c\"]"},
        {"a remainder is kept", WITH("{}"), NULL, "partial failure +99", "{\"remainder\":[\"c\"]}", NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"args\":[\"c\"]"},
        /* rule 10 */
        {"waits", "{\"do\":{\"steps\":[{\"wait\":{\"elapsed\":{\"for\":\"9s\"}}},{\"skill\":\"convert\"}]}}", NULL, "", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "wait", "\"for_usec\":9000000"},
        {"waited once", "{\"do\":{\"steps\":[{\"wait\":{\"elapsed\":{\"for\":\"9s\"}}},{\"skill\":\"convert\"}]}}", NULL, "cycle +9 cycle", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", "\"step\":1"},
        {"a wait alone", "{\"do\":{\"wait\":{\"elapsed\":{\"for\":\"9s\"}}}}", NULL, "cycle +9 cycle", NULL, NULL, NULL, NULL, NULL, ACTION_TERMINATION, "satisfied", NULL},
        {"rested", WITH("{\"rest\":{\"elapsed\":{\"for\":\"3s\"}}}"), NULL, "success cycle +3 cycle", NULL, NULL, NULL, NULL, NULL, ACTION_EXECUTION, "step", NULL},
        {"a true trigger waits, too", "{\"do\":{\"wait\":{\"elapsed\":{\"at\":1}}}}", NULL, "", NULL, NULL, NULL, NULL, NULL, ACTION_DORMANCY, "wait", "\"not_before\":1700000001000000"},
        {"a true trigger does not spin", "{\"do\":{\"wait\":{\"elapsed\":{\"at\":1}}}}", NULL, "cycle", NULL, NULL, NULL, NULL, NULL, ACTION_NONE, "asleep", NULL},
        {"a true trigger wakes", "{\"do\":{\"wait\":{\"elapsed\":{\"at\":1}}}}", NULL, "cycle +1", NULL, NULL, NULL, NULL, NULL, ACTION_REENTRY, "trigger", NULL},
};

// O-10..O-12, O-15, O-22..O-29, O-33, O-35, O-44, O-45, O-47..O-52: the rules of selection, in their order
Test(select, rules) {
        for (size_t i = 0; i < ARRAY_SIZE(select_rows); i++) {
                const char *name = select_rows[i].name;
                _cleanup_json_ json_t *local = NULL, *over = NULL;
                _cleanup_(selected_deinit) Selected s = {0};
                _cleanup_free_ char *data = NULL;
                History h;

                history_begin(&h, select_rows[i].intent, select_rows[i].scope);
                select_tell(&h, select_rows[i].story, select_rows[i].outcome, select_rows[i].next);
                local = history_local(&h, select_rows[i].verdict ?: "allowed", select_rows[i].facts);
                if (select_rows[i].policy) {
                        over = history_json("%s", select_rows[i].policy);
                        json_object_update(json_object_get(local, "policy"), over);
                }
                cr_expect_eq(select_action(&h.m, local, &s, &h.d), 0, "%s: %s", name, h.d.text);
                data = history_text(s.data);
                cr_expect_eq(s.action, select_rows[i].action, "%s: %s, %s, %s", name, object_action_name(s.action), s.reason ?: "", data);
                cr_expect_str_eq(s.reason ?: "", select_rows[i].reason, "%s: %s", name, data);
                cr_expect(!select_rows[i].data || strstr(data, select_rows[i].data), "%s: %s lacks %s", name, data,
                          select_rows[i].data ?: "");
                cr_expect_eq(s.unmet != NULL, s.action == ACTION_NONE, "%s", name);
                history_perform(&h, &s);
                history_end(&h);
        }
}

// O-12: exactly six actions, and none
Test(select, actions) {
        static const char *const names[] = {"none", "execution", "mutation", "delegation", "dormancy", "reentry", "termination"};
        /* Row: state; which actions need an entry `evaluation` before: those that are not a move of O-18. */
        static const char *const first[OBJECT_STATE_COUNT_] = {
                /*                        ex mu de do re te */
                [OBJECT_INSTANTIATED] = " x  x  x  x  x  x",
                [OBJECT_EVALUATION] = "   .  .  .  .  .  .",
                [OBJECT_EXECUTION] = "    x  x  x  .  x  .",
                [OBJECT_MUTATION] = "     x  x  x  x  x  x",
                [OBJECT_DELEGATION] = "   x  x  x  .  x  x",
                [OBJECT_DORMANT] = "      x  x  x  x  .  .",
                [OBJECT_REENTRY] = "      x  x  x  x  x  x",
        };

        cr_assert_eq(ARRAY_SIZE(names), ACTION_COUNT_);
        for (ObjectAction a = ACTION_NONE; a < ACTION_COUNT_; a++)
                cr_expect_str_eq(object_action_name(a), names[a]);
        for (ObjectState s = OBJECT_INSTANTIATED; s < OBJECT_TERMINATED; s++) {
                const char *cell = first[s];

                cr_expect_not(select_evaluates_first(s, ACTION_NONE));
                for (ObjectAction a = ACTION_EXECUTION; a < ACTION_COUNT_; a++) {
                        cell += strspn(cell, " ");
                        cr_expect_eq(select_evaluates_first(s, a), *cell++ == 'x', "%s, %s", object_state_name(s), names[a]);
                }
        }
}

// O-20: nothing is selected for a terminated object
Test(select, terminated) {
        _cleanup_json_ json_t *local = NULL;
        Selected s = {0};
        History h;

        history_begin(&h, DO(""), NULL);
        select_tell(&h, "failure end", NULL, NULL);
        local = history_local(&h, "allowed", NULL);
        cr_expect_eq(select_action(&h.m, local, &s, &h.d), OBJECT_E_MOVE);
        cr_expect(strstr(h.d.text, "terminated"));
        history_end(&h);
}

// O-33: the answer names what is not met yet, and until when
Test(select, unmet) {
        _cleanup_json_ json_t *local = NULL;
        _cleanup_(selected_deinit) Selected s = {0};
        _cleanup_free_ char *text = NULL;
        History h;

        history_begin(&h, WITH("{}"), NULL);
        select_tell(&h, "failure cycle", NULL, NULL);
        local = history_local(&h, "allowed", NULL);
        history_select(&h, local, &s);
        text = history_text(s.unmet);
        cr_expect(strstr(text, "\"elapsed\":{\"at\":1700000001624504}") && strstr(text, "\"until\":1700000001624504"), "%s", text);
        history_end(&h);
}

// O-51, O-52: a clock that was set back or forward by a year makes no wait longer, and wakes nobody twice
Test(select, clock) {
        const uint64_t year = 365ULL * 24 * 3600 * HISTORY_SEC;
        History h;

        for (int forward = 0; forward < 2; forward++) {
                _cleanup_json_ json_t *local = NULL;
                _cleanup_(selected_deinit) Selected s = {0};

                history_begin(&h, WITH("{}"), NULL);
                select_tell(&h, "failure", NULL, NULL);
                h.now = forward ? h.now + year : h.now - year;
                local = history_local(&h, "allowed", NULL);
                history_select(&h, local, &s);
                cr_expect_eq(s.action, forward ? ACTION_EXECUTION : ACTION_DORMANCY);
                if (!forward) {
                        json_t *at = json_object_get(json_object_get(json_object_get(s.data, "trigger"), "elapsed"), "at");

                        cr_expect_eq(json_integer_value(at), (json_int_t)(h.now + 1624504));
                        history_perform(&h, &s);
                        select_tell(&h, "+2 cycle", NULL, NULL);
                        cr_expect_eq(h.m.state, OBJECT_EVALUATION, "the backoff is over once");
                        select_tell(&h, "cycle", NULL, NULL);
                        cr_expect_eq(h.m.state, OBJECT_EXECUTION);
                }
                history_end(&h);
        }
}

// O-31, O-52: a clock that was set back by a year while the object sleeps ends a wait of a length, and no wait for a time
Test(select, clock_of_a_sleeper) {
        const uint64_t year = 365ULL * 24 * 3600 * HISTORY_SEC;
        static const struct {
                const char *name, *intent, *story, *reason;
                ObjectAction action;
        } rows[] = {
                {"a backoff", WITH("{}"), "failure cycle", "backoff", ACTION_REENTRY},
                {"a rest", DO(",\"until\":\"never\",\"with\":{\"rest\":{\"elapsed\":{\"for\":\"9s\"}}}"), "success cycle", "rest", ACTION_REENTRY},
                {"a time", "{\"do\":{\"wait\":{\"elapsed\":{\"at\":1800000000000000}}}}", "cycle", "wait", ACTION_NONE},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *local = NULL;
                _cleanup_(selected_deinit) Selected s = {0};
                History h;

                history_begin(&h, rows[i].intent, NULL);
                select_tell(&h, rows[i].story, NULL, NULL);
                cr_assert_str_eq(json_str(json_object_get(h.m.fold, "dormant"), "reason"), rows[i].reason, "%s", rows[i].name);
                h.now -= year;
                local = history_local(&h, "allowed", NULL);
                history_select(&h, local, &s);
                cr_expect_eq(s.action, rows[i].action, "%s: %s", rows[i].name, object_action_name(s.action));
                history_end(&h);
        }
}

// O-32: the needs are those of the triggers and conditions that selection reads in this state
Test(select, needs) {
        static const struct {
                const char *name, *intent, *story, *next, *slots;
        } rows[] = {
                {"nothing", WITH("{}"), "", NULL, "[]"},
                {"until", DO(",\"until\":{\"slot\":\"done\"}"), "", NULL, "[\"done\"]"},
                {"wait", "{\"do\":{\"wait\":{\"prerequisite\":{\"slot\":\"go\"}}}}", "", NULL, "[\"go\"]"},
                {"asleep", "{\"do\":{\"wait\":{\"prerequisite\":{\"slot\":\"go\"}}},\"until\":{\"slot\":\"done\"}}", "cycle", NULL, "[\"go\"]"},
                {"rest", WITH("{\"rest\":{\"prerequisite\":{\"slot\":\"more\"}}}"), "success", NULL, "[\"more\"]"},
                {"a proposal", MAY("sleep"), "success", "{\"sleep\":{\"prerequisite\":{\"slot\":\"new\"}}}", "[\"new\"]"},
                {"a forbidden proposal", MAY("end"), "success", "{\"sleep\":{\"prerequisite\":{\"slot\":\"new\"}}}", "[]"},
                {"a bad proposal", MAY("sleep"), "success", "{\"sleep\":{\"prerequisite\":7}}", "[]"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *needs = NULL;
                _cleanup_free_ char *slots = NULL;
                History h;

                history_begin(&h, rows[i].intent, NULL);
                select_tell(&h, rows[i].story, NULL, rows[i].next);
                cr_assert_eq(select_needs(&h.m, &needs), 0, "%s", rows[i].name);
                slots = history_text(json_object_get(needs, "slots"));
                cr_expect_str_eq(slots, rows[i].slots, "%s", rows[i].name);
                history_end(&h);
        }
}

// O-50: halves that no intent may have, with too many steps or bytes, are not made, and the retries go on
Test(select, no_room_for_halves) {
        for (unsigned row = 0; row < 2; row++) {
                _cleanup_json_ json_t *local = NULL;
                _cleanup_(selected_deinit) Selected s = {0};
                _cleanup_buf_ Buf intent = {0};
                History h;

                cr_assert_eq(buf_add_str(&intent, "{\"do\":{\"steps\":["), 0);
                for (unsigned i = 0; i < (row == 0 ? INTENT_STEPS_MAX : 1); i++)
                        cr_assert_eq(buf_printf(&intent, "%s{\"skill\":\"convert\",\"args\":[\"a\",\"b\"],\"input\":\"%0*u\"}",
                                                i > 0 ? "," : "", row == 0 ? 1 : INTENT_INPUT_MAX, 0),
                                     0);
                cr_assert_eq(buf_add_str(&intent, "]}}"), 0);
                history_begin(&h, intent.data, NULL);
                select_tell(&h, "timeout timeout", NULL, NULL);
                local = history_local(&h, "allowed", NULL);
                history_select(&h, local, &s);
                cr_expect_eq(s.action, ACTION_DORMANCY, "row %u", row);
                cr_expect_str_eq(s.reason, "backoff", "row %u", row);
                history_perform(&h, &s);
                history_end(&h);
        }
}
