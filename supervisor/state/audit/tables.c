#include "audit/fold-state.h"
#include "audit/history.h"
#include "engine/engine.h"
#include "engine/skill.h"
#include "schema/jsonschema.h"
#include "store/hooks.h"
#include "engine/session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Compares the canonical tables with the result of the fold. */

static int tables_unequal(Audit *a, const char *what, const char *name, const char *field, uint64_t expected,
                          uint64_t found) {
        return audit_store_differs(a, what, audit_text("%" PRIu64, found).s, "%s: %s %" PRIu64, name, field, expected);
}

static int tables_count(Audit *a, Table table, uint64_t expected) {
        uint64_t n;
        int r = table_rows(a->txn, table, &n);

        if (r == 0 && n != expected)
                return tables_unequal(a, "a table's number of rows differs from the ledger", table_name(table), "rows",
                               expected, n);
        return r;
}

/* The valid value still fits the slot's schema. */
static int tables_check_schema(Audit *a, const char *name, const SlotRow *row) {
        _cleanup_jsonschema_ JsonSchema *schema = NULL;
        _cleanup_json_ json_t *text = NULL, *value = NULL;
        Bytes body;
        Diag d = {0};
        int r = body_get(a->txn, row->defined, NULL, &body)
                ?: json_parse(body.p, body.n, SLOT_VALUE_MAX, JSONSCHEMA_DEPTH_MAX, &text, &d)
                ?: jsonschema_compile(text, &schema, &d);

        if (r == 0 && row->version > 0 && row->body > 0) { /* 0: erased */
                r = body_get(a->txn, row->body, NULL, &body);
                if (r == 0)
                        r = json_parse(body.p, body.n, SLOT_VALUE_MAX, JSON_DEPTH_DEFAULT, &value, &d)
                                ?: jsonschema_validate(schema, value, &d);
        }
        if (r > 0)
                return audit_store_differs(a, "a slot's schema or value does not agree with its definition", d.text,
                                           "%s: a value that fits", name);
        return r;
}

static int tables_check_slot(Audit *a, const char *name, const SlotRow *row) {
        static const char differs[] = "table slot differs from the ledger";
        const SlotRow *f = map_get(&a->slots, name);

        if (!f)
                return audit_store_differs(a, "table slot has a slot that the ledger does not define", "one",
                                           "no row %s", name);
        const struct {
                const char *name;
                uint64_t expected, found;
        } fields[] = {
                {"defined at", f->defined, row->defined},
                {"version", f->version, row->version},
                {"written at", f->written, row->written},
                {"payload of", f->body, row->body},
                {"rules of arbitration", f->arbitrated, row->arbitrated},
                {"held version", f->held_version, row->held_version},
        };
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                if (fields[i].expected != fields[i].found)
                        return tables_unequal(a, differs, name, fields[i].name, fields[i].expected, fields[i].found);
        if (f->held_version && (row->held_seq != f->held_seq || strcmp(row->held_by, f->held_by) != 0))
                return audit_store_differs(a, differs,
                                           audit_text("held by %s since %" PRIu64, row->held_by, row->held_seq).s,
                                           "%s: held by %s since %" PRIu64, name, f->held_by, f->held_seq);
        return tables_check_schema(a, name, row);
}

static int tables_check_slots(Audit *a) {
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = cursor_open(a->txn, TABLE_SLOT, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                char name[SLOT_NAME_MAX + 1] = "";
                SlotRow row;

                if (k.n > SLOT_NAME_MAX)
                        return -EUCLEAN;
                memcpy(name, k.p, k.n);
                r = slot_row_decode(v, &row) ?: tables_check_slot(a, name, &row);
        }
        return r == -ENOENT ? tables_count(a, TABLE_SLOT, a->slots.n) : r;
}

static int tables_check_held(Audit *a, uint64_t *ret_n) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint64_t n = 0, open = 0;
        Bytes k, v;
        int r = cursor_open(a->txn, TABLE_HELD, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                const FoldedRegion *f;
                const FoldedHeld *h = NULL;
                HeldRow row;

                r = held_row_decode(k, v, &row);
                if (r < 0)
                        return r;
                f = map_get(&a->regions, row.region);
                for (uint64_t i = f ? f->n_settled : 0; f && f->held && i < f->n_held && !h; i++)
                        if (f->held[i].seq == row.seq)
                                h = &f->held[i];
                if (!h || h->version != row.version || strcmp(h->slot, row.name) != 0)
                        return audit_store_differs(a, "table held has a proposal that is not open in the ledger",
                                                   audit_text("version %" PRIu64 " of %s", row.version, row.name).s,
                                                   "no row of region %s, seq %" PRIu64, row.region, row.seq);
                n++;
        }
        for (size_t i = 0; i < a->regions.room; i++) {
                const FoldedRegion *f = a->regions.items[i].value;

                if (f && !f->ended)
                        open += f->n_held - f->n_settled;
        }
        *ret_n = open;
        return r == -ENOENT ? 0 : r;
}

