#include "engine/note.h"

#include "base/clock.h"
#include "record/event.h"
#include "record/rows.h"
#include "engine/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RUN_ROW_MAX 4096
#define NOTE_ROW_MAX (4 * 1024 * 1024)

static const char *const roles[] = {[NOTE_AGENT] = "agent", [NOTE_TOOL_RESULT] = "tool_result"};
static const char *const outcomes[] = {"unprocessed", "committed", "pending", "rejected", "invalid"};

NoteRole note_role_from_name(const char *name) {
        return (NoteRole)(name_index(roles, ARRAY_SIZE(roles), name) % ARRAY_SIZE(roles));
}

const char *note_outcome_name(NoteOutcome o) {
        return outcomes[o];
}

void note_deinit(Note *n) {
        json_decref(n->row);
        *n = NOTE_NULL;
}

const char *note_words(const Note *n) {
        return json_bytes(json_object_get(n->row, "text"));
}

size_t note_length(const Note *n) {
        return json_string_length(json_object_get(n->row, "text"));
}

/* over: members that replace or extend the row's members; or NULL. */
static int note_row_put(Txn *t, Table table, Bytes key, const json_t *row, const json_t *over) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        return json_canonical_over(row, over, &text, &n) ?: table_put(t, table, key, BYTES(text, n));
}

static int run_put(Txn *t, const NoteRun *run) {
        _cleanup_json_ json_t *row = json_pack("{s:s, s:o, s:o, s:o, s:o}", "agent", run->agent, "scope",
                                               json_u64(run->scope), "notes", json_u64(run->notes), "processed",
                                               json_u64(run->processed), "settled", json_u64(run->settled));

        return row ? note_row_put(t, TABLE_RUN, BYTES_STR(run->id), row, NULL) : -ENOMEM;
}

static int run_decode(Bytes k, Bytes v, NoteRun *ret) {
        _cleanup_json_ json_t *row = NULL;
        const char *agent;
        NoteRun run = {0};
        int r = k.n == RUN_ID_MAX - 1 ? json_row_parse(v, RUN_ROW_MAX, &row) : -EUCLEAN;

        if (r < 0)
                return r;
        agent = json_text(json_object_get(row, "agent"));
        if (!agent || strlen(agent) >= sizeof(run.agent) ||
            json_get_u64(json_object_get(row, "scope"), &run.scope) < 0 ||
            json_get_u64(json_object_get(row, "notes"), &run.notes) < 0 ||
            json_get_u64(json_object_get(row, "processed"), &run.processed) < 0 ||
            json_row_number(row, "settled", &run.settled) < 0 /* missing in older stores */)
                return -EUCLEAN;
        memcpy(run.id, k.p, k.n);
        strcpy(run.agent, agent);
        *ret = run;
        return 0;
}

int engine_run_get(Txn *t, const char *id, NoteRun *ret, Diag *reterr) {
        Bytes v;
        int r = region_id_valid(id) ? table_get(t, TABLE_RUN, BYTES_STR(id), &v) : -ENOENT;

        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_NO_RECORD, "there is no open run \"%s\"", DIAG_QUOTED(id));
        return r < 0 ? r : run_decode(BYTES_STR(id), v, ret);
}

