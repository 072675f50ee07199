#include "engine/session.h"

#include "base/clock.h"
#include "base/hash.h"
#include "engine/region-row.h"
#include "engine/scope.h"
#include "record/event.h"
#include "record/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

const json_t *session_of_row(const RegionRow *row) {
        return json_object_get(row->detail, "session");
}

bool session_resumes(const json_t *session) {
        return json_text_is(json_object_get(session, "on_crash"), "resume");
}

static uint64_t session_u64(const json_t *o, const char *member) {
        uint64_t n = 0;

        json_get_u64(json_object_get(o, member), &n);
        return n;
}

bool session_waits(const json_t *session, uint64_t now_usec) {
        return session_resumes(session) &&
               now_usec < session_u64(session, "used_usec") + session_u64(session, "idle_usec");
}

/* The row of a living session: *ret owned, *ret_session borrowed from it. */
static int session_get(Txn *t, const char *id, json_t **ret, json_t **ret_session, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        int r = region_json_get(t, id, &row);

        if (r == 0)
                *ret_session = json_object_get(row, "session");
        if (r == ENGINE_E_NO_REGION || (r == 0 && !*ret_session))
                return diag(reterr, ENGINE_E_NO_REGION, "there is no open session %s", id);
        if (r == 0)
                *ret = TAKE_PTR(row);
        return r;
}

