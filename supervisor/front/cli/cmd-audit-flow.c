/* Runs: CLI. `lethe audit touched` and `lethe audit derived`: the readers of a value, and its consequences (I-77). */
#include "audit/flow.h"
#include "cli/audit.h"
#include "cli/region-selector.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SHOWN_MOST 20 /* unknown reads in the text; --json has all */

typedef struct FlowCall {
        Flow flow;
        FlowAsked asked;
        bool derived, json;
        const char *what, *scope;
        RegionSelector selector; /* neither text nor last: the question is about a value */
        RegionId region;
        json_t *rows, *unknown; /* owned */
        size_t n_unknown, n_readers;
} FlowCall;

static void flow_call_deinit(FlowCall *c) {
        flow_deinit(&c->flow);
        json_decref(c->rows);
        json_decref(c->unknown);
}

/* A node as words: "region ID (SKILL)", "uid:0", "slot/a@3". */
static void flow_print_node(const FlowNode *n) {
        char text[300];

        if (n->kind == FLOW_REGION) {
                printf("region %s (", n->name);
                cli_print_safe(n->skill);
                putchar(')');
        } else
                cli_print_safe(flow_show(n, text));
}

static json_t *flow_node_json(const FlowNode *n) {
        char text[300];

        if (n->kind == FLOW_REGION)
                return n->refused ? json_pack("{s:s, s:b}", "region", n->name, "refused", 1)
                                  : json_pack("{s:s, s:s}", "region", n->name, "skill", n->skill);
        return n->kind == FLOW_PERSON ? json_pack("{s:s}", "who", n->name)
                                      : json_pack("{s:s}", "value", flow_show(n, text));
}

/* The reader is named before the value. */
static bool flow_is_turned(FlowHow how) {
        return how == FLOW_READ || how == FLOW_CONSULTED;
}

static int flow_append(json_t *list, json_t *o) {
        return json_array_append_new(list, o) < 0 ? -ENOMEM : 0;
}

static int flow_tell_edge(FlowCall *c, const FlowEdge *e, unsigned distance) {
        if (c->json)
                return flow_append(c->rows, json_pack("{s:o, s:s, s:o, s:o, s:o*}", "from", flow_node_json(e->from),
                                                      "how", flow_how_word(e->how), "to", flow_node_json(e->to), "seq",
                                                      json_u64(e->seq), "distance",
                                                      distance > 0 ? json_u64(distance) : NULL));
        if (distance > 0)
                printf("%4u  ", distance);
        else
                printf("  ");
        flow_print_node(flow_is_turned(e->how) ? e->to : e->from);
        printf(" %s ", flow_how_word(e->how));
        flow_print_node(flow_is_turned(e->how) ? e->from : e->to);
        printf(", entry %" PRIu64 "\n", e->seq);
        return 0;
}

static int flow_tell_touched(FlowCall *c) {
        const FlowAsked *a = &c->asked;
        int r = 0;

        flow_mark(a);
        for (const FlowNode *n = a->first; n && r == 0; n = n->next) {
                if (!n->reached)
                        continue;
                for (const FlowEdge *e = n->in; e && r == 0; e = e->next_in)
                        r = flow_tell_edge(c, e, 0);
                for (const FlowEdge *e = n->out; e && r == 0; e = e->next_out) {
                        if (e->to->kind == FLOW_VALUE && e->to->reached)
                                continue; /* the loop prints the edge with the other node */
                        c->n_readers += e->to->kind == FLOW_REGION && !e->to->reached;
                        e->to->reached |= e->to->kind == FLOW_REGION;
                        r = flow_tell_edge(c, e, 0);
                }
        }
        return r;
}

static int flow_tell_derived(FlowCall *c) {
        FlowNode **found = NULL;
        size_t n = 0;
        int r = flow_follow(&c->asked, &found, &n);

        for (size_t i = 0; i < n && r == 0; i++) {
                c->n_readers += found[i]->kind == FLOW_REGION;
                r = flow_tell_edge(c, found[i]->by, found[i]->depth);
        }
        free(found);
        return r;
}

static int flow_tell_unknown(void *userdata, const FlowNode *region, const char *value, const char *why) {
        FlowCall *c = userdata;

        if (c->json)
                return flow_append(c->unknown, json_pack("{s:s, s:s, s:s?, s:s}", "region", region->name, "skill",
                                                         region->skill, "value", value, "why", why));
        if (c->n_unknown++ == 0)
                printf("not recorded\n");
        if (c->n_unknown > SHOWN_MOST)
                return 0;
        printf("  ");
        flow_print_node(region);
        printf(" may have read ");
        cli_print_safe(value ?: "it");
        printf(": %s\n", why);
        return 0;
}