int engine_run_list(Txn *t, NoteRun **ret, size_t *ret_n) {
        _cleanup_cursor_ Cursor *c = NULL;
        _cleanup_free_ NoteRun *runs = NULL;
        size_t n = 0;
        Bytes k, v;
        int r = cursor_open(t, TABLE_RUN, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                if (!GROW(runs, n))
                        return -ENOMEM;
                r = run_decode(k, v, &runs[n++]);
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(runs);
        *ret_n = n;
        return 0;
}

static int run_event(Txn *t, const char *type, const char *who, const char *region, const NoteRun *run, json_t *more) {
        _cleanup_json_ json_t *fields =
                json_pack("{s:s, s:s, s:o}", "run", run->id, "agent", run->agent, "scope", json_u64(run->scope));

        if (more && json_object_update_new(fields, more) < 0)
                return -ENOMEM;
        return event_append(t, &(Event){.type = type, .who = who, .region = region, .fields = TAKE_PTR(fields)}, NULL);
}

int engine_run_begin(Txn *t, const char *who, const char *region, const char *id, const char *agent, const char *scope,
                     NoteRun *ret, Diag *reterr) {
        char of_region[REGION_ID_MAX + 8];
        NoteRun run = {0};
        Bytes v;
        int r;

        if (!scope_name_valid(agent)) /* agents follow the rule of scopes */
                return diag(reterr, ENGINE_E_BAD_NAME,
                            "\"%s\" is not an agent's name: a-z or 0-9, then at most 63 of a-z 0-9 . _ -",
                            DIAG_QUOTED(agent));
        if (id && !region_id_valid(id))
                return diag(reterr, ENGINE_E_BAD_NAME, "\"%s\" is not a run's id: 26 letters and digits",
                            DIAG_QUOTED(id));
        snprintf(of_region, sizeof(of_region), "region:%s", region ? region : "");
        r = engine_scope_need(t, who ? who : of_region, scope ? scope : SCOPE_DEFAULT, &run.scope, reterr);
        if (r != 0)
                return r;
        if (id)
                strcpy(run.id, id);
        else
                r = region_id_new(clock_real_usec(), run.id);
        strcpy(run.agent, agent);
        if (r == 0)
                r = table_get(t, TABLE_RUN, BYTES_STR(run.id), &v);
        if (r == 0)
                return diag(reterr, ENGINE_E_EXISTS, "run %s is open already", run.id);
        if (r == -ENOENT)
                r = run_event(t, "run.started", who, region, &run, NULL);
        if (r == 0)
                r = run_put(t, &run);
        if (r == 0)
                *ret = run;
        return r;
}

/* Key of note: run, NUL, number. */
#define NOTE_KEY (RUN_ID_MAX - 1 + 1 + 8)

static Bytes note_key(const char *run, uint64_t number, uint8_t key[static NOTE_KEY]) {
        memcpy(key, run, RUN_ID_MAX);
        be64_put(key + RUN_ID_MAX, number);
        return BYTES(key, NOTE_KEY);
}

int engine_run_end(Txn *t, const char *who, const char *region, const char *id, bool drop, uint64_t *ret_dropped,
                   Diag *reterr) {
        uint8_t key[NOTE_KEY];
        uint64_t left;
        NoteRun run;
        int r = engine_run_get(t, id, &run, reterr);

        if (r != 0)
                return r;
        left = run.notes - run.processed;
        if (left > 0 && !drop)
                return diag(reterr, ENGINE_E_CONFLICT,
                            "run %s has %" PRIu64 " unprocessed note%s: promote the notes, or end the run with --drop",
                            id, left, left == 1 ? "" : "s");
        r = run_event(t, "run.ended", who, region, &run,
                      json_pack("{s:o, s:o}", "notes", json_u64(run.notes), "dropped", json_u64(left)))
                ?: table_del_prefix(t, TABLE_NOTE, BYTES(note_key(id, 0, key).p, RUN_ID_MAX))
                ?: table_del(t, TABLE_RUN, BYTES_STR(id));
        if (r == 0)
                *ret_dropped = left;
        return r;
}

int engine_runs_end(Txn *t, const char *who, uint64_t scope, Diag *reterr) {
        _cleanup_free_ NoteRun *runs = NULL;
        uint64_t dropped;
        size_t n;
        int r = engine_run_list(t, &runs, &n);

        for (size_t i = 0; r == 0 && i < n; i++)
                if (runs[i].scope == scope && runs[i].notes > runs[i].processed)
                        return diag(reterr, ENGINE_E_CONFLICT,
                                    "run %s of the scope has %" PRIu64
                                    " unprocessed notes: promote the notes, or end the run (note end --drop)",
                                    runs[i].id, runs[i].notes - runs[i].processed);
        for (size_t i = 0; r == 0 && i < n; i++)
                if (runs[i].scope == scope)
                        r = engine_run_end(t, who, NULL, runs[i].id, false, &dropped, reterr);
        return r;
}

int engine_note_add_by(Txn *t, const char *id, const char *region, NoteRole role, const char *text, size_t n,
                       const KeySet *keys, uint64_t *ret_number, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        uint8_t key[NOTE_KEY];
        size_t bad;
        NoteRun run;
        int r;

        if (n == 0)
                return diag(reterr, ENGINE_E_EMPTY, "the note is empty: 1 to %d bytes are allowed", NOTE_TEXT_MAX);
        if (n > NOTE_TEXT_MAX)
                return diag(reterr, ENGINE_E_TOO_LARGE, "the note has %zu bytes: 1 to %d are allowed", n,
                            NOTE_TEXT_MAX);
        if (!utf8_valid(text, n, &bad))
                return diag(reterr, ENGINE_E_BAD_UTF8, "the note is not UTF-8 at byte %zu, which is 0x%02x", bad,
                            (unsigned char)text[bad]);
        if (strnlen(text, n) < n)
                return diag(reterr, ENGINE_E_CONTROL, "the note has the control character 0x00 at byte %zu",
                            strnlen(text, n));
        r = keyscan_text(keys, text, n);
        if (r > 0)
                return diag(reterr, ENGINE_E_KEY_ESCAPE, "the note holds the key of a living region");
        if (r == 0)
                r = engine_run_get(t, id, &run, reterr);
        if (r != 0)
                return r;
        if (run.notes >= NOTES_MAX)
                return diag(reterr, ENGINE_E_TOO_MANY, "run %s has %d notes: a run has no more", id, NOTES_MAX);
        row = json_pack("{s:s%, s:s, s:o, s:s*}", "text", text, n, "role", roles[role], "usec",
                        json_u64(clock_real_usec()), "region", region);
        if (!row)
                return -ENOMEM;
        run.notes++;
        r = note_row_put(t, TABLE_NOTE, note_key(id, run.notes, key), row, NULL) ?: run_put(t, &run);
        if (r == 0)
                *ret_number = run.notes;
        return r;
}

int engine_note_add(Txn *t, const char *id, NoteRole role, const char *text, size_t n, const KeySet *keys,
                    uint64_t *ret_number, Diag *reterr) {
        return engine_note_add_by(t, id, NULL, role, text, n, keys, ret_number, reterr);
}

static int note_decode(Bytes k, Bytes v, Note *ret) {
        _cleanup_json_ json_t *row = NULL;
        const char *role, *outcome;
        Note n = {0};
        int r = json_row_parse(v, NOTE_ROW_MAX, &row);

        if (r < 0)
                return r;
        role = json_text(json_object_get(row, "role"));
        outcome = json_text(json_object_get(row, "outcome"));
        if (!role || !(n.role = note_role_from_name(role)) || !json_is_string(json_object_get(row, "text")) ||
            json_get_u64(json_object_get(row, "usec"), &n.usec) < 0)
                return -EUCLEAN;
        if (outcome && !(n.outcome = name_index(outcomes, ARRAY_SIZE(outcomes), outcome) % ARRAY_SIZE(outcomes)))
                return -EUCLEAN;
        n.number = be64_get((const uint8_t *)k.p + RUN_ID_MAX);
        n.row = TAKE_PTR(row);
        n.raw = v;
        *ret = n;
        return 0;
}

int engine_note_next(Txn *t, const char *run, uint64_t from, bool unprocessed, Note *ret) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t key[NOTE_KEY];
        Bytes k, v;
        int r = region_id_valid(run)
                        ? cursor_open_within(t, TABLE_NOTE, note_key(run, from, key), RUN_ID_MAX, &c)
                        : -ENOENT;

        note_deinit(ret);
        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                r = k.n != NOTE_KEY ? -ENOENT : note_decode(k, v, ret);
                if (r == 0 && (!unprocessed || ret->outcome == NOTE_UNPROCESSED))
                        return 0;
                note_deinit(ret);
        }
        return r;
}

