#include "memory/refs.h"

#include "refs/graph.h"
#include "memory/records.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *memory_end_state(RecordState s) {
        return s == RECORD_NONE ? "deleted" : record_state_name(s);
}

json_t *memory_edge(const RecordKey *end, const Ref *ref, const char *state) {
        return json_pack("{s:s, s:s, s:s, s:s, s:s*}", "kind", kind_name(end->kind), "id", end->id, "strength",
                         ref->strong ? "strong" : "weak", "role", ref->role, "state", state);
}

int memory_edge_granted(Txn *t, const Ref *ref, json_t *edge) {
        int r = strcmp(ref->role, REF_ROLE_SUPERSEDES) == 0 ? graph_supersedes(t, ref) : 1;

        return r < 0 ? r : r > 0 || json_object_set_new(edge, "granted", json_false()) == 0 ? 0 : -ENOMEM;
}

static int refs_add_edge(Txn *t, const RecordKey *end, const Ref *ref, RecordState state, json_t *list) {
        json_t *o = memory_edge(end, ref, memory_end_state(state));

        if (json_array_append_new(list, o) < 0 || json_object_set_new(o, "seq", json_u64(ref->seq)) < 0)
                return -ENOMEM;
        return memory_edge_granted(t, ref, o);
}

int memory_refs_of(Txn *t, const RecordKey *k, bool incoming, bool only_broken, json_t **ret) {
        _cleanup_json_ json_t *a = json_array();
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = a ? ref_walk(t, k, incoming, &w) : -ENOMEM;

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0) {
                const RecordKey *end = incoming ? &ref.source : &ref.target;
                RecordState state;

                r = graph_state(t, end, &state);
                if (r == 0 && (!only_broken || state == RECORD_NONE || state == RECORD_REMOVED))
                        r = refs_add_edge(t, end, &ref, state, a);
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}

static int refs_add_seen(Txn *t, const RecordKey *end, const Ref *ref, json_t *list) {
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = record_get(t, end, &rec);
        const RecordState state = r == 0 ? rec.state : RECORD_NONE;

        if (r < 0 && r != -ENOENT)
                return r;
        r = refs_add_edge(t, end, ref, state, list);
        return r == 0 && state != RECORD_NONE &&
                               json_object_set_new(json_array_get(list, json_array_size(list) - 1), "version",
                                                   json_u64(rec.version)) < 0
                       ? -ENOMEM
                       : r;
}

int memory_edges(Txn *t, const RecordKey *k, bool incoming, const EdgeBound *bound, json_t **ret, uint64_t *ret_hidden,
                 bool *ret_cut) {
        _cleanup_json_ json_t *a = json_array();
        _cleanup_ref_walk_ RefWalk w = {0};
        size_t looked = 0;
        Ref ref;
        int r = a ? ref_walk(t, k, incoming, &w) : -ENOMEM;

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0) {
                const RecordKey *end = incoming ? &ref.source : &ref.target;

                if (looked++ == bound->most) {
                        *ret_cut = true;
                        break;
                }
                if (bound->may(bound->user, end->kind))
                        r = refs_add_seen(t, end, &ref, a);
                else
                        ++*ret_hidden;
        }
        if (r != 0 && r != -ENOENT)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}

int memory_blockers(Txn *t, const RecordKey *k, json_t **ret) {
        _cleanup_json_ json_t *a = json_array();
        _cleanup_free_ Ref *v = NULL;
        size_t n = 0;
        int r = a ? graph_blockers(t, k, &v, &n) : -ENOMEM;

        for (size_t i = 0; r == 0 && i < n; i++) {
                RecordState state;

                r = graph_state(t, &v[i].source, &state) ?: refs_add_edge(t, &v[i].source, &v[i], state, a);
        }
        if (r == 0)
                *ret = TAKE_PTR(a);
        return r;
}

int memory_dependents(Txn *t, const RecordKey *k, json_t **ret) {
        _cleanup_json_ json_t *a = json_array();
        _cleanup_free_ Dependent *v = NULL;
        size_t n = 0;
        int r = a ? graph_dependents(t, k, &v, &n) : -ENOMEM;

        for (size_t i = 0; r == 0 && i < n; i++) {
                json_t *o = memory_edge(&v[i].ref.source, &v[i].ref, memory_end_state(v[i].state));

                if (json_array_append_new(a, o) < 0 || json_object_set_new(o, "depth", json_integer(v[i].depth)) < 0 ||
                    json_object_set_new(o, "holds", json_boolean(v[i].holds)) < 0)
                        r = -ENOMEM;
        }
        if (r == 0)
                *ret = TAKE_PTR(a);
        return r;
}

