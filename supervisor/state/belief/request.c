#include "belief/request.h"

#include "base/ascii.h"
#include "base/clean.h"
#include "engine/note.h"
#include "refs/reserved-names.h"
#include "engine/payload.h"

#include <stdio.h>
#include <string.h>

#if CANON_NOTE_MAX != NOTE_TEXT_MAX
#error what can be noted can be read, and no more
#endif

enum { DEPTH_MAX = 6 }; /* a request has three levels */

static const char *const codes[] = {
        [CANON_OK] = "ok",
#define CODE(id, word) [BELIEF_E_##id] = word,
#include "belief/codes.def"
#undef CODE
};

const char *belief_code_name(int code) {
        return code >= 0 && (size_t)code < ARRAY_SIZE(codes) ? codes[code] : NULL;
}

void belief_request_deinit(BeliefRequest *r) {
        json_decref(r->value);
        *r = (BeliefRequest){0};
}

static int request_check_text(const char *field, const char *text, size_t n, bool one_line, Diag *reterr) {
        return clean_check(field, text, n, one_line, reterr) ? BELIEF_E_CONTROL : 0;
}

/* Tells whether the text has "name" in quotes, plain or escaped, followed by a colon. */
static bool request_says_member(const char *text, size_t n, const char *name) {
        size_t length = strlen(name);
        const char *p = text, *end = text + n;

        while ((p = memmem(p, (size_t)(end - p), name, length))) {
                const char *after = p + length;
                bool opened = p > text && (p[-1] == '"' || p[-1] == '\'');

                while (after < end && *after == '\\')
                        after++;
                if (opened && after < end && (*after == '"' || *after == '\'')) {
                        do
                                after++;
                        while (after < end && ascii_blank(*after));
                        if (after < end && *after == ':')
                                return true;
                }
                p += length;
        }
        return false;
}

int belief_note_check(const char *text, size_t n, Diag *reterr) {
        static const char *const members[] = {
                "decision", "bucket", "operation", "target_id", "payload", "candidate_aliases", "reference_text",
                "confidence",
        };
        unsigned said = 0;
        size_t bad;
        int r;

        if (n > CANON_NOTE_MAX)
                return diag(reterr, BELIEF_E_TOO_LARGE, "the note has %zu bytes: at most %d are allowed", n,
                            CANON_NOTE_MAX);
        if (clean_blank(text, n))
                return diag(reterr, BELIEF_E_EMPTY, "the note is empty");
        if (!utf8_valid(text, n, &bad))
                return diag(reterr, BELIEF_E_ENCODING, "the note is not UTF-8 at byte %zu", bad);
        r = request_check_text("the note", text, n, false, reterr);
        if (r != 0)
                return r;
        for (size_t i = 0; i < ARRAY_SIZE(members); i++)
                said += request_says_member(text, n, members[i]);
        if (said >= 2)
                return diag(reterr, BELIEF_E_FORGED,
                            "the note holds what looks like a structured request: only an interpreter makes one");
        return 0;
}

typedef int (*FieldFn)(BeliefRequest *r, const char *name, json_t *v, Diag *reterr);

static const char *const json_types[] = {
        "an object", "an array", "a string", "a whole number", "a number", "true", "false", "null",
};

static int request_wrong_type(const char *name, const json_t *v, const char *wanted, Diag *reterr) {
        return diag(reterr, BELIEF_E_TYPE, "%s is %s: %s is wanted", name, json_types[json_typeof(v)], wanted);
}

static int request_check_line(const char *name, const json_t *v, size_t max, Diag *reterr) {
        const char *s = json_bytes(v);
        size_t n = json_string_length(v);
        int r;

        if (!s)
                return request_wrong_type(name, v, "a string", reterr);
        if (n > max)
                return diag(reterr, BELIEF_E_TOO_LARGE, "%s has %zu bytes: at most %zu are allowed", name, n, max);
        r = request_check_text(name, s, n, true, reterr);
        return r == 0 && clean_blank(s, n) ? diag(reterr, BELIEF_E_EMPTY, "%s is empty: leave it out", name) : r;
}

