#include "base/clock.h"
#include "base/hash.h"
#include "engine/fold-slot.h"
#include "object/append.h"
#include "object/chain.h"
#include "object/report.h"
#include "object/transfer.h"
#include "object/trust.h"
#include "record/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define ADOPTED_BYTES (160 * 1024) /* of lines in an entry, as JSON: less than ENTRY_TEXT_MAX with all members */
#define HEAD_DIGITS_LEAST 8

/* A history of the object: the own entries from a number on, or the entries of a branch. */
typedef struct Branch {
        char head[HASH_HEX_MAX];
        uint64_t from, n; /* first different entry; entries in all */
        json_t *lines;    /* owned */
} Branch;

typedef struct Adopt {
        Txn *t;
        const char *id, *who;
        ObjectRow row;
        Branch *branches; /* [0]: the own history */
        size_t n, chosen;
} Adopt;

static void adopt_deinit(Adopt *a) {
        object_row_deinit(&a->row);
        for (size_t i = 0; i < a->n; i++)
                json_decref(a->branches[i].lines);
        free(a->branches);
}

static Branch *adopt_add(Adopt *a) {
        Branch *b;

        if (!GROW(a->branches, a->n))
                return NULL;
        b = &a->branches[a->n];
        *b = (Branch){.lines = json_array()};
        if (!b->lines)
                return NULL;
        a->n++;
        return b;
}

static int adopt_read_branch(Adopt *a, const json_t *branch) {
        Branch *b = adopt_add(a);
        const char *p, *end, *line;
        Bytes body;
        int r;

        if (!b)
                return -ENOMEM;
        snprintf(b->head, sizeof(b->head), "%s", json_str(branch, "head"));
        b->from = json_number(branch, "from");
        b->n = json_number(branch, "n");
        r = body_get(a->t, json_number(branch, "seq"), NULL, &body);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        for (p = body.p, end = p + body.n; (line = p) < end; p++) {
                p = memchr(p, '\n', (size_t)(end - p));
                if (!p)
                        return -EUCLEAN;
                if (json_array_append_new(b->lines, json_stringn(line, (size_t)(p - line))) < 0)
                        return -ENOMEM;
        }
        return json_array_size(b->lines) == b->n - b->from ? 0 : -EUCLEAN;
}

/* The own entries before their replacement by the chosen branch. */
static int adopt_read_own(Adopt *a, uint64_t from, Diag *reterr) {
        _cleanup_object_bundle_ ObjectBundle b = OBJECT_BUNDLE_NULL;
        Branch *own = &a->branches[0];
        int r = chain_read(a->t, a->id, from, a->row.n, &b, reterr);

        own->from = from;
        for (size_t i = 0; r == 0 && i < b.n; i++) {
                _cleanup_buf_ Buf line = {0};

                r = entry_print(&b.entries[i], &line);
                if (r == 0 && json_array_append_new(own->lines, json_stringn(line.data, line.n)) < 0)
                        r = -ENOMEM;
        }
        return r;
}

static int adopt_read(Adopt *a) {
        const json_t *branches = json_object_get(a->row.row, "branches");
        Branch *own = adopt_add(a);
        int r = own ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        hex_encode(a->row.head, ENTRY_HASH_BYTES, own->head);
        own->n = a->row.n;
        for (size_t i = 0; r == 0 && i < json_array_size(branches); i++)
                r = adopt_read_branch(a, json_array_get(branches, i));
        return r;
}

static int adopt_choose(Adopt *a, const char *head, Diag *reterr) {
        size_t found = 0, n = strlen(head);

        if (n < HEAD_DIGITS_LEAST)
                return diag(reterr, ENGINE_E_BAD_QUERY, "the head %s has less than %d digits", DIAG_QUOTED(head),
                            HEAD_DIGITS_LEAST);
        for (size_t i = 0; i < a->n; i++)
                if (strncmp(a->branches[i].head, head, n) == 0) {
                        a->chosen = i;
                        found++;
                }
        if (found != 1)
                return diag(reterr, ENGINE_E_NO_VALUE,
                            "object %s has %s that begin with %s: `lethe object show %s` lists the "
                            "heads",
                            a->id, found == 0 ? "no heads" : "several heads", DIAG_QUOTED(head), a->id);
        return 0;
}

/* Has the adopted history a signer without trust? The signers of the own history count, too. */
static int adopt_judge(Adopt *a, bool *ret) {
        const Branch *b = &a->branches[a->chosen];

        *ret = a->row.unknown;
        for (size_t i = 0; a->chosen > 0 && i < json_array_size(b->lines) && !*ret; i++) {
                _cleanup_entry_ Entry e = ENTRY_NULL;
                const json_t *line = json_array_get(b->lines, i);
                SignerState state = SIGNER_UNKNOWN;
                char vkey[VKEY_MAX];
                Diag d;
                int r = entry_parse(json_bytes(line), json_string_length(line), &e, &d);

                if (r == 0)
                        r = trust_key(a->t, &a->row, e.keyid, vkey);
                if (r == 0)
                        r = trust_look(a->t, e.keyid, vkey, &state);
                if (r != 0 && r != -ENOENT)
                        return r > 0 ? -EUCLEAN : r;
                *ret = state == SIGNER_UNKNOWN || state == SIGNER_REVOKED;
        }
        return 0;
}

