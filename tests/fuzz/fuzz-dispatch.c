/* A hostile region from its first byte to its end: a stream goes through a real connection and the dispatch into a real store. First byte: how
 * the stream is cut, whether answers are read, and how the region ends. Whatever comes: no more answers than lines, each of them one whole
 * JSON-RPC response; nothing of ours fails; after its end the region is gone, what it wrote fits its slots' schemas, and the audit of
 * the whole store finds nothing (I-24, I-52). */
#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "belief/slot-view.h"
#include "dispatch/dispatch.h"
#include "engine/arbitration.h"
#include "engine/engine.h"
#include "engine/mutate.h"
#include "memory/records.h"
#include "base/conn.h"
#include "schema/jsonschema.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/temp.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>

#define REGIONS_OF_A_STORE 500 /* then a new store, so that a long run does not fill the disk */

static TempDir temp = TEMP_DIR_NULL;
static Store *store;
static unsigned regions;

static const struct {
        const char *name, *schema, *rule; /* rule: of arbitration */
} slots[] = {
        {"facts", "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"],\"additionalProperties\":false}"},
        {"notes/a", "{\"type\":\"string\",\"maxLength\":20,\"pattern\":\"^[a-z ]*$\"}"},
        {"out", "{}"},
        {"secret", "{}"},
        {"sure", "{\"type\":\"integer\"}", "confidence:0.5/2"},
        {"same", "{}", "quorum:2/3"},
};
static char *reads[] = {"facts", "notes/a", "empty", NULL}, *writes[] = {"facts", "notes/a", "out", "sure", "same", NULL};

static json_t *parse(const char *text, size_t n) {
        json_t *v = NULL;
        Diag why;

        fuzz_check(json_parse(text, n, 1 << 22, 64, &v, &why) == 0, "%s: %.*s", why.text, (int)MIN(n, (size_t)500), text);
        return v;
}

static Txn *begin(bool write) {
        Txn *t = NULL;
        Diag why;

        fuzz_check(store_begin(store, write, &t, &why) == 0, "%s", why.text);
        return t;
}

static void commit(Txn *t) {
        Diag why;

        fuzz_check(store_commit(t, &why) == 0, "%s", why.text);
}

static void drop_store(void) {
        store_free(TAKE_PTR(store));
        temp_dir_remove(&temp);
}

/* A record in a scope that regions may read and nothing else. */
static void keep_record(Txn *t) {
        _cleanup_json_ json_t *payload = json_pack("{s:s, s:s, s:s}", "subject", "s", "predicate", "p", "object", "kept as it is");
        uint64_t scope;
        Mutated done;
        Diag why;

        fuzz_check(engine_scope_create(t, "uid:0", "kept", &scope, &why) == 0, "%s", why.text);
        fuzz_check(engine_mutate(t, &(Mutation){.scope = "kept", .kind = KIND_MEMORY, .op = OP_SAVE, .id = "kept", .type = "semantic", .expect = 0,
                                                .payload = payload, .who = "uid:0"}, &done, &why) == 0, "%s", why.text);
}

/* M-21: it is there as it was, and alone. */
static void check_kept(void) {
        _cleanup_json_ json_t *list = NULL;
        const RecordFilter all = {0};
        Txn *t = begin(false);
        Diag why = {0};

        fuzz_check(memory_list(t, "kept", &all, &list, &why) == 0, "%s", why.text);
        fuzz_check(json_array_size(list) == 1 && json_integer_value(json_object_get(json_array_get(list, 0), "version")) == 1, "a region wrote where it may not");
        store_abort(t);
}

