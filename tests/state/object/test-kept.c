#include "object/kept.h"

#include "tests/state/object/history.h"

static void grow(History *h) {
        history_begin(h, "{\"do\":{\"skill\":\"convert\"},\"until\":\"never\"}", NULL);
        history_add(h, ENTRY_EVALUATION, NULL, NULL);
}

static void run(History *h, unsigned i) {
        history_add(h, ENTRY_STARTED, NULL, history_json("{\"skill\":\"convert\",\"args\":[],\"deadline_usec\":1,\"step\":0,\"attempt\":%u}", i));
        history_add(h, ENTRY_OUTCOME, history_json("{\"kind\":\"%s\",\"latency_usec\":%u}", i % 3 ? "success" : "failure", i), NULL);
        history_add(h, ENTRY_INPUT, NULL, history_json("{\"from\":\"a\",\"input\":\"%u\"}", i));
}

// O-13, O-17: a kept fold is the fold of its head, whatever is appended afterwards, and no other head has it
Test(kept, a_head_has_its_own_fold) {
        char *texts[40];
        uint8_t heads[ARRAY_SIZE(texts)][ENTRY_HASH_BYTES];
        size_t found = 0;
        History h;

        grow(&h);
        for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
                run(&h, i);
                kept_put(&h.m);
                texts[i] = history_memory(&h.m);
                memcpy(heads[i], h.m.head, ENTRY_HASH_BYTES);
        }
        for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
                _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
                uint8_t other[ENTRY_HASH_BYTES];

                memcpy(other, heads[i], sizeof(other));
                other[ENTRY_HASH_BYTES - 1] ^= 1; /* of the same place */
                cr_expect_not(kept_get(other, &m), "head %u: a fold of another head", i);
                if (kept_get(heads[i], &m)) {
                        char *is = history_memory(&m);

                        cr_expect_str_eq(is, texts[i], "head %u", i);
                        free(is);
                        found++;
                }
                free(texts[i]);
        }
        cr_expect(found >= ARRAY_SIZE(texts) / 2, "%zu of %zu are kept", found, ARRAY_SIZE(texts)); /* heads are the same in each run */
        history_end(&h);
}

// O-13: a kept fold outlives its giver, and gives way to the newest one of its place
Test(kept, nothing_is_kept_without_entries) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL, none = OBJECT_MEMORY_NULL;
        uint8_t head[ENTRY_HASH_BYTES];
        History h;

        kept_put(&none);
        cr_expect_not(kept_get(none.head, &m), "a memory without entries is no fold");
        grow(&h);
        kept_put(&h.m);
        memcpy(head, h.m.head, sizeof(head));
        history_end(&h);
        cr_assert(kept_get(head, &m));
        cr_expect_eq(m.n, 2);
        cr_expect_eq(m.state, OBJECT_EVALUATION);
}
