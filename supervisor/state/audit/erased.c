#include "audit/audit-internal.h"

#include "record/kind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Payloads that are not there any more. The ledger says of each why: a later event deleted or removed the record that it was about, deleted its scope,
 * discarded the proposal, or took another value than the proposed one (I-71). What is missing without one was taken out behind the ledger's back; what
 * is there in spite of one was not erased (M-56). */

typedef struct Payloads {
        uint64_t missing; /* the first that is, 0: none */
        uint64_t there;   /* the first that is, 0: none */
} Payloads;

#define KEY_MAX (24 + 32 + RECORD_ID_MAX)

static bool begins(const char *type, const char *prefix) {
        return strncmp(type, prefix, strlen(prefix)) == 0;
}

/* "scope/kind/id" of an event about a record, "scope/" of another one of a scope; false: of none. */
static bool subject(const json_t *o, const char *type, char ret[static KEY_MAX]) {
        const char *kind = json_text(json_object_get(o, "kind")), *id = json_text(json_object_get(o, "id"));
        bool record = begins(type, "memory.") || begins(type, "canon.") || begins(type, "kernel.");
        uint64_t scope;

        if (!record && strcmp(type, "digest.pass") != 0 && !begins(type, "note.") && !begins(type, "pending.") && strcmp(type, "scope.deleted") != 0)
                return false;
        if (json_get_u64(json_object_get(o, "scope"), &scope) < 0 || (record && (!kind || !id || strlen(kind) > 31 || strlen(id) >= RECORD_ID_MAX)))
                return false;
        snprintf(ret, KEY_MAX, "%" PRIu64 "/%s%s%s", scope, record ? kind : "", record ? "/" : "", record ? id : "");
        return true;
}

/* A proposal of a slot that was not kept: by its number. One of an older Lethe kept its payload. */
static void proposal_key(uint64_t seq, char ret[static KEY_MAX]) {
        snprintf(ret, KEY_MAX, "proposal/%" PRIu64, seq);
}

int erased_payload(Audit *a, const json_t *o, const char *type, bool there) {
        char key[KEY_MAX];
        Payloads *p;

        if (strcmp(type, "slot.proposed") == 0 && (!there || map_get(&a->arbiters, json_text(json_object_get(o, "slot")) ?: "")))
                proposal_key(a->seq, key);
        else if (!subject(o, type, key))
                return there ? 0 : -ENOENT;
        if (strcmp(type, "memory.delete") == 0 && there) /* says why it was deleted, and stays */
                return 0;
        p = map_get(&a->payloads, key);
        if (!p) {
                p = calloc(1, sizeof(*p));
                if (!p || map_add(&a->payloads, key, p) < 0) {
                        free(p);
                        return -ENOMEM;
                }
        }
        if (there && !p->there)
                p->there = a->seq;
        if (!there && !p->missing)
                p->missing = a->seq;
        return 0;
}

/* all: none of it may be there; what only speaks of a scope may stay. */
static int gone(Audit *a, Payloads *p, bool all) {
        if (!p || !p->there || !all) {
                if (p)
                        *p = (Payloads){0};
                return 0;
        }
        broken(a, true, "a payload of what was deleted, or not taken, is still there", "no row %" PRIu64 " in table body", p->there);
        return broken_found(a, "one");
}

/* The values that a verdict did not take. A verdict without hashes is of an older Lethe, which kept all of them. */
static int erased_verdict(Audit *a, const json_t *o) {
        const json_t *list = json_object_get(o, "proposals"), *winner = json_object_get(o, "winner");
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                char key[KEY_MAX];
                uint64_t seq;

                if (json_get_u64(json_object_get(json_array_get(list, i), "seq"), &seq) < 0)
                        return 0; /* arbitration_decided() says so */
                proposal_key(seq, key);
                if (!json_equal(winner, json_object_get(json_array_get(list, i), "seq")))
                        r = gone(a, map_get(&a->payloads, key), json_object_get(o, "body"));
        }
        return r;
}

int erased_entry(Audit *a, const json_t *o, const char *type) {
        bool of_scope = strcmp(type, "scope.deleted") == 0;
        char key[KEY_MAX];
        uint64_t proposed;

        if (strcmp(type, "slot.discarded") == 0 && json_get_u64(json_object_get(o, "proposed"), &proposed) == 0) {
                proposal_key(proposed, key);
                return gone(a, map_get(&a->payloads, key), false);
        }
        if (strcmp(type, "slot.arbitrated") == 0)
                return erased_verdict(a, o);
        if ((!of_scope && strcmp(type, "memory.delete") != 0 && strcmp(type, "memory.remove") != 0) || !subject(o, type, key))
                return 0;
        if (!of_scope)
                return gone(a, map_get(&a->payloads, key), true);
        for (size_t i = 0; i < a->payloads.room; i++) {
                const struct MapItem *item = &a->payloads.items[i];
                int r = item->key && strncmp(item->key, key, strlen(key)) == 0 ? gone(a, item->value, strchr(item->key, '/')[1]) : 0;

                if (r != 0)
                        return r;
        }
        return 0;
}

int erased_check(Audit *a) {
        uint64_t first = 0;

        for (size_t i = 0; i < a->payloads.room; i++) {
                const Payloads *p = a->payloads.items[i].value;

                if (a->payloads.items[i].key && p->missing && (!first || p->missing < first))
                        first = p->missing;
        }
        if (!first)
                return 0;
        broken(a, false, "an entry commits to a payload that is not there, and no later one says that it was erased", "a row %" PRIu64 " in table body", first);
        return broken_found(a, "none");
}
