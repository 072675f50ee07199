#include "audit/runs.h"

#include "engine/engine.h"
#include "engine/note.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX 24
#define EVENT_OF_RUN "\"run\":\"" /* how an entry that is about one says so: the others are not looked into */

/* Runs that go on after all entries: {run: {"agent","scope","events":{note's number: [seq, outcome]}}}. */
static int take_event(json_t *runs, uint64_t seq, const json_t *o) {
        const char *type = json_text(json_object_get(o, "type")), *id = json_text(json_object_get(o, "run"));
        bool waits = type && strcmp(type, "note.pending") == 0;
        char number[NUMBER_MAX];
        json_t *run;
        uint64_t n;

        if (!type || !id)
                return 0;
        if (strcmp(type, "run.started") == 0)
                return json_object_set_new(runs, id, json_pack("{s:O, s:O, s:{}}", "agent", json_object_get(o, "agent"), "scope", json_object_get(o, "scope"), "events")) < 0
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
        return json_object_set_new(json_object_get(run, "events"), number, json_pack("[o, s]", json_u64(seq), note_outcome_name(waits ? NOTE_PENDING : NOTE_COMMITTED))) < 0
                       ? -ENOMEM
                       : 0;
}

static int read_ledger(Txn *t, json_t *runs) {
        _cleanup_walk_ LedgerWalk w = {0};
        uint64_t seq;
        Bytes entry;
        int r = ledger_walk(t, 0, &w);

        while (r == 0 && (r = ledger_next(&w, &seq, &entry)) == 0) {
                _cleanup_json_ json_t *o = NULL;

                if (!memmem(entry.p, entry.n, EVENT_OF_RUN, strlen(EVENT_OF_RUN)))
                        continue;
                r = json_parse_own(entry.p, entry.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o);
                if (r == 0)
                        r = take_event(runs, seq, o);
                if (r > 0)
                        r = -EUCLEAN;
        }
        return r == -ENOENT ? 0 : r;
}

/* The note's outcome is what its event says, and the other way round. events: of the run. 1: it does not hold. */
static int check_note(const NoteRun *run, const Note *n, const json_t *events, Diag *ret_what) {
        bool waits = n->outcome == NOTE_PENDING;
        char number[NUMBER_MAX];
        const json_t *event;
        uint64_t said = 0, seq = 0;

        snprintf(number, sizeof(number), "%" PRIu64, n->number);
        event = json_object_get(events, number);
        json_get_u64(json_object_get(n->row, waits ? "pending" : "seq"), &said);
        json_get_u64(json_array_get(event, 0), &seq);
        if (event && !json_text_is(json_array_get(event, 1), note_outcome_name(n->outcome)))
                return diag(ret_what, 1, "run %s: note %" PRIu64 " is %s, and its event %" PRIu64 " says %s", run->id, n->number, note_outcome_name(n->outcome), seq,
                            json_text(json_array_get(event, 1)));
        if ((waits || n->outcome == NOTE_COMMITTED) && (!event || seq != said))
                return diag(ret_what, 1, "run %s: note %" PRIu64 " is %s by event %" PRIu64 ", which is not about it", run->id, n->number, note_outcome_name(n->outcome), said);
        return 0;
}

/* The notes are numbered from 1 on without a gap, and the row says how many there are and how many were looked at. */
static int check_notes(Txn *t, const NoteRun *run, const json_t *events, Diag *ret_what) {
        _cleanup_note_ Note n = NOTE_NULL;
        uint64_t notes = 0, processed = 0, about = 0;
        int r;

        while ((r = engine_note_next(t, run->id, notes + 1, false, &n)) == 0) {
                if (n.number != ++notes)
                        return diag(ret_what, 1, "run %s: note %" PRIu64 " is not there", run->id, notes);
                processed += n.outcome != NOTE_UNPROCESSED;
                about += n.outcome == NOTE_COMMITTED || n.outcome == NOTE_PENDING;
                if (n.outcome == NOTE_UNPROCESSED && n.number <= run->settled)
                        return diag(ret_what, 1, "run %s: note %" PRIu64 " has no outcome, and would be passed over", run->id, n.number);
                r = check_note(run, &n, events, ret_what);
                if (r != 0)
                        return r;
        }
        if (r != -ENOENT)
                return r;
        if (notes != run->notes || processed != run->processed)
                return diag(ret_what, 1, "run %s has %" PRIu64 " notes, %" PRIu64 " of them looked at: its row says %" PRIu64 " and %" PRIu64, run->id, notes, processed,
                            run->notes, run->processed);
        if (about != json_object_size(events))
                return diag(ret_what, 1, "run %s: %zu of its notes were committed or wait by the ledger, and %" PRIu64 " are here", run->id, json_object_size(events), about);
        return 0;
}

static int check_run(Txn *t, const NoteRun *run, const json_t *said, Diag *ret_what) {
        const char *agent = json_text(json_object_get(said, "agent"));
        uint64_t scope;

        if (!said)
                return diag(ret_what, 1, "run %s: the ledger knows of none that goes on", run->id);
        if (!agent || strcmp(agent, run->agent) != 0 || json_get_u64(json_object_get(said, "scope"), &scope) < 0 || scope != run->scope)
                return diag(ret_what, 1, "run %s: the ledger says another agent or scope", run->id);
        return check_notes(t, run, json_object_get(said, "events"), ret_what);
}

/* Notes stand behind the row of their run. */
static int check_orphans(Txn *t, const json_t *runs, Diag *ret_what) {
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
                        return diag(ret_what, 1, "there are notes of no run that goes on");
        }
        return r == -ENOENT ? 0 : r;
}

int audit_runs(Txn *t, bool *ret_bad, Diag *ret_what) {
        _cleanup_json_ json_t *runs = json_object();
        _cleanup_free_ NoteRun *rows = NULL;
        size_t n = 0;
        int r = runs ? read_ledger(t, runs) : -ENOMEM;

        if (r == 0)
                r = engine_run_list(t, &rows, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = check_run(t, &rows[i], json_object_get(runs, rows[i].id), ret_what);
        if (r == 0 && n != json_object_size(runs))
                r = diag(ret_what, 1, "%zu runs go on by the ledger, and %zu have a row", json_object_size(runs), n);
        if (r == 0)
                r = check_orphans(t, runs, ret_what);
        *ret_bad = r > 0;
        return r > 0 ? 0 : r;
}
