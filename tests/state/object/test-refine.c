/* Runs: tests. The three refinements of an intent: what each may change, and that none drops a constraint or leaves the
 * scope (O-22, O-23). */
#include "tests/state/object/intent-fixture.h"

#define SCOPE "{'skills':['a','b'],'reads':[],'writes':[],'depth':1,'fanout':3}"
#define A(args) "{'skill':'a','args':[" args "]}"
#define B "{'skill':'b'}"
#define STEPS(steps) "{'do':{'steps':[" steps "]}}"
#define CHILDREN(list, gather) "{'do':{'delegate':[" list "],'gather':" gather "}}"
#define KID(skill) "{'do':{'skill':'" skill "'}}"
#define WITH(text) "{'do':" B ",'with':{" text "}}"
#define UNTIL(text) "{'do':" B ",'until':" text "}"
#define BOUND(text) "{'do':" B ",'constraints':[" text "]}"
#define NOTE(n) "{'note':'" n "'}"

static const struct {
        const char *what, *how, *before, *after;
        int code;
        const char *where, *rule;
} rows[] = {
        // O-22: narrow
        {"fewer steps", "narrow", STEPS(A("'x'") "," B "," A("'y'")), STEPS(A("'x'") "," A("'y'")), 0, NULL, NULL},
        {"one step of several", "narrow", STEPS(A("'x'") "," B), "{'do':" B "}", 0, NULL, NULL},
        {"a step in parts of its args", "narrow", "{'do':" A("'x','y','z'") "}", STEPS(A("'x'") "," A("'y','z'")), 0, NULL, NULL},
        {"a step among others in parts", "narrow", STEPS(B "," A("'x','y'") "," B), STEPS(B "," A("'x'") "," A("'y'") "," B), 0, NULL, NULL},
        {"a part of the args", "narrow", "{'do':" A("'x','y','z'") "}", "{'do':" A("'y'") "}", 0, NULL, NULL},
        {"steps in another order", "narrow", STEPS(A("'x'") "," B), STEPS(B "," A("'x'")), OBJECT_E_INTENT, "do.steps[1]", "as wide"},
        {"a further step", "narrow", "{'do':" B "}", STEPS(B "," B), OBJECT_E_INTENT, "do.steps[1]", "as wide"},
        {"an arg twice", "narrow", "{'do':" A("'x','y'") "}", STEPS(A("'x'") "," A("'x'")), OBJECT_E_INTENT, "do.steps[1]", "as wide"},
        {"args left out in the middle", "narrow", "{'do':" A("'x','y','z'") "}", "{'do':" A("'x','z'") "}", OBJECT_E_INTENT, "do", "as wide"},
        {"all args left out", "narrow", "{'do':" A("'x'") "}", "{'do':" A("") "}", OBJECT_E_INTENT, "do", "as wide"},
        {"a further arg", "narrow", "{'do':" A("'x'") "}", "{'do':" A("'x','y'") "}", OBJECT_E_INTENT, "do", "as wide"},
        {"an arg where there was none", "narrow", "{'do':" A("") "}", "{'do':" A("'x'") "}", OBJECT_E_INTENT, "do", "as wide"},
        {"another skill", "narrow", "{'do':" B "}", "{'do':" A("") "}", OBJECT_E_INTENT, "do", "as wide"},
        {"another entry", "narrow", "{'do':{'skill':'a','entry':'x','args':['y']}}", "{'do':{'skill':'a','entry':'z','args':['y']}}", OBJECT_E_INTENT, "do", "as wide"},
        {"another trigger", "narrow", "{'do':{'wait':{'elapsed':{'at':1}}}}", "{'do':{'wait':{'elapsed':{'at':2}}}}", OBJECT_E_INTENT, "do", "as wide"},
        {"fewer children", "narrow", CHILDREN(KID("a") "," KID("b") "," KID("a"), "{'mode':'any'}"), CHILDREN(KID("a") "," KID("a"), "{'mode':'any'}"), 0, NULL, NULL},
        {"a narrower child", "narrow", CHILDREN("{'do':" A("'x','y'") "}", "{}"), CHILDREN("{'do':" A("'x'") "}", "{}"), 0, NULL, NULL},
        {"a wider child", "narrow", CHILDREN("{'do':" A("'x'") "}," KID("a"), "{}"), CHILDREN("{'do':" A("'x','y'") "}", "{}"), OBJECT_E_INTENT, "do.delegate[0]",
         "no child before"},
        {"a further child", "narrow", CHILDREN(KID("a"), "{}"), CHILDREN(KID("a") "," KID("a"), "{}"), OBJECT_E_INTENT, "do.delegate[1]", "no child before"},
        {"a smaller quorum of fewer", "narrow", CHILDREN(KID("a") "," KID("b") "," KID("a"), "{'mode':'quorum','n':2}"), CHILDREN(KID("b"), "{'mode':'quorum','n':1}"), 0,
         NULL, NULL},
        {"a smaller quorum of as many", "narrow", CHILDREN(KID("a") "," KID("b"), "{'mode':'quorum','n':2}"), CHILDREN(KID("a") "," KID("b"), "{'mode':'quorum','n':1}"),
         OBJECT_E_INTENT, "do.gather.n", "as before, 2"},
        {"another mode", "narrow", CHILDREN(KID("a"), "{}"), CHILDREN(KID("a"), "{'mode':'collect'}"), OBJECT_E_INTENT, "do.gather", "does not change"},
        {"less time to gather", "narrow", CHILDREN(KID("a"), "{'within':'2s'}"), CHILDREN(KID("a"), "{'within':'1s'}"), 0, NULL, NULL},
        {"a time to gather", "narrow", CHILDREN(KID("a"), "{}"), CHILDREN(KID("a"), "{'within':'1s'}"), 0, NULL, NULL},
        {"more time to gather", "narrow", CHILDREN(KID("a"), "{'within':'1s'}"), CHILDREN(KID("a"), "{'within':'2s'}"), OBJECT_E_INTENT, "do.gather.within", "more time"},
        {"all time to gather", "narrow", CHILDREN(KID("a"), "{'within':'1s'}"), CHILDREN(KID("a"), "{}"), OBJECT_E_INTENT, "do.gather.within", "more time"},
        {"the second of two delegations", "narrow", STEPS("{'delegate':[" KID("a") "]},{'delegate':[" KID("b") "]}"), CHILDREN(KID("b"), "{}"), 0, NULL, NULL},
        {"less time", "narrow", WITH("'timeout':'2s'"), WITH("'timeout':'1s'"), 0, NULL, NULL},
        {"more time", "narrow", WITH("'timeout':'1s'"), WITH("'timeout':'2s'"), OBJECT_E_INTENT, "with.timeout", "more time than before, 1000000"},
        {"fewer attempts", "narrow", WITH("'attempts':3"), WITH("'attempts':2"), 0, NULL, NULL},
        {"a limit of attempts", "narrow", WITH("'attempts':0"), WITH("'attempts':2"), 0, NULL, NULL},
        {"more attempts", "narrow", WITH("'attempts':3"), WITH("'attempts':4"), OBJECT_E_INTENT, "with.attempts", "more attempts than before, 3"},
        {"attempts without end", "narrow", WITH("'attempts':3"), WITH("'attempts':0"), OBJECT_E_INTENT, "with.attempts", "more attempts"},
        {"fewer proposals", "narrow", WITH("'may':['end','mutate']"), WITH("'may':['mutate']"), 0, NULL, NULL},
        {"a further proposal", "narrow", WITH("'may':['end']"), WITH("'may':['end','delegate']"), OBJECT_E_INTENT, "with.may[0]", "could not propose"},
        {"another pace", "narrow", WITH("'class':'x'"), WITH("'pace':{'min':'2s'}"), OBJECT_E_INTENT, "with", "alone"},
        {"another rest", "narrow", WITH("'attempts':0"), WITH("'rest':{'elapsed':{'for':'1s'}}"), OBJECT_E_INTENT, "with", "alone"},
        {"fewer rounds", "narrow", UNTIL("{'success':3}"), UNTIL("{'success':2}"), 0, NULL, NULL},
        {"rounds with an end", "narrow", UNTIL("'never'"), UNTIL("{'success':2}"), 0, NULL, NULL},
        {"more rounds", "narrow", UNTIL("{'success':2}"), UNTIL("{'success':3}"), OBJECT_E_INTENT, "until", "lowers the number"},
        {"rounds without end", "narrow", UNTIL("{'success':2}"), UNTIL("'never'"), OBJECT_E_INTENT, "until", "lowers the number"},
        {"another end", "narrow", UNTIL("{'slot':'s'}"), UNTIL("{'slot':'t'}"), OBJECT_E_INTENT, "until", "lowers the number"},
        {"a condition becomes rounds", "narrow", UNTIL("{'slot':'s'}"), UNTIL("{'success':1}"), OBJECT_E_INTENT, "until", "lowers the number"},
        {"further constraints", "narrow", BOUND(NOTE("x")), BOUND("{'deadline':9}," NOTE("x") ",{'skills':['b']}"), 0, NULL, NULL},
        // O-23: no refinement drops a constraint
        {"a dropped constraint, narrow", "narrow", BOUND(NOTE("x") "," NOTE("y")), BOUND(NOTE("y") ",{'deadline':9}"), OBJECT_E_INTENT, "constraints[0]", "was dropped"},
        {"a dropped constraint, rescope", "rescope", BOUND(NOTE("x")), BOUND(""), OBJECT_E_INTENT, "constraints[0]", "was dropped"},
        {"a dropped constraint, reclassify", "reclassify", BOUND(NOTE("x")), BOUND(""), OBJECT_E_INTENT, "constraints[0]", "was dropped"},
        {"one of two equal ones dropped", "narrow", BOUND(NOTE("x") "," NOTE("x")), BOUND(NOTE("x")), OBJECT_E_INTENT, "constraints[1]", "was dropped"},
        {"a later deadline", "narrow", BOUND("{'deadline':9}"), BOUND("{'deadline':10}"), OBJECT_E_INTENT, "constraints[0]", "was dropped"},
        {"a wider list of slots", "narrow", BOUND("{'slots_write':['a']}"), BOUND("{'slots_write':['a','b']}"), OBJECT_E_INTENT, "constraints[0]", "was dropped"},
        {"a child's constraint dropped", "narrow", CHILDREN(BOUND(NOTE("x")), "{}"), CHILDREN(BOUND(""), "{}"), OBJECT_E_INTENT, "do.delegate[0]", "no child before"},
        // O-22: rescope
        {"other args", "rescope", "{'do':" A("'x'") "}", "{'do':" A("'y','z'") "}", 0, NULL, NULL},
        {"an input", "rescope", "{'do':" B "}", "{'do':{'skill':'b','input':'text'}}", 0, NULL, NULL},
        {"other args of a step", "rescope", STEPS(B "," A("'x'")), STEPS(B "," A("")), 0, NULL, NULL},
        {"other args of a child", "rescope", CHILDREN("{'do':" A("'x'") "}", "{}"), CHILDREN("{'do':" A("'y'") "}", "{}"), 0, NULL, NULL},
        {"a smaller scope", "rescope", "{'do':" B "}", BOUND("{'slots_write':[]},{'skills':['b']}"), 0, NULL, NULL},
        {"rescope to another skill", "rescope", "{'do':" B "}", "{'do':" A("") "}", OBJECT_E_INTENT, "do", "of the same skills alone"},
        {"rescope to another entry", "rescope", "{'do':" B "}", "{'do':{'skill':'b','entry':'e'}}", OBJECT_E_INTENT, "do", "of the same skills alone"},
        {"rescope to more steps", "rescope", STEPS(B), STEPS(B "," B), OBJECT_E_INTENT, "do", "keeps the 1 steps"},
        {"rescope to more children", "rescope", CHILDREN(KID("a"), "{}"), CHILDREN(KID("a") "," KID("a"), "{}"), OBJECT_E_INTENT, "do", "of the same skills alone"},
        {"rescope another gathering", "rescope", CHILDREN(KID("a"), "{}"), CHILDREN(KID("a"), "{'mode':'any'}"), OBJECT_E_INTENT, "do", "of the same skills alone"},
        {"rescope a wait", "rescope", "{'do':{'wait':{'elapsed':{'at':1}}}}", "{'do':{'wait':{'elapsed':{'at':2}}}}", OBJECT_E_INTENT, "do", "of the same skills alone"},
        {"rescope with", "rescope", WITH("'timeout':'2s'"), WITH("'timeout':'1s'"), OBJECT_E_INTENT, "intent", "does not change \"with\""},
        {"rescope until", "rescope", UNTIL("{'success':2}"), UNTIL("{'success':1}"), OBJECT_E_INTENT, "intent", "does not change \"with\""},
        {"rescope a child's with", "rescope", CHILDREN(WITH("'timeout':'1s'"), "{}"), CHILDREN(WITH("'timeout':'2s'"), "{}"), OBJECT_E_INTENT, "do.delegate[0]",
         "does not change \"with\""},
        {"rescope with a note", "rescope", "{'do':" B "}", BOUND(NOTE("x")), OBJECT_E_INTENT, "constraints", "only \"narrow\""},
        // O-22: reclassify
        {"another class", "reclassify", WITH("'class':'x'"), WITH("'class':'y'"), 0, NULL, NULL},
        {"another pace and more time", "reclassify", WITH("'timeout':'1s'"), WITH("'timeout':'9s','pace':{'base':'2s'}"), 0, NULL, NULL},
        {"reclassify attempts", "reclassify", WITH("'attempts':1"), WITH("'attempts':2"), OBJECT_E_INTENT, "with", "\"class\", \"pace\" and \"timeout\" alone"},
        {"reclassify proposals", "reclassify", WITH("'may':[]"), WITH("'may':['end']"), OBJECT_E_INTENT, "with", "\"class\", \"pace\" and \"timeout\" alone"},
        {"reclassify args", "reclassify", "{'do':" A("'x'") "}", "{'do':" A("'y'") "}", OBJECT_E_INTENT, "intent", "does not change \"do\""},
        {"reclassify until", "reclassify", UNTIL("{'success':2}"), UNTIL("{'success':1}"), OBJECT_E_INTENT, "intent", "does not change \"do\""},
        {"reclassify with a constraint", "reclassify", WITH("'class':'x'"), "{'do':" B ",'with':{'class':'y'},'constraints':[{'skills':['b']}]}", OBJECT_E_INTENT, "constraints",
         "only \"narrow\""},
        // O-23: beyond the trust scope, whatever the kind
        {"a skill beyond the scope, narrow", "narrow", "{'do':" B "}", "{'do':{'skill':'c'}}", OBJECT_E_SCOPE, "do.skill", "the trust scope does not have this skill"},
        {"a skill beyond the scope, rescope", "rescope", "{'do':" B "}", "{'do':{'skill':'c'}}", OBJECT_E_SCOPE, "do.skill", "the trust scope does not have this skill"},
        {"a skill beyond the scope, reclassify", "reclassify", "{'do':" B "}", "{'do':{'skill':'c'}}", OBJECT_E_SCOPE, "do.skill", "the trust scope does not have this skill"},
        {"deeper than the scope", "narrow", "{'do':" B "}", CHILDREN(CHILDREN(KID("a"), "{}"), "{}"), OBJECT_E_SCOPE, "do.delegate[0].do.delegate", "a depth of 1"},
        {"wider than the scope", "rescope", "{'do':" B "}", CHILDREN(KID("a") "," KID("a") "," KID("a") "," KID("a"), "{}"), OBJECT_E_SCOPE, "do.delegate", "a fanout of 3"},
        // the kinds are three, and a refinement changes something
        {"widen", "widen", "{'do':" A("'x'") "}", "{'do':" A("'y'") "}", OBJECT_E_INTENT, "how", "\"widen\": must be"},
        {"no kind", "", "{'do':" A("'x'") "}", "{'do':" A("'y'") "}", OBJECT_E_INTENT, "how", "must be"},
        {"nothing, narrow", "narrow", "{'do':" B "}", "{'do':" B "}", OBJECT_E_INTENT, "intent", "is the present intent"},
        {"nothing, rescope", "rescope", "{'do':" B "}", "{'do':" B "}", OBJECT_E_INTENT, "intent", "is the present intent"},
        {"nothing, reclassify", "reclassify", "{'do':" B "}", "{'do':" B "}", OBJECT_E_INTENT, "intent", "is the present intent"},
};