int engine_note_settle(Txn *t, const char *id, uint64_t number, const Note *read, NoteOutcome outcome,
                       const json_t *more) {
        _cleanup_note_ Note n = NOTE_NULL;
        uint8_t key[NOTE_KEY];
        const char *said;
        Bytes k, v;
        int r;

        if (!region_id_valid(id))
                return -ENOENT;
        k = note_key(id, number, key);
        r = table_get(t, TABLE_NOTE, k, &v);
        if (r == 0 && read && read->raw.n == v.n && memcmp(read->raw.p, v.p, v.n) == 0) {
                n = *read;
                json_incref(n.row);
        } else if (r == 0)
                r = note_decode(k, v, &n);
        if (r < 0)
                return r;
        if (n.outcome != NOTE_UNPROCESSED)
                return -EALREADY;
        said = json_text(json_object_get(more, "outcome"));
        assert(!said || strcmp(said, outcomes[outcome]) == 0);
        if (!said && json_put(n.row, "outcome", json_string_nocheck(outcomes[outcome])) < 0)
                return -ENOMEM;
        return note_row_put(t, TABLE_NOTE, note_key(id, number, key), n.row, more);
}

int engine_run_settled(Txn *t, const char *id, uint64_t notes, uint64_t upto) {
        NoteRun run;
        int r = engine_run_get(t, id, &run, NULL);

        if (r > 0)
                return -ENOENT;
        run.processed += notes;
        run.settled = MAX(run.settled, upto);
        return r < 0 ? r : run_put(t, &run);
}

