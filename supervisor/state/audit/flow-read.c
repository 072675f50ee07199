/* Runs: CLI. From the ledger's entries to nodes and edges. The type alone decides for most entries. Entries of a
 * region's life are long: only the few relevant members are read from the bytes. */
#include "audit/flow-event.h"
#include "engine/note.h"
#include "record/event.h"
#include "record/kind.h"
#include "record/rows.h"
#include "ledger/ledger.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static FlowNode *event_region(const FlowEvent *e) {
        return flow_region(e->f, json_str(e->o, "region"));
}

/* The version of a value without a scope, born with this entry when new. NULL: no memory. */
_printf_(3, 4) static FlowNode *event_value(const FlowEvent *e, uint64_t version, const char *fmt, ...) {
        char name[300];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(name, sizeof(name), fmt, ap);
        va_end(ap);
        return flow_add_value(e->f, 0, name, version, e->seq);
}

/* The moment of the write is unknown: all acts of the region count. */
static int event_wrote(const FlowEvent *e, FlowNode *by, FlowNode *value) {
        return event_edge(e, by, value, FLOW_WROTE, UINT64_MAX, 0);
}

static int event_read(const FlowEvent *e, FlowNode *value, FlowNode *by) {
        return event_edge(e, value, by, FLOW_READ, 0, by->born);
}

static int event_became(const FlowEvent *e, FlowNode *from, FlowNode *value) {
        return event_edge(e, from, value, FLOW_BECAME, 0, 0);
}

/* A gate consults evidence before the allocation: a refused region needs a node, too. */
static FlowNode *flow_region_or_refused(const FlowEvent *e) {
        FlowNode *known = event_region(e), *n = known ?: flow_add_region(e->f, json_str(e->o, "region"), e->seq);

        if (n && !known)
                n->refused = true;
        return n;
}

static FlowNode *flow_slot_version(const FlowEvent *e, uint64_t born) {
        char name[sizeof(FLOW_SLOT) + SLOT_NAME_MAX];

        snprintf(name, sizeof(name), FLOW_SLOT "%s", json_str(e->o, "slot"));
        return flow_add_value(e->f, 0, name, json_number(e->o, "version"), born);
}

static int flow_took_slot_read(FlowEvent *e) {
        FlowNode *n = event_region(e);

        return n ? event_read(e, flow_slot_version(e, json_number(e->o, "written")), n) : 0;
}

static int flow_took_gate(FlowEvent *e) {
        FlowNode *n = json_number(e->o, "version") > 0 ? flow_region_or_refused(e) : NULL;

        return n ? event_edge(e, flow_slot_version(e, json_number(e->o, "written")), n, FLOW_CONSULTED, 0, n->born)
                 : 0;
}

/* A judge chose the value, and has seen it. */
static int flow_add_judge(FlowEvent *e, const json_t *verdict, FlowNode *value) {
        FlowNode *judge = flow_region(e->f, json_str(json_object_get(verdict, "judge"), "region"));

        return judge ? event_edge(e, judge, value, FLOW_SAID, json_number(e->o, "arbitrated"), 0)
                               ?: event_read(e, value, judge)
                     : 0;
}

/* All regions with weighed proposals, and the judge: without any of them the value might differ. */
static int flow_add_voices(FlowEvent *e, FlowNode *value) {
        _cleanup_json_ json_t *o = NULL;
        const json_t *list;
        int r = event_get(e->f->txn, json_number(e->o, "arbitrated"), &o);

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        list = json_object_get(o, "proposals");
        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                const json_t *one = json_array_get(list, i);
                FlowNode *by = flow_region(e->f, json_str(one, "region"));

                if (by && strcmp(by->name, json_str(e->o, "from")) != 0) /* the winner has an edge already */
                        r = event_edge(e, by, value, FLOW_SAID, json_number(one, "seq"), 0);
        }
        return r ?: flow_add_judge(e, o, value);
}

