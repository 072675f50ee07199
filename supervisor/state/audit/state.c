#include "audit/audit.h"
#include "engine/fold.h"
#include "engine/dead-letter.h"
#include "engine/note.h"
#include "engine/project.h"
#include "engine/wait.h"
#include "ledger/ledger.h"
#include "object/transfer.h"
#include "record/object-row.h"
#include "record/rows.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX 24
#define EVENT_OF_RUN "\"run\":\"" /* in each entry about a run */

/* The open runs after all entries: {run: {"agent","scope","events":{note's number: [seq, outcome]}}}. */
static int state_take_run_event(json_t *runs, uint64_t seq, const json_t *o) {
        const char *type = json_text(json_object_get(o, "type")), *id = json_text(json_object_get(o, "run"));
        bool waits = type && strcmp(type, "note.pending") == 0;
        char number[NUMBER_MAX];
        json_t *run;
        uint64_t n;

        if (!type || !id)
                return 0;
        if (strcmp(type, "run.started") == 0)
                return json_object_set_new(runs, id,
                                           json_pack("{s:O, s:O, s:{}}", "agent", json_object_get(o, "agent"), "scope",
                                                     json_object_get(o, "scope"), "events")) < 0
                               ? -EUCLEAN
                               : 0;
        if (strcmp(type, "run.ended") == 0) {
                json_object_del(runs, id);
                return 0;
        }
        run = json_object_get(runs, id);
        if (!run || json_get_u64(json_object_get(o, "note"), &n) < 0 || (!waits && strncmp(type, "canon.", 6) != 0))
                return 0;
        snprintf(number, sizeof(number), "%" PRIu64, n);
        return json_object_set_new(
                       json_object_get(run, "events"), number,
                       json_pack("[o, s]", json_u64(seq), note_outcome_name(waits ? NOTE_PENDING : NOTE_COMMITTED))) < 0
                       ? -ENOMEM
                       : 0;
}

/* Calls fn for each entry with the text `part`; other entries are skipped unparsed. */
static int state_each_entry(Txn *t, const char *part, int (*fn)(json_t *arg, uint64_t seq, const json_t *o),
                            json_t *arg) {
        _cleanup_walk_ LedgerWalk w = {0};
        uint64_t seq;
        Bytes entry;
        int r = ledger_walk(t, 0, &w);

        while (r == 0 && (r = ledger_next(&w, &seq, &entry)) == 0) {
                _cleanup_json_ json_t *o = NULL;

                if (memmem(entry.p, entry.n, part, strlen(part)))
                        r = json_row_parse(entry, LEDGER_ENTRY_MAX, &o) ?: fn(arg, seq, o);
        }
        return r == -ENOENT ? 0 : r;
}

/* Compares the note's outcome with its event, in both directions. events: of the run. Returns 0; 1: a difference. */
static int state_check_note(const NoteRun *run, const Note *n, const json_t *events, Diag *ret_what) {
        bool waits = n->outcome == NOTE_PENDING;
        char number[NUMBER_MAX];
        const json_t *event;
        uint64_t said = 0, seq = 0;

        snprintf(number, sizeof(number), "%" PRIu64, n->number);
        event = json_object_get(events, number);
        json_get_u64(json_object_get(n->row, waits ? "pending" : "seq"), &said);
        json_get_u64(json_array_get(event, 0), &seq);
        if (event && !json_text_is(json_array_get(event, 1), note_outcome_name(n->outcome)))
                return diag(ret_what, 1, "run %s: note %" PRIu64 " is %s, and its event %" PRIu64 " says %s", run->id,
                            n->number, note_outcome_name(n->outcome), seq, json_text(json_array_get(event, 1)));
        if ((waits || n->outcome == NOTE_COMMITTED) && (!event || seq != said))
                return diag(ret_what, 1,
                            "run %s: note %" PRIu64 " is %s by event %" PRIu64 ", an event without this note", run->id,
                            n->number, note_outcome_name(n->outcome), said);
        return 0;
}

