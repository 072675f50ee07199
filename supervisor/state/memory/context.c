#include "memory/context.h"

#include "engine/claim.h"
#include "memory/ruleset.h"
#include "memory/records.h"
#include "record/rows.h"

#include <errno.h>
#include <string.h>

int context_take(json_t *list, json_t *o, size_t *room) {
        size_t n = *room == SIZE_MAX ? 0 : json_dumpb(o, NULL, 0, JSON_COMPACT);

        if (n > *room)
                return 0;
        *room -= n;
        return json_array_append(list, o) == 0 ? 1 : -ENOMEM;
}

int context_cut(Context *c, const char *part) {
        return json_array_append_new(c->cut, json_string(part)) == 0 ? 0 : -ENOMEM;
}

unsigned context_classes(const ContextAsk *ask) {
        static const Class of[CONTEXT_TIERS] = {[CONTEXT_CORE] = CLASS_KERNEL,
                                                [CONTEXT_BELIEF] = CLASS_CANON,
                                                [CONTEXT_MEMORY] = CLASS_MEMORY,
                                                [CONTEXT_KNOWLEDGE] = CLASS_KNOWLEDGE,
                                                [CONTEXT_SKILL] = CLASS_SKILL};
        unsigned classes = 0;

        for (size_t i = 0; i < CONTEXT_TIERS; i++)
                if (ask->tiers & 1U << i)
                        classes |= 1U << of[i];
        return classes;
}

/* A rule, or a typed statement (M-68), of a kernel. New reference or NULL. */
static json_t *context_rule(const char *kernel, const json_t *rule) {
        static const char *const kept[] = {"id", "statement", "section", "subject", "predicate", "object", "sources"};
        json_t *o = json_pack("{s:s}", "kernel", kernel);

        if (o && JSON_ROW_KEEP(o, rule, kept) == 0)
                return o;
        json_decref(o);
        return NULL;
}

static int context_core(Context *c, json_t *versions, json_t *core) {
        static const struct {
                Kind kind;
                const char *name;
        } kernels[] = {{KIND_AGENT_KERNEL, "agent"}, {KIND_WORLD_KERNEL, "world"}};
        bool full = false;
        int r = 0;

        for (size_t k = 0; r == 0 && k < ARRAY_SIZE(kernels); k++) {
                RecordKey key = record_key_of(c->scope, kernels[k].kind, RULESET_ID);
                _cleanup_json_ json_t *rules = NULL;
                uint64_t version = 0;
                json_t *rule;
                size_t i;

                if (context_is_past(c->ask))
                        r = ruleset_version_at(c->t, c->ask->scope, kernels[k].kind, c->ask->upto, &version, c->reterr);
                if (r == 0 && (!context_is_past(c->ask) || version > 0)) /* 0: the scope is younger */
                        r = ruleset_rules(c->t, c->ask->scope, kernels[k].kind, version, &rules, NULL, &version,
                                          c->reterr);
                if (r == 0 && json_object_set_new(versions, kernels[k].name, json_u64(version)) < 0)
                        r = -ENOMEM;
                json_array_foreach(rules, i, rule) {
                        _cleanup_json_ json_t *o = NULL;

                        if (r != 0 || full || !json_text_is(json_object_get(rule, "lifecycle"), "active"))
                                continue;
                        o = context_rule(kernels[k].name, rule);
                        r = !o             ? -ENOMEM
                            : context_is_past(c->ask)
                                    ? 0
                                    : disputes_put_rule(c->t, &key, json_str(rule, "id"), o);
                        r = r ?: disputes_keep(o, context_classes(c->ask));
                        if (r < 0)
                                continue;
                        r = context_take(core, o, &c->left);
                        full = r == 0;
                        r = MIN(r, 0);
                }
        }
        return r == 0 && full ? context_cut(c, "core") : r;
}

/* The kinds that grow without end; only their newest rows are served. */
static bool context_is_bounded(Kind k) {
        return k == KIND_RESULT || k == KIND_LEARNING;
}

static int context_row(const Context *c, const Record *rec, json_t **ret) {
        _cleanup_json_ json_t *payload = NULL;
        int r = record_payload(c->t, rec, &payload);

        if (r == -ENOENT && !context_is_past(c->ask))
                return -EUCLEAN;
        if (r < 0 && r != -ENOENT)
                return r;
        *ret = json_pack("{s:s, s:s, s:o, s:o}", "id", rec->key.id, "state", record_state_name(rec->state), "version",
                         json_u64(rec->version), "seq", json_u64(rec->last));
        if (!*ret || context_put_content(*ret, payload) < 0)
                return -ENOMEM;
        if (context_is_past(c->ask)) /* claims are of the records as they are now */
                return 0;
        return disputes_put(c->t, rec, *ret) ?: disputes_keep(*ret, context_classes(c->ask));
}

static int context_by_seq_down(const void *a, const void *b) {
        uint64_t x = json_number(*(json_t *const *)a, "seq"), y = json_number(*(json_t *const *)b, "seq");

        return (x < y) - (x > y);
}

static int context_newest(json_t **list, size_t most) {
        json_t *sorted = json_sorted(*list, context_by_seq_down);

        json_decref(*list);
        *list = sorted;
        while (json_array_size(sorted) > most)
                json_array_remove(sorted, json_array_size(sorted) - 1);
        return sorted ? 0 : -ENOMEM;
}

/* Of a bucket that grows without end the newest rows, and at most twice as many at any time. */
static int context_keep_newest(const Context *c, json_t *row, json_t **list) {
        if (json_array_append(*list, row) < 0)
                return -ENOMEM;
        return json_array_size(*list) < 2 * (size_t)c->ask->lane ? 0 : context_newest(list, c->ask->lane);
}

