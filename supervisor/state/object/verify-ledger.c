#include "object/verify-ledger.h"

#include "ledger/ledger.h"
#include "record/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct LedgerSide {
        const char *id; /* or NULL: all objects */
        json_t *open;   /* {OBJECT: trace} of executions without outcome */
        json_t *bad;    /* {REGION: OBJECT} of living regions without an entry */
        json_t *findings;
        size_t *n;
        uint64_t seq;
} LedgerSide;

int verify_note(json_t *findings, size_t *n, const char *code, const char *fmt, ...) {
        char message[512];
        va_list ap;

        if ((*n)++ >= VERIFY_FINDINGS_MAX)
                return 0;
        va_start(ap, fmt);
        vsnprintf(message, sizeof(message), fmt, ap);
        va_end(ap);
        return json_array_append_new(findings, json_pack("{s:s, s:s}", "code", code, "message", message)) < 0 ? -ENOMEM
                                                                                                              : 0;
}

static int ledger_side_entry(LedgerSide *s, const char *object, const json_t *o) {
        const char *kind = json_str(o, "kind");

        if (strcmp(kind, "started") == 0)
                return json_object_set(s->open, object, json_object_get(o, "trace")) < 0 ? -ENOMEM : 0;
        if (!json_is_true(json_object_get(o, "note")))
                json_object_del(s->open, object);
        return 0;
}

static int ledger_side_allocated(LedgerSide *s, const char *object, const char *region, const json_t *o) {
        if (json_equal(json_object_get(s->open, object), json_object_get(o, "trace")))
                return 0;
        if (json_object_set_new(s->bad, region, json_string(object)) < 0)
                return -ENOMEM;
        return verify_note(s->findings, s->n, "effect_without_entry",
                           "object %s: event %" PRIu64 ": region %s has the trace %s, "
                           "and the object has no open entry \"started\" of the trace",
                           object, s->seq, region, json_str(o, "trace"));
}

static int ledger_side_ended(LedgerSide *s, const char *object, const char *region, const json_t *o) {
        bool known = json_object_get(s->bad, region);

        json_object_del(s->bad, region);
        if (known || !json_is_true(json_object_get(o, "kept")) ||
            json_equal(json_object_get(s->open, object), json_object_get(o, "trace")))
                return 0;
        return verify_note(s->findings, s->n, "effect_without_entry",
                           "object %s: event %" PRIu64 ": region %s kept changes after the "
                           "end of the execution",
                           object, s->seq, region);
}

/* A change by a region without an entry. */
static int ledger_side_effect(LedgerSide *s, const char *type, const char *region) {
        const char *object = json_text(json_object_get(s->bad, region));

        if (!object || (strcmp(type, "slot.written") != 0 && strcmp(type, "slot.gathered") != 0 &&
                        strcmp(type, "memory.save") != 0 && strcmp(type, "memory.delete") != 0))
                return 0;
        return verify_note(s->findings, s->n, "effect_without_entry",
                           "object %s: event %" PRIu64 " (%s) is an effect of region %s "
                           "without an entry of the object",
                           object, s->seq, type, region);
}

static int ledger_side_event(LedgerSide *s, const json_t *o) {
        const char *type = json_str(o, "type"), *object = json_text(json_object_get(o, "object")),
                   *region = json_text(json_object_get(o, "region"));

        if (object && s->id && strcmp(object, s->id) != 0)
                return 0;
        if (object && strcmp(type, "object.entry") == 0)
                return ledger_side_entry(s, object, o);
        if (object && ((strcmp(type, "object.adopted") == 0 && json_object_get(o, "back")) ||
                       strcmp(type, "object.replaced") == 0))
                json_object_del(s->open, object);
        if (object && region && strcmp(type, "region.allocated") == 0)
                return ledger_side_allocated(s, object, region, o);
        if (object && region && strcmp(type, "invocation.ended") == 0)
                return ledger_side_ended(s, object, region, o);
        return region ? ledger_side_effect(s, type, region) : 0;
}

/* Without suspect regions only entries about objects are parsed, or about the one. */
static bool ledger_side_skips(const LedgerSide *s, Bytes entry) {
        char member[sizeof("\"object\":\"") + REGION_ID_LEN];
        int n = snprintf(member, sizeof(member), "\"object\":\"%s", s->id ?: "");

        return json_object_size(s->bad) == 0 && !memmem(entry.p, entry.n, member, (size_t)n);
}

int verify_ledger(Txn *t, const char *id, json_t *findings, size_t *n) {
        _cleanup_json_ json_t *open = json_object(), *bad = json_object();
        LedgerSide s = {.id = id, .open = open, .bad = bad, .findings = findings, .n = n};
        _cleanup_walk_ LedgerWalk w = {0};
        Bytes entry;
        int r = open && bad ? ledger_walk(t, 0, &w) : -ENOMEM;

        while (r == 0 && (r = ledger_next(&w, &s.seq, &entry)) == 0) {
                _cleanup_json_ json_t *o = NULL;

                if (!ledger_side_skips(&s, entry))
                        r = json_row_parse(entry, LEDGER_ENTRY_MAX, &o) ?: ledger_side_event(&s, o);
        }
        return r == -ENOENT ? 0 : r;
}
