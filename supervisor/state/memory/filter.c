#include "memory/filter.h"

#include "base/clock.h"
#include "engine/payload.h"

#include <stdio.h>
#include <string.h>

#define DAY_USEC UINT64_C(86400000000)

/* Bits of `said`. A time has two bounds. */
enum { SAID_KIND, SAID_TYPE, SAID_STATE, SAID_ID, SAID_REF, SAID_CREATED, SAID_PREFIX, SAID_UNTIL };
static const char *const names[] = {"kind", "type", "state", "id", "ref", "created", "prefix"};

static int filter_field(const char *name, size_t n) {
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
                        return (int)i;
        return -1;
}

bool filter_has_field(const char *name, size_t n) {
        return filter_field(name, n) >= 0;
}

static int filter_add_kind(RecordFilter *f, const char *name) {
        Kind one = kind_from_name(name);
        bool any = false;

        for (const Kind *k = kinds; *k != KIND_NONE; k++) {
                const char *class = class_name(kind_class(*k));
                bool has = *k == one || (class && strcmp(class, name) == 0);

                if (!has || *k == KIND_WORKING)
                        continue;
                any = true;
                for (size_t i = 0; i < f->n_kinds; i++)
                        has &= f->kinds[i] != *k;
                if (has && f->n_kinds < FILTER_KINDS_MAX)
                        f->kinds[f->n_kinds++] = *k;
        }
        return any ? 0 : -1;
}

static int filter_add_type(RecordFilter *f, const char *name) {
        for (unsigned i = 0; payload_types[i]; i++)
                if (strcmp(payload_types[i], name) == 0) {
                        f->types |= 1U << i;
                        return 0;
                }
        return -1;
}

static int filter_add_state(RecordFilter *f, const char *name) {
        RecordState s = record_state_from_name(name);

        f->states |= s == RECORD_NONE ? 0 : 1U << s;
        return s == RECORD_NONE ? -1 : 0;
}

/* A list of names without spaces; `add` reads each name. */
static int filter_add_names(RecordFilter *f, const char *value, size_t n, int (*add)(RecordFilter *f, const char *name),
                            const char *what, Diag *reterr) {
        for (size_t at = 0; at <= n;) {
                const char *comma = at < n ? memchr(value + at, ',', n - at) : NULL;
                size_t len = comma ? (size_t)(comma - value) - at : n - at;
                char name[64];

                if (len == 0)
                        return diag(reterr, FILTER_E_BAD, "\"%s\": a name is missing beside a comma",
                                    DIAG_QUOTED_N(value, n));
                snprintf(name, sizeof(name), "%.*s", (int)MIN(len, sizeof(name)), value + at);
                if (len >= sizeof(name) || add(f, name) < 0)
                        return diag(reterr, FILTER_E_BAD, "\"%s\" is %s", DIAG_QUOTED_N(value + at, len), what);
                at += len + 1;
        }
        return 0;
}

static int filter_set_id(char ret[static RECORD_ID_MAX], const char *value, size_t n) {
        if (n == 0 || n >= RECORD_ID_MAX)
                return -1;
        memcpy(ret, value, n);
        ret[n] = '\0';
        return 0;
}

static int filter_set_ref(RecordFilter *f, const char *value, size_t n, Diag *reterr) {
        const char *slash = memchr(value, '/', n);
        char name[64];

        if (!slash)
                return diag(reterr, FILTER_E_BAD, "ref \"%s\": must be KIND/ID, for example issues/import_blocker",
                            DIAG_QUOTED_N(value, n));
        snprintf(name, sizeof(name), "%.*s", (int)MIN((size_t)(slash - value), sizeof(name)), value);
        f->ref_kind = (size_t)(slash - value) < sizeof(name) ? kind_from_name(name) : KIND_NONE;
        if (f->ref_kind == KIND_NONE || f->ref_kind == KIND_WORKING)
                return diag(reterr, FILTER_E_BAD, "ref \"%s\": \"%s\" is no kind of record",
                            DIAG_QUOTED_N(value, n), DIAG_QUOTED_N(value, (size_t)(slash - value)));
        n -= (size_t)(slash + 1 - value);
        if (filter_set_id(f->ref_id, slash + 1, n) < 0 || !record_id_valid(f->ref_kind, f->ref_id))
                return diag(reterr, FILTER_E_BAD, "ref \"%s\" is no id of %s: %s", DIAG_QUOTED_N(slash + 1, n),
                            kind_name(f->ref_kind), record_id_rule(f->ref_kind));
        return 0;
}

/* A bound is said at most once, because a second value would contradict the first. */
static int filter_set_bound(RecordFilter *f, uint64_t *bound, unsigned bit, uint64_t v, Diag *reterr) {
        if (f->said & 1U << bit)
                return diag(reterr, FILTER_E_BAD,
                            "created has this bound already: at most one lower and one upper bound are allowed");
        f->said |= 1U << bit;
        *bound = v;
        return 0;
}

