/* Runs: CLI. Where a record is not complete, and so what an answer leaves open. */
#include "audit/flow-graph.h"

#include "record/kind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Records of one family and scope that are reached, from the first one on. */
typedef struct Family {
        uint64_t scope, born;
        const char *scope_name; /* borrowed */
        Kind kind;
} Family;

typedef struct Asking {
        Flow *f;
        FlowUnknownFn fn;
        void *userdata;
        Family *families; /* owned */
        size_t n;
        bool note; /* a note is reached */
        uint64_t first_slot; /* when the first slot that is reached was written; UINT64_MAX: none is */
} Asking;

static int note_family(Asking *a, const FlowNode *n) {
        const char *slash = strchr(n->name, '/');
        char kind[64] = "";
        uint64_t before;
        Family *more;
        Kind k;

        memcpy(kind, n->name, MIN((size_t)(slash - n->name), sizeof(kind) - 1));
        k = kind_from_name(kind);
        for (size_t i = 0; i < a->n; i++)
                if (a->families[i].scope == n->scope && a->families[i].kind == k) {
                        a->families[i].born = MIN(a->families[i].born, n->born);
                        return 0;
                }
        more = reallocarray(a->families, a->n + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        a->families = more;
        more[a->n++] = (Family){.scope = n->scope, .born = n->born, .scope_name = flow_scope_name(a->f, n->scope, &before), .kind = k};
        return 0;
}

/* All values that are reached, by what a region may read of them. */
static int sum_up(Asking *a) {
        const Map *m = &a->f->maps->values;
        int r = 0;

        for (size_t i = 0; r == 0 && i < m->room; i++) {
                const FlowNode *n = m->items[i].value;

                if (!n || !n->reached)
                        continue;
                if (strncmp(n->name, FLOW_SLOT, strlen(FLOW_SLOT)) == 0)
                        a->first_slot = MIN(a->first_slot, n->born);
                else if (n->scope > 0)
                        r = note_family(a, n);
                else
                        a->note |= strncmp(n->name, FLOW_NOTE, strlen(FLOW_NOTE)) == 0;
        }
        return r;
}

static int parse_member(Bytes of, const char *key, json_t **ret) {
        const char *v;
        size_t n;

        *ret = NULL;
        if (!of.p || json_member_own(of.p, of.n, key, &v, &n) != 0)
                return 0;
        return json_parse_own(v, n, n, JSON_DEPTH_DEFAULT, ret) == -ENOMEM ? -ENOMEM : 0;
}

/* Slots are copied when a region begins: the version that it may have read is the one of that moment. */
static int ask_slots(Asking *a, const FlowNode *u) {
        _cleanup_json_ json_t *reads = NULL;
        char why[200];
        int r;

        if (!(u->gaps.slots > 0 || (u->gaps.alive && u->stats)) || u->born < a->first_slot)
                return 0;
        snprintf(why, sizeof(why), u->gaps.slots > 0 ? "lineage stats: reads of slots and gates are counted (%" PRIu64 "), and not which" : "lineage stats, and it is alive", u->gaps.slots);
        r = parse_member(u->entry, "reads", &reads);
        if (r < 0 || !u->entry.p)
                return r < 0 ? r : a->fn(a->userdata, u, NULL, why);
        for (size_t i = 0; r == 0 && i < json_array_size(reads); i++) {
                char name[sizeof(FLOW_SLOT) + SLOT_NAME_MAX], text[300];
                const char *slot = json_text(json_array_get(reads, i));
                const FlowNode *v;

                if (!slot)
                        continue;
                snprintf(name, sizeof(name), FLOW_SLOT "%s", slot);
                v = flow_version_at(a->f, 0, name, u->born);
                if (v && v->reached)
                        r = a->fn(a->userdata, u, flow_show(v, text), why);
        }
        return r;
}

static bool names(const json_t *list, const char *word) {
        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_text_is(json_array_get(list, i), word))
                        return true;
        return false;
}

/* The values that a region may read by its grant. memory: [{"scope","read":[family…]}…], or only how many rows it had, where they were too many for the entry;
 * canon: a scope. By names: a scope that is deleted and made anew is another one. */
static bool may_read(const Family *family, const json_t *memory, const char *canon) {
        if (kind_class(family->kind) == CLASS_CANON)
                return canon && strcmp(canon, family->scope_name) == 0;
        if (memory && !json_is_array(memory))
                return true;
        for (size_t i = 0; i < json_array_size(memory); i++) {
                const json_t *row = json_array_get(memory, i);
                const char *scope = json_text(json_object_get(row, "scope"));

                if (scope && strcmp(scope, family->scope_name) == 0 && names(json_object_get(row, "read"), kind_name(family->kind)))
                        return true;
        }
        return false;
}

