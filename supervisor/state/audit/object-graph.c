#include "audit/object-graph.h"

#include "audit/svg.h"
#include "base/json.h"
#include "base/utf8.h"
#include "object/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NODE_WIDTH 236
#define NODE_HEIGHT 46
#define COLUMN 284 /* from a node to its children */
#define LINE 58    /* from a node to the next */
#define MARGIN 16
#define HEAD 40    /* for the heading */
#define LABEL_MOST 26 /* characters */
#define TITLE_MOST 200

/* State, its class in the style, and the colours of its mark on light and dark screens. */
static const struct GraphState {
        const char *state, *light, *dark;
} graph_states[] = {
        {"instantiated", "#566273", "#9aa6b6"}, {"evaluation", "#2b5fa8", "#7fb0f5"},
        {"execution", "#b25e00", "#ffab4d"},    {"mutation", "#7a3fa0", "#c79be8"},
        {"delegation", "#0b7285", "#5fd0e6"},   {"dormant", "#8a94a3", "#6f7b8b"},
        {"reentry", "#2b5fa8", "#7fb0f5"},      {"terminated", "#1f7a5c", "#4fc397"},
        {"absent", "#c0182b", "#ff6b78"},
};

typedef struct GraphNode {
        char id[REGION_ID_MAX];
        char *label, *reason;  /* owned; "": none */
        char state[24];        /* of graph_states */
        char status[24];       /* of a child: the kind of its outcome, as the parent has it; "" none yet */
        const char *mark;      /* static: away, forked, behind, unknown signer; or "" */
        bool late, again;      /* the answer came late; drawn elsewhere, too */
        uint64_t serial;       /* of the parent's delegation; 0: the root */
        uint64_t entries;
        size_t parent, depth;
        double y;
} GraphNode;

typedef struct Graph {
        Txn *t;
        GraphNode *nodes; /* owned; each before its children, in the order of the drawing */
        size_t n;
        bool cut;
        json_t *seen;     /* {ID: true} */
        Buf *out;
        int error;
} Graph;

static void graph_deinit(Graph *g) {
        for (size_t i = 0; i < g->n; i++) {
                free(g->nodes[i].label);
                free(g->nodes[i].reason);
        }
        free(g->nodes);
        json_decref(g->seen);
}

/* The object's work in a few words. what: {"skill": NAME} | {"wait"} | {"delegate"} or {"steps"}: n or array. */
static int graph_label(const json_t *what, char **ret) {
        static const char *const many[] = {"delegate", "steps"};
        const char *skill = json_text(json_object_get(what, "skill"));
        char text[64];

        snprintf(text, sizeof(text), "%s", json_object_get(what, "wait") ? "wait" : "?");
        for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
                const json_t *v = json_object_get(what, many[i]);

                if (v)
                        snprintf(text, sizeof(text), "%s %" PRIu64, many[i],
                                 json_is_array(v) ? (uint64_t)json_array_size(v) : json_number(what, many[i]));
        }
        *ret = strdup(skill ?: text);
        return *ret ? 0 : -ENOMEM;
}

static const char *graph_mark(const ObjectRow *row) {
        return row->away      ? "away"
               : row->forked  ? "forked"
               : row->behind  ? "behind"
               : row->unknown ? "unknown signer"
                              : "";
}

