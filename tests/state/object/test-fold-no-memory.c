/* Each allocation of a fold and of a selection fails once. jansson's allocations are counted by its own hook. */
#include "tests/state/object/history.h"

static size_t left = SIZE_MAX; /* allocations until one fails */

static void *counted(size_t n) {
        return left != SIZE_MAX && left-- == 0 ? NULL : malloc(n);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) {
        return left != SIZE_MAX && left-- == 0 ? NULL : __real_calloc(n, size);
}

static void no_memory_checkpoint(History *h) {
        json_t *fold;

        cr_assert_eq(memory_to_json(&h->m, &fold), 0);
        history_add(h, ENTRY_CHECKPOINT, NULL, json_pack("{s:o}", "fold", fold));
}

/* The entries of a history that takes each way through the fold and through selection. */
static void no_memory_history(History *h) {
        static const char *const outcomes[] = {
                "{\"kind\":\"timeout\",\"latency_usec\":7}", "{\"kind\":\"timeout\",\"latency_usec\":7}",
                "{\"kind\":\"partial\",\"remainder\":[\"x\"]}", "{\"kind\":\"negative\",\"capability\":\"gpu\"}",
        };
        char id[REGION_ID_MAX];

        history_begin(h,
                      "{\"do\":{\"steps\":[{\"skill\":\"convert\",\"args\":[\"a\",\"b\"]},{\"delegate\":[{\"do\":{\"skill\":\"convert\"}},"
                      "{\"do\":{\"skill\":\"convert\"}}],\"gather\":{\"mode\":\"collect\",\"within\":\"9s\"}},{\"wait\":{\"elapsed\":{\"for\":\"1s\"}}}]},"
                      "\"until\":\"never\",\"with\":{\"may\":[\"delegate\",\"sleep\",\"end\"]},\"constraints\":[{\"deadline\":\"9d\"},{\"skills\":[\"convert\"]}]}",
                      NULL);
        for (unsigned i = 0; i < 60; i++) {
                _cleanup_json_ json_t *local = history_local(h, "allowed", NULL), *o = history_json("{\"kind\":\"success\",\"value\":[1]}");
                _cleanup_(selected_deinit) Selected s = {0};
                json_t *note;

                history_select(h, local, &s);
                history_perform(h, &s);
                if (h->m.state == OBJECT_EXECUTION)
                        history_add(h, ENTRY_OUTCOME, i < 12 ? history_json("%s", outcomes[i / 3]) : history_json("{\"kind\":\"success\"}"),
                                    i % 7 == 6 ? history_json("{\"next\":{\"delegate\":[{\"do\":{\"skill\":\"convert\"}}]}}") : NULL);
                for (unsigned c = 1000; c < h->ids; c++)
                        if (memory_child_note(&h->m, history_id(c, id), o, &note, NULL) == 0)
                                history_add(h, ENTRY_CHILD, NULL, note);
                if (i == 30)
                        no_memory_checkpoint(h);
                history_add(h, ENTRY_INPUT, NULL, history_json("{\"from\":\"x\",\"input\":1}"));
                h->now += 9 * HISTORY_SEC;
        }
}

/* One allocation after the other fails, until none does. */
static size_t no_memory_apply(ObjectMemory *m, const Entry *e) {
        _cleanup_free_ char *before = history_memory(m);
        Diag d;
        int r;

        for (size_t n = 0;; n++) {
                _cleanup_free_ char *after = NULL;

                left = n;
                d.text[0] = 0;
                r = memory_apply(m, e, &d);
                left = SIZE_MAX;
                if (r == 0)
                        return n;
                after = history_memory(m);
                cr_assert_eq(r, -ENOMEM, "%s, allocation %zu: %d %s", entry_kind_name(e->kind), n, r, d.text);
                cr_assert_str_eq(before, after, "%s, allocation %zu: changed", entry_kind_name(e->kind), n);
        }
}

/* No failed allocation took a part of the fold with it. */
static void no_memory_same(ObjectMemory *whole, const ObjectMemory *m, const Entry *e) {
        _cleanup_free_ char *one = NULL, *two = history_memory(m);

        cr_assert_eq(memory_apply(whole, e, NULL), 0);
        one = history_memory(whole);
        cr_assert_str_eq(one, two, "%s, entry %u", entry_kind_name(e->kind), (unsigned)e->n);
}

static size_t no_memory_select(const History *h, const ObjectMemory *m) {
        _cleanup_json_ json_t *local = history_local(h, "allowed", NULL);
        int r;

        for (size_t n = 0;; n++) {
                _cleanup_(selected_deinit) Selected s = {0};
                _cleanup_json_ json_t *needs = NULL;

                left = n;
                r = select_action(m, local, &s, NULL) ?: select_needs(m, &needs);
                left = SIZE_MAX;
                if (r == 0)
                        return n;
                cr_assert_eq(r, -ENOMEM, "entry %u, allocation %zu: %d", (unsigned)m->n, n, r);
        }
}

// O-17: memory that is missing changes no fold, and decides no action
Test(fold_no_memory, each_allocation) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL, whole = OBJECT_MEMORY_NULL;
        unsigned kinds[ENTRY_KIND_COUNT_] = {0};
        size_t failed = 0;
        const char *line, *end;
        History h;

        json_set_alloc_funcs(counted, free);
        no_memory_history(&h);
        for (line = h.lines.data; *line; line = end + 1) {
                _cleanup_entry_ Entry e = ENTRY_NULL;

                end = strchr(line, '\n');
                cr_assert_eq(entry_parse(line, (size_t)(end - line), &e, NULL), 0);
                cr_assert_eq(e.n, m.n);
                kinds[e.kind]++;
                failed += no_memory_apply(&m, &e);
                no_memory_same(&whole, &m, &e);
                h.now = e.time_usec + 1;
                failed += no_memory_select(&h, &m);
        }
        for (EntryKind k = 0; k < ENTRY_KIND_COUNT_; k++)
                cr_expect(kinds[k] > 0 || k == ENTRY_TERMINATED || k == ENTRY_ADOPTED, "no %s", entry_kind_name(k));
        cr_expect(failed > 1000, "%zu", failed);
        history_end(&h);
}