static int request_bad_word(int code, const char *name, const char *word, const char *rule, Diag *reterr) {
        return diag(reterr, code, "%s is \"%s\": %s", name, DIAG_QUOTED(word), rule);
}

static int request_read_decision(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        const char *s = json_bytes(v);

        r->accept = strcmp(s, "accept") == 0;
        if (!r->accept && strcmp(s, "reject") != 0)
                return request_bad_word(BELIEF_E_VALUE, name, s, "it is accept or reject", reterr);
        return 0;
}

static int request_read_kind(const char *name, const json_t *v, Kind *ret, Diag *reterr) {
        const char *s = json_bytes(v);

        *ret = kind_from_name(s);
        if (*ret == KIND_NONE || kind_class(*ret) != CLASS_CANON)
                return request_bad_word(
                        BELIEF_E_BUCKET, name, s,
                        "the buckets are plan, constraints, issues, decisions, results, task_state and learnings",
                        reterr);
        return 0;
}

static int request_read_bucket(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        return request_read_kind(name, v, &r->kind, reterr);
}

static int request_read_operation(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        const char *s = json_bytes(v);

        r->op = op_from_name(s);
        if (r->op != OP_UPSERT && r->op != OP_APPEND && r->op != OP_INVALIDATE && r->op != OP_RESOLVE)
                return request_bad_word(BELIEF_E_OPERATION, name, s,
                                        "the operations are upsert, append, invalidate and resolve", reterr);
        return 0;
}

static int request_check_id(const char *name, const json_t *v, Kind kind, Diag *reterr) {
        const char *s = json_bytes(v);
        char rule[160];

        if (!record_id_valid(kind, s)) {
                snprintf(rule, sizeof(rule), "an id is %s, and of the note's own scope", record_id_rule(kind));
                return request_bad_word(BELIEF_E_TARGET, name, s, rule, reterr);
        }
        if (kind == KIND_PLAN && strcmp(s, "main") != 0)
                return request_bad_word(BELIEF_E_TARGET, name, s, "there is one plan, main", reterr);
        return 0;
}

static int request_read_target(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        r->target = json_bytes(v);
        return request_check_id(name, v, r->kind, reterr);
}

static int request_read_payload(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        if (!json_is_object(v))
                return request_wrong_type(name, v, "an object", reterr);
        r->payload = v;
        return 0; /* the members are checked later, when bucket and operation are known to fit */
}

static int request_read_reference(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        r->reference = json_bytes(v);
        return 0;
}

static int request_read_head(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        r->head = json_bytes(v);
        return 0;
}

static int request_read_rationale(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        r->rationale = json_bytes(v);
        return 0;
}

static int request_read_list(const char *name, json_t *v, size_t max,
                             int (*read)(const char *name, json_t *v, Diag *reterr), Diag *reterr) {
        int e = 0;

        if (!json_is_array(v))
                return request_wrong_type(name, v, "an array", reterr);
        if (json_array_size(v) > max)
                return diag(reterr, BELIEF_E_TOO_LARGE, "%s has %zu entries: at most %zu are allowed", name,
                            json_array_size(v), max);
        for (size_t i = 0; e == 0 && i < json_array_size(v); i++) {
                char at[64];

                snprintf(at, sizeof(at), "%s[%zu]", name, i);
                e = read(at, json_array_get(v, i), reterr);
        }
        return e;
}

static int request_read_alias(const char *name, json_t *v, Diag *reterr) {
        return request_check_line(name, v, CANON_ALIAS_BYTES, reterr);
}

static int request_read_aliases(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        r->aliases = v;
        return request_read_list(name, v, CANON_ALIASES_MAX, request_read_alias, reterr);
}