/* Returns -ENOENT at the end of the bucket. *ret_cut: the rest has no room, or is not looked at. */
static int context_walk(Context *c, Kind kind, json_t **list, size_t *room, bool *ret_cut) {
        _cleanup_past_walk_ PastWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        size_t looked = 0;
        int r = past_walk(c->t, c->scope, kind, c->ask->upto, &w);

        w.look = c->ask->look;
        while (r == 0 && !*ret_cut && (r = past_walk_next(&w, &rec)) == 0) {
                _cleanup_json_ json_t *row = NULL;

                *ret_cut = looked++ == c->ask->look;
                if (*ret_cut || (rec.state != RECORD_ACTIVE && rec.state != RECORD_OPEN))
                        continue;
                r = context_row(c, &rec, &row);
                if (r == 0 && context_is_bounded(kind))
                        r = context_keep_newest(c, row, list);
                else if (r == 0) {
                        r = context_take(*list, row, room);
                        *ret_cut = r == 0;
                        r = MIN(r, 0);
                }
        }
        *ret_cut |= w.cut;
        return r;
}

/* The newest rows first, as many as have room. */
static int context_take_newest(const Context *c, json_t **list, size_t *room, bool *ret_cut) {
        int r = context_newest(list, c->ask->lane);

        for (size_t i = 0; r == 0 && i < json_array_size(*list); i++) {
                const size_t n = *room == SIZE_MAX ? 0 : json_dumpb(json_array_get(*list, i), NULL, 0, JSON_COMPACT);

                if (n <= *room) {
                        *room -= n;
                        continue;
                }
                *ret_cut = true;
                while (json_array_size(*list) > i)
                        json_array_remove(*list, i);
        }
        return r;
}

static int context_bucket(Context *c, Kind kind, json_t *belief) {
        _cleanup_json_ json_t *list = json_array();
        size_t before = c->left / 2, room = before;
        bool cut = false;
        int r;

        if (c->left == SIZE_MAX)
                before = room = SIZE_MAX;
        r = list ? context_walk(c, kind, &list, &room, &cut) : -ENOMEM;
        if ((r == 0 || r == -ENOENT) && context_is_bounded(kind))
                r = context_take_newest(c, &list, &room, &cut);
        if (r < 0 && r != -ENOENT)
                return r;
        c->left -= c->left == SIZE_MAX ? 0 : before - room;
        if (cut && context_cut(c, kind_name(kind)) < 0)
                return -ENOMEM;
        return json_array_size(list) > 0 && json_object_set(belief, kind_name(kind), list) < 0 ? -ENOMEM : 0;
}

static int context_belief(Context *c, json_t *belief) {
        int r = 0;

        for (const Kind *k = kinds; r == 0 && *k; k++)
                if (kind_class(*k) == CLASS_CANON)
                        r = context_bucket(c, *k, belief);
        return r;
}

static int context_withheld(unsigned granted, json_t *list) {
        static const struct {
                const char *tier, *grant; /* grant: the member of the manifest */
        } tiers[CONTEXT_TIERS] = {[CONTEXT_CORE] = {"core", "kernels"},
                                  [CONTEXT_BELIEF] = {"belief", "canon"},
                                  [CONTEXT_MEMORY] = {"memory", "memory"},
                                  [CONTEXT_KNOWLEDGE] = {"knowledge", "memory"},
                                  [CONTEXT_SKILL] = {"skill", "memory"}};

        for (size_t i = 0; i < CONTEXT_TIERS; i++)
                if (!(granted & 1U << i) &&
                    json_array_append_new(list, json_pack("{s:s, s:s}", "tier", tiers[i].tier, "grant",
                                                          tiers[i].grant)) < 0)
                        return -ENOMEM;
        return 0;
}

static json_t *context_new(const ContextAsk *ask) {
        _cleanup_json_ json_t *o = json_pack("{s:s, s:{}, s:[], s:{}, s:[], s:[], s:[]}", "scope", ask->scope,
                                             "kernels", "core", "belief", "advisory", "withheld", "cut");

        return o && context_withheld(ask->tiers, json_object_get(o, "withheld")) == 0 ? TAKE_PTR(o) : NULL;
}

int memory_context_empty(const ContextAsk *ask, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *o = context_new(ask);
        int r = o ? context_check_query(ask, reterr) : -ENOMEM;

        if (r == 0 && ask->tiers & 1U << CONTEXT_CORE)
                r = json_object_set_new(o, "kernels", json_pack("{s:i, s:i}", "agent", 0, "world", 0)) < 0 ? -ENOMEM : 0;
        for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(memory_families); i++)
                if (ask->tiers & 1U << (CONTEXT_MEMORY + i))
                        r = context_lane_put(json_object_get(o, "advisory"), memory_families[i], json_array());
        if (r == 0)
                *ret = TAKE_PTR(o);
        return r;
}

int memory_context(Txn *t, const ContextAsk *ask, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *o = context_new(ask);
        Context c = {.t = t, .ask = ask, .left = ask->bytes, .cut = json_object_get(o, "cut"), .reterr = reterr};
        int r = o ? scope_find(t, ask->scope, &c.scope, reterr) : -ENOMEM;

        if (r == 0 && context_is_past(ask) && json_object_set_new(o, "at", json_u64(ask->upto)) < 0)
                r = -ENOMEM;
        if (r == 0 && ask->tiers & 1U << CONTEXT_CORE)
                r = context_core(&c, json_object_get(o, "kernels"), json_object_get(o, "core"));
        if (r == 0 && ask->tiers & 1U << CONTEXT_BELIEF)
                r = context_belief(&c, json_object_get(o, "belief"));
        r = r ?: context_lanes(&c, json_object_get(o, "advisory"));
        if (r == 0)
                *ret = TAKE_PTR(o);
        return r;
}