/* Written by a region at its end, by the verdict on several proposals, or by the operator. */
static int flow_took_slot_written(FlowEvent *e) {
        FlowNode *value = flow_slot_version(e, e->seq), *by = event_region(e);
        uint64_t proposed = json_number(e->o, "proposed");
        int r = value && json_object_get(e->o, "arbitrated") ? flow_add_voices(e, value) : 0;

        if (r < 0)
                return r;
        if (!by && *json_str(e->o, "from"))
                by = flow_region(e->f, json_str(e->o, "from"));
        if (!by)
                by = *json_str(e->o, "who") ? flow_add_person(e->f, json_str(e->o, "who")) : NULL;
        return by || !value ? event_edge(e, by, value, FLOW_WROTE,
                                         by && by->kind == FLOW_REGION && proposed ? proposed : e->seq, 0)
                            : 0;
}

static int flow_took_scope(FlowEvent *e) {
        return flow_add_scope(e->f, json_str(e->o, "name"), e->seq);
}

/* *ret: the note that the entry names, or NULL. */
static int flow_add_note(FlowEvent *e, FlowNode **ret) {
        const char *run = json_str(e->o, "run");
        uint64_t number = json_number(e->o, "note");
        const char *noted_by = json_str(e->o, "noted_by");
        FlowNode *by = flow_region(e->f, *noted_by ? noted_by : run); /* a region's run has the region's id */

        *ret = NULL;
        if (!*run || number == 0)
                return 0;
        *ret = event_value(e, number, FLOW_NOTE "%s", run);
        if (!*ret)
                return -ENOMEM;
        return by ? event_wrote(e, by, *ret) : 0;
}

/* A row that an advisor made of a note belongs to the advisor's region, too. */
static int flow_add_advisor(FlowEvent *e, FlowNode *value) {
        FlowNode *advisor = flow_region(e->f, json_str(e->o, "advisor"));

        return advisor ? event_wrote(e, advisor, value) : 0;
}

static FlowNode *flow_add_pending(FlowEvent *e, uint64_t seq) {
        return event_value(e, 0, FLOW_PENDING "%" PRIu64, seq);
}

/* A pending note. Later events name the note by the number of its event. */
static int flow_took_note(FlowEvent *e) {
        FlowNode *note, *waits = flow_add_pending(e, e->seq);
        int r = waits ? flow_add_advisor(e, waits) ?: flow_add_note(e, &note) : -ENOMEM;

        return r == 0 && note ? event_became(e, note, waits) : r;
}

/* Part of the version before was kept: the other fields of belief, all of an archived or restored record. */
static bool flow_goes_on(const char *type) {
        return strcmp(type, "memory.save") != 0 && strcmp(type, "memory.delete") != 0 && strcmp(type, "ccs.delete") != 0;
}

/* Each scope numbers the passes of its digest separately. */
static FlowNode *flow_add_pass(FlowEvent *e) {
        return event_value(e, json_number(e->o, "pass"), FLOW_PASS "%" PRIu64, json_number(e->o, "scope"));
}

/* A region proposed the changes of the pass. */
static int flow_took_pass(FlowEvent *e) {
        FlowNode *by = flow_region(e->f, json_str(e->o, "proposed_by"));

        return by ? event_wrote(e, by, flow_add_pass(e)) : 0;
}