static int request_read_confidence(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        if (!json_is_number(v))
                return request_wrong_type(name, v, "a number", reterr);
        r->confidence = json_number_value(v);
        if (!(r->confidence >= 0 && r->confidence <= 1))
                return diag(reterr, BELIEF_E_RANGE, "%s is %g: it is from 0 to 1", name, r->confidence);
        return 0;
}

static int request_unknown_field(const char *name, Diag *reterr) {
        if (reserved_name_is(name))
                return diag(reterr, BELIEF_E_SERVICE, "\"%s\" is filled in by the service: no request may hold it",
                            DIAG_QUOTED(name));
        return diag(reterr, BELIEF_E_UNKNOWN_FIELD, "\"%s\" is no field of a request", DIAG_QUOTED(name));
}

static int request_read_one_read(const char *name, json_t *v, Diag *reterr) {
        const json_t *id = json_object_get(v, "id"), *bucket = json_object_get(v, "bucket"),
                     *version = json_object_get(v, "version");
        Kind kind;
        uint64_t n;
        int e;

        if (!json_is_object(v))
                return request_wrong_type(name, v, "an object", reterr);
        if (!bucket || !id)
                return diag(reterr, BELIEF_E_MISSING, "%s has no %s", name, bucket ? "id" : "bucket");
        if (json_object_size(v) != (version ? 3 : 2))
                return diag(reterr, BELIEF_E_UNKNOWN_FIELD, "%s holds bucket, id and version, and nothing else", name);
        e = request_check_line(name, bucket, CANON_PHRASE_BYTES, reterr)
                ?: request_read_kind(name, bucket, &kind, reterr)
                ?: request_check_line(name, id, CANON_PHRASE_BYTES, reterr)
                ?: request_check_id(name, id, kind, reterr);
        if (e == 0 && version && !json_is_integer(version))
                e = request_wrong_type(name, version, "a whole number for version", reterr);
        if (e == 0 && version && (json_get_u64(version, &n) < 0 || n == 0))
                e = diag(reterr, BELIEF_E_RANGE, "the version of %s is from 1 to 2^53-1", name);
        return e;
}

static int request_read_reads(BeliefRequest *r, const char *name, json_t *v, Diag *reterr) {
        r->reads = v;
        return request_read_list(name, v, CANON_READS_MAX, request_read_one_read, reterr);
}

/* In the order of checks, so that a message names the first wrong field of this order. phrase: a line of text, checked
 * before `read`. */
static const struct {
        const char *name;
        FieldFn read;
        bool phrase, accept_needs, reject_has;
} fields[] = {
        {"decision", request_read_decision, true, true, true},
        {"bucket", request_read_bucket, true, true, false},
        {"operation", request_read_operation, true, true, false},
        {"target_id", request_read_target, true, false, false},
        {"payload", request_read_payload, false, true, false},
        {"reference_text", request_read_reference, true, false, false},
        {"head", request_read_head, true, false, false},
        {"candidate_aliases", request_read_aliases, false, false, false},
        {"confidence", request_read_confidence, false, true, true},
        {"rationale", request_read_rationale, true, false, true},
        {"reads", request_read_reads, false, false, false},
};

static int request_no_unknown(const json_t *value, Diag *reterr) {
        const char *key;
        json_t *v;

        json_object_foreach((json_t *)value, key, v) {
                bool known = false;

                for (size_t i = 0; i < ARRAY_SIZE(fields) && !known; i++)
                        known = strcmp(fields[i].name, key) == 0;
                if (!known)
                        return request_unknown_field(key, reterr);
        }
        return 0;
}