static void fresh_store(void) {
        char dir[PATH_MAX];
        uint64_t seq;
        Diag why;
        Txn *t;

        drop_store();
        fuzz_check(temp_dir_make(&temp) == 0);
        snprintf(dir, sizeof(dir), "%.4000s/anchor", temp.path);
        setenv("LETHE_ANCHOR", dir, 1);
        snprintf(dir, sizeof(dir), "%.4000s/store", temp.path);
        fuzz_check(store_open(dir, STORE_SUPERVISE, &store, &why) == 0, "%s", why.text);
        t = begin(true);
        for (size_t i = 0; i < ARRAY_SIZE(slots); i++) {
                _cleanup_json_ json_t *schema = parse(slots[i].schema, strlen(slots[i].schema)), *rule = NULL;
                ArbitrationRule parsed;

                if (slots[i].rule) {
                        fuzz_check(arbitration_rule_parse_text(slots[i].rule, &parsed, &why) == 0, "%s", why.text);
                        rule = arbitration_rule_json(&parsed);
                }
                fuzz_check(engine_slot_define_ruled(t, "uid:0", slots[i].name, schema, rule, &seq, &why) == 0, "%s", why.text);
        }
        keep_record(t);
        commit(t);
        regions = 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        if (sodium_init() < 0)
                return -1;
        atexit(drop_store);
        return 0;
}

/* The region's side of the pipe, and what came back. */
typedef struct Peer {
        int to, from;
        Buf answers;
        size_t n_lines;
} Peer;

static void read_answers(Peer *p) {
        char chunk[4096];
        ssize_t n;

        while ((n = read(p->from, chunk, sizeof(chunk))) > 0)
                fuzz_check(buf_add(&p->answers, chunk, (size_t)n) == 0);
}

/* Lets the dispatch judge every line that is there. False when the region is to be ended. */
static bool serve(Conn *c, Dispatch *d, Peer *p, uint64_t *now) {
        const char *line = NULL;
        size_t n = 0;
        LineKind kind;

        while ((kind = conn_next(c, *now += 1000000, &line, &n)) != LINE_NONE) {
                _cleanup_buf_ Buf reply = {0};
                Diag why = {0};
                int r = kind == LINE_WHOLE ? dispatch_line(d, line, n, &reply, &why) : dispatch_bad_frame(d, kind, n, &reply, &why);

                p->n_lines++;
                fuzz_check(r == 0 || (r == DISPATCH_E_END && *why.text), "%d %s", r, why.text);
                fuzz_check(reply.n == 0 || (memchr(reply.data, '\n', reply.n) == reply.data + reply.n - 1), "not one line");
                if (reply.n > 0)
                        fuzz_check(conn_answer(c, reply.data, reply.n) == 0);
                if (r == DISPATCH_E_END)
                        return false;
        }
        return true;
}

static void check_answers(const Peer *p) {
        const char *at = p->answers.data, *end;
        size_t left = p->answers.n, n = 0;

        for (; left > 0; n++) {
                _cleanup_json_ json_t *answer = NULL;

                end = memchr(at, '\n', left);
                if (!end)
                        break; /* the region was ended while it did not read */
                answer = parse(at, (size_t)(end - at));
                fuzz_check(strcmp(json_string_value(json_object_get(answer, "jsonrpc")), "2.0") == 0 && json_object_get(answer, "id"));
                fuzz_check(!json_object_get(answer, "result") != !json_object_get(answer, "error"));
                fuzz_check(json_object_size(answer) == 3);
                left -= (size_t)(end - at) + 1;
                at = end + 1;
        }
        fuzz_check(n <= p->n_lines, "%zu answers to %zu lines", n, p->n_lines);
}

static void feed(Conn *c, Dispatch *d, Peer *p, const uint8_t *data, size_t n, uint8_t how) {
        size_t step = how & 3 ? (size_t)1 << (2 * (how & 3)) : 4096;
        uint64_t now = 1000000;
        bool alive = true;
        int r = 0;

        for (size_t at = 0; alive && at < n; at += step) {
                size_t k = MIN(step, n - at);

                if (write(p->to, data + at, k) != (ssize_t)k)
                        break;
                fuzz_check(conn_readable(c) == 0);
                alive = serve(c, d, p, &now);
                if (how & 4) {
                        read_answers(p);
                        fuzz_check(conn_writable(c) == 0);
                }
        }
        closep(&p->to);
        if (!alive || how & 8)
                conn_drain(c);
        for (int i = 0; alive && r == 0 && i < 1000; i++) {
                r = conn_readable(c);
                read_answers(p);
                fuzz_check(conn_writable(c) == 0);
                alive = serve(c, d, p, &now);
        }
        fuzz_check(!alive || r == CONN_E_CLOSED, "%d", r);
        for (int i = 0; alive && i < 1000; i++) { /* what waited for the answers to be read */
                read_answers(p);
                fuzz_check(conn_writable(c) == 0);
                alive = serve(c, d, p, &now);
        }
        read_answers(p);
}