/* The list of rows is read only when all regions together reach the limit. */
static int session_check_count(Txn *t, const SessionStart *s, Diag *reterr) {
        RegionRow *rows = NULL;
        uint64_t alive, of_user = 0;
        size_t n = 0;
        int r = s->max_sessions > 0 ? engine_region_count(t, &alive) : 0;

        if (r < 0 || s->max_sessions == 0 || alive < s->max_sessions)
                return r;
        r = engine_region_list(t, &rows, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                of_user += session_of_row(&rows[i]) && session_u64(session_of_row(&rows[i]), "uid") == s->uid;
        region_rows_free(rows, n);
        return r == 0 && of_user >= s->max_sessions
                       ? diag(reterr, ENGINE_E_TOO_MANY,
                              "user %" PRIu64 " has %" PRIu64 " sessions open: policy allows %" PRIu64
                              " of a user at once (max_sessions): close one of them", s->uid, of_user, s->max_sessions)
                       : r;
}

int engine_session_open(Txn *t, const SessionStart *s, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        const char *id = s->region.region;
        const json_t *said = s->said;
        uint64_t now = clock_real_usec();
        json_t *session, *fields;
        int r = session_check_count(t, s, reterr)
                        ?: engine_region_start(t, &s->region, NULL, NULL, reterr)
                        ?: region_json_get(t, id, &row);

        if (r != 0)
                return r;
        session = json_pack("{s:o, s:s, s:O, s:o, s:o, s:o, s:o, s:o, s:O, s:{}, s:O*, s:s*}", "uid", json_u64(s->uid), "target",
                            s->target, "on_crash", json_object_get(said, "on_crash"), "idle_usec",
                            json_u64((uint64_t)json_integer_value(json_object_get(said, "idle_usec"))), "turns_most",
                            json_u64((uint64_t)json_integer_value(json_object_get(said, "turns"))), "turns",
                            json_u64(0), "opened_usec", json_u64(now), "used_usec", json_u64(now), "sections",
                            json_object_get(said, "sections"), "carried", "cognition", s->cognition,
                            "discipline", s->discipline);
        if (json_object_set_new(row, "session", session) < 0)
                return -ENOMEM;
        fields = json_pack("{s:s, s:O, s:O, s:O, s:O, s:O, s:O, s:O*}", "session", id, "skill", json_object_get(row, "skill"),
                           "uid", json_object_get(session, "uid"), "on_crash", json_object_get(session, "on_crash"),
                           "idle_usec", json_object_get(session, "idle_usec"), "turns_most",
                           json_object_get(session, "turns_most"), "sections", json_object_get(s->region.grant, "session"), "cognition", s->cognition);
        return event_append(t, &(Event){.type = "session.opened", .region = id, .fields = fields}, NULL)
                ?: region_json_put(t, id, row, false);
}

int engine_session_turn(Txn *t, const char *session, const char *region, uint64_t *ret_turn, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        const char *living;
        json_t *o;
        uint64_t n;
        int r = session_get(t, session, &row, &o, reterr);

        if (r != 0)
                return r;
        living = json_text(json_object_get(o, "turn"));
        if (living)
                return diag(reterr, ENGINE_E_CONFLICT, "turn %" PRIu64 " of session %s, region %s, is not over",
                            session_u64(o, "turns"), session, living);
        n = session_u64(o, "turns") + 1;
        if (n > session_u64(o, "turns_most"))
                return diag(reterr, ENGINE_E_TOO_MANY,
                            "session %s has had its %" PRIu64 " turns (\"turns\" in \"session\" of its manifest): close it",
                            session, n - 1);
        r = json_object_set_new(o, "turns", json_u64(n)) | json_object_set_new(o, "turn", json_string(region)) |
            json_object_set_new(o, "used_usec", json_u64(clock_real_usec()));
        *ret_turn = n;
        return r ? -ENOMEM : region_json_put(t, session, row, false);
}

/* The end of a turn, however it ended; the session may have gone with a crash. */
static int session_turn_over(Txn *t, const char *session, const char *region) {
        _cleanup_json_ json_t *row = NULL;
        json_t *o;
        Diag d;
        int r = session_get(t, session, &row, &o, &d);

        if (r != 0)
                return MIN(r, 0);
        if (!json_text_is(json_object_get(o, "turn"), region))
                return 0;
        json_object_del(o, "turn");
        if (json_object_set_new(o, "used_usec", json_u64(clock_real_usec())) < 0)
                return -ENOMEM;
        return region_json_put(t, session, row, false);
}

/* Carried values leave the store; the entries keep digests. */
static int session_erase(Txn *t, const json_t *session) {
        const char *name;
        json_t *item;
        int r = 0;

        json_object_foreach(json_object_get(session, "carried"), name, item) {
                uint64_t seq = session_u64(item, "seq");

                if (r == 0 && seq > 0)
                        r = body_del(t, seq);
                if (r == -ENOENT)
                        r = 0;
        }
        return r;
}

/* The scope of the loop goes, in the transaction of the session's end. A scope that cannot go (a run in it has notes that
 * nobody took) does not hold up the end: `lethe scope delete` says why. */
static int session_erase_loop(Txn *t, const char *id, const json_t *session, const char *who, json_t **ret_records) {
        const char *scope = json_text(json_object_get(json_object_get(session, "cognition"), "ccs"));
        uint64_t seq, records = 0;
        Diag d;
        const ScopeErase e = {.name = scope, .reason = "the session has ended", .who = who, .region = who ? NULL : id};
        int r = scope ? engine_scope_erase(t, &e, &seq, &records, &d) : ENGINE_E_NO_SCOPE;

        if (r < 0)
                return r;
        *ret_records = r == 0 ? json_u64(records) : NULL;
        return 0;
}

static int session_ended(Txn *t, const char *id, const json_t *session, const char *reason, const char *who, bool erase) {
        json_t *records = NULL, *fields;
        int r = session_erase(t, session);

        if (r == 0 && (erase || json_is_true(json_object_get(json_object_get(session, "cognition"), "erase"))))
                r = session_erase_loop(t, id, session, who, &records);
        if (r != 0)
                return r;
        fields = json_pack("{s:s, s:s, s:O, s:O, s:s*, s:o*}", "session", id, "reason", reason, "turns",
                           json_object_get(session, "turns"), "carried", json_object_get(session, "carried"), "by", who,
                           "erased", records);
        return event_append(t, &(Event){.type = "session.ended", .region = id, .fields = fields}, NULL);
}

int session_region_over(Txn *t, const char *region, const json_t *row) {
        const char *turn_of = json_text(json_object_get(row, "turn_of"));
        const json_t *session = json_object_get(row, "session");

        if (turn_of)
                return session_turn_over(t, turn_of, region);
        if (!session || json_object_get(session, "ended"))
                return 0;
        return session_ended(t, region, session,
                             json_object_get(row, "discard_asked") ? "discarded" : "supervisor_died", NULL, false);
}

/* seq: of the entry with the value as body; 0: the value is in no file. */
static int session_note_carried(json_t *carried, const char *section, uint64_t version, uint64_t n, const char *digest,
                                uint64_t seq) {
        json_t *item = json_pack("{s:o, s:o, s:s}", "version", json_u64(version), "bytes", json_u64(n), "sha256",
                                 digest);

        if (seq > 0 && json_object_set_new(item, "seq", json_u64(seq)) < 0) {
                json_decref(item);
                return -ENOMEM;
        }
        return json_object_set_new(carried, section, item) < 0 ? -ENOMEM : 0;
}

int engine_session_carry(Txn *t, const SessionCarry *c, uint64_t *ret_version, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL, *fields = NULL;
        _cleanup_free_ char *text = NULL;
        char digest[HASH_HEX_MAX];
        json_t *o, *carried, *before;
        uint64_t version, was, seq = 0;
        size_t n;
        int r = session_get(t, c->session, &row, &o, reterr) ?: json_canonical(c->value, &text, &n);

        if (r != 0)
                return r;
        carried = json_object_get(o, "carried");
        before = json_object_get(carried, c->section);
        version = session_u64(before, "version") + 1;
        was = session_u64(before, "seq");
        hash_hex(text, n, digest);
        fields = json_pack("{s:s, s:O, s:s, s:o, s:o, s:s}", "session", c->session, "turn", json_object_get(o, "turns"),
                           "section", c->section, "version", json_u64(version), "bytes", json_u64(n), "sha256", digest);
        r = event_append(t, &(Event){.type = "session.carried", .region = c->region, .who = c->who,
                                     .fields = json_incref(fields), .payload = session_resumes(o) ? text : NULL,
                                     .n_payload = n}, &seq);
        sodium_memzero(text, n);
        if (r == 0 && was > 0)
                r = body_del(t, was);
        if (r == -ENOENT)
                r = 0;
        if (r == 0)
                r = session_note_carried(carried, c->section, version, n, digest, session_resumes(o) ? seq : 0);
        if (r == 0 && c->who && json_object_set_new(o, "used_usec", json_u64(clock_real_usec())) < 0)
                r = -ENOMEM;
        if (ret_version)
                *ret_version = version;
        return r ?: region_json_put(t, c->session, row, false);
}

int engine_session_drop(Txn *t, const char *session, const char *region, uint64_t count, const char *reason) {
        json_t *fields = json_pack("{s:s, s:o, s:s}", "session", session, "count", json_u64(count), "reason", reason);

        return event_append(t, &(Event){.type = "session.dropped", .region = region, .fields = fields}, NULL);
}

int engine_session_end(Txn *t, const SessionEnd *e, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL, *ended = NULL, *released = NULL;
        const char *session = e->session, *reason = e->reason, *living;
        json_t *o;
        int r = session_get(t, session, &row, &o, reterr);

        if (r != 0)
                return r;
        living = json_text(json_object_get(o, "turn"));
        if (living)
                return diag(reterr, ENGINE_E_CONFLICT, "region %s, a turn of session %s, is not over", living, session);
        if (json_object_get(row, "discard_asked"))
                reason = "discarded";
        r = session_ended(t, session, o, reason, e->who, e->erase);
        if (r == 0 && json_object_set_new(o, "ended", json_true()) < 0)
                r = -ENOMEM;
        ended = strcmp(reason, "closed") == 0
                        ? json_pack("{s:s, s:i}", "outcome", "exited", "exit_code", 0)
                        : json_pack("{s:s, s:s, s:s*}", "outcome", strcmp(reason, "idle") == 0 ? "timed_out" : "cancelled",
                                    "reason", reason, "limiting_resource", strcmp(reason, "idle") == 0 ? "idle" : NULL);
        released = json_pack("{s:O, s:o}", "teardown", e->evidence, "denials", json_u64(0));
        if (r == 0 && (!ended || !released))
                r = -ENOMEM;
        return r ?: region_json_put(t, session, row, false)
                 ?: engine_region_end(t, &(RegionEnd){.region = session, .keep = true, .released = released,
                                                      .ended = ended}, NULL, NULL, reterr);
}

int engine_session_adopt(Txn *t, const char *session, uint64_t lock, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        json_t *o, *fields;
        int r = session_get(t, session, &row, &o, reterr);

        if (r == 0 && session_u64(row, "lock") != lock)
                return diag(reterr, ENGINE_E_CONFLICT, "session %s is hosted by process %" PRIu64 ": ask there",
                            session, session_u64(row, "supervisor"));
        if (r != 0)
                return r;
        fields = json_pack("{s:s, s:O, s:o, s:O}", "session", session, "before", json_object_get(row, "supervisor"),
                           "supervisor", json_u64((uint64_t)getpid()), "turns", json_object_get(o, "turns"));
        if (json_object_set_new(row, "supervisor", json_u64((uint64_t)getpid())) |
            json_object_set_new(row, "lock", json_u64(store_own_lock(txn_store(t)))) |
            json_object_set_new(o, "resumed", json_true()))
                r = -ENOMEM;
        if (r != 0) {
                json_decref(fields);
                return r;
        }
        return event_append(t, &(Event){.type = "session.resumed", .region = session, .fields = fields}, NULL)
                       ?: region_json_put(t, session, row, false);
}

int engine_session_values(Txn *t, const char *session, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL, *values = json_object();
        const char *name;
        json_t *o, *item;
        int r = values ? session_get(t, session, &row, &o, reterr) : -ENOMEM;

        if (r != 0)
                return r;
        json_object_foreach(json_object_get(o, "carried"), name, item) {
                json_t *value;
                Bytes body;

                if (r == 0)
                        r = body_get(t, session_u64(item, "seq"), NULL, &body);
                if (r == 0)
                        r = json_row_parse(body, SECTION_BYTES_MAX, &value);
                if (r == 0 && json_object_set_new(values, name,
                                                  json_pack("{s:o, s:I}", "value", value, "version",
                                                            (json_int_t)session_u64(item, "version"))) < 0)
                        r = -ENOMEM;
        }
        if (r == -ENOENT)
                r = -EUCLEAN;
        if (r == 0)
                *ret = TAKE_PTR(values);
        return r;
}