/* canon.*, memory.*, kernel.patch: a version of a record. */
static int flow_took_record(FlowEvent *e) {
        const char *kind = json_str(e->o, "kind"), *id = json_str(e->o, "id"), *who = json_str(e->o, "who");
        FlowNode *value, *before, *note = NULL, *by = event_region(e);
        uint64_t version = json_number(e->o, "version");
        char name[2 * RECORD_ID_MAX];
        int r = 0;

        if (!*kind || !*id || version == 0)
                return 0;
        snprintf(name, sizeof(name), "%s/%s", kind, id);
        value = flow_add_version(e->f, json_number(e->o, "scope"), name, version, e->seq, &before);
        if (!value)
                return -ENOMEM;
        if (json_number(e->o, "pass") > 0)
                r = event_became(e, flow_add_pass(e), value);
        if (r == 0 && before && before != value && flow_goes_on(json_str(e->o, "type")))
                r = event_edge(e, before, value, FLOW_WENT_ON, 0, 0);
        if (r == 0)
                r = flow_add_advisor(e, value);
        if (r == 0 && json_number(e->o, "pending") > 0)
                r = event_became(e, flow_add_pending(e, json_number(e->o, "pending")), value);
        if (r == 0)
                r = flow_add_note(e, &note);
        if (r == 0 && note)
                return event_became(e, note, value);
        if (r == 0 && !by && *who)
                by = flow_add_person(e->f, who);
        return r == 0 && by ? event_edge(e, by, value, FLOW_WROTE, e->seq, 0) : r;
}

/* A piece of x_t went into the state. *ret: false when the session has no such piece. */
static int flow_add_piece(FlowEvent *e, FlowNode *state, bool *ret, const char *prefix, uint64_t turn, uint64_t i) {
        char name[64];
        FlowNode *piece;

        if (i > 0)
                snprintf(name, sizeof(name), "evidence/%s%" PRIu64 "_%" PRIu64, prefix, turn, i);
        else
                snprintf(name, sizeof(name), "evidence/%s%" PRIu64, prefix, turn);
        piece = flow_version_at(e->f, json_number(e->o, "scope"), name, e->seq);
        *ret = piece;
        return piece ? event_became(e, piece, state) : 0;
}

/* ccs.save: evidence; or a state, which follows from the state before, qualified artifacts and x_t: input and tools of
 * the turn, decision and tools of the turn before. */
static int flow_took_ccs(FlowEvent *e) {
        uint64_t scope = json_number(e->o, "scope"), turn = json_number(e->o, "turn");
        const char *number;
        FlowNode *state;
        json_t *list;
        bool more;
        int r = flow_took_record(e);

        if (r != 0 || strcmp(json_str(e->o, "kind"), "ccs") != 0 || turn == 0)
                return r;
        state = flow_add_value(e->f, scope, "ccs/state", json_number(e->o, "version"), e->seq);
        json_object_foreach(json_object_get(e->o, "from"), number, list)
                for (size_t i = 0; i < json_array_size(list) && r == 0; i++) {
                        const char *name = json_text(json_array_get(list, i)), *at = name ? strrchr(name, '@') : NULL;
                        char of[2 * RECORD_ID_MAX];

                        if (!at || (size_t)(at - name) >= sizeof(of))
                                continue;
                        snprintf(of, sizeof(of), "%.*s", (int)(at - name), name);
                        r = event_became(e, flow_add_value(e->f, strtoull(number, NULL, 10), of,
                                                           strtoull(at + 1, NULL, 10), e->seq), state);
                }
        r = r ?: flow_add_piece(e, state, &more, "in", turn, 0) ?: flow_add_piece(e, state, &more, "said", turn - 1, 0);
        for (uint64_t i = 1; r == 0 && (i == 1 || more); i++)
                r = flow_add_piece(e, state, &more, "tool", turn, i);
        for (uint64_t i = 1; r == 0 && (i == 1 || more); i++)
                r = flow_add_piece(e, state, &more, "out", turn - 1, i);
        return r;
}

/* Records a read, also from earlier scopes of the same name when the scope is newer than the region. */
static int flow_add_read(FlowEvent *e, FlowNode *n, const char *scope, const char *name, uint64_t version) {
        uint64_t number = flow_scope(e->f, scope), before;
        int r = event_read(e, flow_add_value(e->f, number, name, version, e->seq), n);

        while (r == 0 && number > n->born) {
                flow_scope_name(e->f, number, &before);
                for (FlowNode *v = before > 0 ? flow_versions(e->f, before, name) : NULL; v && r == 0; v = v->next)
                        if (v->version == version)
                                r = event_read(e, v, n);
                number = before;
        }
        return r;
}

