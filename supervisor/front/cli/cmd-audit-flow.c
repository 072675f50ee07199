/* Runs: CLI. `lethe audit touched` and `lethe audit derived`: the readers of a value, and its consequences (I-77). */
#include "audit/flow.h"
#include "cli/said.h"
#include "cli/with-store.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MOST 20 /* of what is not known, as text; --json has all */

const char audit_flow_help[] =
        "touched tells which regions wrote and read a value: slot/NAME, BUCKET/ID of shared belief\n"
        "(issues/ID), FAMILY/ID of typed memory (memory_substrate/ID), section/REGION/NAME, or note/RUN,\n"
        "each with @VERSION or without (of notes: the number). derived follows what came of such a value,\n"
        "or of a REGION, through all regions and values on the way. Both name the regions of which nothing\n"
        "is recorded that would tell. Ends 0 when there is none of these, 1 when there is, 2 without answer.\n"
        "\n"
        "  --scope SCOPE     of records: the scope that they are of (default: default)\n"
        "  --last            derived: the region of the invocation that ended last\n";

typedef struct FlowCall {
        Flow flow;
        FlowAsked asked;
        bool derived, json;
        const char *what, *scope;
        Said said;        /* a region, as the user names it; neither text nor last: a value was asked for */
        RegionId region;
        json_t *rows, *unknown; /* owned */
        size_t n_unknown, n_readers;
} FlowCall;

static void call_deinit(FlowCall *c) {
        flow_deinit(&c->flow);
        json_decref(c->rows);
        json_decref(c->unknown);
}

/* A node as words: "region ID (SKILL)", "uid:0", "slot/a@3". */
static void print_node(const FlowNode *n) {
        char text[300];

        if (n->kind == FLOW_REGION) {
                printf("region %s (", n->name);
                print_safe(stdout, n->skill, strlen(n->skill));
                putchar(')');
        } else {
                flow_show(n, text);
                print_safe(stdout, text, strlen(text));
        }
}

static json_t *node_json(const FlowNode *n) {
        char text[300];

        if (n->kind == FLOW_REGION)
                return n->refused ? json_pack("{s:s, s:b}", "region", n->name, "refused", 1) : json_pack("{s:s, s:s}", "region", n->name, "skill", n->skill);
        return n->kind == FLOW_PERSON ? json_pack("{s:s}", "who", n->name) : json_pack("{s:s}", "value", flow_show(n, text));
}

/* The reader is named before the value that it read. */
static bool is_turned(FlowHow how) {
        return how == FLOW_READ || how == FLOW_CONSULTED;
}

static int tell_edge(FlowCall *c, const FlowEdge *e, unsigned distance) {
        if (c->json)
                return json_array_append_new(c->rows, json_pack("{s:o, s:s, s:o, s:o, s:o*}", "from", node_json(e->from), "how", flow_how_word(e->how), "to", node_json(e->to),
                                                                "seq", json_u64(e->seq), "distance", distance > 0 ? json_u64(distance) : NULL)) < 0
                               ? -ENOMEM
                               : 0;
        if (distance > 0)
                printf("%4u  ", distance);
        else
                printf("  ");
        print_node(is_turned(e->how) ? e->to : e->from);
        printf(" %s ", flow_how_word(e->how));
        print_node(is_turned(e->how) ? e->from : e->to);
        printf(", entry %" PRIu64 "\n", e->seq);
        return 0;
}

static int tell_touched(FlowCall *c) {
        const FlowAsked *a = &c->asked;
        int r = 0;

        flow_mark(a);
        for (const FlowNode *n = a->first; n && r == 0; n = n->next) {
                if (!n->reached)
                        continue;
                for (const FlowEdge *e = n->in; e && r == 0; e = e->next_in)
                        r = tell_edge(c, e, 0);
                for (const FlowEdge *e = n->out; e && r == 0; e = e->next_out) {
                        if (e->to->kind == FLOW_VALUE && e->to->reached)
                                continue; /* said with that one */
                        c->n_readers += e->to->kind == FLOW_REGION && !e->to->reached;
                        e->to->reached |= e->to->kind == FLOW_REGION;
                        r = tell_edge(c, e, 0);
                }
        }
        return r;
}

static int tell_derived(FlowCall *c) {
        FlowNode **found = NULL;
        size_t n = 0;
        int r = flow_follow(&c->asked, &found, &n);

        for (size_t i = 0; i < n && r == 0; i++) {
                c->n_readers += found[i]->kind == FLOW_REGION;
                r = tell_edge(c, found[i]->by, found[i]->depth);
        }
        free(found);
        return r;
}