/* A region without an end needs a living supervisor. The region may have ended between the snapshot and now. */
static int tables_check_region(Audit *a, const RegionRow *row) {
        const FoldedRegion *f = map_get(&a->regions, row->region);
        bool there;
        int r;

        if (!f || f->ended)
                return audit_store_differs(
                        a, "table region has a region that is not alive in the ledger",
                        f ? "a row of an ended region" : "a row of a region that was never allocated", "no row %s",
                        row->region);
        if (!store_lock_is_free(txn_store(a->txn), row->supervisor_lock) || session_resumes(session_of_row(row)))
                return 0; /* a session that resumes waits for its next host, without any memory (I-85) */
        r = history_is_there_now(a->txn, row->region, &there);
        if (r < 0 || !there)
                return r;
        return audit_store_differs(
                a, "a region was allocated and never released, and its supervisor is gone (I-60)",
                f->left ? "region.left: the next 'lethe run' after the end of its processes records that"
                             : "neither; the next 'lethe run' on this store recovers it",
                "region.released of %s, or its supervisor %" PRIu64 " alive", row->region, row->supervisor_pid);
}

static int tables_check_regions(Audit *a) {
        RegionRow *rows = NULL;
        size_t n = 0;
        int r = engine_region_list(a->txn, &rows, &n);

        for (size_t i = 0; r == 0 && i < n; i++)
                r = tables_check_region(a, &rows[i]);
        region_rows_free(rows, n);
        return r == 0 ? tables_count(a, TABLE_REGION, a->report->alive) : r;
}

/* The registry of skills. Each registration names the registration that is replaced; each digest is the hash of the
 * skill's list of files; table skill has the newest registration of each name. */
typedef struct FoldedSkill {
        uint64_t seq;
        char digest[SKILL_DIGEST_MAX];
} FoldedSkill;

int skills_fold(Audit *a, const json_t *o) {
        const json_t *skill = json_object_get(o, "skill"), *replaces = json_object_get(o, "replaces");
        const char *name = json_text(json_object_get(skill, "name")),
                   *digest = json_text(json_object_get(skill, "digest"));
        const char *old = json_text(json_object_get(replaces, "digest"));
        char computed[SKILL_DIGEST_MAX] = "sha256:";
        FoldedSkill *f;
        uint64_t seq;
        Bytes list;
        int r;

        if (!name || !*name || strlen(name) > SKILL_NAME_MAX || !digest || strlen(digest) >= SKILL_DIGEST_MAX ||
            !json_object_get(o, "body") || !json_text(json_object_get(o, "who")))
                return audit_lacks(a, "skill.registered", "skill.name, skill.digest, body and who");
        r = body_get(a->txn, a->seq, NULL, &list);
        if (r < 0)
                return r;
        hash_hex(list.p, list.n, computed + strlen(computed));
        if (strcmp(digest, computed) != 0)
                return audit_differs(a, "a skill's digest is not the hash of its list of files", digest, "%s",
                                     computed);
        f = map_get(&a->skills, name);
        if (f && (json_get_u64(json_object_get(replaces, "seq"), &seq) < 0 || seq != f->seq || !old ||
                  strcmp(old, f->digest) != 0))
                return audit_differs(a, "a repeated registration of a skill does not name the replaced one (I-28)",
                                     old ? old : "nothing", "%s", f->digest);
        if (!f && replaces)
                return audit_differs(a, "a registration replaces a skill that was never registered",
                                     old ? old : "something", "nothing");
        f = map_have(&a->skills, name, sizeof(*f));
        if (!f)
                return -ENOMEM;
        f->seq = a->seq;
        strcpy(f->digest, digest);
        return 0;
}

static int skills_check(Audit *a) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint64_t n = 0;
        Bytes k, v;
        int r = cursor_open(a->txn, TABLE_SKILL, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                char name[SKILL_NAME_MAX + 1] = "";
                const FoldedSkill *f;

                if (k.n > SKILL_NAME_MAX || v.n != 8)
                        return -EUCLEAN;
                memcpy(name, k.p, k.n);
                f = map_get(&a->skills, name);
                if (!f || f->seq != be64_get(v.p))
                        return audit_store_differs(a, "table skill differs from the ledger",
                                                   audit_text("%" PRIu64, be64_get(v.p)).s,
                                                   "%s: registered at %" PRIu64, name, f ? f->seq : 0);
                n++;
        }
        if (r == -ENOENT && n != a->skills.n)
                return audit_store_differs(a, "table skill lacks rows of the ledger", audit_text("%" PRIu64, n).s,
                                           "%zu rows", a->skills.n);
        return r == -ENOENT ? 0 : r;
}

int tables_check(Audit *a) {
        uint64_t held = 0, gathered = 0;

        return tables_check_slots(a)
                ?: tables_check_held(a, &held)
                ?: tables_count(a, TABLE_HELD, held)
                ?: tables_count(a, TABLE_HIST, a->n_hist)
                ?: arbitration_check(a, &gathered)
                ?: tables_count(a, TABLE_GATHER, gathered)
                ?: tables_count(a, TABLE_VERDICT, a->n_verdicts)
                ?: tables_check_regions(a)
                ?: skills_check(a)
                ?: entries_check(a);
}
