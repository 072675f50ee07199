#include "audit/state.h"

#include "audit/runs.h"
#include "record/event.h"
#include "engine/fold.h"
#include "engine/dead-letter.h"
#include "engine/project.h"
#include "engine/wait.h"
#include "ledger/ledger.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first thing that does not hold is told; the rest is counted. */
static int say(json_t *found, const char *check, const char *fmt, ...) _printf_(3, 4);
static int say(json_t *found, const char *check, const char *fmt, ...) {
        char what[512];
        va_list ap;

        if (!json_is_null(json_object_get(found, "first")))
                return 0;
        va_start(ap, fmt);
        vsnprintf(what, sizeof(what), fmt, ap);
        va_end(ap);
        return json_object_set_new(found, "first", json_pack("{s:s, s:s}", "check", check, "what", what)) < 0 ||
                               json_object_set_new(found, "intact", json_false()) < 0
                       ? -ENOMEM
                       : 0;
}

static int check_fold(Txn *t, json_t *found, Diag *reterr) {
        FoldResult f;
        bool newest = true;
        int r = engine_fold_compare(t, &f, reterr);

        if (r == 0)
                r = store_is_newest(t, &newest);
        if (r == 0 && f.how && !newest && (f.table == TABLE_TERM || f.table == TABLE_DOC))
                r = say(found, "projection", "the index is of an older Lethe's form: `lethe rebuild` makes it anew, and so does the next command that writes, when nobody else has the store open");
        else if (r == 0 && f.how)
                r = say(found, "projection", "table %s, key %s: the row is %s beside the fold of the ledger (%" PRIu64 " such rows); `lethe rebuild` puts it in order",
                        table_name(f.table), f.key, strcmp(f.how, "differs") == 0 ? "another one" : f.how, f.differ);
        if (r == 0 && (json_object_set_new(found, "entries", json_u64(f.events)) < 0 || json_object_set_new(found, "rows", json_u64(f.rows)) < 0 ||
                       json_object_set_new(found, "differ", json_u64(f.differ)) < 0))
                r = -ENOMEM;
        return r;
}

static int check_unapplied(Txn *t, json_t *found) {
        json_t *list = NULL, *one;
        int r = engine_dead_letter_list(t, &list);

        if (r < 0)
                return r;
        if (json_object_set_new(found, "unapplied", list) < 0)
                return -ENOMEM;
        one = json_array_get(list, 0);
        return one ? say(found, "unapplied", "event %" JSON_INTEGER_FORMAT " (%s %s) could not be projected: %s", json_integer_value(json_object_get(one, "seq")),
                         json_text(json_object_get(one, "type")), json_text(json_object_get(one, "id")),
                         json_text(json_object_get(one, "reason")))
                   : 0;
}

static int check_waits(Txn *t, json_t *found) {
        uint64_t from = 0, n = 0;
        Wait w;
        int r;

        for (; (r = wait_next(t, from, 0, 0, &w)) == 0; from = w.id + 1, n++) {
                _cleanup_json_ json_t *body = NULL;

                r = record_body(t, w.id, &body);
                if (r == -ENOENT || (r == 0 && !json_is_object(json_object_get(body, "request"))))
                        r = say(found, "pending", "pending item %" PRIu64 " has no request", w.id);
                if (r < 0)
                        return r;
        }
        if (r != -ENOENT)
                return r;
        return json_object_set_new(found, "waits", json_u64(n)) < 0 ? -ENOMEM : 0;
}

static int check_runs(Txn *t, json_t *found) {
        bool bad;
        Diag what;
        int r = audit_runs(t, &bad, &what);

        return r == 0 && bad ? say(found, "run", "%s", what.text) : r;
}

/* A verdict's regions are over when it is spoken: it names the proposals that it is on, and what it makes the slot's value says from whom that is. */
static bool is_of_regions(const json_t *o, const char *type) {
        const json_t *list = json_object_get(o, "proposals");
        bool all = json_array_size(list) > 0;

        for (size_t i = 0; i < json_array_size(list); i++)
                all &= json_is_string(json_object_get(json_array_get(list, i), "region"));
        if (strcmp(type, "slot.arbitrated") == 0)
                return all;
        return strcmp(type, "slot.written") == 0 && json_is_string(json_object_get(o, "from")) && json_object_get(o, "arbitrated");
}

/* Nothing changes by itself: each event that does has a region in which it occurred, or a person. */
static int check_causes(Txn *t, json_t *found) {
        _cleanup_walk_ LedgerWalk w = {0};
        uint64_t seq;
        Bytes entry;
        int r = ledger_walk(t, 0, &w);

        while (r == 0 && (r = ledger_next(&w, &seq, &entry)) == 0) {
                _cleanup_json_ json_t *o = NULL;
                const char *type;

                r = json_parse_own(entry.p, entry.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o);
                if (r != 0)
                        return r > 0 ? -EUCLEAN : r;
                type = json_text(json_object_get(o, "type"));
                if (type && (project_concerns(type) || strncmp(type, "slot.", 5) == 0) && !json_object_get(o, "region") && !json_object_get(o, "who") &&
                    !is_of_regions(o, type))
                        r = say(found, "cause", "event %" PRIu64 " (%s) has neither a region nor a person", seq, type);
        }
        return r == -ENOENT ? 0 : r;
}

int audit_state(Txn *t, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *found = json_pack("{s:i, s:b, s:n}", "version", 1, "intact", 1, "first");
        static const struct {
                const char *name;
                int (*fn)(Txn *t, json_t *found);
        } checks[] = {{"unapplied", check_unapplied}, {"pending", check_waits}, {"cause", check_causes}, {"run", check_runs}};
        int r = found ? check_fold(t, found, reterr) : -ENOMEM;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++) {
                r = checks[i].fn(t, found);
                if (r == -EUCLEAN) /* a row that cannot be read is a finding, not the end of the search */
                        r = say(found, checks[i].name, "something that this looks at cannot be read");
        }
        if (r == 0)
                *ret = TAKE_PTR(found);
        return r;
}