/* belief.read, memory.read: {scope: {kind: {id: [version…]}}} */
static int flow_took_reads(FlowEvent *e) {
        bool belief = strcmp(json_str(e->o, "type"), "memory.read") != 0;
        const json_t *read = json_object_get(e->o, "read");
        FlowNode *n = event_region(e);
        const char *scope, *kind, *id;
        json_t *families, *ids, *versions;
        uint64_t *gap;
        int r = 0;

        if (!n)
                return 0;
        gap = belief ? &n->gaps.belief : &n->gaps.memory;
        /* an older Lethe recorded only the number of reads */
        *gap += read ? json_number(e->o, "more") : json_number(e->o, "count");
        json_object_foreach((json_t *)read, scope, families)
                json_object_foreach(families, kind, ids)
                        json_object_foreach(ids, id, versions)
                                for (size_t i = 0; r == 0 && i < json_array_size(versions); i++) {
                                        char name[2 * RECORD_ID_MAX];
                                        uint64_t version;

                                        if (json_get_u64(json_array_get(versions, i), &version) < 0)
                                                return -EUCLEAN;
                                        snprintf(name, sizeof(name), "%s/%s", kind, id);
                                        r = flow_add_read(e, n, scope, name, version);
                                }
        return r;
}

/* The input of an advisor: the note, and the open and active rows. */
static int flow_took_context_read(FlowEvent *e) {
        FlowNode *n = event_region(e), *note = NULL;
        int r = n ? flow_add_note(e, &note) : 0;

        if (r == 0 && note)
                r = event_read(e, note, n);
        return r == 0 ? flow_took_reads(e) : r;
}

/* note.read: a region read notes of its run that other regions added: the turns before of a session. */
static int flow_took_note_read(FlowEvent *e) {
        const json_t *spans = json_object_get(e->o, "notes"), *span;
        FlowNode *n = event_region(e);
        size_t i;
        int r = 0;

        if (!n)
                return 0;
        n->gaps.notes += spans ? json_number(e->o, "more") : json_number(e->o, "count");
        json_array_foreach(spans, i, span) {
                FlowNode *by = flow_region(e->f, json_str(span, "by"));
                uint64_t to = MIN(json_number(span, "to"), (uint64_t)NOTES_MAX);

                for (uint64_t k = json_number(span, "from"); r == 0 && k <= to; k++) {
                        FlowNode *note = event_value(e, k, FLOW_NOTE "%s", json_str(e->o, "run"));

                        r = !note ? -ENOMEM : event_read(e, note, n);
                        if (r == 0 && by)
                                r = event_wrote(e, by, note);
                }
        }
        return r;
}

/* Both regions record the same use, when both have lineage handles. */
static int flow_took_handle(FlowEvent *e) {
        const char *by = json_str(e->o, "by"), *of = json_str(e->o, "of"), *section = json_str(e->o, "section"),
                   *region = json_str(e->o, "region");
        FlowNode *user = flow_region(e->f, *by ? by : region), *value;
        uint64_t version = json_number(e->o, "version");

        if (!user || version == 0 || !*section || strncmp(section, "gate.", 5) == 0) /* evidence belongs to its slot */
                return 0;
        value = event_value(e, version, FLOW_SECTION "%s/%s", *of ? of : region, section);
        return json_text_is(json_object_get(e->o, "access"), "write") ? event_wrote(e, user, value)
                                                                      : event_read(e, value, user);
}

/* Uses beyond the bound of the region's record. */
static int flow_took_dropped(FlowEvent *e) {
        FlowNode *n = event_region(e);

        if (n)
                n->gaps.handles += json_number(e->o, "count");
        return 0;
}

static int flow_know_name(FlowEvent *e, const char *prefix, const char *key) {
        char name[300];

        snprintf(name, sizeof(name), "%s%s", prefix, json_str(e->o, key));
        return flow_know(e->f, 0, name);
}

/* Makes the slot known, even before the first write. */
static int flow_took_defined(FlowEvent *e) {
        return flow_know_name(e, FLOW_SLOT, "slot");
}

