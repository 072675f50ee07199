/* The whole way, on a history that others wrote: each change a note that opens an issue, each fix a note that resolves one, promoted through the store; then
 * the tables must be the fold of the ledger. LETHE_DATA names tests/data. */
#include "audit/audit.h"
#include "base/io.h"
#include "belief/promote.h"
#include "engine/fold.h"
#include "tests/eval/changes.h"
#include "tests/support/store-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX (64 * 1024 * 1024)
#define ME "uid:0"

static void add(Txn *t, const char *run, const char *text) {
        uint64_t number;
        Diag d = {0};

        cr_assert_eq(engine_note_add(t, run, NOTE_AGENT, text, strlen(text), NULL, &number, &d), 0, "%s: %s", text, d.text);
}

static void promote(StoreFixture *f, const char *run, Promoted *sum) {
        Promoted now;
        bool of_store;

        cr_assert_eq(belief_promote(f->store, &(Promoting){.run = run, .batch = PROMOTE_BATCH_MAX, .policy = &RESOLVE_POLICY_DEFAULT, .who = ME}, &now,
                                   &of_store, &f->d), 0, "%s", f->d.text);
        sum->notes += now.notes;
        sum->committed += now.committed;
        sum->pending += now.pending;
        sum->rejected += now.rejected;
        sum->invalid += now.invalid;
        sum->resolved += now.resolved;
}

// G-5, G-7, G-29, G-44, G-55, G-56
Test(pipeline, a_real_history_is_rebuilt_to_the_byte) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_changes_ Changes h = {0};
        const char *rows = getenv("LETHE_PIPELINE_ROWS"), *data = getenv("LETHE_DATA");
        _cleanup_json_ json_t *found = NULL;
        char path[PATH_MAX], *text;
        Promoted sum = {0};
        size_t n, notes = 0;
        FoldResult fold;
        NoteRun run;
        Txn *t;

        cr_assert_not_null(data, "LETHE_DATA is not set");
        snprintf(path, sizeof(path), "%s/identity/dpdk-fixes.tsv", data);
        cr_assert_eq(io_read_file(AT_FDCWD, path, FILE_MAX, &text, &n), 0, "%s", path);
        store_fixture_init(&f, STORE_WRITE);
        cr_assert_eq(changes_read(text, n, &h, &f.d), 0, "%s", f.d.text);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_run_begin(t, ME, NULL, NULL, "historian", NULL, &run, &f.d), 0);
        n = rows ? MIN(h.n, (size_t)atol(rows)) : MIN(h.n, 1500);
        for (size_t i = 0; i < n; i++) {
                char title[4096];

                if (h.rows[i].n_gold > 0) {
                        _cleanup_free_ char *note = changes_note(&h, i, i % 2 ? NOTE_PLAIN : NOTE_MASKED);

                        add(t, run.id, note);
                        notes++;
                }
                snprintf(title, sizeof(title), "issue %s: %.4000s", h.rows[i].slug, h.rows[i].subject);
                add(t, run.id, title);
                notes++;
                if (i % 64 == 63) { /* a note sees what stood when it was written */
                        store_fixture_commit(&f, t);
                        promote(&f, run.id, &sum);
                        t = store_fixture_begin(&f, true);
                }
        }
        store_fixture_commit(&f, t);
        promote(&f, run.id, &sum);
        cr_expect_eq(sum.notes, notes);
        cr_expect_eq(sum.committed + sum.pending + sum.rejected + sum.invalid, notes);
        cr_expect_geq(sum.committed, n, "each change is an issue: %lu committed of %zu", sum.committed, n);
        cr_expect_eq(sum.invalid, 0);
        cr_log_info("%lu notes: %lu committed, %lu pending, %lu rejected, %lu resolved later", sum.notes, sum.committed, sum.pending, sum.rejected, sum.resolved);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(audit_state(t, &found, &f.d), 0, "%s", f.d.text);
        cr_expect(json_is_true(json_object_get(found, "intact")), "%s", json_dumps(found, 0));
        for (Table table = TABLE_SCOPE; table <= TABLE_WAIT; table++)
                cr_assert_eq(table_del_prefix(t, table, BYTES(NULL, 0)), 0);
        cr_assert_eq(engine_fold_rebuild(t, &fold, &f.d), 0, "%s", f.d.text);
        cr_assert_eq(engine_fold_compare(t, &fold, &f.d), 0, "%s", f.d.text);
        cr_expect_null(fold.how, "%s %s", table_name(fold.table), fold.key);
        store_abort(t);
}