/* Notes are numbered from 1 without a gap; the row has the numbers of all notes and of processed notes. */
static int state_check_notes(Txn *t, const NoteRun *run, const json_t *events, Diag *ret_what) {
        _cleanup_note_ Note n = NOTE_NULL;
        uint64_t notes = 0, processed = 0, about = 0;
        int r;

        while ((r = engine_note_next(t, run->id, notes + 1, false, &n)) == 0) {
                if (n.number != ++notes)
                        return diag(ret_what, 1, "run %s: note %" PRIu64 " is not there", run->id, notes);
                processed += n.outcome != NOTE_UNPROCESSED;
                about += n.outcome == NOTE_COMMITTED || n.outcome == NOTE_PENDING;
                if (n.outcome == NOTE_UNPROCESSED && n.number <= run->settled)
                        return diag(ret_what, 1, "run %s: note %" PRIu64 " has no outcome, and would be passed over",
                                    run->id, n.number);
                r = state_check_note(run, &n, events, ret_what);
                if (r != 0)
                        return r;
        }
        if (r != -ENOENT)
                return r;
        if (notes != run->notes || processed != run->processed)
                return diag(ret_what, 1,
                            "run %s has %" PRIu64 " notes, %" PRIu64 " processed: its row says %" PRIu64
                            " and %" PRIu64,
                            run->id, notes, processed, run->notes, run->processed);
        if (about != json_object_size(events))
                return diag(ret_what, 1,
                            "run %s: %zu of its notes were committed or wait by the ledger, and %" PRIu64 " are here",
                            run->id, json_object_size(events), about);
        return 0;
}

static int state_check_run(Txn *t, const NoteRun *run, const json_t *said, Diag *ret_what) {
        const char *agent = json_text(json_object_get(said, "agent"));
        uint64_t scope;

        if (!said)
                return diag(ret_what, 1, "run %s: no open run in the ledger", run->id);
        if (!agent || strcmp(agent, run->agent) != 0 || json_get_u64(json_object_get(said, "scope"), &scope) < 0 ||
            scope != run->scope)
                return diag(ret_what, 1, "run %s: the ledger has a different agent or scope", run->id);
        return state_check_notes(t, run, json_object_get(said, "events"), ret_what);
}

/* Each note has the row of its run. */
static int state_check_orphan_notes(Txn *t, const json_t *runs, Diag *ret_what) {
        _cleanup_cursor_ Cursor *c = NULL;
        char id[RUN_ID_MAX] = "";
        Bytes k, v;
        int r = cursor_open(t, TABLE_NOTE, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                if (k.n != RUN_ID_MAX + 8)
                        return diag(ret_what, 1, "a note's key has %zu bytes", k.n);
                if (memcmp(k.p, id, RUN_ID_MAX) == 0)
                        continue;
                memcpy(id, k.p, RUN_ID_MAX);
                id[RUN_ID_MAX - 1] = '\0';
                if (!region_id_valid(id) || !json_object_get(runs, id))
                        return diag(ret_what, 1, "notes without an open run are in the table");
        }
        return r == -ENOENT ? 0 : r;
}

/* Records the first failure; later failures are only counted. */
_printf_(3, 4) static int state_note(json_t *found, const char *check, const char *fmt, ...) {
        char what[512];
        va_list ap;

        if (!json_is_null(json_object_get(found, "first")))
                return 0;
        va_start(ap, fmt);
        vsnprintf(what, sizeof(what), fmt, ap);
        va_end(ap);
        return json_object_set_new(found, "first", json_pack("{s:s, s:s}", "check", check, "what", what)) < 0 ||
                               json_object_set_new(found, "intact", json_false()) < 0
                       ? -ENOMEM
                       : 0;
}

static int state_check_fold(Txn *t, json_t *found, Diag *reterr) {
        FoldResult f;
        bool newest = true;
        int r = engine_fold_compare(t, &f, reterr) ?: store_is_newest(t, &newest);

        if (r == 0 && f.how && !newest && (f.table == TABLE_TERM || f.table == TABLE_DOC))
                r = state_note(found, "projection",
                               "the index has the form of an older Lethe: `lethe rebuild` converts the index, and "
                               "so does the next writing command without other users of the store");
        else if (r == 0 && f.how)
                r = state_note(found, "projection",
                               "table %s, key %s: the row is %s beside the fold of the ledger (%" PRIu64
                               " rows differ); `lethe rebuild` puts the tables in order",
                               table_name(f.table), f.key, strcmp(f.how, "differs") == 0 ? "another one" : f.how,
                               f.differ);
        if (r == 0 && (json_object_set_new(found, "entries", json_u64(f.events)) < 0 ||
                       json_object_set_new(found, "rows", json_u64(f.rows)) < 0 ||
                       json_object_set_new(found, "differ", json_u64(f.differ)) < 0))
                r = -ENOMEM;
        return r;
}

static int state_check_unapplied(Txn *t, json_t *found) {
        json_t *list = NULL, *one;
        int r = engine_dead_letter_list(t, &list);

        if (r < 0)
                return r;
        if (json_object_set_new(found, "unapplied", list) < 0)
                return -ENOMEM;
        one = json_array_get(list, 0);
        return one ? state_note(found, "unapplied", "event %" JSON_INTEGER_FORMAT " (%s %s) could not be projected: %s",
                                json_integer_value(json_object_get(one, "seq")),
                                json_text(json_object_get(one, "type")), json_text(json_object_get(one, "id")),
                                json_text(json_object_get(one, "reason")))
                   : 0;
}

