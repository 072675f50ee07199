/* Runs: CLI. */
#include "base/id.h"
#include "base/size.h"
#include "belief/region-events.h"
#include "belief/verdict.h"
#include "cli/said.h"
#include "cli/with-store.h"
#include "engine/engine.h"
#include "ledger/ledger.h"
#include "ledger/proof.h"
#include "manifest/vocabulary.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe why [OPTIONS] REGION\n"
        "       lethe why [OPTIONS] --last\n\n"
        "Tells how a region ended: the rule that ended it with limit and use, what it was denied and the\n"
        "manifest line that would allow each, the wishes of the manifest that were not granted, and where\n"
        "that stands in the ledger.\n"
        HELP_REGION
        HELP_STORE
        HELP_SAID
        "  --json            as JSON\n"
        "  -h, --help        this text\n";

/* The events of a region that matter here. */
typedef struct Story {
        json_t *allocated, *faulted, *denied, *cancelled, *released, *recovered, *ended, *refused; /* owned, with "seq"; NULL: not there */
        json_t *slots; /* array of slot.* events */
} Story;

static void story_deinit(Story *s) {
        json_decref(s->allocated);
        json_decref(s->faulted);
        json_decref(s->denied);
        json_decref(s->cancelled);
        json_decref(s->released);
        json_decref(s->recovered);
        json_decref(s->ended);
        json_decref(s->refused);
        json_decref(s->slots);
}

static json_t **story_place(Story *s, const char *type) {
        const struct {
                const char *type;
                json_t **place;
        } places[] = {{"region.allocated", &s->allocated}, {"region.faulted", &s->faulted},     {"region.denied", &s->denied},
                      {"region.cancelled", &s->cancelled}, {"region.released", &s->released},   {"region.recovered", &s->recovered},
                      {"invocation.ended", &s->ended},      {"region.refused", &s->refused}};

        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                if (strcmp(places[i].type, type) == 0)
                        return places[i].place;
        return NULL;
}

/* What became of a proposal that was gathered, when it is decided: {"seq","reason","verdict","winner":{"seq","region","skill"}|null}. */
static int add_verdict(Txn *t, uint64_t gathered, json_t *o, Diag *reterr) {
        const char *slot = json_text(json_object_get(o, "slot"));
        _cleanup_json_ json_t *verdict = NULL, *said = NULL, *taken = NULL;
        const json_t *list, *winner;
        uint64_t seq;
        Bytes entry;
        int r = slot ? belief_verdict_after(t, slot, gathered, &verdict) : -EUCLEAN;

        if (r == -ENOENT)
                return 0;
        if (r == 0 && json_get_u64(json_object_get(verdict, "seq"), &seq) < 0)
                r = -EUCLEAN;
        if (r == 0)
                r = ledger_get(t, seq, &entry);
        if (r == 0)
                r = proof_entry(t, seq, entry, reterr);
        if (r != 0)
                return r;
        list = json_object_get(verdict, "proposals");
        winner = json_object_get(verdict, "winner");
        for (size_t i = 0; i < json_array_size(list); i++) {
                json_t *p = json_array_get(list, i), *at = json_object_get(p, "seq");

                if (!said && json_equal(at, json_object_get(o, "proposed")))
                        said = json_incref(json_object_get(p, "verdict"));
                if (!taken && json_equal(at, winner))
                        taken = json_pack("{s:O, s:O?, s:O?}", "seq", at, "region", json_object_get(p, "region"), "skill", json_object_get(p, "skill"));
        }
        return json_object_set_new(o, "verdict", json_pack("{s:o, s:O?, s:O?, s:O?}", "seq", json_u64(seq), "reason", json_object_get(verdict, "reason"), "verdict",
                                                           said, "winner", taken)) < 0
                       ? -ENOMEM
                       : 0;
}

