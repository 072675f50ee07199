#include "object/kept.h"

#include "tests/state/object/history.h"

static void run(History *h, unsigned i) {
        history_add(h, ENTRY_STARTED, NULL, history_json("{\"skill\":\"convert\",\"args\":[],\"deadline_usec\":1,\"step\":0,\"attempt\":%u}", i));
        history_add(h, ENTRY_OUTCOME, history_json("{\"kind\":\"%s\",\"latency_usec\":%u}", i % 3 ? "success" : "failure", i), NULL);
        history_add(h, ENTRY_INPUT, NULL, history_json("{\"from\":\"a\",\"input\":\"%u\"}", i));
}

// O-13, O-17: a kept fold is the fold of its head, also after entries that were appended to the same memory; no other head has it
Test(kept, a_head_has_its_own_fold) {
        History h;

        history_begin(&h, "{\"do\":{\"skill\":\"convert\"},\"until\":\"never\"}", NULL);
        history_add(&h, ENTRY_EVALUATION, NULL, NULL);
        for (unsigned i = 0; i < 40; i++) {
                _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
                uint8_t head[ENTRY_HASH_BYTES], other[ENTRY_HASH_BYTES];
                char *was, *is;

                kept_put(&h.m);
                was = history_memory(&h.m);
                memcpy(head, h.m.head, sizeof(head));
                memcpy(other, head, sizeof(other));
                run(&h, i);
                cr_expect_not(kept_get(h.m.object, h.m.head, &m), "round %u: the fold of a later head", i);
                other[i % ENTRY_HASH_BYTES] ^= 1;
                cr_expect_not(kept_get(h.m.object, other, &m), "round %u: a head that never was", i);
                cr_assert(kept_get(h.m.object, head, &m), "round %u", i);
                is = history_memory(&m);
                cr_expect_str_eq(is, was, "round %u", i);
                free(is);
                free(was);
        }
        history_end(&h);
}

// O-13: each object has one place, folds outlive their givers, and the number of folds is bounded
Test(kept, many_objects) {
        _cleanup_memory_ ObjectMemory none = OBJECT_MEMORY_NULL, m = OBJECT_MEMORY_NULL;
        size_t found = 0;
        History h;

        kept_put(&none);
        cr_expect_not(kept_get("", none.head, &m), "a memory without entries is no fold");
        history_begin(&h, "{\"do\":{\"skill\":\"convert\"}}", NULL);
        for (unsigned i = 0; i < 4 * KEPT_SETS * KEPT_WAYS; i++) {
                history_id(i, h.m.object);
                kept_put(&h.m);
                kept_put(&h.m); /* takes its own place */
        }
        for (unsigned i = 0; i < 4 * KEPT_SETS * KEPT_WAYS; i++) {
                _cleanup_memory_ ObjectMemory one = OBJECT_MEMORY_NULL;
                char id[REGION_ID_MAX];

                if (kept_get(history_id(i, id), h.m.head, &one)) {
                        cr_expect_str_eq(one.object, id);
                        found++;
                }
        }
        cr_expect(found > KEPT_SETS && found <= KEPT_SETS * KEPT_WAYS, "%zu folds", found);
        for (unsigned i = 0; i < KEPT_WAYS; i++) {
                _cleanup_memory_ ObjectMemory one = OBJECT_MEMORY_NULL;
                char id[REGION_ID_MAX];

                cr_expect(kept_get(history_id(4 * KEPT_SETS * KEPT_WAYS - 1 - i, id), h.m.head, &one), "the newest are there: %u", i);
        }
        history_end(&h);
}