static int tell_unknown(void *userdata, const FlowNode *region, const char *value, const char *why) {
        FlowCall *c = userdata;

        if (c->json)
                return json_array_append_new(c->unknown, json_pack("{s:s, s:s, s:s?, s:s}", "region", region->name, "skill", region->skill, "value", value, "why", why)) < 0
                               ? -ENOMEM
                               : 0;
        if (c->n_unknown++ == 0)
                printf("not recorded\n");
        if (c->n_unknown > SHOWN_MOST)
                return 0;
        printf("  ");
        print_node(region);
        printf(" may have read ");
        print_safe(stdout, value ? value : "it", strlen(value ? value : "it"));
        printf(": %s\n", why);
        return 0;
}

static json_t *to_json(const FlowCall *c) {
        return json_pack("{s:i, s:s, s:s, s:s?, s:b, s:s, s:o, s:s, s:O, s:O}", "version", 1, "question", c->derived ? "derived" : "touched", "what", c->what, "scope", c->scope,
                         "complete", json_array_size(c->unknown) == 0, "origin", c->flow.origin, "entries", json_u64(c->flow.entries), "root", c->flow.root, "edges", c->rows,
                         "unknown", c->unknown);
}

static void print_end(const FlowCall *c) {
        if (c->n_unknown > SHOWN_MOST)
                printf("  and %zu more, which --json lists\n", c->n_unknown - SHOWN_MOST);
        printf("%s: %s%zu region%s%s, in %" PRIu64 " entries of %s\n", c->n_unknown > 0 ? "incomplete" : "complete", c->derived ? "it reached " : "", c->n_readers,
               c->n_readers == 1 ? "" : "s", c->derived ? "" : " read it", c->flow.entries, c->flow.origin);
        printf("root %s\n", c->flow.root);
}

/* Returns what the command ends with. */
static int answer(FlowCall *c, Store *s) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d);

        if (r == 0)
                r = flow_read(t, &c->flow, &d);
        if (r != 0)
                return audit_failed(s, r, &d);
        if (c->said.text || c->said.last) {
                if (said_region("audit", s, &c->said, c->region) != EXIT_OK)
                        return EXIT_USAGE; /* no answer */
                c->what = c->region;
        }
        r = flow_ask(&c->flow, c->what, c->scope, c->derived, &c->asked, &d);
        if (r > 0)
                return r == FLOW_E_WORD ? cli_usage("audit", "%s", d.text) : cli_fail("audit", EXIT_USAGE, "%s", d.text);
        if (r == 0)
                r = c->derived ? tell_derived(c) : tell_touched(c);
        if (r == 0)
                r = flow_unknown(&c->flow, &c->asked, tell_unknown, c);
        if (r < 0)
                return audit_failed(s, r, &d);
        if (!c->json) {
                print_end(c);
                return cli_done("audit", c->n_unknown == 0 ? EXIT_OK : EXIT_NOT);
        } else {
                _cleanup_json_ json_t *out = to_json(c);

                r = print_json(stdout, out);
                return r < 0 ? with_store_failed("audit", s, r, &d) : cli_done("audit", json_array_size(c->unknown) == 0 ? EXIT_OK : EXIT_NOT);
        }
}

int cmd_audit_flow(int argc, char **argv, bool derived) {
        static const struct option options[] = {OPTIONS_STORE, OPTIONS_SAID, {"scope", required_argument, NULL, 'C'}, {0}};
        __attribute__((cleanup(call_deinit))) FlowCall c = {.derived = derived, .rows = json_array(), .unknown = json_array()};
        const char *word = derived ? "derived" : "touched";
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {0};
        int r, opt;

        if (!c.rows || !c.unknown)
                return cli_fail("audit", EXIT_USAGE, "out of memory");
        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h')
                        return audit_help();
                if (opt == 'C' && c.scope)
                        return cli_usage("audit", "--scope may be given once");
                if (opt == 'L')
                        c.said.last = true;
                else if (opt == 'C')
                        c.scope = optarg;
                else if (!store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        if (c.said.last && (!derived || optind < argc))
                return cli_usage("audit", derived ? "'%s' and --last both name what is asked for" : "--last is a region: of one `lethe audit derived` tells what came", argv[optind]);
        if (optind == argc && !c.said.last)
                return cli_usage("audit", "%s what? A value as slot/NAME@VERSION%s; `lethe audit --help` has all", word, derived ? ", or a region" : "");
        if (!c.said.last)
                c.what = argv[optind++];
        if (derived && c.what && !strpbrk(c.what, "/@")) /* else a value: its name has a slash */
                c.said.text = c.what;
        if (c.said.text && (r = said_option("audit", &c.said)) != EXIT_OK)
                return r;
        if (optind < argc)
                return cli_usage("audit", "'%s' is one argument too many", argv[optind]);
        c.json = o.json;
        r = with_store("audit", &o, STORE_READ, &s);
        return r == EXIT_OK ? answer(&c, s) : audit_not_opened(&o, "complete", r);
}