/* Nothing is told that was not signed for. */
static int story_take(Story *s, Txn *t, uint64_t seq, Bytes entry, json_t *o, Diag *reterr) {
        const char *type = json_text(json_object_get(o, "type"));
        json_t **place;
        int r;

        if (!type)
                return 0;
        r = proof_entry(t, seq, entry, reterr);
        if (r != 0)
                return r;
        if (json_object_set_new(o, "seq", json_u64(seq)) < 0)
                return -ENOMEM;
        place = story_place(s, type);
        if (place) {
                json_decref(*place);
                *place = json_incref(o);
        } else if (strncmp(type, "slot.", 5) == 0) {
                if (json_array_append(s->slots, o) < 0)
                        return -ENOMEM;
                return strcmp(type, "slot.gathered") == 0 ? add_verdict(t, seq, o, reterr) : 0;
        }
        return 0;
}

static int story_read(Store *s, const char *region, Story *ret, Diag *reterr) {
        _cleanup_region_events_ RegionEvents w = REGION_EVENTS_NULL;
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(s, false, &t, reterr);

        ret->slots = json_array();
        if (r == 0)
                r = ret->slots ? region_events(t, region, &w) : -ENOMEM;
        if (r == REGION_EVENTS_E_NONE)
                return 0;
        while (r == 0) {
                _cleanup_json_ json_t *o = NULL;
                uint64_t seq;
                Bytes e;

                r = region_events_next(&w, &seq, &e, &o);
                if (r == 0)
                        r = story_take(ret, t, seq, e, o, reterr);
        }
        return r == -ENOENT ? 0 : r;
}

static const char *text_of(const json_t *o, const char *key) {
        return json_text(json_object_get(o, key));
}

/* The rule behind an end, in the words of lethe.json: owned or NULL. */
static char *rule_of(const Story *s) {
        const char *resource = text_of(s->ended, "limiting_resource"), *outcome = text_of(s->ended, "outcome");
        char *out = NULL;
        int n = -1;

        if (resource) {
                for (size_t i = 0; i < BUDGET_FIELDS; i++)
                        if (strcmp(budget_fields[i].name, resource) == 0)
                                n = asprintf(&out, "budgets.%s", resource);
                if (n < 0)
                        n = asprintf(&out, "%s", resource);
        } else if (outcome && strcmp(outcome, "denied") == 0) {
                n = asprintf(&out, "%s", s->denied ? "on_denial" : "policy");
        }
        return n < 0 ? NULL : out;
}

static json_t *seq_of(const json_t *event) {
        json_t *v = json_object_get(event, "seq");

        return v ? json_incref(v) : json_null();
}

static json_t *story_json(const Story *s, const char *region) {
        _cleanup_free_ char *rule = rule_of(s);
        json_t *o = json_pack("{s:i, s:s, s:b, s:O?, s:O?, s:s?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:b, s:o, s:O?, s:O?, s:O, s:{s:o, s:o, s:o, s:o}}", "version",
                              1, "region", region, "alive", s->allocated && !s->ended, "skill", json_object_get(s->allocated ? s->allocated : s->refused, "skill"), "tier",
                              json_object_get(s->allocated, "tier"), "rule", rule, "outcome", json_object_get(s->ended, "outcome"), "exit_code",
                              json_object_get(s->ended, "exit_code"), "signal", json_object_get(s->ended, "signal"), "limiting_resource",
                              json_object_get(s->ended, "limiting_resource"), "limit", json_object_get(s->ended, "limit"), "used",
                              json_object_get(s->ended, "used"), "lent", json_object_get(s->ended, "lent"), "asked", json_object_get(s->ended, "asked"), "refused",
                              json_object_get(s->ended, "refused"), "cause", json_object_get(s->ended, "cause"), "reason", json_object_get(s->refused ? s->refused : s->ended, s->refused ? "message" : "reason"), "recovered", s->recovered != NULL,
                              "denials", s->denied ? json_incref(json_object_get(s->denied, "denials")) : json_array(), "usage",
                              json_object_get(s->released, "usage"), "teardown", json_object_get(s->released, "teardown"), "slots", s->slots, "ledger",
                              "allocated", seq_of(s->allocated), "released", seq_of(s->released), "ended", seq_of(s->ended), "refused", seq_of(s->refused));

        return o;
}

