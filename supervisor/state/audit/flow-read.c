/* Runs: CLI. From the ledger's entries to nodes and edges. Most entries are told apart by their type alone, and those of a region's life, which are long, are
 * looked into for the few members that count. */
#include "audit/flow-event.h"

#include "record/kind.h"
#include "ledger/ledger.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A region that a gate refused was never allocated, and its evidence was consulted all the same. */
static FlowNode *region_or_refused(const FlowEvent *e) {
        FlowNode *n = region_of(e);

        if (n)
                return n;
        n = flow_add_region(e->f, text_of(e->o, "region"), e->seq);
        if (n)
                n->refused = true;
        return n;
}

static FlowNode *slot_of(const FlowEvent *e, uint64_t born) {
        char name[sizeof(FLOW_SLOT) + SLOT_NAME_MAX];

        snprintf(name, sizeof(name), FLOW_SLOT "%s", text_of(e->o, "slot"));
        return flow_add_value(e->f, 0, name, number_of(e->o, "version"), born);
}

static int took_slot_read(FlowEvent *e) {
        FlowNode *n = region_of(e);

        return n ? flow_add_edge(e->f, slot_of(e, number_of(e->o, "written")), n, FLOW_READ, e->seq, 0, n->born) : 0;
}

static int took_gate(FlowEvent *e) {
        FlowNode *n = number_of(e->o, "version") > 0 ? region_or_refused(e) : NULL;

        return n ? flow_add_edge(e->f, slot_of(e, number_of(e->o, "written")), n, FLOW_CONSULTED, e->seq, 0, n->born) : 0;
}

/* All whose proposals were weighed: the value might be another one without any of them. */
static int add_voices(FlowEvent *e, FlowNode *value) {
        _cleanup_json_ json_t *o = NULL;
        const json_t *list;
        Bytes entry;
        int r = ledger_get(e->f->txn, number_of(e->o, "arbitrated"), &entry);

        if (r == 0)
                r = json_parse_own(entry.p, entry.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o);
        if (r != 0)
                return r > 0 || r == -ENOENT ? -EUCLEAN : r;
        list = json_object_get(o, "proposals");
        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                const json_t *one = json_array_get(list, i);
                FlowNode *by = flow_region(e->f, text_of(one, "region"));

                if (by && strcmp(by->name, text_of(e->o, "from")) != 0) /* that one wrote it */
                        r = flow_add_edge(e->f, by, value, FLOW_SAID, e->seq, number_of(one, "seq"), 0);
        }
        return r;
}

/* By a region when it ended, by the verdict on what several proposed, or by the operator. */
static int took_slot_written(FlowEvent *e) {
        FlowNode *value = slot_of(e, e->seq), *by = region_of(e);
        uint64_t proposed = number_of(e->o, "proposed");
        int r = value && json_object_get(e->o, "arbitrated") ? add_voices(e, value) : 0;

        if (r < 0)
                return r;
        if (!by && *text_of(e->o, "from"))
                by = flow_region(e->f, text_of(e->o, "from"));
        if (!by)
                by = *text_of(e->o, "who") ? flow_add_person(e->f, text_of(e->o, "who")) : NULL;
        return by || !value ? flow_add_edge(e->f, by, value, FLOW_WROTE, e->seq, by && by->kind == FLOW_REGION && proposed ? proposed : e->seq, 0) : 0;
}

static int took_scope(FlowEvent *e) {
        return flow_add_scope(e->f, text_of(e->o, "name"), e->seq);
}

static int add_note(FlowEvent *e, const char *run, uint64_t number, FlowNode **ret) {
        FlowNode *by = flow_region(e->f, run); /* a region's run has its id */
        char name[300];

        snprintf(name, sizeof(name), FLOW_NOTE "%s", run);
        *ret = flow_add_value(e->f, 0, name, number, e->seq);
        if (!*ret)
                return -ENOMEM;
        return by ? flow_add_edge(e->f, by, *ret, FLOW_WROTE, e->seq, UINT64_MAX, 0) : 0;
}