static int state_check_waits(Txn *t, json_t *found) {
        uint64_t from = 0, n = 0;
        Wait w;
        int r;

        for (; (r = wait_next(t, from, 0, 0, &w)) == 0; from = w.id + 1, n++) {
                _cleanup_json_ json_t *body = NULL;

                if (w.erased)
                        continue;
                r = record_body(t, w.id, &body);
                if (r == -ENOENT || (r == 0 && !json_is_object(json_object_get(body, "request"))))
                        r = state_note(found, "pending", "pending item %" PRIu64 " has no request", w.id);
                if (r < 0)
                        return r;
        }
        if (r != -ENOENT)
                return r;
        return json_object_set_new(found, "waits", json_u64(n)) < 0 ? -ENOMEM : 0;
}

/* Notes are in no entry; the ledger has open runs, and the outcome of committed and pending notes (G-7). */
static int state_check_runs(Txn *t, json_t *found) {
        _cleanup_json_ json_t *runs = json_object();
        _cleanup_free_ NoteRun *rows = NULL;
        size_t n = 0;
        Diag what;
        int r = runs ? state_each_entry(t, EVENT_OF_RUN, state_take_run_event, runs) : -ENOMEM;

        if (r == 0)
                r = engine_run_list(t, &rows, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = state_check_run(t, &rows[i], json_object_get(runs, rows[i].id), &what);
        if (r == 0 && n != json_object_size(runs))
                r = diag(&what, 1, "%zu runs go on by the ledger, and %zu have a row", json_object_size(runs), n);
        if (r == 0)
                r = state_check_orphan_notes(t, runs, &what);
        return r > 0 ? state_note(found, "run", "%s", what.text) : r;
}

/* A verdict is recorded after the end of its regions: slot.arbitrated names the proposals' regions, and the resulting
 * slot.written names the winner's region. */
static bool state_is_of_regions(const json_t *o, const char *type) {
        const json_t *list = json_object_get(o, "proposals");
        bool all = json_array_size(list) > 0 || json_object_get(o, "round"); /* nobody answered in the round */

        for (size_t i = 0; i < json_array_size(list); i++)
                all &= json_is_string(json_object_get(json_array_get(list, i), "region"));
        if (strcmp(type, "slot.arbitrated") == 0)
                return all;
        return strcmp(type, "slot.written") == 0 && json_is_string(json_object_get(o, "from")) &&
               json_object_get(o, "arbitrated");
}

static int state_check_cause(json_t *found, uint64_t seq, const json_t *o) {
        const char *type = json_text(json_object_get(o, "type"));

        return type &&
                               (project_concerns(type) || object_row_concerns(type) || strncmp(type, "slot.", 5) == 0) &&
                               !json_object_get(o, "region") && !json_object_get(o, "who") &&
                               !state_is_of_regions(o, type) && strcmp(type, "object.woken") != 0 /* of another event */
                       ? state_note(found, "cause", "event %" PRIu64 " (%s) has neither a region nor a person", seq, type)
                       : 0;
}

/* Each event with a change has a cause: a region, or a person. */
static int state_check_causes(Txn *t, json_t *found) {
        return state_each_entry(t, "", state_check_cause, found);
}

/* Chains, signatures and folds of all objects, and effects of their executions without an entry (O-7, O-46). */
static int state_check_objects(Txn *t, json_t *found) {
        _cleanup_json_ json_t *all = NULL;
        const json_t *first;
        Diag d;
        int r = object_verify_all(t, &all, &d);

        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        if (json_object_set(found, "objects", all) < 0)
                return -ENOMEM;
        first = json_array_get(json_object_get(all, "findings"), 0);
        return first ? state_note(found, "object", "%s: %s", json_str(first, "code"), json_str(first, "message")) : 0;
}

int audit_state(Txn *t, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *found = json_pack("{s:i, s:b, s:n}", "version", 1, "intact", 1, "first");
        static const struct {
                const char *name;
                int (*fn)(Txn *t, json_t *found);
        } checks[] = {{"unapplied", state_check_unapplied},
                      {"pending", state_check_waits},
                      {"cause", state_check_causes},
                      {"run", state_check_runs},
                      {"object", state_check_objects}};
        int r = found ? state_check_fold(t, found, reterr) : -ENOMEM;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++) {
                r = checks[i].fn(t, found);
                if (r == -EUCLEAN) /* an unreadable row is a finding; the checks continue */
                        r = state_note(found, checks[i].name, "a row or entry for this check cannot be read");
        }
        if (r == 0)
                *ret = TAKE_PTR(found);
        return r;
}