static void print_text(const char *s) {
        print_safe(stdout, s, strlen(s));
}

/* One line of a name and hostile text. */
static void line(const char *name, const char *value) {
        printf("  %-10s  ", name);
        print_text(value);
        putchar('\n');
}

/* The way to a larger limit of the broken budget. */
static void allows_line(const Story *s, const BudgetField *f) {
        const char *by = text_of(s->ended, "limit_by");

        printf("  %-10s  ", "");
        if (by && strcmp(by, "manifest") == 0)
                printf("lethe.json says so (budgets.%s); --%s can only make it less\n", f->name, f->option);
        else if (by && strcmp(by, "policy") == 0)
                printf("the operator's policy says so (max.%s); more is not to be had otherwise\n", f->name);
        else if (by && strcmp(by, "region_above") == 0)
                printf("it is a part of what the region above has\n");
        else
                printf("more with --%s, up to what lethe.json and the operator's policy allow\n", f->option);
}

static void budget_line(const Story *s) {
        static const char *const numbers[] = {"limit", "used", "lent", "asked", "refused"};
        const char *resource = text_of(s->ended, "limiting_resource"), *sep = ":";
        const BudgetField *field = NULL;
        uint64_t v;

        if (!resource || json_get_u64(json_object_get(s->ended, "limit"), &v) < 0)
                return;
        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                if (strcmp(budget_fields[i].name, resource) == 0)
                        field = &budget_fields[i];
        printf("  %-10s  %s%s", "rule", field ? "budgets." : "", resource);
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                char text[BUDGET_TEXT_MAX];

                if (json_get_u64(json_object_get(s->ended, numbers[i]), &v) < 0) /* only what was measured is there */
                        continue;
                if (field && strcmp(numbers[i], "refused") != 0)
                        budget_format(field, v, text);
                else
                        snprintf(text, sizeof(text), "%" PRIu64, v);
                printf("%s %s %s%s", sep, numbers[i], text, strcmp(numbers[i], "refused") == 0 ? " times" : "");
                sep = ",";
        }
        putchar('\n');
        if (field)
                allows_line(s, field);
}

static void denial_lines(const Story *s) {
        const json_t *list = json_object_get(s->denied, "denials");

        if (json_array_size(list) == 0) {
                uint64_t n;

                if (json_get_u64(json_object_get(s->released, "denials"), &n) == 0 && n > 0)
                        printf("  %-10s  %" PRIu64 " times; which is not recorded at lineage detail stats\n", "denied", n);
                return;
        }
        printf("  denied\n");
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *d = json_array_get(list, i);
                const char *rule = text_of(d, "rule"), *op = text_of(d, "operation"), *object = text_of(d, "object"), *allow = text_of(d, "allow_with");

                printf("    ");
                print_text(op ? op : "?");
                putchar(' ');
                print_text(object ? object : "");
                printf("  (%" JSON_INTEGER_FORMAT " times, rule %s)\n", json_integer_value(json_object_get(d, "count")), rule ? rule : "?");
                printf("      %s", allow ? "allowed by: " : "nothing in a manifest allows this");
                print_text(allow ? allow : "");
                putchar('\n');
        }
}

/* Requests that were not granted, or those that a floor of the policy raised. */
static void change_lines(const Story *s, const char *member, const char *title) {
        const json_t *list = json_object_get(json_object_get(s->allocated, "grant"), member);

        if (json_is_object(list)) /* too long for an entry: their number alone */
                printf("  %-10s  %" JSON_INTEGER_FORMAT " fields, which had no room in the record\n", title, json_integer_value(json_object_get(list, "cut")));
        for (size_t i = 0; i < json_array_size(list); i++) {
                const bool standard = json_is_true(json_object_get(json_array_get(list, i), "default"));
                const char *const keys[] = {"field", "asked", "granted", "rule"}, *const before[] = {"", standard ? ": default " : ": asked ", ", granted ", "; rule: "};

                printf("  %-10s  ", i == 0 ? title : "");
                for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
                        printf("%s", before[k]);
                        print_text(text_of(json_array_get(list, i), keys[k]) ?: "?");
                }
                putchar('\n');
        }
}

