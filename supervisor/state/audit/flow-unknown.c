/* Runs: CLI. Gaps in the record of reads, and the questions that remain open. */
#include "audit/flow-graph.h"
#include "record/kind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The reached records of one family and scope. */
typedef struct UnknownFamily {
        uint64_t scope, born;
        const char *scope_name; /* borrowed */
        Kind kind;
} UnknownFamily;

typedef struct UnknownQuestion {
        Flow *f;
        FlowUnknownFn fn;
        void *userdata;
        UnknownFamily *families; /* owned */
        size_t n;
        bool note; /* a note is reached */
        uint64_t first_slot; /* seq of the first reached slot version; UINT64_MAX: none */
} UnknownQuestion;

static int unknown_add_family(UnknownQuestion *a, const FlowNode *n) {
        const char *slash = strchr(n->name, '/');
        char kind[64] = "";
        uint64_t before;
        Kind k;

        memcpy(kind, n->name, MIN((size_t)(slash - n->name), sizeof(kind) - 1));
        k = kind_from_name(kind);
        for (size_t i = 0; i < a->n; i++)
                if (a->families[i].scope == n->scope && a->families[i].kind == k) {
                        a->families[i].born = MIN(a->families[i].born, n->born);
                        return 0;
                }
        if (!GROW(a->families, a->n))
                return -ENOMEM;
        a->families[a->n++] = (UnknownFamily){
                .scope = n->scope, .born = n->born, .scope_name = flow_scope_name(a->f, n->scope, &before), .kind = k};
        return 0;
}

/* Collects the reached values, by kind. */
static int unknown_collect(UnknownQuestion *a) {
        const Map *m = &a->f->maps->values;
        int r = 0;

        for (size_t i = 0; r == 0 && i < m->room; i++) {
                const FlowNode *n = m->items[i].value;

                if (!n || !n->reached)
                        continue;
                if (strncmp(n->name, FLOW_SLOT, strlen(FLOW_SLOT)) == 0)
                        a->first_slot = MIN(a->first_slot, n->born);
                else if (n->scope > 0)
                        r = unknown_add_family(a, n);
                else
                        a->note |= strncmp(n->name, FLOW_NOTE, strlen(FLOW_NOTE)) == 0;
        }
        return r;
}

static int unknown_parse_member(Bytes of, const char *key, json_t **ret) {
        Bytes v = flow_member(of, key);

        *ret = NULL;
        return v.p && json_parse_own(v.p, v.n, v.n, JSON_DEPTH_DEFAULT, ret) == -ENOMEM ? -ENOMEM : 0;
}

/* Slots are copied at the beginning of a region: only the version of that moment may have been read. */
static int unknown_slots(UnknownQuestion *a, const FlowNode *u) {
        _cleanup_json_ json_t *reads = NULL;
        char why[200];
        int r;

        if (!(u->gaps.slots > 0 || (u->gaps.alive && u->stats)) || u->born < a->first_slot)
                return 0;
        snprintf(why, sizeof(why),
                 u->gaps.slots > 0 ? "lineage stats: reads of slots and gates are counted (%" PRIu64 "), not named"
                                   : "lineage stats, and the region is alive",
                 u->gaps.slots);
        r = unknown_parse_member(u->entry, "reads", &reads);
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

static bool unknown_list_has(const json_t *list, const char *word) {
        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_text_is(json_array_get(list, i), word))
                        return true;
        return false;
}

/* The grant allows the read. memory: [{"scope","read":[family…]}…], or only the number of rows when the list is too
 * long for the entry; canon, kernels: a scope. Scopes are compared by name: a new scope may have the name of a deleted scope. */
static bool unknown_may_read(const UnknownFamily *family, const json_t *memory, const char *canon,
                             const char *kernels) {
        if (kind_class(family->kind) == CLASS_CANON || kind_class(family->kind) == CLASS_KERNEL) {
                const char *scope = kind_class(family->kind) == CLASS_CANON ? canon : kernels;

                return scope && strcmp(scope, family->scope_name) == 0;
        }
        if (memory && !json_is_array(memory))
                return true;
        for (size_t i = 0; i < json_array_size(memory); i++) {
                const json_t *row = json_array_get(memory, i);
                const char *scope = json_text(json_object_get(row, "scope"));

                if (scope && strcmp(scope, family->scope_name) == 0 &&
                    unknown_list_has(json_object_get(row, "read"), kind_name(family->kind)))
                        return true;
        }
        return false;
}

