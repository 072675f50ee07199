#include "audit/certificate.h"
#include "base/clock.h"
#include "ledger/dsse.h"
#include "ledger/proof.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* NIST's words for each degree of proof: the statement never claims more than the proof. */
static const struct {
        const char *method, *result;
} words[] = {
        [PROOF_CLEARED] = {"Clear", "passed"},
        [PROOF_EMPTY] = {"None", "nothing was held"},
        [PROOF_PARTIAL] = {"Clear (incomplete)", "incomplete"},
        [PROOF_NOTHING] = {"None", "not performed"},
};

static json_t *certificate_technique(const RegionFacts *f) {
        const char *said = facts_text(f, "method"), *discipline = facts_text(f, "discipline");
        Proof proof = facts_proof(f);

        /* Sections and key are memory of the supervisor: overwriting both says nothing about the processes. */
        if (proof == PROOF_NOTHING || proof == PROOF_EMPTY)
                return json_string(
                        facts_number(f, "bytes_overwritten") > 0
                                ? "none of any process; what the supervisor itself held of the region was overwritten"
                                : "none");
        if (strcmp(said, "none") == 0 || (*said && strcmp(said, "exit_stop") != 0))
                return json_string(said);
        if (facts_number(f, "bytes_overwritten") == 0)
                return json_string("none");
        return json_sprintf("%soverwritten in place%s, before the kernel got it back; discipline %s, %" PRIu64
                            " pass%s",
                            proof == PROOF_PARTIAL ? "in part " : "", *said ? " at the exit of each process" : "",
                            *discipline ? discipline : f->asked, facts_number(f, "passes"),
                            facts_number(f, "passes") == 1 ? "" : "es");
}

static json_t *certificate_sanitization(const RegionFacts *f) {
        const char *grade = facts_text(f, "grade");
        /* A teardown takes time: 0 stands in a record without a measurement. */
        json_t *usec = facts_number(f, "usec") > 0 ? json_object_get(f->teardown, "usec") : NULL;
        json_t *not_covered = json_object_get(f->teardown, "not_covered"), *version = json_object_get(f->by, "version");
        char date[CLOCK_TEXT_MAX];

        return json_pack("{s:s, s:o, s:s, s:s, s:O?, s:{s:s, s:O?}, s:s, s:O?, s:O?}", "method",
                         words[facts_proof(f)].method, "technique", certificate_technique(f), "discipline", f->asked,
                         "grade", *grade ? grade : "none recorded", "passes", json_object_get(f->teardown, "passes"),
                         "tool", "name", "lethe", "version", version, "date", clock_format(f->released_usec, date),
                         "duration_usec", usec, "not_covered", not_covered);
}

static json_t *certificate_verification(const RegionFacts *f) {
        char date[CLOCK_TEXT_MAX];

        return json_pack("{s:s, s:s, s:O?, s:O?, s:s}", "method",
                         facts_proof(f) != PROOF_NOTHING && facts_number(f, "bytes_verified") > 0
                                 ? "each byte that was overwritten was read back and compared"
                                 : "none",
                         "result", words[facts_proof(f)].result, "bytes_overwritten",
                         json_object_get(f->teardown, "bytes_overwritten"), "bytes_verified",
                         json_object_get(f->teardown, "bytes_verified"), "date", clock_format(f->released_usec, date));
}

Proof certificate_proof(const json_t *statement) {
        const json_t *predicate = json_object_get(statement, "predicate");
        const char *method = json_text(json_object_get(json_object_get(predicate, "sanitization"), "method"));
        const char *result = json_text(json_object_get(json_object_get(predicate, "verification"), "result"));

        for (Proof p = PROOF_CLEARED; p < PROOF_NOTHING; p++)
                if (method && result && strcmp(words[p].method, method) == 0 && strcmp(words[p].result, result) == 0)
                        return p;
        return PROOF_NOTHING;
}

static bool certificate_says(const RegionFacts *f, const json_t *said_sanitization, const json_t *said_verification) {
        _cleanup_json_ json_t *s = certificate_sanitization(f), *v = certificate_verification(f);

        return s && v && json_equal(s, (json_t *)said_sanitization) && json_equal(v, (json_t *)said_verification);
}