static void end_line(const Story *s) {
        const char *outcome = text_of(s->ended, "outcome"), *reason = text_of(s->ended, "reason");
        const json_t *code = json_object_get(s->ended, "exit_code"), *sig = json_object_get(s->ended, "signal");

        printf("  %-10s  %s", "ended", outcome ? outcome : "?");
        if (json_is_integer(code))
                printf(" with code %" JSON_INTEGER_FORMAT, json_integer_value(code));
        if (json_is_integer(sig))
                printf(" by signal %" JSON_INTEGER_FORMAT " (%s)", json_integer_value(sig), strsignal((int)json_integer_value(sig)));
        if (reason && *reason) {
                printf(": ");
                print_text(reason);
        }
        putchar('\n');
}

/* What the region proposed for a slot with a rule, and what the verdict said of it. */
static void gathered_line(const json_t *e) {
        const json_t *verdict = json_object_get(e, "verdict"), *winner = json_object_get(verdict, "winner");
        const char *said = text_of(verdict, "verdict"), *region = text_of(winner, "region"), *skill = text_of(winner, "skill"), *reason = text_of(verdict, "reason");

        if (!verdict) {
                printf(": gathered, and not decided yet");
                return;
        }
        printf(": %s", said ? said : "?");
        if (said && strcmp(said, "won") != 0 && region) {
                printf("; taken was that of region %s, skill ", region);
                print_text(skill ? skill : "?");
        } else if (!region)
                printf("; none was taken (%s)", reason ? reason : "?");
        printf("  (verdict %" JSON_INTEGER_FORMAT ")", json_integer_value(json_object_get(verdict, "seq")));
}

static void slot_lines(const Story *s) {
        bool first = true;

        for (size_t i = 0; i < json_array_size(s->slots); i++) {
                const json_t *e = json_array_get(s->slots, i);
                const char *type = text_of(e, "type"), *slot = text_of(e, "slot"), *code = text_of(e, "code"), *message = text_of(e, "message");

                if (strcmp(type, "slot.refused") != 0 && strcmp(type, "slot.discarded") != 0 && strcmp(type, "slot.gathered") != 0)
                        continue;
                printf("  %-10s  %s ", first ? "slots" : "", type);
                first = false;
                print_text(slot ? slot : "");
                if (strcmp(type, "slot.gathered") == 0)
                        gathered_line(e);
                else if (text_of(e, "reason"))
                        printf(": %s", text_of(e, "reason"));
                if (code)
                        printf(": %s", code);
                if (message) {
                        printf(": ");
                        print_text(message);
                }
                putchar('\n');
        }
}

static json_int_t number_of(const json_t *o, const char *key) {
        return json_integer_value(json_object_get(o, key));
}

static void teardown_lines(const json_t *t) {
        const char *discipline = text_of(t, "discipline"), *grade = text_of(t, "grade"), *reason;
        const json_t *missed = json_object_get(t, "bytes_missed"), *not_covered = json_object_get(t, "not_covered");
        json_t *n;

        printf("  %-10s  discipline %s, grade %s: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " bytes overwritten and read back\n", "teardown",
               discipline ? discipline : "?", grade ? grade : "?", number_of(t, "bytes_verified"), number_of(t, "bytes_held"));
        json_object_foreach((json_t *)missed, reason, n)
                printf("  %-10s  missed: %" JSON_INTEGER_FORMAT " bytes (%s)\n", "", json_integer_value(n), reason);
        if (json_array_size(not_covered) > 0) {
                printf("  %-10s  not covered:", "");
                for (size_t i = 0; i < json_array_size(not_covered); i++)
                        printf("%s %s", i > 0 ? "," : "", json_text(json_array_get(not_covered, i)));
                putchar('\n');
        }
        if (number_of(t, "bound_usec") > 0 && number_of(t, "usec") > number_of(t, "bound_usec"))
                printf("  %-10s  took %" JSON_INTEGER_FORMAT " us, which is longer than the bound of %" JSON_INTEGER_FORMAT " us\n", "",
                       number_of(t, "usec"), number_of(t, "bound_usec"));
}