static int filter_set_created(RecordFilter *f, const char *op, const char *value, size_t n, uint64_t now,
                              Diag *reterr) {
        bool day = strcmp(op, ":") == 0, equal = op[1] == '=';
        char text[CLOCK_TEXT_MAX];
        uint64_t at;
        int r = 0;

        snprintf(text, sizeof(text), "%.*s", (int)MIN(n, sizeof(text)), value);
        if (n >= sizeof(text) || clock_parse_moment(text, now, &at) < 0 || (day && n != strlen("2026-11-21")))
                return diag(reterr, FILTER_E_BAD, "created%s\"%s\": must be %s", op, DIAG_QUOTED_N(value, n),
                            day ? "a day such as 2026-11-21; with > >= < <= also a time, or how long ago (7d)"
                                : "a time such as 2026-11-21, 2026-11-21T10:29, or how long ago (7d, 12h, 30m)");
        if (day || *op == '>')
                r = filter_set_bound(f, &f->created_from, SAID_CREATED, day || equal ? at : at + 1, reterr);
        if (r == 0 && (day || *op == '<'))
                r = filter_set_bound(f, &f->created_until, SAID_UNTIL, at + (day ? DAY_USEC : equal), reterr);
        if (r == 0 && f->created_until && f->created_from >= f->created_until)
                return diag(reterr, FILTER_E_BAD, "created%s%s: no time is within both bounds", op, text);
        return r;
}

int filter_add(RecordFilter *f, const char *name, size_t n_name, const char *op, const char *value, size_t n,
               bool search, uint64_t now_usec, Diag *reterr) {
        int field = filter_field(name, n_name);

        if (field < 0)
                return diag(reterr, FILTER_E_BAD,
                            "\"%s\" is no field; the fields are " FILTER_FIELDS "; write a text with %s in quotes",
                            DIAG_QUOTED_N(name, n_name), op);
        if (field != SAID_CREATED && strcmp(op, ":") != 0)
                return diag(reterr, FILTER_E_BAD, "%s%s: only created can be compared; write %s:VALUE", names[field],
                            op, names[field]);
        if (n == 0)
                return diag(reterr, FILTER_E_BAD, "%s has no value", names[field]);
        if (field == SAID_CREATED)
                return filter_set_created(f, op, value, n, now_usec, reterr);
        if (f->said & 1U << field)
                return diag(reterr, FILTER_E_BAD, "%s is said twice%s", names[field],
                            field <= SAID_STATE ? "; write several values with commas between" : "");
        f->said |= 1U << field;
        switch (field) {
        case SAID_KIND:
                return filter_add_names(f, value, n, filter_add_kind,
                                        "no kind of stored record, and no class of kinds", reterr);
        case SAID_TYPE:
                return filter_add_names(f, value, n, filter_add_type,
                                        "no type of a memory record: the types are episodic, semantic, observational",
                                        reterr);
        case SAID_STATE: {
                int r = filter_add_names(
                        f, value, n, filter_add_state,
                        "no state: the states are open, resolved, active, invalidated, superseded, archived, removed",
                        reterr);

                if (r == 0 && search && f->states & 1U << RECORD_REMOVED)
                        return diag(reterr, FILTER_E_BAD, "removed records are in no search; use `list`");
                return r;
        }
        case SAID_ID:
                if (filter_set_id(f->id, value, n) < 0 ||
                    !(record_id_valid(KIND_MEMORY, f->id) || record_id_valid(KIND_ISSUE, f->id)))
                        return diag(reterr, FILTER_E_BAD, "id \"%s\": %s", DIAG_QUOTED_N(value, n),
                                    record_id_rule(KIND_MEMORY));
                return 0;
        case SAID_REF:
                return filter_set_ref(f, value, n, reterr);
        default:
                if (search)
                        return diag(reterr, FILTER_E_BAD, "prefix is for lists; a search takes words and phrases");
                if (n > FILTER_PREFIX_MAX)
                        return diag(reterr, FILTER_E_BAD, "prefix has %zu bytes, at most %d are allowed", n,
                                    FILTER_PREFIX_MAX);
                memcpy(f->prefix, value, n);
                f->prefix[n] = '\0';
                return 0;
        }
}

bool filter_takes_kind(const RecordFilter *f, Kind kind, const char *type) {
        bool has = f->n_kinds == 0;

        for (size_t i = 0; i < f->n_kinds; i++)
                has |= f->kinds[i] == kind;
        for (unsigned i = 0; has && f->types && payload_types[i]; i++)
                if (strcmp(payload_types[i], type) == 0)
                        return f->types >> i & 1;
        return has && !f->types;
}

bool filter_takes_state(const RecordFilter *f, RecordState state) {
        return !f->states || f->states >> state & 1;
}

bool filter_takes_id(const RecordFilter *f, const char *id) {
        return !*f->id || strcmp(f->id, id) == 0;
}

bool filter_takes_time(const RecordFilter *f, uint64_t created_usec) {
        return created_usec >= f->created_from && (!f->created_until || created_usec < f->created_until);
}

bool filter_takes_text(const RecordFilter *f, const char *text, size_t n) {
        size_t n_prefix = strlen(f->prefix);

        return n >= n_prefix && memcmp(text, f->prefix, n_prefix) == 0;
}
