/* Entries that a trusted node signed, and nobody checked: any JSON as data and outcome, in each state. */
#include "tests/state/object/history.h"

#define HOSTILE_ENTRIES 30000

static unsigned hostile_below(uint64_t *seed, unsigned n) {
        *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
        return (unsigned)(*seed >> 33) % n;
}

/* Names that the fold reads, and values that it does not expect there. */
static const char *const hostile_names[] = {
        "intent", "context", "scope", "skill", "args", "deadline_usec", "how", "before", "after", "children", "gather", "mode", "n",
        "within_usec", "serial", "trigger", "reason", "not_before", "child", "status", "late", "value", "kind", "latency_usec",
        "remainder", "capability", "next", "sleep", "end", "delegate", "mutate", "fold", "do", "with", "until", "proposed",
};
static const char *const hostile_values[] = {
        "null", "true", "false", "-1", "0", "1", "1.5", "9007199254740991", "\"18446744073709551615\"", "\"\"", "\"\\u0000\"", "[]", "{}",
        "\"all\"", "\"quorum\"", "\"success\"", "\"negative\"", "\"partial\"", "\"narrow\"", "\"00000000000000000000000001\"",
        "{\"elapsed\":{\"at\":1}}", "{\"do\":{\"skill\":\"convert\"}}", "{\"do\":{\"delegate\":[]}}", "\"never\"", "{\"any\":[]}",
        "[{\"do\":{\"skill\":\"convert\"}}]", "{\"00000000000000000000000007\":{\"do\":{\"skill\":\"convert\"}}}",
        "{\"00000000000000000000000008\":7}", "\"00000000000000000000000007\"", "{\"mode\":\"all\"}", "{\"mode\":\"quorum\",\"n\":1}",
};

static json_t *hostile_value(uint64_t *seed, unsigned depth) {
        json_t *v;

        if (depth == 0 || hostile_below(seed, 2))
                return history_json("%s", hostile_values[hostile_below(seed, ARRAY_SIZE(hostile_values))]);
        v = json_object();
        for (unsigned i = hostile_below(seed, 6); i > 0; i--)
                json_object_set_new(v, hostile_names[hostile_below(seed, ARRAY_SIZE(hostile_names))], hostile_value(seed, depth - 1));
        return v;
}

/* What the kind needs, with one or two members replaced. */
static json_t *hostile_data(History *h, EntryKind kind, uint64_t *seed) {
        static const char *const good[ENTRY_KIND_COUNT_] = {
                [ENTRY_STARTED] = "{\"skill\":\"convert\",\"args\":[],\"deadline_usec\":1}",
                [ENTRY_DELEGATION] = "{\"children\":{\"00000000000000000000000007\":{\"do\":{\"skill\":\"convert\"}}},\"gather\":{\"mode\":\"collect\"},\"serial\":1}",
                [ENTRY_DORMANT] = "{\"trigger\":{\"elapsed\":{\"at\":1}},\"reason\":\"wait\",\"not_before\":0}",
                [ENTRY_TERMINATED] = "{\"reason\":\"x\"}",
                [ENTRY_OUTCOME] = "{\"next\":{\"end\":\"x\"}}",
                [ENTRY_CHILD] = "{\"child\":\"00000000000000000000000007\",\"status\":\"success\",\"late\":false,\"serial\":1,\"value\":[1]}",
        };
        json_t *data = good[kind] ? history_json("%s", good[kind]) : json_object();

        if (kind == ENTRY_MUTATION) {
                json_object_set(data, "before", h->m.intent);
                json_object_set(data, "after", h->m.intent);
        }
        if (kind == ENTRY_DELEGATION)
                json_object_set_new(data, "serial", json_u64(json_number(h->m.fold, "serial") + 1));
        for (unsigned i = hostile_below(seed, 3); i > 0; i--)
                json_object_set_new(data, hostile_names[hostile_below(seed, ARRAY_SIZE(hostile_names))], hostile_value(seed, 3));
        return data;
}

// O-20, O-54: each entry is taken or refused with a message; selection has an answer in each state that they lead to
Test(fold_hostile, entries) {
        unsigned taken = 0, refused = 0;
        uint64_t seed = 7;
        History h;

        history_begin(&h, "{\"do\":{\"steps\":[{\"skill\":\"convert\"},{\"wait\":{\"elapsed\":{\"for\":\"1s\"}}}]},\"until\":\"never\","
                          "\"with\":{\"may\":[\"end\",\"sleep\",\"delegate\",\"mutate\"]}}", NULL);
        for (unsigned i = 0; i < HOSTILE_ENTRIES; i++) {
                _cleanup_json_ json_t *local = history_local(&h, hostile_below(&seed, 9) ? "allowed" : "denied", NULL), *needs = NULL;
                _cleanup_(selected_deinit) Selected s = {0};
                _cleanup_free_ char *before = NULL, *after = NULL;
                EntryKind kind = hostile_below(&seed, ENTRY_KIND_COUNT_);
                json_t *outcome = hostile_below(&seed, 2) ? hostile_value(&seed, 3) : history_json("{\"kind\":\"failure\"}");
                json_t *data;
                int r;

                if (json_is_object(outcome) && !json_text(json_object_get(outcome, "kind"))) /* of each entry's form */
                        json_object_set_new(outcome, "kind", json_string(hostile_below(&seed, 9) ? "partial" : "great"));
                if (kind == ENTRY_TERMINATED && i % 50 != 0)
                        kind = ENTRY_EVALUATION; /* an end ends the history */
                data = hostile_data(&h, kind, &seed);
                before = history_memory(&h.m);
                if (!json_is_object(outcome)) {
                        json_decref(outcome);
                        outcome = NULL;
                }
                r = history_try(&h, kind, outcome, data);
                cr_assert(r >= 0, "entry %u, %s: %d", i, entry_kind_name(kind), r);
                cr_assert_eq(r > 0, h.d.text[0] != 0, "entry %u, %s: %d without a message", i, entry_kind_name(kind), r);
                after = history_memory(&h.m);
                cr_assert_eq(r > 0, strcmp(before, after) == 0, "entry %u, %s", i, entry_kind_name(kind));
                taken += r == 0;
                refused += r > 0;
                cr_assert_eq(select_needs(&h.m, &needs), 0, "entry %u", i);
                r = select_action(&h.m, local, &s, &h.d);
                cr_assert_eq(r, h.m.state == OBJECT_TERMINATED ? OBJECT_E_MOVE : 0, "entry %u: %d", i, r);
                if (h.m.state == OBJECT_TERMINATED) {
                        history_end(&h);
                        history_begin(&h, "{\"do\":{\"skill\":\"convert\",\"args\":[\"a\",\"b\"]}}", NULL);
                }
                h.now += HISTORY_SEC;
                if (h.lines.n > 1 << 20) /* only the memory counts here */
                        buf_drop(&h.lines, h.lines.n);
        }
        cr_expect(taken > HOSTILE_ENTRIES / 10 && refused > HOSTILE_ENTRIES / 10, "%u taken, %u refused", taken, refused);
        history_end(&h);
}