static const char *why_records(const FlowNode *u, bool belief, char ret[static 200]) {
        uint64_t n = belief ? u->gaps.belief + u->gaps.told : u->gaps.memory;
        const char *of = belief ? "shared belief" : "memory";

        if (u->gaps.alive)
                snprintf(ret, 200, "it is alive: what it reads of %s is recorded at its end", of);
        else if (n > 0)
                snprintf(ret, 200, "%sreads of %s are counted (%" PRIu64 "), and not which", u->stats ? "lineage stats: " : "", of, n);
        else
                snprintf(ret, 200, "its supervisor died before it recorded what was read of %s", of);
        return ret;
}

static int ask_records(Asking *a, const FlowNode *u) {
        _cleanup_json_ json_t *memory = NULL, *canon = NULL;
        const char *v;
        char why[200];
        size_t n;
        int r = 0;

        if (a->n == 0 || !(u->gaps.alive || u->gaps.lost || u->gaps.belief > 0 || u->gaps.memory > 0 || u->gaps.told > 0))
                return 0;
        if (u->entry.p && json_member_own(u->entry.p, u->entry.n, "grant", &v, &n) == 0) {
                r = parse_member(BYTES(v, n), "memory", &memory);
                if (r == 0)
                        r = parse_member(BYTES(v, n), "canon", &canon);
        }
        for (size_t i = 0; r == 0 && i < a->n; i++) {
                const Family *family = &a->families[i];
                bool belief = kind_class(family->kind) == CLASS_CANON;
                bool told = belief && u->gaps.told > 0; /* that is no question of its grant */
                bool open = told || u->gaps.alive || u->gaps.lost || (belief ? u->gaps.belief : u->gaps.memory) > 0;

                if (open && family->born < u->ended && (told || !u->entry.p || may_read(family, memory, json_text(canon))))
                        r = a->fn(a->userdata, u, kind_name(family->kind), why_records(u, belief, why));
        }
        return r;
}

/* The record of a section is its region's. */
static int ask_section(Asking *a, const FlowAsked *asked) {
        char id[REGION_ID_MAX] = "", why[200];
        const FlowNode *u;

        memcpy(id, asked->text + strlen(FLOW_SECTION), REGION_ID_LEN);
        u = flow_region(a->f, id);
        if (!u)
                return 0;
        if (!u->handles)
                snprintf(why, sizeof(why), "lineage %s: uses of handles are recorded at lineage handles alone", u->stats ? "stats" : "events");
        else if (u->gaps.alive)
                snprintf(why, sizeof(why), "it is alive: uses of its handles are recorded in batches");
        else if (u->gaps.handles > 0)
                snprintf(why, sizeof(why), "%" PRIu64 " uses of handles had no room in its record", u->gaps.handles);
        else if (u->gaps.lost)
                snprintf(why, sizeof(why), "its supervisor died before it recorded the last uses of its handles");
        else
                return 0;
        return a->fn(a->userdata, u, asked->text, why);
}

/* Reached from its beginning on: all that it did counts. Of one that was reached later (by an answer, by a section) only what it did from then on does, and
 * what it read itself before that is asked for like another's. */
static bool counts_whole(const FlowNode *u, const FlowAsked *asked) {
        return u == asked->first || (u->by && u->since <= u->born);
}

int flow_unknown(Flow *f, const FlowAsked *asked, FlowUnknownFn fn, void *userdata) {
        Asking a = {.f = f, .fn = fn, .userdata = userdata, .first_slot = UINT64_MAX};
        int r = sum_up(&a);

        if (r == 0 && asked->section)
                r = ask_section(&a, asked);
        for (const FlowNode *u = a.note ? f->regions : NULL; u && r == 0; u = u->next)
                if (u->gaps.told > 0 && !counts_whole(u, asked))
                        r = fn(userdata, u, NULL, "lineage stats: it was an advisor, and which note it was told is not recorded");
        for (const FlowNode *u = f->regions; u && r == 0; u = u->next) {
                if (u->refused || counts_whole(u, asked))
                        continue;
                r = ask_slots(&a, u);
                if (r == 0)
                        r = ask_records(&a, u);
        }
        free(a.families);
        return r;
}