static json_t *flow_to_json(const FlowCall *c) {
        return json_pack("{s:i, s:s, s:s, s:s?, s:b, s:s, s:o, s:s, s:O, s:O}", "version", 1, "question",
                         c->derived ? "derived" : "touched", "what", c->what, "scope", c->scope, "complete",
                         json_array_size(c->unknown) == 0, "origin", c->flow.origin, "entries",
                         json_u64(c->flow.entries), "root", c->flow.root, "edges", c->rows, "unknown", c->unknown);
}

static void flow_print_end(const FlowCall *c) {
        if (c->n_unknown > SHOWN_MOST)
                printf("  and %zu more in the output of --json\n", c->n_unknown - SHOWN_MOST);
        printf("%s: %s%zu region%s%s, in %" PRIu64 " entries of %s\n", c->n_unknown > 0 ? "incomplete" : "complete",
               c->derived ? "it reached " : "", c->n_readers, c->n_readers == 1 ? "" : "s",
               c->derived ? "" : " read it", c->flow.entries, c->flow.origin);
        printf("root %s\n", c->flow.root);
}

/* Returns the exit code. */
static int flow_answer(FlowCall *c, Store *s) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d) ?: flow_read(t, &c->flow, &d);

        if (r != 0)
                return audit_failed(s, r, &d);
        if (c->selector.text || c->selector.last) {
                if (selector_region("audit", s, &c->selector, c->region) != EXIT_OK)
                        return EXIT_USAGE; /* no answer */
                c->what = c->region;
        }
        r = flow_ask(&c->flow, c->what, c->scope, c->derived, &c->asked, &d);
        if (r > 0)
                return r == FLOW_E_WORD ? cli_usage("audit", "%s", d.text)
                                        : cli_fail("audit", EXIT_USAGE, "%s", d.text);
        if (r == 0)
                r = c->derived ? flow_tell_derived(c) : flow_tell_touched(c);
        if (r == 0)
                r = flow_unknown(&c->flow, &c->asked, flow_tell_unknown, c);
        if (r < 0)
                return audit_failed(s, r, &d);
        if (c->json)
                return cli_print("audit", json_array_size(c->unknown) == 0 ? EXIT_OK : EXIT_NOT, flow_to_json(c));
        flow_print_end(c);
        return cli_done("audit", c->n_unknown == 0 ? EXIT_OK : EXIT_NOT);
}

int cmd_audit_flow(int argc, char **argv, bool derived) {
        static const struct option options[] = {OPTIONS_STORE, OPTION_LAST, OPTION("scope", 'C'), {0}};
        __attribute__((cleanup(flow_call_deinit)))
        FlowCall c = {.derived = derived, .rows = json_array(), .unknown = json_array()};
        const char *word = derived ? "derived" : "touched";
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {.help = audit_help, .once = "C"};
        int r;

        if (!c.rows || !c.unknown)
                return cli_fail("audit", EXIT_USAGE, "out of memory");
        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        c.selector.last = o.value['L'];
        c.scope = o.value['C'];
        if (c.selector.last && (!derived || optind < argc))
                return cli_usage("audit",
                                 derived ? "'%s' and --last both name the subject: give only REGION, VALUE or --last"
                                         : "--last names a region: only `lethe audit derived` takes a region",
                                 argv[optind]);
        if (optind == argc && !c.selector.last)
                return cli_usage("audit",
                                 "%s needs a value, such as slot/NAME@VERSION%s; `lethe audit --help` shows all forms",
                                 word, derived ? ", or a region" : "");
        if (!c.selector.last)
                c.what = argv[optind++];
        if (derived && c.what && !strpbrk(c.what, "/@")) /* a value's name has a slash */
                c.selector.text = c.what;
        if (c.selector.text && (r = selector_option("audit", &c.selector)) != EXIT_OK)
                return r;
        if (optind < argc)
                return cli_usage("audit", "'%s' is an extra argument", argv[optind]);
        c.json = o.json;
        r = with_store("audit", &o, STORE_READ, &s);
        return r == EXIT_OK ? flow_answer(&c, s) : audit_not_opened(&o, "complete", r);
}
