#include "audit/certificate.h"

#include "audit/audit-internal.h"
#include "base/clock.h"
#include "ledger/dsse.h"
#include "ledger/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *text_of(const json_t *o, const char *key) {
        const char *s = json_text(json_object_get(o, key));

        return s ? s : "";
}

static int wrong(Diag *reterr, const char *what) {
        return diag(reterr, CERTIFICATE_E_WRONG, "%s", what);
}

/* The entry inside against the proof inside. */
static int check_proof(const json_t *ledger, const uint8_t public_key[static 32], Diag *reterr) {
        const json_t *released = json_object_get(ledger, "released");
        const char *proof = text_of(released, "proof"), *entry = text_of(released, "entry"), *note = text_of(ledger, "checkpoint");
        uint64_t seq, index;
        Checkpoint c;

        if (proof_check(proof, strlen(proof), entry, strlen(entry), public_key, &index, &c, reterr) != 0)
                return CERTIFICATE_E_WRONG;
        if (json_get_u64(json_object_get(released, "seq"), &seq) < 0 || seq != index)
                return wrong(reterr, "the proof is of another entry than the statement says");
        if (strlen(proof) < strlen(note) || strcmp(proof + strlen(proof) - strlen(note), note) != 0 || strcmp(c.origin, text_of(ledger, "origin")) != 0)
                return wrong(reterr, "the proof is under another checkpoint than the statement shows");
        return 0;
}

/* The words about method and result against the evidence: a statement that was signed by mistake, or by a thief, is no better than the entry. */
static bool is_borne_out(const json_t *entry, const json_t *predicate) {
        const json_t *done = json_object_get(predicate, "sanitization"), *tool = json_object_get(done, "tool");
        RegionFacts f = {.teardown = json_object_get(predicate, "teardown"), .asked = (char *)text_of(done, "discipline"), .by = (json_t *)tool};

        return clock_parse(text_of(entry, "time"), &f.released_usec) == 0 && strcmp(text_of(tool, "name"), "lethe") == 0 &&
               certificate_says(&f, done, json_object_get(predicate, "verification"));
}

/* Subject, evidence and method against the entry. */
static int check_claims(const json_t *o, Diag *reterr) {
        const json_t *subject = json_array_get(json_object_get(o, "subject"), 0), *predicate = json_object_get(o, "predicate");
        const json_t *released = json_object_get(json_object_get(predicate, "ledger"), "released");
        const char *text = text_of(released, "entry"), *id = text_of(subject, "name");
        _cleanup_json_ json_t *entry = NULL;
        uint8_t hash[HASH_BYTES];
        char hex[HASH_HEX_MAX];
        json_t *teardown;

        hash_bytes(text, strlen(text), hash);
        hex_encode(hash, sizeof(hash), hex);
        if (strcmp(hex, text_of(json_object_get(subject, "digest"), "sha256")) != 0 || strcmp(hex, text_of(released, "sha256")) != 0)
                return wrong(reterr, "the subject's digest is not that of the ledger's entry");
        if (json_parse(text, strlen(text), LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &entry, reterr) != 0)
                return CERTIFICATE_E_WRONG;
        if (strcmp(text_of(entry, "type"), "region.released") != 0 || strcmp(text_of(entry, "region"), id) != 0 ||
            strcmp(text_of(json_object_get(predicate, "media"), "id"), id) != 0)
                return wrong(reterr, "the ledger's entry is not the release of the subject");
        teardown = json_object_get(entry, "teardown");
        if (strcmp(text_of(entry, "fields"), "body") != 0 && !json_equal(teardown ? teardown : json_null(), json_object_get(predicate, "teardown")))
                return wrong(reterr, "the evidence is not what the ledger's entry says");
        if (!is_borne_out(entry, predicate))
                return wrong(reterr, "method and result are not what the evidence bears out");
        return 0;
}

int certificate_check(const char *text, size_t n, const uint8_t public_key[static 32], json_t **ret, Diag *reterr) {
        _cleanup_free_ char *payload = NULL;
        _cleanup_json_ json_t *o = NULL;
        size_t n_payload;
        int r = dsse_open(text, n, CERTIFICATE_PAYLOAD_TYPE, public_key, &payload, &n_payload, reterr);

        if (r == 0)
                r = json_parse(payload, n_payload, n_payload, JSON_DEPTH_DEFAULT, &o, reterr);
        if (r != 0)
                return r > 0 ? CERTIFICATE_E_WRONG : r;
        if (strcmp(text_of(o, "_type"), CERTIFICATE_STATEMENT_TYPE) != 0 || strcmp(text_of(o, "predicateType"), CERTIFICATE_PREDICATE_TYPE) != 0 ||
            json_array_size(json_object_get(o, "subject")) != 1)
                return wrong(reterr, "the statement is of another type");
        r = check_proof(json_object_get(json_object_get(o, "predicate"), "ledger"), public_key, reterr);
        if (r == 0)
                r = check_claims(o, reterr);
        if (r == 0)
                *ret = TAKE_PTR(o);
        return r;
}