int memory_refs(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *out = NULL, *in = NULL, *broken = NULL, *block = NULL, *deps = NULL;
        RecordState state = RECORD_NONE;
        RecordKey k;
        int r = memory_key(t, scope, kind, id, &k, reterr)
                ?: graph_state(t, &k, &state)
                ?: memory_refs_of(t, &k, false, false, &out)
                ?: memory_refs_of(t, &k, true, false, &in)
                ?: memory_refs_of(t, &k, false, true, &broken)
                ?: memory_blockers(t, &k, &block)
                ?: memory_dependents(t, &k, &deps);

        if (r != 0)
                return r;
        if (state == RECORD_NONE && json_array_size(in) == 0)
                return diag(reterr, ENGINE_E_NO_RECORD,
                            "there is no record %s of %s in scope %s, and nothing refers to one", id, kind_name(kind),
                            scope);
        *ret = json_pack("{s:s, s:s, s:s, s:s, s:O, s:O, s:O, s:O, s:O}", "scope", scope, "kind", kind_name(kind), "id",
                         id, "state", memory_end_state(state), "outgoing", out, "incoming", in, "broken", broken,
                         "blockers", block, "dependents", deps);
        return *ret ? 0 : -ENOMEM;
}

const char *memory_name(const char *kind, const char *id, char out[static MEMORY_NAME_MAX]) {
        snprintf(out, MEMORY_NAME_MAX, "%.31s/%.64s", kind, id);
        return out;
}

static const char *refs_name(const RecordKey *k, char out[static MEMORY_NAME_MAX]) {
        return memory_name(kind_name(k->kind), k->id, out);
}

typedef struct RefsReach {
        Txn *t;
        RecordKey *v; /* in the order of depth */
        unsigned *depth;
        size_t n;
        json_t *nodes, *edges, *seen;
        bool cut;
} RefsReach;

static int refs_reach_node(RefsReach *s, const RecordKey *k, unsigned depth) {
        char name[MEMORY_NAME_MAX];
        RecordState state;
        int r;

        refs_name(k, name);
        if (json_object_get(s->seen, name))
                return 0;
        if (s->n == REFS_NODES_MAX) {
                s->cut = true;
                return 0;
        }
        r = graph_state(s->t, k, &state);
        if (r == 0 &&
            (json_object_set_new(s->seen, name, json_true()) < 0 ||
             json_array_append_new(s->nodes, json_pack("{s:s, s:s, s:s, s:i}", "kind", kind_name(k->kind), "id", k->id,
                                                       "state", memory_end_state(state), "depth", (int)depth)) < 0))
                r = -ENOMEM;
        s->v[s->n] = *k;
        s->depth[s->n++] = depth;
        return r;
}

static int refs_reach_from(RefsReach *s, const RecordKey *k, unsigned depth, bool incoming) {
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = ref_walk(s->t, k, incoming, &w);

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0) {
                char from[MEMORY_NAME_MAX], to[MEMORY_NAME_MAX];

                if (json_array_size(s->edges) == 4 * REFS_NODES_MAX) {
                        s->cut = true;
                        return 0;
                }
                if (json_array_append_new(s->edges,
                                          json_pack("{s:s, s:s, s:s, s:s}", "from", refs_name(&ref.source, from), "to",
                                                    refs_name(&ref.target, to), "strength",
                                                    ref.strong ? "strong" : "weak", "role", ref.role)) < 0)
                        return -ENOMEM;
                r = refs_reach_node(s, incoming ? &ref.source : &ref.target, depth + 1);
        }
        return r == -ENOENT ? 0 : r;
}

int memory_reach(Txn *t, const char *scope, Kind kind, const char *id, bool incoming, unsigned depth, json_t **ret,
                 Diag *reterr) {
        _cleanup_json_ json_t *nodes = json_array(), *list = json_array(), *seen = json_object();
        _cleanup_free_ RecordKey *v = calloc(REFS_NODES_MAX, sizeof(*v));
        _cleanup_free_ unsigned *depths = calloc(REFS_NODES_MAX, sizeof(*depths));
        RefsReach s = {.t = t, .v = v, .depth = depths, .nodes = nodes, .edges = list, .seen = seen};
        RecordKey k;
        int r = nodes && list && seen && v && depths ? memory_key(t, scope, kind, id, &k, reterr) : -ENOMEM;

        if (r == 0)
                r = refs_reach_node(&s, &k, 0);
        for (size_t at = 0; r == 0 && at < s.n; at++)
                if (s.depth[at] < depth)
                        r = refs_reach_from(&s, &s.v[at], s.depth[at], incoming);
        if (r != 0)
                return r;
        *ret = json_pack("{s:O, s:O, s:b}", "nodes", nodes, "edges", list, "cut", (int)s.cut);
        return *ret ? 0 : -ENOMEM;
}

int memory_broken(Txn *t, const char *scope, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *a = json_array();
        _cleanup_record_walk_ RecordWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t number;
        int r = a ? scope_find(t, scope, &number, reterr) : -ENOMEM;

        if (r == 0)
                r = record_walk(t, number, KIND_NONE, &w);
        while (r == 0 && (r = record_walk_next(&w, &rec)) == 0) {
                _cleanup_json_ json_t *list = NULL;
                json_t *o;
                size_t i;

                r = memory_refs_of(t, &rec.key, false, true, &list);
                json_array_foreach(list, i, o) {
                        if (json_object_set(o, "to_kind", json_object_get(o, "kind")) < 0 ||
                            json_object_set(o, "to_id", json_object_get(o, "id")) < 0 ||
                            json_object_set_new(o, "kind", json_string(kind_name(rec.key.kind))) < 0 ||
                            json_object_set_new(o, "id", json_string(rec.key.id)) < 0 || json_array_append(a, o) < 0)
                                r = -ENOMEM;
                }
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}