/* A row that an advisor made of a note is of that region as well. */
static int add_advisor(FlowEvent *e, FlowNode *value) {
        FlowNode *advisor = flow_region(e->f, text_of(e->o, "advisor"));

        return advisor ? flow_add_edge(e->f, advisor, value, FLOW_WROTE, e->seq, UINT64_MAX, 0) : 0;
}

static FlowNode *add_pending(FlowEvent *e, uint64_t seq) {
        char name[40];

        snprintf(name, sizeof(name), FLOW_PENDING "%" PRIu64, seq);
        return flow_add_value(e->f, 0, name, 0, e->seq);
}

/* A note that waits; what becomes of it names its number. */
static int took_note(FlowEvent *e) {
        const char *run = text_of(e->o, "run");
        FlowNode *note, *waits = add_pending(e, e->seq);
        int r = waits ? add_advisor(e, waits) : -ENOMEM;

        if (r == 0 && *run && number_of(e->o, "note") > 0)
                r = add_note(e, run, number_of(e->o, "note"), &note);
        else
                return r;
        return r == 0 ? flow_add_edge(e->f, note, waits, FLOW_BECAME, e->seq, 0, 0) : r;
}

/* The part of the version before that was kept: of belief its other fields, of an archived or restored record all. */
static bool goes_on(const char *type) {
        return strcmp(type, "memory.save") != 0 && strcmp(type, "memory.delete") != 0;
}

/* The passes of a digest have numbers of their own in each scope. */
static FlowNode *add_pass(FlowEvent *e, uint64_t scope, uint64_t number) {
        char name[sizeof(FLOW_PASS) + 24];

        snprintf(name, sizeof(name), FLOW_PASS "%" PRIu64, scope);
        return flow_add_value(e->f, 0, name, number, e->seq);
}

/* A region proposed what the pass archived or removed. */
static int took_pass(FlowEvent *e) {
        FlowNode *by = flow_region(e->f, text_of(e->o, "proposed_by"));

        return by ? flow_add_edge(e->f, by, add_pass(e, number_of(e->o, "scope"), number_of(e->o, "pass")), FLOW_WROTE, e->seq, UINT64_MAX, 0) : 0;
}

/* canon.*, memory.*, kernel.patch: a version of a record. */
static int took_record(FlowEvent *e) {
        const char *type = text_of(e->o, "type"), *kind = text_of(e->o, "kind"), *id = text_of(e->o, "id"), *run = text_of(e->o, "run"), *who = text_of(e->o, "who");
        FlowNode *value, *before, *note, *by = region_of(e);
        uint64_t scope = number_of(e->o, "scope"), version = number_of(e->o, "version");
        char name[2 * RECORD_ID_MAX];
        int r = 0;

        if (!*kind || !*id || version == 0)
                return 0;
        snprintf(name, sizeof(name), "%s/%s", kind, id);
        value = flow_add_version(e->f, scope, name, version, e->seq, &before);
        if (!value)
                return -ENOMEM;
        if (number_of(e->o, "pass") > 0)
                r = flow_add_edge(e->f, add_pass(e, scope, number_of(e->o, "pass")), value, FLOW_BECAME, e->seq, 0, 0);
        if (r == 0 && before && before != value && goes_on(type))
                r = flow_add_edge(e->f, before, value, FLOW_WENT_ON, e->seq, 0, 0);
        if (r == 0)
                r = add_advisor(e, value);
        if (r == 0 && number_of(e->o, "pending") > 0)
                r = flow_add_edge(e->f, add_pending(e, number_of(e->o, "pending")), value, FLOW_BECAME, e->seq, 0, 0);
        if (r == 0 && *run && number_of(e->o, "note") > 0) {
                r = add_note(e, run, number_of(e->o, "note"), &note);
                return r == 0 ? flow_add_edge(e->f, note, value, FLOW_BECAME, e->seq, 0, 0) : r;
        }
        if (r == 0 && !by && *who)
                by = flow_add_person(e->f, who);
        return r == 0 && by ? flow_add_edge(e->f, by, value, FLOW_WROTE, e->seq, e->seq, 0) : r;
}