static const char *unknown_why(const FlowNode *u, bool belief, char ret[static 200]) {
        uint64_t n = belief ? u->gaps.belief + u->gaps.told : u->gaps.memory;
        const char *of = belief ? "shared belief" : "memory";

        if (u->gaps.alive)
                snprintf(ret, 200, "the region is alive: reads of %s are recorded at its end", of);
        else if (n > 0)
                snprintf(ret, 200, "%sreads of %s are counted (%" PRIu64 "), not named",
                         u->stats ? "lineage stats: " : "", of, n);
        else
                snprintf(ret, 200, "the supervisor died before the record of reads of %s", of);
        return ret;
}

static int unknown_records(UnknownQuestion *a, const FlowNode *u) {
        Bytes grant = flow_member(u->entry, "grant");
        _cleanup_json_ json_t *memory = NULL, *canon = NULL, *kernels = NULL;
        char why[200];
        int r;

        if (a->n == 0 ||
            !(u->gaps.alive || u->gaps.lost || u->gaps.belief > 0 || u->gaps.memory > 0 || u->gaps.told > 0))
                return 0;
        r = unknown_parse_member(grant, "memory", &memory) ?: unknown_parse_member(grant, "canon", &canon)
            ?: unknown_parse_member(grant, "kernels", &kernels);
        for (size_t i = 0; r == 0 && i < a->n; i++) {
                const UnknownFamily *family = &a->families[i];
                bool belief = kind_class(family->kind) == CLASS_CANON;
                bool told = belief && u->gaps.told > 0; /* independent of the grant */
                bool open = told || u->gaps.alive || u->gaps.lost || (belief ? u->gaps.belief : u->gaps.memory) > 0;

                if (open && family->born < u->ended &&
                    (told || !u->entry.p || unknown_may_read(family, memory, json_text(canon), json_text(kernels))))
                        r = a->fn(a->userdata, u, kind_name(family->kind), unknown_why(u, belief, why));
        }
        return r;
}

/* Regions of a run of several regions read each other's notes (G-75). */
static int unknown_notes(UnknownQuestion *a, const FlowNode *u) {
        _cleanup_json_ json_t *own = NULL;
        int r = a->note ? unknown_parse_member(flow_member(u->entry, "grant"), "own_notes", &own) : 0;

        if (r < 0 || !json_is_true(own) || !(u->gaps.notes > 0 || u->gaps.alive || u->gaps.lost))
                return r;
        return a->fn(a->userdata, u, NULL,
                     u->gaps.notes > 0 ? "reads of notes of its run are counted, not named"
                     : u->gaps.alive   ? "the region is alive: reads of notes of its run are recorded at its end"
                                       : "the supervisor died before the record of reads of notes");
}

/* The region of a section records the uses of the section. */
static int unknown_section(UnknownQuestion *a, const FlowAsked *asked) {
        char id[REGION_ID_MAX] = "", why[200];
        const FlowNode *u;

        memcpy(id, asked->text + strlen(FLOW_SECTION), REGION_ID_LEN);
        u = flow_region(a->f, id);
        if (!u)
                return 0;
        if (!u->handles)
                snprintf(why, sizeof(why), "lineage %s: uses of handles are recorded at lineage handles alone",
                         u->stats ? "stats" : "events");
        else if (u->gaps.alive)
                snprintf(why, sizeof(why), "the region is alive: uses of its handles are recorded in batches");
        else if (u->gaps.handles > 0)
                snprintf(why, sizeof(why), "%" PRIu64 " uses of handles are beyond the room of the record",
                         u->gaps.handles);
        else if (u->gaps.lost)
                snprintf(why, sizeof(why), "the supervisor died before the record of the last uses of handles");
        else
                return 0;
        return a->fn(a->userdata, u, asked->text, why);
}

/* The value reached the region at its beginning: all acts count. For a later arrival (by an answer, by a section), only
 * later acts count, and the reads before are open questions. */
static bool unknown_counts_whole(const FlowNode *u, const FlowAsked *asked) {
        return u == asked->first || (u->by && u->since <= u->born);
}

int flow_unknown(Flow *f, const FlowAsked *asked, FlowUnknownFn fn, void *userdata) {
        UnknownQuestion a = {.f = f, .fn = fn, .userdata = userdata, .first_slot = UINT64_MAX};
        int r = unknown_collect(&a);

        if (r == 0 && asked->section)
                r = unknown_section(&a, asked);
        for (const FlowNode *u = a.note ? f->regions : NULL; u && r == 0; u = u->next)
                if (u->gaps.told > 0 && !unknown_counts_whole(u, asked))
                        r = fn(userdata, u, NULL,
                               "lineage stats: the region was an advisor, and the note of the advice is not recorded");
        for (const FlowNode *u = f->regions; u && r == 0; u = u->next) {
                if (u->refused || unknown_counts_whole(u, asked))
                        continue;
                r = unknown_slots(&a, u) ?: unknown_records(&a, u) ?: unknown_notes(&a, u);
        }
        free(a.families);
        return r;
}