/* Number and digest of an entry. whole: also the text and the proof of the entry. */
static json_t *certificate_entry(Txn *t, uint64_t seq, bool whole, char ret_hex[static HASH_HEX_MAX], Diag *reterr) {
        _cleanup_buf_ Buf proof = {0};
        json_t *o;
        Bytes e;

        if (ledger_get(t, seq, &e) < 0)
                return NULL;
        o = json_pack("{s:o, s:s}", "seq", json_u64(seq), "sha256", hash_hex(e.p, e.n, ret_hex));
        if (o && whole &&
            (proof_build(t, seq, &proof, reterr) != 0 || json_object_set_new(o, "entry", json_stringn(e.p, e.n)) < 0 ||
             json_object_set_new(o, "proof", json_stringn(proof.data, proof.n)) < 0)) {
                json_decref(o);
                return NULL;
        }
        return o;
}

static json_t *certificate_ledger(Txn *t, const RegionFacts *f, char ret_released[static HASH_HEX_MAX], Diag *reterr) {
        const Store *s = txn_store(t);
        char vkey[VKEY_MAX], other[HASH_HEX_MAX];
        Bytes note;

        if (ledger_checkpoint(t, &note) < 0)
                return NULL;
        note_vkey(store_origin(s), store_public_key(s), vkey);
        return json_pack("{s:s, s:s, s:s%, s:o, s:o, s:o}", "origin", store_origin(s), "vkey", vkey, "checkpoint",
                         note.p, note.n, "allocated", certificate_entry(t, f->allocated, false, other, reterr),
                         "released", certificate_entry(t, f->released, true, ret_released, reterr), "ended",
                         certificate_entry(t, f->ended, false, other, reterr));
}

static json_t *certificate_statement(Txn *t, const RegionFacts *f, Diag *reterr) {
        char digest[HASH_HEX_MAX] = "", allocated[CLOCK_TEXT_MAX], ended[CLOCK_TEXT_MAX];
        json_t *ledger = certificate_ledger(t, f, digest, reterr),
               *uid = json_object_get(f->by, "client_uid") ?: json_object_get(f->by, "uid"),
               *host = json_object_get(f->by, "host");

        return json_pack("{s:s, s:s, s:[{s:s, s:{s:s}}], s:{s:i, s:{s:s, s:s, s:{s:s, s:s}, s:s}, s:o, s:o, s:{s:O?}"
                         ", s:{s:O?}, s:{s:s, s:s, s:s, s:b, s:O*, s:O*}, s:O?, s:o}}",
                         "_type", CERTIFICATE_STATEMENT_TYPE, "predicateType", CERTIFICATE_PREDICATE_TYPE, "subject",
                         "name", f->id, "digest", "sha256", digest, "predicate", "version", 1, "media", "type",
                         "memory of one process tree", "id", f->id, "source", "skill", f->skill, "digest", f->digest,
                         "tier", f->tier, "sanitization", certificate_sanitization(f), "verification",
                         certificate_verification(f), "person", "uid", uid, "location", "host", host, "invocation",
                         "allocated", clock_format(f->allocated_usec, allocated), "ended",
                         clock_format(f->ended_usec, ended), "outcome", f->outcome, "recovered", f->recovered > 0, "session",
                         f->session, "turn", f->turn,
                         "teardown", f->teardown, "ledger", ledger);
}

int certificate_build(Txn *t, const char *region, Buf *ret, Diag *reterr) {
        _cleanup_free_ char *text = NULL;
        _cleanup_history_ History h = {0};
        _cleanup_json_ json_t *o = NULL;
        const RegionFacts *f;
        size_t n;
        int r = history_read(t, &(HistoryQuery){.region = region}, &h, reterr);

        if (r != 0)
                return r;
        if (h.n == 0 && h.refused)
                return diag(reterr, CERTIFICATE_E_NOT_RELEASED,
                            "region %s was refused before it began: nothing was held, and there is nothing to state",
                            region);
        if (h.n == 0)
                return diag(reterr, CERTIFICATE_E_NO_REGION, "region %s is not in this store's ledger", region);
        f = h.regions[0];
        if (f->n_released == 0)
                return diag(reterr, CERTIFICATE_E_NOT_RELEASED, "region %s is not released: %s", region,
                            f->orphan ? "its supervisor died; the next 'lethe run' or 'lethe kill' finishes the region"
                                      : "the region is alive");
        if (!facts_in_order(f) || f->ended == 0)
                return diag(reterr, CERTIFICATE_E_NOT_RELEASED,
                            "region %s was not released once and before its end: no certificate is possible", region);
        o = certificate_statement(t, f, reterr);
        r = o ? json_canonical(o, &text, &n) : -ENOMEM;
        return r == 0 ? dsse_seal(txn_store(t), CERTIFICATE_PAYLOAD_TYPE, text, n, ret, reterr) : r;
}

static int certificate_wrong(Diag *reterr, const char *what) {
        return diag(reterr, CERTIFICATE_E_WRONG, "%s", what);
}