int engine_notes_drop(Txn *t, const char *id, const char *region, uint64_t *ret_dropped) {
        _cleanup_note_ Note n = NOTE_NULL;
        uint8_t key[NOTE_KEY];
        uint64_t dropped = 0;
        NoteRun run;
        int r = engine_run_get(t, id, &run, NULL);

        if (r != 0)
                return r;
        for (uint64_t from = run.settled + 1; (r = engine_note_next(t, id, from, true, &n)) == 0; from = n.number + 1) {
                if (!json_text_is(json_object_get(n.row, "region"), region))
                        continue;
                r = table_del(t, TABLE_NOTE, note_key(id, n.number, key));
                if (r < 0)
                        return r;
                dropped++;
        }
        if (r != -ENOENT)
                return r;
        *ret_dropped = dropped;
        if (dropped == 0)
                return 0;
        run.processed += dropped;
        return run_put(t, &run) ?: run_event(t, "note.dropped", NULL, region, &run,
                                             json_pack("{s:o}", "dropped", json_u64(dropped)));
}

int engine_note_erase(Txn *t, const char *run, uint64_t number) {
        static const char *const kept[] = {"role", "usec", "outcome", "seq", "pending", "bucket", "operation", "id"};
        _cleanup_json_ json_t *row = json_pack("{s:s, s:b}", "text", "", "erased", 1);
        _cleanup_note_ Note n = NOTE_NULL;
        uint8_t key[NOTE_KEY];
        Bytes k, v;
        int r;

        if (!row)
                return -ENOMEM;
        if (!region_id_valid(run))
                return -ENOENT;
        k = note_key(run, number, key);
        r = table_get(t, TABLE_NOTE, k, &v) ?: note_decode(k, v, &n);
        if (r == 0 && n.outcome == NOTE_UNPROCESSED)
                r = -ENOENT;
        if (r == 0 && JSON_ROW_KEEP(row, n.row, kept) < 0)
                r = -ENOMEM;
        return r ?: note_row_put(t, TABLE_NOTE, note_key(run, number, key), row, NULL);
}