/* A scope that was made after the region began may have been another one before, and nobody knows which of them was read. */
static int add_read(FlowEvent *e, FlowNode *n, const char *scope, const char *name, uint64_t version) {
        uint64_t number = flow_scope(e->f, scope), before;
        int r = flow_add_edge(e->f, flow_add_value(e->f, number, name, version, e->seq), n, FLOW_READ, e->seq, 0, n->born);

        while (r == 0 && number > n->born) {
                flow_scope_name(e->f, number, &before);
                for (FlowNode *v = before > 0 ? flow_versions(e->f, before, name) : NULL; v && r == 0; v = v->next)
                        if (v->version == version)
                                r = flow_add_edge(e->f, v, n, FLOW_READ, e->seq, 0, n->born);
                number = before;
        }
        return r;
}

/* belief.read, memory.read: {scope: {kind: {id: [version…]}}} */
static int took_reads(FlowEvent *e, bool belief) {
        const json_t *read = json_object_get(e->o, "read");
        FlowNode *n = region_of(e);
        const char *scope, *kind, *id;
        json_t *families, *ids, *versions;
        uint64_t *gap;
        int r = 0;

        if (!n)
                return 0;
        gap = belief ? &n->gaps.belief : &n->gaps.memory;
        *gap += read ? number_of(e->o, "more") : number_of(e->o, "count"); /* an older Lethe said only how often */
        json_object_foreach((json_t *)read, scope, families)
                json_object_foreach(families, kind, ids)
                        json_object_foreach(ids, id, versions)
                                for (size_t i = 0; r == 0 && i < json_array_size(versions); i++) {
                                        char name[2 * RECORD_ID_MAX];
                                        uint64_t version;

                                        if (json_get_u64(json_array_get(versions, i), &version) < 0)
                                                return -EUCLEAN;
                                        snprintf(name, sizeof(name), "%s/%s", kind, id);
                                        r = add_read(e, n, scope, name, version);
                                }
        return r;
}

static int took_belief_read(FlowEvent *e) {
        return took_reads(e, true);
}

/* The input of an advisor: the note, and the rows that were open and active. */
static int took_context_read(FlowEvent *e) {
        FlowNode *n = region_of(e), *note;
        uint64_t number = number_of(e->o, "note");
        int r = n && number > 0 ? add_note(e, text_of(e->o, "run"), number, &note) : 0;

        if (r == 0 && n && number > 0)
                r = flow_add_edge(e->f, note, n, FLOW_READ, e->seq, 0, n->born);
        return r == 0 ? took_reads(e, true) : r;
}

static int took_memory_read(FlowEvent *e) {
        return took_reads(e, false);
}

/* The same use stands in the record of both regions, where both have that detail. */
static int took_handle(FlowEvent *e) {
        const char *by = text_of(e->o, "by"), *of = text_of(e->o, "of"), *section = text_of(e->o, "section"), *region = text_of(e->o, "region");
        FlowNode *user = flow_region(e->f, *by ? by : region), *value;
        uint64_t version = number_of(e->o, "version");
        char name[300];

        if (!user || version == 0 || !*section || strncmp(section, "gate.", 5) == 0) /* evidence was read from its slot */
                return 0;
        snprintf(name, sizeof(name), FLOW_SECTION "%s/%s", *of ? of : region, section);
        value = flow_add_value(e->f, 0, name, version, e->seq);
        if (json_text_is(json_object_get(e->o, "access"), "write"))
                return flow_add_edge(e->f, user, value, FLOW_WROTE, e->seq, UINT64_MAX, 0);
        return flow_add_edge(e->f, value, user, FLOW_READ, e->seq, 0, user->born);
}

/* Beyond the bound of its record. */
static int took_dropped(FlowEvent *e) {
        FlowNode *n = region_of(e);

        if (n)
                n->gaps.handles += number_of(e->o, "count");
        return 0;
}

/* There is such a slot, also while nobody wrote to it. */
static int took_defined(FlowEvent *e) {
        char name[sizeof(FLOW_SLOT) + SLOT_NAME_MAX];

        snprintf(name, sizeof(name), FLOW_SLOT "%s", text_of(e->o, "slot"));
        return flow_know(e->f, 0, name);
}