/* The entry inside the certificate against the proof inside. */
static int certificate_check_proof(const json_t *ledger, const uint8_t public_key[static 32], Diag *reterr) {
        const json_t *released = json_object_get(ledger, "released");
        const char *proof = json_str(released, "proof"), *entry = json_str(released, "entry"),
                   *note = json_str(ledger, "checkpoint");
        uint64_t seq, index;
        Checkpoint c;

        if (proof_check(proof, strlen(proof), entry, strlen(entry), public_key, &index, &c, reterr) != 0)
                return CERTIFICATE_E_WRONG;
        if (json_get_u64(json_object_get(released, "seq"), &seq) < 0 || seq != index)
                return certificate_wrong(reterr, "the proof's entry is not the statement's entry");
        if (strlen(proof) < strlen(note) || strcmp(proof + strlen(proof) - strlen(note), note) != 0 ||
            strcmp(c.origin, json_str(ledger, "origin")) != 0)
                return certificate_wrong(reterr, "the proof's checkpoint is not the statement's checkpoint");
        return 0;
}

/* Compares method and result with the evidence: a signature by mistake, or by a thief, adds no proof. */
static bool certificate_is_borne_out(const json_t *entry, const json_t *predicate) {
        const json_t *done = json_object_get(predicate, "sanitization"), *tool = json_object_get(done, "tool");
        RegionFacts f = {.teardown = json_object_get(predicate, "teardown"),
                         .asked = (char *)json_str(done, "discipline"),
                         .by = (json_t *)tool};

        return clock_parse(json_str(entry, "time"), &f.released_usec) == 0 &&
               strcmp(json_str(tool, "name"), "lethe") == 0 &&
               certificate_says(&f, done, json_object_get(predicate, "verification"));
}

/* Subject, evidence and method against the entry. */
static int certificate_check_claims(const json_t *o, Diag *reterr) {
        const json_t *subject = json_array_get(json_object_get(o, "subject"), 0),
                     *predicate = json_object_get(o, "predicate");
        const json_t *released = json_object_get(json_object_get(predicate, "ledger"), "released");
        const char *text = json_str(released, "entry"), *id = json_str(subject, "name");
        _cleanup_json_ json_t *entry = NULL;
        char hex[HASH_HEX_MAX];
        json_t *teardown;

        hash_hex(text, strlen(text), hex);
        if (strcmp(hex, json_str(json_object_get(subject, "digest"), "sha256")) != 0 ||
            strcmp(hex, json_str(released, "sha256")) != 0)
                return certificate_wrong(reterr, "the subject's digest is not the digest of the ledger's entry");
        if (json_parse(text, strlen(text), LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &entry, reterr) != 0)
                return CERTIFICATE_E_WRONG;
        if (strcmp(json_str(entry, "type"), "region.released") != 0 || strcmp(json_str(entry, "region"), id) != 0 ||
            strcmp(json_str(json_object_get(predicate, "media"), "id"), id) != 0)
                return certificate_wrong(reterr, "the ledger's entry is not the release of the subject");
        teardown = json_object_get(entry, "teardown");
        if (strcmp(json_str(entry, "fields"), "body") != 0 &&
            !json_equal(teardown ? teardown : json_null(), json_object_get(predicate, "teardown")))
                return certificate_wrong(reterr, "the evidence differs from the ledger's entry");
        if (!certificate_is_borne_out(entry, predicate))
                return certificate_wrong(reterr, "method and result do not follow from the evidence");
        return 0;
}

int certificate_check(const char *text, size_t n, const uint8_t public_key[static 32], json_t **ret, Diag *reterr) {
        _cleanup_free_ char *payload = NULL;
        _cleanup_json_ json_t *o = NULL;
        size_t n_payload;
        int r = dsse_open(text, n, CERTIFICATE_PAYLOAD_TYPE, public_key, &payload, &n_payload, reterr)
                ?: json_parse(payload, n_payload, n_payload, JSON_DEPTH_DEFAULT, &o, reterr);

        if (r != 0)
                return r > 0 ? CERTIFICATE_E_WRONG : r;
        if (strcmp(json_str(o, "_type"), CERTIFICATE_STATEMENT_TYPE) != 0 ||
            strcmp(json_str(o, "predicateType"), CERTIFICATE_PREDICATE_TYPE) != 0 ||
            json_array_size(json_object_get(o, "subject")) != 1)
                return certificate_wrong(reterr, "the statement is of a different type");
        r = certificate_check_proof(json_object_get(json_object_get(o, "predicate"), "ledger"), public_key, reterr)
                ?: certificate_check_claims(o, reterr);
        if (r == 0)
                *ret = TAKE_PTR(o);
        return r;
}
