#include "memory/digest.h"

#include "base/clock.h"
#include "refs/graph.h"
#include "engine/scope.h"
#include "memory/refs.h"

#include <errno.h>
#include <string.h>

/* The scanned records by name, because there may be as many candidates as records. */
static int digest_index(const json_t *scan, json_t **ret) {
        const json_t *records = json_object_get(scan, "records");
        _cleanup_json_ json_t *all = json_object();
        char name[MEMORY_NAME_MAX];

        for (size_t i = 0; all && i < json_array_size(records); i++) {
                json_t *o = json_array_get(records, i);

                if (json_object_set(all, memory_name(json_str(o, "kind"), json_str(o, "id"), name), o) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(all);
        return *ret ? 0 : -ENOMEM;
}

/* An entry of the proposals. The proposer is not trusted. */
static int digest_read_step(const Digest *d, uint64_t scope, const json_t *o, size_t i, PassStep *ret, Diag *reterr) {
        const char *op = json_str(o, "op"), *kind = json_str(o, "kind"), *id = json_str(o, "id");
        Kind k = kind_from_name(kind);
        int r;

        if (!json_is_object(o) || (strcmp(op, "archive") && strcmp(op, "remove")) || !k || !record_id_valid(k, id))
                return diag(reterr, ENGINE_E_BAD_PAYLOAD,
                            "proposals[%zu] is no proposal: op, kind, id and reason are needed", i);
        *ret = (PassStep){.op = op_from_name(op), .key = record_key_of(scope, k, id)};
        r = reason_parse(json_object_get(o, "reason"), scope, &ret->reason, reterr);
        if (r > 0)
                diag_prefix(reterr, "proposals[%zu]", i);
        if (r == 0 && !(d->reasons & 1U << ret->reason.code))
                r = diag(reterr, ENGINE_E_BAD_PAYLOAD, "proposals[%zu]: reason %s was not asked for", i,
                         reason_name(ret->reason.code));
        return r;
}

static bool digest_is_named(const Digest *d, const PassStep *s) {
        char name[MEMORY_NAME_MAX];

        memory_name(kind_name(s->key.kind), s->key.id, name);
        for (size_t i = 0; i < d->n_names; i++)
                if (strcmp(d->names[i], name) == 0 || strcmp(d->names[i], s->key.id) == 0)
                        return true;
        return false;
}

/* Records that no other record supports, each with the first pass of the lack: for the next pass. */
static int digest_unsupported(const Digest *d, const json_t *pass, json_t **ret) {
        const json_t *records = json_object_get(d->scan, "records");
        _cleanup_json_ json_t *all = json_object();

        for (size_t i = 0; all && i < json_array_size(records); i++) {
                const json_t *o = json_array_get(records, i), *in = json_object_get(o, "in");
                json_t *since = json_object_get(o, "since"), *of;
                bool alone = strcmp(json_str(o, "state"), "active") == 0;

                for (size_t k = 0; alone && k < json_array_size(in); k++)
                        alone = strcmp(json_str(json_array_get(in, k), "role"), REF_ROLE_SUPERSEDES) == 0;
                if (!alone)
                        continue;
                of = json_object_get(all, json_str(o, "kind"));
                if (!of && (json_object_set_new(all, json_str(o, "kind"), json_object()) < 0 ||
                            !(of = json_object_get(all, json_str(o, "kind")))))
                        return -ENOMEM;
                if (json_object_set(of, json_str(o, "id"), since ? since : (json_t *)pass) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(all);
        return *ret ? 0 : -ENOMEM;
}

json_t *memory_reason_names(unsigned reasons) {
        _cleanup_json_ json_t *a = json_array();

        for (ReasonCode c = REASON_BROKEN_REF; c < REASON_COUNT_; c++)
                if (reasons & 1U << c && json_array_append_new(a, json_string(reason_name(c))) < 0)
                        return NULL;
        return TAKE_PTR(a);
}

/* The run record: the evidence of each step at the time of the pass (M-47). */
static int digest_run_record(const Digest *d, const json_t *candidates, const json_t *blocked, json_t **ret) {
        _cleanup_json_ json_t *list = json_array(), *policy = memory_reason_names(d->automatic),
                              *removal = memory_reason_names(d->automatic_removal), *o = NULL;
        _cleanup_json_ json_t *alone = NULL, *scanned = NULL;
        const json_t *pass = json_object_get(d->scan, "pass");
        char name[MEMORY_NAME_MAX];

        if (!list || !policy || !removal || digest_index(d->scan, &scanned) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(candidates); i++) {
                _cleanup_json_ json_t *one = json_copied(json_array_get(candidates, i));
                const json_t *seen =
                        json_object_get(scanned, memory_name(json_str(one, "kind"), json_str(one, "id"), name));

                if (!one ||
                    (seen && (json_object_set(one, "in", json_object_get(seen, "in")) < 0 ||
                              json_object_set(one, "out", json_object_get(seen, "out")) < 0)) ||
                    json_array_append(list, one) < 0)
                        return -ENOMEM;
        }
        o = json_pack("{s:O, s:O, s:O, s:O, s:s*, s:O, s:i}", "candidates", list, "blocked", blocked, "automatic",
                      policy, "automatic_removal", removal, "approval", d->approval, "reasons",
                      json_object_get(d->scan, "reasons"), "scanned",
                      (int)json_array_size(json_object_get(d->scan, "records")));
        if (o && d->reasons & 1U << REASON_UNSUPPORTED_SINCE) {
                int r = digest_unsupported(d, pass, &alone);

                if (r < 0 || json_object_set(o, "unsupported", alone) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(o);
        return *ret ? 0 : -ENOMEM;
}

/* The end of an archived record's stay, if it lies ahead; else "". */
static int digest_stays(Txn *t, const Digest *d, const PassStep *s, char until[static CLOCK_TEXT_MAX]) {
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t since;
        int r;

        *until = 0;
        if (s->op != OP_REMOVE || d->stay_usec == 0)
                return 0;
        r = record_get(t, &s->key, &rec);
        if (r == -ENOENT || (r == 0 && rec.state != RECORD_ARCHIVED)) /* the pass refuses such a step */
                return 0;
        r = r ?: pass_archived_usec(t, &rec, &since);
        if (r == 0 && since + d->stay_usec > d->now_usec)
                clock_format(since + d->stay_usec, until);
        return r;
}

/* The approved steps, and all candidates with their approval. */
static int digest_approve(Txn *t, const Digest *d, uint64_t scope, PassStep *steps, size_t *ret_n,
                          json_t *candidates, Diag *reterr) {
        const json_t *proposals = json_object_get(d->proposed, "proposals");
        size_t n = 0;

        for (size_t i = 0; i < json_array_size(proposals); i++) {
                const json_t *o = json_array_get(proposals, i);
                _cleanup_json_ json_t *copy = NULL;
                PassStep s;
                char until[CLOCK_TEXT_MAX];
                bool automatic;
                int r = digest_read_step(d, scope, o, i, &s, reterr);

                if (r != 0)
                        return r;
                r = digest_stays(t, d, &s, until);
                if (r != 0)
                        return r;
                automatic = (s.op == OP_REMOVE ? d->automatic_removal : d->automatic) & 1U << s.reason.code;
                s.by_person = !automatic && digest_is_named(d, &s);
                if (*until)
                        automatic = s.by_person = false;
                /* only understood fields are copied: the run record keeps no text of the proposer */
                copy = json_pack("{s:s, s:s, s:s, s:o, s:s, s:s*}", "op", op_name(s.op), "kind",
                                 kind_name(s.key.kind), "id", s.key.id, "reason", reason_json(&s.reason), "approved",
                                 automatic ? "policy" : s.by_person ? "name" : "no", "until", *until ? until : NULL);
                if (!copy || json_array_append(candidates, copy) < 0)
                        return -ENOMEM;
                if (automatic || s.by_person)
                        steps[n++] = s;
        }
        *ret_n = n;
        return 0;
}

/* The removals that do not take place, with the reasons. */
static int digest_blocked(Txn *t, const Digest *d, uint64_t scope, json_t *blocked, Diag *reterr) {
        const json_t *list = json_object_get(d->proposed, "blocked");

        for (size_t i = 0; i < json_array_size(list); i++) {
                _cleanup_json_ json_t *blockers = NULL;
                RecordState state;
                PassStep s;
                int r = digest_read_step(d, scope, json_array_get(list, i), i, &s, reterr)
                        ?: graph_state(t, &s.key, &state);

                if (r == 0 && state == RECORD_NONE)
                        r = diag(reterr, ENGINE_E_NO_RECORD, "blocked[%zu]: there is no such record", i);
                if (r == 0)
                        r = memory_blockers(t, &s.key, &blockers);
                if (r != 0)
                        return r;
                if (json_array_append_new(blocked, json_pack("{s:s, s:s, s:s, s:o, s:O}", "op", op_name(s.op), "kind",
                                                             kind_name(s.key.kind), "id", s.key.id, "reason",
                                                             reason_json(&s.reason), "blockers", blockers)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int digest_pass(Txn *t, const Digest *d, const PassStep *steps, size_t n, const json_t *candidates,
                       const json_t *blocked, uint64_t *ret_seq, Diag *reterr) {
        _cleanup_json_ json_t *record = NULL;
        uint64_t number;
        int r;

        if (json_get_u64(json_object_get(d->scan, "pass"), &number) < 0)
                return -EINVAL;
        r = digest_run_record(d, candidates, blocked, &record);
        if (r < 0)
                return r;
        return engine_pass(t,
                           &(Pass){.routine = d->routine ? d->routine : "digest", .registered = d->routine,
                                   .scheduled = d->scheduled, .stay_usec = d->stay_usec, .now_usec = d->now_usec,
                                   .scope = d->scope, .number = number, .admitted = d->automatic,
                                   .admitted_removal = d->automatic_removal, .steps = steps, .n = n, .record = record,
                                   .who = d->who, .proposer = d->proposer},
                           ret_seq, reterr);
}

int memory_digest(Txn *t, const Digest *d, json_t **ret, Diag *reterr) {
        size_t most = json_array_size(json_object_get(d->proposed, "proposals")), n = 0, archived = 0;
        _cleanup_json_ json_t *candidates = json_array(), *blocked = json_array();
        _cleanup_free_ PassStep *steps = calloc(most + 1, sizeof(*steps));
        uint64_t scope, seq = 0;
        int r = candidates && blocked && steps ? scope_find(t, d->scope, &scope, reterr) : -ENOMEM;

        if (r != 0)
                return r;
        if (!json_is_array(json_object_get(d->proposed, "proposals")) ||
            !json_is_array(json_object_get(d->proposed, "blocked")) ||
            !json_equal(json_object_get(d->proposed, "pass"), json_object_get(d->scan, "pass")) ||
            most > PASS_STEPS_MAX)
                return diag(reterr, ENGINE_E_BAD_PAYLOAD,
                            "the proposals are no answer to this pass: "
                            "{\"version\",\"pass\",\"proposals\",\"blocked\"}");
        r = digest_approve(t, d, scope, steps, &n, candidates, reterr) ?: digest_blocked(t, d, scope, blocked, reterr);
        if (r == 0 && d->apply)
                r = digest_pass(t, d, steps, n, candidates, blocked, &seq, reterr);
        if (r != 0)
                return r;
        for (size_t i = 0; i < n; i++)
                archived += steps[i].op == OP_ARCHIVE;
        *ret = json_pack("{s:s, s:O, s:b, s:o*, s:O, s:O, s:i, s:i}", "scope", d->scope, "pass",
                         json_object_get(d->scan, "pass"), "applied", (int)d->apply, "seq", seq ? json_u64(seq) : NULL,
                         "candidates", candidates, "blocked", blocked, "archived", (int)archived, "removed",
                         (int)(n - archived));
        if (*ret && json_is_true(json_object_get(d->proposed, "cut")) &&
            json_object_set_new(*ret, "cut", json_true()) < 0) {
                json_decref(*ret);
                *ret = NULL;
        }
        return *ret ? 0 : -ENOMEM;
}