static void check_slots(void) {
        Txn *t = begin(false);

        for (size_t i = 0; i < ARRAY_SIZE(slots); i++) {
                _cleanup_json_ json_t *schema = parse(slots[i].schema, strlen(slots[i].schema)), *slot = NULL;
                _cleanup_jsonschema_ JsonSchema *s = NULL;
                Diag why = {0};
                int r = belief_slot_get(t, slots[i].name, 0, &slot, &why);

                if (r == ENGINE_E_NO_VALUE)
                        continue;
                fuzz_check(r == 0, "%s: %d %s", slots[i].name, r, why.text);
                fuzz_check(strcmp(slots[i].name, "secret") != 0, "a region wrote a slot that was not granted");
                fuzz_check(jsonschema_compile(schema, &s, NULL) == 0);
                fuzz_check(jsonschema_validate(s, json_object_get(slot, "value"), &why) == 0, "%s: %s", slots[i].name, why.text);
        }
        store_abort(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static MemoryRight memory[] = {{(char *)"default", {[MEMORY_READ] = MEMORY_ALL, [MEMORY_WRITE] = 3, [MEMORY_DELETE] = 1}},
                                       {(char *)"kept", {[MEMORY_READ] = 1}}};
        Grant grant = {.skill_name = "fuzz", .reads = reads, .writes = writes, .notes = (char *)"default", .canon = (char *)"default",
                       .memory = memory, .n_memory = ARRAY_SIZE(memory)};
        _cleanup_json_ json_t *copies = NULL, *none = json_object();
        int in[2], out[2];
        char id[REGION_ID_MAX];
        uint64_t seq, released, ended;
        RegionStart start = {.region = id, .skill_name = "fuzz", .skill_digest = "sha256:0", .tier = "namespaces",
                             .reads = (const char *const *)reads, .writes = (const char *const *)writes};
        Peer peer = {.to = -1, .from = -1};
        Dispatch *dispatch = NULL;
        RegionRow row;
        Conn conn;
        Diag why = {0};
        Txn *t;

        if (n < 1 || n > 1 << 14)
                return 0;
        if (!store || regions >= REGIONS_OF_A_STORE)
                fresh_store();
        fuzz_check(region_id_new(clock_real_usec(), id) == 0);
        t = begin(true);
        fuzz_check(engine_region_start(t, &start, &seq, &copies, &why) == 0, "%s", why.text);
        commit(t);
        fuzz_check(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0);
        fuzz_check(conn_init(&conn, in[0], out[1]) == 0 && dispatch_new(store, &grant, id, copies, &dispatch) == 0);
        peer.to = in[1];
        peer.from = out[0];

        feed(&conn, dispatch, &peer, data + 1, n - 1, data[0]);
        check_answers(&peer);
        fuzz_check(dispatch_finish(dispatch, &why) == 0, "%s", why.text);
        conn_deinit(&conn);
        closep(&peer.from);
        buf_deinit(&peer.answers);

        t = begin(true);
        fuzz_check(dispatch_reads_end(dispatch, t) == 0);
        fuzz_check(dispatch_memory_end(dispatch, t, data[0] & 16, "timed_out") == 0);
        dispatch_free(dispatch);
        fuzz_check(engine_region_end(t, &(RegionEnd){id, data[0] & 16, none, none}, &released, &ended, &why) == 0, "%s", why.text);
        fuzz_check(released < ended); /* I-15 */
        commit(t);
        t = begin(false);
        fuzz_check(engine_region_get(t, id, &row) == ENGINE_E_NO_REGION);
        store_abort(t);
        check_slots();
        check_kept();
        if (regions++ % 50 == 0) {
                AuditReport report;
                int r = audit_run(store, &report);

                fuzz_check(r == 0, "%d at %llu: %s, expected %s, found %s", r, (unsigned long long)report.seq, report.what, report.expected,
                           report.found);
        }
        return 0;
}