/* From the event on the object has only the entries before `n`. */
static int adopt_event(Adopt *a, uint64_t n, const char *head, const char *state, bool unknown) {
        bool back = n < a->row.n;
        json_t *fields = json_pack("{s:s, s:o, s:s, s:s, s:o*, s:o*}", "object", a->id, "n", json_u64(n), "head", head,
                                   "state", state, "unknown", unknown ? json_true() : NULL, "back",
                                   back ? json_true() : NULL);

        if (a->row.checkpoint > 0 && a->row.checkpoint <= n &&
            json_put(fields, "checkpoint", json_u64(a->row.checkpoint)) < 0) {
                json_decref(fields);
                return -ENOMEM;
        }
        return fold_slot_append(a->t, &(Event){.type = "object.adopted", .who = a->who, .fields = fields}, NULL);
}

/* The entries of the chosen branch replace the own entries. The import verified the branch. */
static int adopt_take(Adopt *a, bool unknown, Diag *reterr) {
        const Branch *b = &a->branches[a->chosen];
        _cleanup_object_bundle_ ObjectBundle chain = OBJECT_BUNDLE_NULL;
        ObjectMemory *m = &chain.memory;
        char hex[HASH_HEX_MAX];
        int r = chain_read(a->t, a->id, 0, b->from, &chain, reterr);

        for (size_t i = 0; r == 0 && i < json_array_size(b->lines); i++) {
                const json_t *line = json_array_get(b->lines, i);

                if (!GROW(chain.entries, chain.n))
                        return -ENOMEM;
                chain.entries[chain.n] = ENTRY_NULL;
                r = object_code(
                        entry_parse(json_bytes(line), json_string_length(line), &chain.entries[chain.n], reterr));
                chain.n += r == 0;
        }
        for (size_t i = 0; r == 0 && i < chain.n; i++)
                r = object_code(memory_apply(m, &chain.entries[i], reterr));
        if (r == 0)
                r = adopt_event(a, b->from, hex_encode(chain.entries[b->from - 1].hash, ENTRY_HASH_BYTES, hex),
                                object_state_name(chain.entries[b->from - 1].state), unknown);
        for (size_t i = b->from; r == 0 && i < chain.n; i++)
                r = append_foreign(a->t, &chain.entries[i], m, i + 1 == chain.n, a->who);
        return r;
}

static size_t adopt_json_bytes(const json_t *text) {
        return json_dumpb(text, NULL, 0, JSON_ENCODE_ANY | JSON_COMPACT) + 1;
}

/* A line too large for an entry is recorded as a hash; the ledger has the line. */
static json_t *adopt_evidence(const json_t *line) {
        char hex[HASH_HEX_MAX];

        if (adopt_json_bytes(line) <= ADOPTED_BYTES)
                return json_incref((json_t *)line);
        hash_hex(json_bytes(line), json_string_length(line), hex);
        return json_sprintf("sha256:%s", hex);
}

/* O-42: the discontinued histories become evidence, in as many entries as necessary. */
static int adopt_append(Appending *up, const Branch *b, Diag *reterr) {
        size_t i = 0, n = json_array_size(b->lines);
        int r = 0;

        while (r == 0 && i < n) {
                _cleanup_json_ json_t *entries = json_array(), *data = NULL;
                uint64_t from = b->from + i;

                for (size_t bytes = 0; entries && i < n; i++) {
                        json_t *line = adopt_evidence(json_array_get(b->lines, i));

                        bytes += line ? adopt_json_bytes(line) : 0;
                        if (json_array_size(entries) > 0 && bytes > ADOPTED_BYTES) {
                                json_decref(line);
                                break;
                        }
                        if (json_array_append_new(entries, line) < 0)
                                return -ENOMEM;
                }
                data = json_pack("{s:s, s:o, s:O}", "head", b->head, "from", json_u64(from), "entries", entries);
                r = data ? object_code(append_entry(up, ENTRY_ADOPTED, NULL, data, NULL, reterr)) : -ENOMEM;
        }
        return r > 0 ? -EUCLEAN : r;
}

static int adopt_others(const Adopt *a, json_t **ret, Diag *reterr) {
        _cleanup_appending_ Appending up = APPENDING_NULL;
        char trace[REGION_ID_MAX];
        Diag none;
        int r = append_open(a->t, a->id, &up, reterr);

        if (r != 0)
                return r;
        up.who = a->who;
        up.now_usec = clock_real_usec();
        up.trace = trace;
        r = region_id_new(up.now_usec, trace);
        for (size_t i = 0; r == 0 && i < a->n; i++)
                if (i != a->chosen)
                        r = adopt_append(&up, &a->branches[i], reterr);
        if (r == 0)
                r = report_arrived(a->t, a->id, a->who, reterr);
        if (r != 0)
                return r;
        *ret = json_pack("{s:s, s:s, s:o, s:s, s:b}", "object", a->id, "head", a->branches[a->chosen].head, "n",
                         json_u64(up.memory.n), "state", object_state_name(up.memory.state), "eligible",
                         object_eligible(&up.row, &none) == 0);
        return *ret ? 0 : -ENOMEM;
}

int object_adopt(Txn *t, const char *id, const char *head, const char *who, json_t **ret, Diag *reterr) {
        _cleanup_(adopt_deinit) Adopt a = {.t = t, .id = id, .who = who};
        bool unknown;
        int r = object_get(t, id, &a.row, reterr);

        if (r == 0 && !a.row.forked)
                return diag(reterr, ENGINE_E_BAD_STATE,
                            "object %s is not forked: with a single history there is no head to "
                            "adopt",
                            id);
        r = r ?: adopt_read(&a) ?: adopt_choose(&a, head, reterr) ?: adopt_judge(&a, &unknown);
        if (r == 0 && a.chosen > 0)
                r = adopt_read_own(&a, a.branches[a.chosen].from, reterr) ?: adopt_take(&a, unknown, reterr);
        else if (r == 0)
                r = adopt_event(&a, a.row.n, a.branches[0].head, object_state_name(a.row.state), unknown);
        return r ?: adopt_others(&a, ret, reterr);
}