/* Makes the run known, even without a result of its notes. */
static int flow_took_run(FlowEvent *e) {
        return flow_know_name(e, FLOW_NOTE, "run");
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
        {"slot.read", true, flow_took_slot_read},
        {"slot.written", true, flow_took_slot_written},
        {"gate.evaluated", true, flow_took_gate},
        {"belief.read", true, flow_took_reads},
        {"memory.read", true, flow_took_reads},
        {"context.read", true, flow_took_context_read},
        {"handle.dereferenced", true, flow_took_handle},
        {"handle.dropped", true, flow_took_dropped},
        {"scope.created", true, flow_took_scope},
        {"slot.defined", true, flow_took_defined},
        {"run.started", true, flow_took_run},
        {"note.pending", true, flow_took_note},
        {"note.read", true, flow_took_note_read},
        {"canon.upsert", true, flow_took_record},
        {"canon.append", true, flow_took_record},
        {"canon.invalidate", true, flow_took_record},
        {"canon.resolve", true, flow_took_record},
        {"memory.save", true, flow_took_record},
        {"memory.archive", true, flow_took_record},
        {"memory.restore", true, flow_took_record},
        {"memory.remove", true, flow_took_record},
        {"memory.delete", true, flow_took_record},
        {"ccs.save", true, flow_took_ccs},
        {"ccs.delete", true, flow_took_record},
        {"digest.pass", true, flow_took_pass},
        {"kernel.patch", true, flow_took_record},
};

/* Adds the fields in the payload. */
static int flow_take_unfolded(FlowEvent *e, int (*take)(FlowEvent *e), bool parse) {
        _cleanup_json_ json_t *o = NULL;
        _cleanup_free_ char *text = NULL;
        int r = json_row_parse(e->entry, LEDGER_ENTRY_MAX, &o) ?: history_unfold(e->f->txn, e->seq, o);
        FlowNode *n;
        size_t size;

        if (r == 0 && parse) {
                e->o = o;
                return take(e);
        }
        if (r == 0)
                r = json_canonical(o, &text, &size);
        if (r < 0)
                return r;
        e->entry = BYTES(text, size);
        r = take(e);
        n = event_region_in_bytes(e);
        if (n && n->entry.p == text)
                n->entry = BYTES(NULL, 0); /* the text is freed: without an entry, every grant counts as possible */
        return r;
}

/* Takes one entry. Returns 0, -EUCLEAN, -errno. */
static int flow_take_entry(void *arg, uint64_t seq, Bytes entry) {
        Flow *f = arg;
        FlowEvent e = {.f = f, .seq = seq, .entry = entry};
        _cleanup_json_ json_t *o = NULL;
        char type[40];
        size_t i = 0;
        int r;

        if (!event_text(entry, "type", type, sizeof(type)))
                return -EUCLEAN;
        while (i < ARRAY_SIZE(types) && strcmp(types[i].type, type) != 0)
                i++;
        if (i == ARRAY_SIZE(types))
                return 0;
        if (flow_member(entry, "fields").p)
                return flow_take_unfolded(&e, types[i].take, types[i].parse);
        if (types[i].parse) {
                r = json_row_parse(entry, LEDGER_ENTRY_MAX, &o);
                if (r < 0)
                        return r;
                e.o = o;
        }
        return types[i].take(&e);
}

int flow_read(Txn *t, Flow *ret, Diag *reterr) {
        _cleanup_flow_ Flow f = {.txn = t, .maps = calloc(1, sizeof(FlowMaps))};
        int r = f.maps ? ledger_state(t, &f.entries, NULL) : -ENOMEM;

        snprintf(f.origin, sizeof(f.origin), "%s", store_origin(txn_store(t)));
        if (r == 0)
                r = history_each(t, f.entries, flow_take_entry, &f, f.root, reterr);
        if (r != 0)
                return history_result(r, reterr);
        *ret = f;
        f = (Flow){0};
        return 0;
}