static json_t *completed(const char *what, const char *text) {
        _cleanup_json_ json_t *in = quoted(text);
        json_t *out = NULL;
        Diag d = {0};

        cr_assert_eq(intent_complete(in, NULL, &out, &d), 0, "%s: %s", what, d.text);
        return out;
}

Test(object_refine, what_each_kind_may_change) {
        _cleanup_json_ json_t *scope = quoted(SCOPE);

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *before = completed(rows[i].what, rows[i].before), *after = completed(rows[i].what, rows[i].after);
                Diag d = {0};
                int e = intent_refine_check(before, after, rows[i].how, scope, &d);

                if (rows[i].code)
                        expect_refused(rows[i].what, e, rows[i].code, rows[i].where, rows[i].rule, &d);
                else
                        cr_expect_eq(e, 0, "%s: %s", rows[i].what, d.text);
        }
}

/* A random intent of few names, so that one is often a part of another. */
static json_t *random_intent(uint64_t *seed) {
        json_t *steps = json_array(), *bounds = json_array(), *out = NULL;
        _cleanup_json_ json_t *in = NULL;
        Diag d = {0};

        for (unsigned n = 1 + pick(seed, 3); n > 0; n--) {
                json_t *args = json_array();

                for (unsigned k = pick(seed, 3); k > 0; k--)
                        json_array_append_new(args, json_string(pick(seed, 2) ? "x" : "y"));
                json_array_append_new(steps, json_pack("{s:s, s:o}", "skill", pick(seed, 4) ? "a" : "b", "args", args));
        }
        for (unsigned n = pick(seed, 3); n > 0; n--)
                json_array_append_new(bounds, pick(seed, 2) ? json_pack("{s:s}", "note", pick(seed, 2) ? "x" : "y")
                                                            : json_pack("{s:[s]}", "slots_write", pick(seed, 2) ? "x" : "y"));
        in = json_pack("{s:{s:o}, s:{s:i, s:i}, s:{s:i}, s:o}", "do", "steps", steps, "with", "attempts", (int)pick(seed, 3), "timeout_usec",
                       1000 * (1 + (int)pick(seed, 2)), "until", "success", 1 + (int)pick(seed, 2), "constraints", bounds);
        cr_assert_eq(intent_complete(in, NULL, &out, &d), 0, "%s: %s", printed(in), d.text);
        return out;
}

