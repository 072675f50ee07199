#include "audit/flow-graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_MAX 320

static const char *const words[] = {
        [FLOW_WROTE] = "wrote",
        [FLOW_SAID] = "had a say in",
        [FLOW_READ] = "read",
        [FLOW_CONSULTED] = "consulted",
        [FLOW_STARTED] = "started",
        [FLOW_ANSWERED] = "answered",
        [FLOW_SHARED] = "shared sections with",
        [FLOW_BECAME] = "became",
        [FLOW_WENT_ON] = "went on as",
};

const char *flow_how_word(FlowHow how) {
        return words[how];
}

static void flow_key(uint64_t scope, const char *name, char ret[static KEY_MAX]) {
        snprintf(ret, KEY_MAX, "%" PRIu64 " %s", scope, name);
}

static FlowNode *flow_new_node(Map *m, const char *key, const char *name, FlowKind kind, uint64_t born) {
        size_t n = strlen(name) + 1;
        FlowNode *node = map_add(m, key, sizeof(*node) + n);

        if (!node)
                return NULL;
        node->kind = kind;
        node->born = born;
        node->ended = UINT64_MAX;
        memcpy(node->name, name, n);
        return node;
}

FlowNode *flow_region(const Flow *f, const char *id) {
        return map_get(&f->maps->regions, id);
}

FlowNode *flow_add_region(Flow *f, const char *id, uint64_t born) {
        FlowNode *n = flow_region(f, id);

        if (n || !(n = flow_new_node(&f->maps->regions, id, id, FLOW_REGION, born)))
                return n;
        if (f->last_region)
                f->last_region->next = n;
        else
                f->regions = n;
        return f->last_region = n;
}

FlowNode *flow_add_person(Flow *f, const char *who) {
        return map_get(&f->maps->people, who) ?: flow_new_node(&f->maps->people, who, who, FLOW_PERSON, 0);
}

int flow_know(Flow *f, uint64_t scope, const char *name) {
        char key[KEY_MAX];

        flow_key(scope, name, key);
        return map_have(&f->maps->items, key, sizeof(FlowItem)) ? 0 : -ENOMEM;
}

static FlowItem *flow_item(const Flow *f, uint64_t scope, const char *name) {
        char key[KEY_MAX];

        flow_key(scope, name, key);
        return map_get(&f->maps->items, key);
}

bool flow_knows(const Flow *f, uint64_t scope, const char *name) {
        return flow_item(f, scope, name);
}

static FlowNode *flow_put_version(Flow *f, uint64_t scope, const char *name, uint64_t version, uint64_t born,
                                  FlowItem **ret_item) {
        char key[KEY_MAX];
        FlowItem *item;
        FlowNode *n;

        flow_key(scope, name, key);
        *ret_item = item = map_have(&f->maps->items, key, sizeof(*item));
        if (!item)
                return NULL;
        if (item->last && item->last->version == version) /* nearly always the last version */
                return item->last;
        snprintf(key + strlen(key), KEY_MAX - strlen(key), "@%" PRIu64, version);
        n = map_get(&f->maps->values, key);
        if (n || !(n = flow_new_node(&f->maps->values, key, name, FLOW_VALUE, born)))
                return n;
        n->scope = scope;
        n->version = version;
        if (item->last)
                item->last->next = n;
        else
                item->first = n;
        return item->last = n;
}

FlowNode *flow_add_value(Flow *f, uint64_t scope, const char *name, uint64_t version, uint64_t born) {
        FlowItem *item;

        return flow_put_version(f, scope, name, version, born, &item);
}

FlowNode *flow_add_version(Flow *f, uint64_t scope, const char *name, uint64_t version, uint64_t born,
                           FlowNode **ret_before) {
        FlowItem *item;
        FlowNode *n = flow_put_version(f, scope, name, version, born, &item);

        if (!n)
                return NULL;
        *ret_before = item->newest;
        return item->newest = n;
}

FlowNode *flow_versions(const Flow *f, uint64_t scope, const char *name) {
        const FlowItem *item = flow_item(f, scope, name);

        return item ? item->first : NULL;
}

FlowNode *flow_version_at(const Flow *f, uint64_t scope, const char *name, uint64_t seq) {
        FlowItem *item = flow_item(f, scope, name);

        if (!item || !item->first || item->first->born >= seq)
                return NULL;
        if (!item->at || item->at->born >= seq)
                item->at = item->first;
        while (item->at->next && item->at->next->born < seq)
                item->at = item->at->next;
        return item->at;
}

static void flow_scope_key(uint64_t number, char ret[static 24]) {
        snprintf(ret, 24, "%" PRIu64, number);
}

uint64_t flow_scope(const Flow *f, const char *name) {
        const uint64_t *number = map_get(&f->maps->scopes, name);

        return number ? *number : 0;
}