/* Children by delegation: [{"id","serial","do","status"?,"late"?}...], from the parent's entries. */
static int graph_children_of(json_t *history, json_t **ret) {
        _cleanup_json_ json_t *list = json_array(), *by_id = json_object();
        json_t *e, *intent;
        const char *id;
        size_t i;

        if (!list || !by_id)
                return -ENOMEM;
        json_array_foreach(history, i, e) {
                const json_t *data = json_object_get(e, "data");
                json_t *child;

                if (json_text_is(json_object_get(e, "kind"), entry_kind_name(ENTRY_DELEGATION)))
                        json_object_foreach(json_object_get(data, "children"), id, intent) {
                                child = json_pack("{s:s, s:O?, s:O?}", "id", id, "serial",
                                                  json_object_get(data, "serial"), "do", json_object_get(intent, "do"));
                                if (json_array_append_new(list, child) < 0 || json_object_set(by_id, id, child) < 0)
                                        return -ENOMEM;
                        }
                if (!json_text_is(json_object_get(e, "kind"), entry_kind_name(ENTRY_CHILD)))
                        continue;
                child = json_object_get(by_id, json_str(data, "child"));
                if (child && (json_object_set(child, "status", json_object_get(data, "status")) < 0 ||
                              json_object_set(child, "late", json_object_get(data, "late")) < 0))
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(list);
        return 0;
}

static int graph_add(Graph *g, const char *id, const json_t *child, size_t parent, size_t depth, Diag *reterr);

/* A child that is not here is drawn by what its parent says. */
static int graph_read(Graph *g, size_t at, const json_t *child, json_t **ret_children, Diag *reterr) {
        _cleanup_object_row_ ObjectRow row = {};
        _cleanup_json_ json_t *history = NULL;
        GraphNode *node = &g->nodes[at];
        Diag d = {};
        int r = object_get(g->t, node->id, &row, &d);

        if (r == ENGINE_E_NO_OBJECT && child) {
                snprintf(node->state, sizeof(node->state), "absent");
                node->reason = strdup("");
                return node->reason ? graph_label(json_object_get(child, "do"), &node->label) : -ENOMEM;
        }
        if (r != 0) {
                *reterr = d;
                return r;
        }
        snprintf(node->state, sizeof(node->state), "%s", object_state_name(row.state));
        node->mark = graph_mark(&row);
        node->entries = row.n;
        node->reason = strdup(json_str(row.row, "reason"));
        r = !node->reason ? -ENOMEM : graph_label(json_object_get(row.row, "do"), &node->label);
        if (r == 0 && !node->again)
                r = object_history(g->t, &row, 0, &history, reterr) ?: graph_children_of(history, ret_children);
        return r;
}

static int graph_add_children(Graph *g, const json_t *children, size_t parent, size_t depth, Diag *reterr) {
        const json_t *child;
        int r = 0;
        size_t i;

        json_array_foreach(children, i, child) {
                const char *id = json_str(child, "id");

                if (g->n >= OBJECT_GRAPH_NODES_MAX || depth > OBJECT_GRAPH_DEPTH_MAX) {
                        g->cut = true;
                        return 0;
                }
                if (region_id_valid(id) && (r = graph_add(g, id, child, parent, depth, reterr)) != 0)
                        return r;
        }
        return 0;
}

static int graph_add(Graph *g, const char *id, const json_t *child, size_t parent, size_t depth, Diag *reterr) {
        _cleanup_json_ json_t *children = NULL;
        const size_t at = g->n;
        int r;

        if (!GROW(g->nodes, g->n))
                return -ENOMEM;
        g->nodes[g->n++] = (GraphNode){.parent = parent, .depth = depth, .mark = "",
                                       .serial = json_number(child, "serial"),
                                       .late = json_is_true(json_object_get(child, "late")),
                                       .again = json_object_get(g->seen, id) != NULL};
        memcpy(g->nodes[at].id, id, REGION_ID_MAX);
        snprintf(g->nodes[at].status, sizeof(g->nodes[at].status), "%s", json_str(child, "status"));
        if (json_object_set_new(g->seen, id, json_true()) < 0)
                return -ENOMEM;
        r = graph_read(g, at, child, &children, reterr);
        return r ?: graph_add_children(g, children, at, depth + 1, reterr);
}

/* A leaf has a line of its own; a parent stands in the middle of its children. Returns the number of lines. */
static size_t graph_place(Graph *g) {
        double *first = calloc(2 * g->n, sizeof(*first)), *last = first ? first + g->n : NULL;
        size_t lines = 0;

        if (!first) {
                g->error = -ENOMEM;
                return 1;
        }
        for (size_t i = 0; i < g->n; i++)
                if (i + 1 == g->n || g->nodes[i + 1].parent != i)
                        first[i] = last[i] = (double)lines++;
                else
                        first[i] = -1;
        for (size_t i = g->n; i-- > 0;) {
                size_t above = g->nodes[i].parent;

                g->nodes[i].y = (first[i] + last[i]) / 2;
                if (i == 0)
                        break;
                last[above] = first[above] < 0 ? g->nodes[i].y : last[above]; /* the last child comes first */
                first[above] = g->nodes[i].y;
        }
        free(first);
        return lines;
}

static void graph_put(Graph *g, const char *fmt, ...) _printf_(2, 3);
static void graph_put(Graph *g, const char *fmt, ...) {
        va_list ap;

        if (g->error < 0)
                return;
        va_start(ap, fmt);
        g->error = buf_vprintf(g->out, fmt, ap);
        va_end(ap);
}

static void graph_put_text(Graph *g, const char *text, size_t most) {
        g->error = g->error ?: svg_text(g->out, text, most);
}

static void graph_begin(Graph *g, size_t lines, size_t columns) {
        const size_t width = 2 * MARGIN + (columns - 1) * COLUMN + NODE_WIDTH, height = HEAD + lines * LINE + MARGIN;

        graph_put(g,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %zu %zu\" width=\"%zu\" height=\"%zu\" "
                  "role=\"img\" aria-label=\"Delegation tree of object %s\">\n<title>Object %s and %zu below</title>\n<style>"
                  ":root{color-scheme:light dark}svg{background:#fff}.box{fill:#f6f7f9;stroke:#d9dee5}"
                  ".again .box{stroke-dasharray:4 3}"
                  "text{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,monospace;fill:#16202c}"
                  ".soft{fill:#566273;font-size:11px}.edge{fill:none;stroke:#8a94a3}",
                  width, height, width, height, g->nodes[0].id, g->nodes[0].id, g->n - 1);
        for (size_t i = 0; i < ARRAY_SIZE(graph_states); i++)
                graph_put(g, ".%s .mark{fill:%s}", graph_states[i].state, graph_states[i].light);
        graph_put(g, "@media(prefers-color-scheme:dark){svg{background:#12161c}.box{fill:#1a2029;stroke:#2d3643}"
                     "text{fill:#e6eaf0}.soft{fill:#9aa6b6}.edge{stroke:#6f7b8b}");
        for (size_t i = 0; i < ARRAY_SIZE(graph_states); i++)
                graph_put(g, ".%s .mark{fill:%s}", graph_states[i].state, graph_states[i].dark);
        graph_put(g, "}</style>\n<text x=\"%d\" y=\"24\">object %s%s</text>\n", MARGIN, g->nodes[0].id,
                  g->cut ? ": larger than this drawing" : "");
}

static double graph_x(const GraphNode *n) {
        return MARGIN + (double)n->depth * COLUMN;
}

static double graph_y(const GraphNode *n) {
        return HEAD + n->y * LINE;
}

static void graph_edge(Graph *g, const GraphNode *n) {
        const GraphNode *above = &g->nodes[n->parent];
        double x = graph_x(above) + NODE_WIDTH, y = graph_y(above) + NODE_HEIGHT / 2.0,
               to = graph_y(n) + NODE_HEIGHT / 2.0, middle = (x + graph_x(n)) / 2;

        graph_put(g, "<path class=\"edge\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n", x, y, middle, y, middle,
                  to, graph_x(n), to);
}

static void graph_node(Graph *g, const GraphNode *n) {
        double x = graph_x(n), y = graph_y(n);

        graph_put(g, "<g class=\"%s%s\"><title>%s: ", n->state, n->again ? " again" : "", n->id);
        graph_put_text(g, n->label, TITLE_MOST);
        graph_put(g, "; %s", strcmp(n->state, "absent") == 0 ? "not in this store" : n->state);
        if (*n->reason)
                graph_put(g, ", ");
        graph_put_text(g, n->reason, TITLE_MOST);
        if (*n->mark)
                graph_put(g, "; %s", n->mark);
        if (n->entries > 0)
                graph_put(g, "; %" PRIu64 " entries", n->entries);
        if (n->serial > 0 || *n->status) {
                graph_put(g, "; delegation %" PRIu64 ": ", n->serial);
                graph_put_text(g, *n->status ? n->status : "no answer", TITLE_MOST);
                graph_put(g, "%s", n->late ? ", late" : "");
        }
        graph_put(g, "%s</title><rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"5\"/>",
                  n->again ? "; drawn elsewhere, too" : "", x, y, NODE_WIDTH, NODE_HEIGHT);
        graph_put(g, "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"%d\" rx=\"2\"/>", x, y, NODE_HEIGHT);
        graph_put(g, "<text x=\"%.1f\" y=\"%.1f\">", x + 14, y + 19);
        graph_put_text(g, n->label, LABEL_MOST);
        graph_put(g, "</text><text class=\"soft\" x=\"%.1f\" y=\"%.1f\">..%s %s", x + 14, y + 36,
                  n->id + REGION_ID_LEN - 6, n->state);
        if (*n->mark || *n->status)
                graph_put(g, ", ");
        graph_put_text(g, *n->mark ? n->mark : n->status, LABEL_MOST);
        graph_put(g, "%s</text></g>\n", !*n->mark && n->late ? " late" : "");
}

int object_graph(Txn *t, const char *id, Buf *ret, Diag *reterr) {
        _cleanup_(graph_deinit) Graph g = {.t = t, .seen = json_object(), .out = ret};
        size_t columns = 1, lines;
        int r = g.seen ? graph_add(&g, id, NULL, 0, 0, reterr) : -ENOMEM;

        if (r != 0)
                return r;
        for (size_t i = 0; i < g.n; i++)
                columns = MAX(columns, g.nodes[i].depth + 1);
        lines = graph_place(&g);
        graph_begin(&g, lines, columns);
        for (size_t i = 1; i < g.n; i++)
                graph_edge(&g, &g.nodes[i]);
        for (size_t i = 0; i < g.n; i++)
                graph_node(&g, &g.nodes[i]);
        graph_put(&g, "</svg>\n");
        return g.error;
}