/* A gate kept it from beginning: there was no region, and so no end. */
static void refusal_print(const Story *s, const char *region) {
        const char *name = text_of(json_object_get(s->refused, "skill"), "name"), *message = text_of(s->refused, "message");

        printf("region %s\n", region);
        line("skill", name ? name : "?");
        line("refused", message ? message : "?");
        printf("  %-10s  nothing ran, and nothing was held\n", "");
        printf("  %-10s  refused %" JSON_INTEGER_FORMAT "\n", "ledger", number_of(s->refused, "seq"));
}

static void story_print(const Story *s, const char *region) {
        const json_t *skill = json_object_get(s->allocated, "skill"), *t = json_object_get(s->released, "teardown");
        const char *name = text_of(skill, "name"), *digest = text_of(skill, "digest"), *tier = text_of(s->allocated, "tier");
        uint64_t a = 0, b = 0, c = 0;

        printf("region %s\n", region);
        line("skill", name ? name : "?");
        if (digest)
                line("", digest);
        if (tier)
                line("tier", tier);
        if (!s->ended) {
                printf("  %-10s  not yet: it is alive, or its supervisor died ('lethe ps' tells which)\n", "ended");
        } else {
                end_line(s);
                budget_line(s);
        }
        change_lines(s, "raised", "raised");
        change_lines(s, "reductions", "not given");
        denial_lines(s);
        slot_lines(s);
        if (t)
                teardown_lines(t);
        json_get_u64(json_object_get(s->allocated, "seq"), &a);
        if (s->ended && json_get_u64(json_object_get(s->released, "seq"), &b) == 0 && json_get_u64(json_object_get(s->ended, "seq"), &c) == 0)
                printf("  %-10s  allocated %" PRIu64 ", released %" PRIu64 ", ended %" PRIu64 "\n", "ledger", a, b, c);
        else
                printf("  %-10s  allocated %" PRIu64 "\n", "ledger", a);
}

int cmd_why(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTIONS_SAID, {0}};
        _cleanup_(story_deinit) Story story = {0};
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {0};
        Said said = {0};
        RegionId region;
        Diag d = {0};
        int r, opt;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done("why", EXIT_OK);
                }
                if (opt == 'L')
                        said.last = true;
                else if (!store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        r = said_argument("why", &said, argc, argv);
        if (r == EXIT_OK)
                r = with_store("why", &o, STORE_READ, &s);
        if (r == EXIT_OK)
                r = said_region("why", s, &said, region);
        if (r != EXIT_OK)
                return r;
        r = story_read(s, region, &story, &d);
        if (r != 0)
                return with_store_failed("why", s, r, &d);
        if (!story.allocated && !story.refused)
                return cli_fail("why", EXIT_NOT, "region %s is not in this store's ledger", region);
        if (story.ended && !story.released)
                return cli_fail("why", EXIT_NOT, "region %s ended without a release; `lethe audit` tells more", region);
        if (o.json) {
                _cleanup_json_ json_t *out = story_json(&story, region);

                r = out ? print_json(stdout, out) : -ENOMEM;
                if (r < 0)
                        return with_store_failed("why", s, r, &d);
        } else if (story.refused)
                refusal_print(&story, region);
        else
                story_print(&story, region);
        return cli_done("why", EXIT_OK);
}