const char *flow_scope_name(const Flow *f, uint64_t scope, uint64_t *ret_before) {
        const FlowScope *s;
        char key[24];

        flow_scope_key(scope, key);
        s = map_get(&f->maps->names, key);
        *ret_before = s ? s->before : 0;
        return s ? s->name : "";
}

int flow_add_scope(Flow *f, const char *name, uint64_t number) {
        uint64_t *newest = map_have(&f->maps->scopes, name, sizeof(*newest));
        size_t n = strlen(name) + 1;
        FlowScope *s;
        char key[24];

        flow_scope_key(number, key);
        s = newest ? map_add(&f->maps->names, key, sizeof(*s) + n) : NULL;
        if (!s)
                return -ENOMEM;
        memcpy(s->name, name, n);
        s->before = *newest;
        *newest = number;
        return 0;
}

/* Uses of a section stand in two records. */
static bool flow_has_edge(const FlowNode *from, const FlowNode *to, FlowHow how) {
        const FlowEdge *last = from->last_out;

        if (last && last->to == to && last->how == how)
                return true;
        if (how == FLOW_READ && strncmp(from->name, FLOW_SECTION, strlen(FLOW_SECTION)) == 0)
                for (const FlowEdge *e = from->out; e; e = e->next_out)
                        if (e->to == to)
                                return true;
        if (how == FLOW_WROTE && strncmp(to->name, FLOW_SECTION, strlen(FLOW_SECTION)) == 0)
                for (const FlowEdge *e = to->in; e; e = e->next_in)
                        if (e->from == from)
                                return true;
        return false;
}

int flow_add_edge(Flow *f, FlowNode *from, FlowNode *to, FlowHow how, uint64_t seq, uint64_t moment, uint64_t since) {
        FlowEdge *e;

        if (!from || !to)
                return -ENOMEM;
        if (flow_has_edge(from, to, how))
                return 0;
        e = calloc(1, sizeof(*e));
        if (!e)
                return -ENOMEM;
        *e = (FlowEdge){
                .from = from, .to = to, .next = f->edges, .how = how, .seq = seq, .moment = moment, .since = since};
        f->edges = e;
        *(from->last_out ? &from->last_out->next_out : &from->out) = e;
        from->last_out = e;
        *(to->last_in ? &to->last_in->next_in : &to->in) = e;
        to->last_in = e;
        return 0;
}

void flow_deinit(Flow *f) {
        while (f->edges) {
                FlowEdge *e = f->edges;

                f->edges = e->next;
                free(e);
        }
        if (f->maps) {
                map_deinit(&f->maps->regions);
                map_deinit(&f->maps->values);
                map_deinit(&f->maps->items);
                map_deinit(&f->maps->people);
                map_deinit(&f->maps->scopes);
                map_deinit(&f->maps->names);
        }
        free(f->maps);
        *f = (Flow){0};
}

const char *flow_show(const FlowNode *n, char ret[static 300]) {
        if (n->kind == FLOW_VALUE && n->version > 0)
                snprintf(ret, 300, "%s@%" PRIu64, n->name, n->version);
        else
                snprintf(ret, 300, "%s", n->name);
        return ret;
}

void flow_mark(const FlowAsked *a) {
        for (FlowNode *n = a->first; n; n = n->kind == FLOW_VALUE ? n->next : NULL)
                n->reached = a->version == 0 || n->version == a->version;
}

typedef struct NodeList {
        FlowNode **v;
        size_t n;
} NodeList;

static int flow_append(NodeList *l, FlowNode *n) {
        if (!GROW(l->v, l->n))
                return -ENOMEM;
        l->v[l->n++] = n;
        return 0;
}

/* waiting: nodes to visit, again after an earlier arrival. found: each node once, by distance. */
static int flow_reach(NodeList *waiting, NodeList *found, FlowEdge *e) {
        uint64_t since = e->to->kind == FLOW_REGION ? e->since : 0;
        int r = 0;

        if ((e->from->kind == FLOW_REGION && e->moment < e->from->since) || (e->to->reached && e->to->since <= since))
                return 0;
        if (!e->to->reached) {
                e->to->reached = true;
                e->to->by = e;
                e->to->depth = e->from->depth + 1;
                r = flow_append(found, e->to);
        }
        e->to->since = since;
        return r == 0 ? flow_append(waiting, e->to) : r;
}

int flow_follow(const FlowAsked *a, FlowNode ***ret, size_t *ret_n) {
        NodeList waiting = {0}, found = {0};
        int r = 0;

        flow_mark(a);
        for (FlowNode *n = a->first; n && r == 0; n = n->kind == FLOW_VALUE ? n->next : NULL)
                if (n->reached)
                        r = flow_append(&waiting, n);
        for (size_t at = 0; r == 0 && at < waiting.n; at++)
                for (FlowEdge *e = waiting.v[at]->out; e && r == 0; e = e->next_out)
                        r = flow_reach(&waiting, &found, e);
        free(waiting.v);
        *ret = found.v;
        *ret_n = found.n;
        return r;
}