static size_t args_of(const json_t *intent) {
        const json_t *step;
        size_t i, n = 0;

        json_array_foreach(json_object_get(json_object_get(intent, "do"), "steps"), i, step)
                n += MAX(json_array_size(json_object_get(step, "args")), (size_t)1);
        return n;
}

static bool keeps(const json_t *before, const json_t *after) {
        json_t *item, *other;
        size_t i, k;

        json_array_foreach(json_object_get(before, "constraints"), i, item) {
                json_array_foreach(json_object_get(after, "constraints"), k, other)
                        if (json_equal(item, other))
                                break;
                if (k == json_array_size(json_object_get(after, "constraints")))
                        return false;
        }
        return true;
}

// O-22, O-23: narrow goes one way, in any number of steps, and every refinement keeps the constraints
Test(object_refine, narrow_is_an_order_and_nothing_drops_a_constraint) {
        static const char *const kinds[] = {"narrow", "rescope", "reclassify"};
        _cleanup_json_ json_t *scope = quoted(SCOPE);
        unsigned taken = 0, chains = 0;
        uint64_t seed = 22;

        for (int i = 0; i < 20000; i++) {
                _cleanup_json_ json_t *a = random_intent(&seed), *b = random_intent(&seed), *c = random_intent(&seed);
                const char *how = kinds[pick(&seed, 3)];
                bool narrows = intent_refine_check(a, b, "narrow", scope, NULL) == 0;

                if (intent_refine_check(a, b, how, scope, NULL) == 0) {
                        taken++;
                        cr_assert(keeps(a, b), "%s: %s %s", how, printed(a), printed(b));
                }
                if (!narrows)
                        continue;
                cr_assert_leq(args_of(b), args_of(a), "%s %s", printed(a), printed(b));
                cr_assert_neq(intent_refine_check(b, a, "narrow", scope, NULL), 0, "%s %s", printed(a), printed(b));
                if (intent_refine_check(b, c, "narrow", scope, NULL) == 0 && !json_equal(a, c)) {
                        chains++;
                        cr_assert_eq(intent_refine_check(a, c, "narrow", scope, NULL), 0, "%s %s %s", printed(a), printed(b), printed(c));
                }
        }
        cr_expect_gt(taken, 50);
        cr_expect_gt(chains, 0);
}