static int request_check_payload(const BeliefRequest *r, Diag *reterr) {
        static const BeliefCode codes_of[] = {
                [PAYLOAD_E_EMPTY] = BELIEF_E_EMPTY,     [PAYLOAD_E_TOO_LARGE] = BELIEF_E_TOO_LARGE,
                [PAYLOAD_E_CONTROL] = BELIEF_E_CONTROL, [PAYLOAD_E_UNKNOWN] = BELIEF_E_UNKNOWN_FIELD,
                [PAYLOAD_E_OWNED] = BELIEF_E_SERVICE,   [PAYLOAD_E_MISSING] = BELIEF_E_MISSING,
                [PAYLOAD_E_TYPE] = BELIEF_E_TYPE,       [PAYLOAD_E_VALUE] = BELIEF_E_VALUE,
                [PAYLOAD_E_ID] = BELIEF_E_TARGET,
        };
        int e = payload_check(r->kind, r->op, NULL, r->payload, reterr);

        return e > 0 ? (int)codes_of[e] : e;
}

/* Checks the rules between fields. */
static int request_check_together(const BeliefRequest *r, Diag *reterr) {
        if (!kind_has_op(r->kind, r->op))
                return diag(reterr, BELIEF_E_NOT_OF_BUCKET, "operation %s is not one of bucket %s", op_name(r->op),
                            kind_name(r->kind));
        if (r->kind == KIND_TASK_STATE && !r->target)
                return diag(reterr, BELIEF_E_MISSING, "target_id is missing: the state of a task has the task's id");
        return request_check_payload(r, reterr);
}

int belief_request_read(json_t *value, BeliefRequest *ret, Diag *reterr) {
        BeliefRequest r = {0};
        int e;

        if (!json_is_object(value))
                return request_wrong_type("the request", value, "an object", reterr);
        e = request_no_unknown(value, reterr);
        for (size_t i = 0; i < ARRAY_SIZE(fields) && e == 0; i++) {
                json_t *v = json_object_get(value, fields[i].name);

                if (!v && (i == 0 || (r.accept && fields[i].accept_needs)))
                        e = diag(reterr, BELIEF_E_MISSING, "%s is missing", fields[i].name);
                else if (v && i > 0 && !r.accept && !fields[i].reject_has)
                        e = diag(reterr, BELIEF_E_NOT_TOGETHER, "%s does not go with decision reject", fields[i].name);
                else if (v)
                        e = (fields[i].phrase ? request_check_line(fields[i].name, v, CANON_PHRASE_BYTES, reterr) : 0)
                                ?: fields[i].read(&r, fields[i].name, v, reterr);
        }
        if (e == 0 && r.accept)
                e = request_check_together(&r, reterr);
        if (e != 0)
                return e;
        r.value = json_incref(value);
        *ret = r;
        return 0;
}

int belief_request_parse(const char *line, size_t n, BeliefRequest *ret, Diag *reterr) {
        _cleanup_json_ json_t *value = NULL;
        size_t bad;
        int e;

        if (n > CANON_LINE_MAX)
                return diag(reterr, BELIEF_E_TOO_LARGE, "the request has %zu bytes: at most %d are allowed", n,
                            CANON_LINE_MAX);
        if (n > 0 && line[n - 1] == '\n')
                n--;
        if (n == 0)
                return diag(reterr, BELIEF_E_EMPTY, "the request is empty");
        if (memchr(line, '\n', n))
                return diag(reterr, BELIEF_E_SYNTAX, "the request is more than one line");
        if (!utf8_valid(line, n, &bad))
                return diag(reterr, BELIEF_E_ENCODING, "the request is not UTF-8 at byte %zu", bad);
        e = json_parse(line, n, CANON_LINE_MAX, DEPTH_MAX, &value, reterr);
        if (e > 0) {
                diag_prefix(reterr, "the request is not acceptable JSON");
                return e == JSON_E_DUPLICATE ? BELIEF_E_DUPLICATE
                       : e == JSON_E_DEPTH   ? BELIEF_E_DEPTH
                                             : BELIEF_E_SYNTAX;
        }
        return e < 0 ? e : belief_request_read(value, ret, reterr);
}
