/* Runs: tests. fill-object STORE TEXT: a store with two objects that claim to be each other's children, as an imported memory may, and a
 * child that is not there; reasons, names and outcomes are TEXT. */
#include "object/append.h"
#include "store/hooks.h"

#include <stdio.h>
#include <string.h>

static int sign(void *s, const void *msg, size_t n, uint8_t ret[static ENTRY_SIG_BYTES]) {
        return store_sign(s, msg, n, ret);
}

static json_t *data_of(EntryKind kind, const char *other, const char *absent, const char *text) {
        if (kind == ENTRY_INSTANTIATED)
                return json_pack("{s:{s:{s:s}}, s:{}}", "intent", "do", "skill", "x", "context");
        if (kind == ENTRY_DELEGATION)
                return json_pack("{s:{s:{s:{s:s}}, s:{s:{s:s}}}, s:{}, s:i}", "children", other, "do", "skill", "x", absent, "do", "skill", text, "gather", "serial", 1);
        if (kind == ENTRY_CHILD)
                return json_pack("{s:s, s:s, s:b, s:i}", "child", absent, "status", text, "late", 1, "serial", 1);
        if (kind == ENTRY_DORMANT)
                return json_pack("{s:{s:{s:s}}, s:s, s:i}", "trigger", "prerequisite", "slot", "go", "reason", text, "not_before", 0);
        return json_object();
}

static int fill(Txn *t, const char *id, const char *other, const char *absent, const char *text, Diag *d) {
        static const EntryKind kinds[] = {ENTRY_INSTANTIATED, ENTRY_EVALUATION, ENTRY_DELEGATION, ENTRY_CHILD, ENTRY_DORMANT};
        Store *s = txn_store(t);
        json_t *intent = json_pack("{s:{s:s}}", "do", "skill", "x"), *context = json_object(),
               *fold = json_pack("{s:{s:{s:{s:s}}, s:i, s:i}, s:{}}", "dormant", "trigger", "prerequisite", "slot", "go", "since", 0,
                                 "not_before", 0, "children_ever");
        ObjectMemory after = {.intent = intent, .context = context, .fold = fold};
        uint8_t prev[ENTRY_HASH_BYTES] = {0};
        char keyid[ENTRY_KEYID_LEN + 1];
        int r = 0;

        append_keyid(s, keyid);
        snprintf(after.object, sizeof(after.object), "%s", id);
        for (uint64_t n = 0; r == 0 && n < ARRAY_SIZE(kinds); n++) {
                json_t *data = data_of(kinds[n], other, absent, text);
                Entry e = ENTRY_NULL;

                after.state = entry_kind_state(kinds[n]) ?: after.state;
                r = entry_make(&(EntryNew){.object = id, .n = n, .time_usec = 1 + n, .prev = n > 0 ? prev : NULL, .node = store_origin(s), .trace = id,
                                           .kind = kinds[n], .state = after.state, .data = data},
                               keyid, sign, s, &e, d)
                                ?: append_foreign(t, &e, &after, n + 1 == ARRAY_SIZE(kinds), "test");
                memcpy(prev, e.hash, sizeof(prev));
                entry_deinit(&e);
                json_decref(data);
        }
        json_decref(intent);
        json_decref(context);
        json_decref(fold);
        return r;
}

int main(int argc, char **argv) {
        static const char a[] = "00000000000000000000000001", b[] = "00000000000000000000000002", absent[] = "00000000000000000000000003";
        Store *s = NULL;
        Txn *t = NULL;
        Diag d = {0};
        int r = argc < 3 ? -1
                         : store_open(argv[1], STORE_WRITE, &s, &d)
                                        ?: store_begin(s, true, &t, &d)
                                        ?: fill(t, a, b, absent, argv[2], &d)
                                        ?: fill(t, b, a, absent, argv[2], &d)
                                        ?: store_commit(TAKE_PTR(t), &d);

        if (r != 0)
                fprintf(stderr, "fill-object: %d %s\n", r, d.text);
        store_abortp(&t);
        store_free(s);
        return r != 0;
}