/* There is such a run, also while nothing came of its notes. */
static int took_run(FlowEvent *e) {
        char name[300];

        snprintf(name, sizeof(name), FLOW_NOTE "%s", text_of(e->o, "run"));
        return flow_know(e->f, 0, name);
}

static const struct {
        const char *type;
        bool parse;
        int (*take)(FlowEvent *e);
} types[] = {
        {"region.allocated", false, flow_took_allocated},
        {"region.released", false, flow_took_released},
        {"region.recovered", false, flow_took_recovered},
        {"invocation.ended", false, flow_took_ended},
        {"slot.read", true, took_slot_read},
        {"slot.written", true, took_slot_written},
        {"gate.evaluated", true, took_gate},
        {"belief.read", true, took_belief_read},
        {"memory.read", true, took_memory_read},
        {"context.read", true, took_context_read},
        {"handle.dereferenced", true, took_handle},
        {"handle.dropped", true, took_dropped},
        {"scope.created", true, took_scope},
        {"slot.defined", true, took_defined},
        {"run.started", true, took_run},
        {"note.pending", true, took_note},
        {"canon.upsert", true, took_record},
        {"canon.append", true, took_record},
        {"canon.invalidate", true, took_record},
        {"canon.resolve", true, took_record},
        {"memory.save", true, took_record},
        {"memory.archive", true, took_record},
        {"memory.restore", true, took_record},
        {"memory.remove", true, took_record},
        {"memory.delete", true, took_record},
        {"digest.pass", true, took_pass},
        {"kernel.patch", true, took_record},
};

/* Fields that were too large for the entry stand in its payload. */
static int take_unfolded(FlowEvent *e, int (*take)(FlowEvent *e), bool parse) {
        _cleanup_json_ json_t *o = NULL;
        _cleanup_free_ char *text = NULL;
        int r = json_parse_own(e->entry.p, e->entry.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o);
        FlowNode *n;
        size_t size;

        if (r == 0)
                r = history_unfold(e->f->txn, e->seq, o);
        if (r == 0 && parse) {
                e->o = o;
                return take(e);
        }
        if (r == 0)
                r = json_canonical(o, &text, &size);
        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        e->entry = BYTES(text, size);
        r = take(e);
        n = region_in(e);
        if (n && n->entry.p == text)
                n->entry = BYTES(NULL, 0); /* too much to keep: what it was granted counts as everything */
        return r;
}

/* Takes one entry. Returns 0, -EUCLEAN, -errno. */
static int flow_entry(void *arg, uint64_t seq, Bytes entry) {
        Flow *f = arg;
        FlowEvent e = {.f = f, .seq = seq, .entry = entry};
        _cleanup_json_ json_t *o = NULL;
        char type[40];
        size_t i = 0;
        int r;

        if (!text_in(entry, "type", type, sizeof(type)))
                return -EUCLEAN;
        while (i < ARRAY_SIZE(types) && strcmp(types[i].type, type) != 0)
                i++;
        if (i == ARRAY_SIZE(types))
                return 0;
        if (member_in(entry, "fields").p)
                return take_unfolded(&e, types[i].take, types[i].parse);
        if (types[i].parse) {
                r = json_parse_own(entry.p, entry.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o);
                if (r != 0)
                        return r > 0 ? -EUCLEAN : r;
                e.o = o;
        }
        return types[i].take(&e);
}

int flow_read(Txn *t, Flow *ret, Diag *reterr) {
        _cleanup_flow_ Flow f = {.txn = t, .maps = calloc(1, sizeof(FlowMaps))};
        int r = f.maps ? ledger_state(t, &f.entries, NULL) : -ENOMEM;

        snprintf(f.origin, sizeof(f.origin), "%s", store_origin(txn_store(t)));
        if (r == 0)
                r = history_each(t, f.entries, flow_entry, &f, f.root, reterr);
        if (r == -ENOENT || r == -EUCLEAN)
                return diag(reterr, HISTORY_E_BROKEN, "the ledger's entries cannot be read; `lethe audit` tells more");
        if (r != 0)
                return r;
        *ret = f;
        f = (Flow){0};
        return 0;
}
