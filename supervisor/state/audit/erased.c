#include "audit/fold-state.h"
#include "record/kind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Missing payloads. For each, the ledger gives a reason: a later event deleted or removed the record, deleted the
 * scope, erased the pending item or the slot's version (M-66), discarded the proposal, or took a different value
 * (I-71). A payload that is missing without a reason was taken out behind the ledger's back. A payload that is present
 * in spite of a reason was not erased (M-56). */

typedef struct Payloads {
        uint64_t missing; /* seq of the first missing payload; 0: none */
        uint64_t there;   /* seq of the first present payload; 0: none */
} Payloads;

#define KEY_MAX (24 + 32 + RECORD_ID_MAX + SLOT_NAME_MAX)

static bool erased_begins(const char *type, const char *prefix) {
        return strncmp(type, prefix, strlen(prefix)) == 0;
}

/* "scope/kind/id" of an event about a record, "scope/" of an event about a scope, "scope/#item" of an event about a
 * pending item. False: neither. */
static bool erased_subject(const json_t *o, uint64_t seq, const char *type, char ret[static KEY_MAX]) {
        const char *kind = json_text(json_object_get(o, "kind")), *id = json_text(json_object_get(o, "id"));
        bool record = erased_begins(type, "memory.") || erased_begins(type, "canon.") || erased_begins(type, "kernel.") ||
                      (erased_begins(type, "ccs.") && kind);
        uint64_t scope, item;

        if (!record && strcmp(type, "digest.pass") != 0 && !erased_begins(type, "note.") &&
            !erased_begins(type, "pending.") && strcmp(type, "scope.deleted") != 0)
                return false;
        if (json_get_u64(json_object_get(o, "scope"), &scope) < 0 ||
            (record && (!kind || !id || strlen(kind) > 31 || strlen(id) >= RECORD_ID_MAX)))
                return false;
        if (json_get_u64(json_object_get(o, "pending"), &item) == 0 && erased_begins(type, "pending."))
                snprintf(ret, KEY_MAX, "%" PRIu64 "/#%" PRIu64, scope, item);
        else if (strcmp(type, "note.pending") == 0)
                snprintf(ret, KEY_MAX, "%" PRIu64 "/#%" PRIu64, scope, seq);
        else
                snprintf(ret, KEY_MAX, "%" PRIu64 "/%s%s%s", scope, record ? kind : "", record ? "/" : "",
                         record ? id : "");
        return true;
}

/* The key of a slot's proposal that was not kept: its number. An older Lethe kept the payload. */
static void erased_proposal_key(uint64_t seq, char ret[static KEY_MAX]) {
        snprintf(ret, KEY_MAX, "proposal/%" PRIu64, seq);
}

/* all: every payload must be gone. Not all: payloads that only mention a scope may stay. */
static int erased_check_gone(Audit *a, Payloads *p, bool all) {
        if (!p || !p->there || !all) {
                if (p)
                        *p = (Payloads){0};
                return 0;
        }
        return audit_differs(a, "a payload of a deleted record, or of a discarded proposal, is still there", "one",
                             "no row %" PRIu64 " in table body", p->there);
}

/* "session/ID/SECTION", of a carried value; "session/ID/" of the session's end. */
static void erased_session_key(const json_t *o, char ret[static KEY_MAX]) {
        const char *session = json_text(json_object_get(o, "session")), *section = json_text(json_object_get(o, "section"));

        snprintf(ret, KEY_MAX, "session/%.64s/%.64s", session ? session : "", section ? section : "");
}

/* Of a record: all its payloads are erased. */
static bool erased_is_deletion(const char *type) {
        return strcmp(type, "memory.delete") == 0 || strcmp(type, "ccs.delete") == 0 ||
               strcmp(type, "canon.delete") == 0;
}

int erased_payload(Audit *a, const json_t *o, const char *type, bool there) {
        char key[KEY_MAX];
        Payloads *p;
        int r;

        if ((strcmp(type, "slot.proposed") == 0 &&
             (!there || map_get(&a->arbiters, json_str(o, "slot")))) ||
            (strcmp(type, "slot.written") == 0 && !there)) /* an operator's value */
                erased_proposal_key(a->seq, key);
        else if (strcmp(type, "session.carried") == 0) { /* replaces the value before (I-48) */
                erased_session_key(o, key);
                if ((r = erased_check_gone(a, map_get(&a->payloads, key), true)) != 0)
                        return r;
        } else if (!erased_subject(o, a->seq, type, key))
                return there ? 0 : -ENOENT;
        if (erased_is_deletion(type) && there) /* states the reason of the deletion, and stays */
                return 0;
        p = map_have(&a->payloads, key, sizeof(*p));
        if (!p)
                return -ENOMEM;
        if (there && !p->there)
                p->there = a->seq;
        if (!there && !p->missing)
                p->missing = a->seq;
        return 0;
}

/* The values that a verdict rejected. A verdict without hashes is of an older Lethe, which kept all values. */
static int erased_verdict(Audit *a, const json_t *o) {
        const json_t *list = json_object_get(o, "proposals"), *winner = json_object_get(o, "winner");
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                char key[KEY_MAX];
                uint64_t seq;

                if (json_get_u64(json_object_get(json_array_get(list, i), "seq"), &seq) < 0)
                        return 0; /* arbitration_decided() reports the missing seq */
                erased_proposal_key(seq, key);
                if (!json_equal(winner, json_object_get(json_array_get(list, i), "seq")))
                        r = erased_check_gone(a, map_get(&a->payloads, key), json_object_get(o, "body"));
        }
        return r;
}

int erased_entry(Audit *a, const json_t *o, const char *type) {
        bool of_session = strcmp(type, "session.ended") == 0, of_scope = of_session || strcmp(type, "scope.deleted") == 0;
        char key[KEY_MAX];
        uint64_t proposed;

        if (strcmp(type, "slot.discarded") == 0 && json_get_u64(json_object_get(o, "proposed"), &proposed) == 0) {
                erased_proposal_key(proposed, key);
                return erased_check_gone(a, map_get(&a->payloads, key), false);
        }
        if (strcmp(type, "slot.arbitrated") == 0)
                return erased_verdict(a, o);
        if ((!of_scope && !erased_is_deletion(type) && strcmp(type, "memory.remove") != 0 &&
             strcmp(type, "pending.erased") != 0) ||
            (!of_session && !erased_subject(o, a->seq, type, key)))
                return 0;
        if (of_session)
                erased_session_key(o, key);
        if (!of_scope)
                return erased_check_gone(a, map_get(&a->payloads, key), true);
        for (size_t i = 0; i < a->payloads.room; i++) {
                const struct MapItem *item = &a->payloads.items[i];
                const char *behind = item->key ? strchr(item->key, '/') : NULL;
                int r = behind && strncmp(item->key, key, strlen(key)) == 0
                                ? erased_check_gone(a, item->value, of_session || (behind[1] && behind[1] != '#'))
                                : 0;

                if (r != 0)
                        return r;
        }
        return 0;
}

static void erased_version_key(const char *slot, uint64_t version, char ret[static KEY_MAX]) {
        snprintf(ret, KEY_MAX, "slot/%s/%" PRIu64, slot, version);
}

int erased_version(Audit *a, const char *slot, uint64_t version, uint64_t body) {
        char key[KEY_MAX];
        Payloads *p, *proposal;
        Bytes b;
        int r;

        erased_proposal_key(body, key);
        proposal = map_get(&a->payloads, key);
        if (proposal)
                *proposal = (Payloads){0};
        erased_version_key(slot, version, key);
        p = map_have(&a->payloads, key, sizeof(*p));
        if (!p)
                return -ENOMEM;
        r = body_get(a->txn, body, NULL, &b);
        if (r < 0 && r != -ENOENT)
                return r;
        *p = r == 0 ? (Payloads){.there = body} : (Payloads){.missing = body};
        return 0;
}

int erased_versions(Audit *a, const json_t *o, const char *slot, uint64_t newest) {
        uint64_t from, to, said, n = 0;
        int r = 0;

        if (json_get_u64(json_object_get(o, "from"), &from) < 0 || json_get_u64(json_object_get(o, "to"), &to) < 0 ||
            json_get_u64(json_object_get(o, "erased"), &said) < 0)
                return audit_lacks(a, "slot.erased", "from, to and erased");
        if (from < 1 || from > to || to > newest)
                return audit_differs(a, "versions of a slot are erased that it does not have",
                                     audit_text("%" PRIu64 " to %" PRIu64, from, to).s,
                                     "versions 1 to %" PRIu64 " of %s", newest, slot);
        for (uint64_t v = from; r == 0 && v <= to; v++) {
                char key[KEY_MAX];
                Payloads *p;

                erased_version_key(slot, v, key);
                p = map_get(&a->payloads, key);
                if (!p)
                        return audit_differs(a, "table hist has a payload for an erased version", "one",
                                             "version %" PRIu64 " of %s without a payload", v, slot);
                n += p->there || p->missing;
                r = erased_check_gone(a, p, true);
        }
        if (r == 0 && n != said)
                r = audit_differs(a, "a number of erased versions differs", audit_text("%" PRIu64, said).s,
                                  "%" PRIu64 " of %s", n, slot);
        return r;
}

int erased_check(Audit *a) {
        uint64_t first = 0;

        for (size_t i = 0; i < a->payloads.room; i++) {
                const Payloads *p = a->payloads.items[i].value;

                if (a->payloads.items[i].key && p->missing && (!first || p->missing < first))
                        first = p->missing;
                if (a->payloads.items[i].key && p->there && erased_begins(a->payloads.items[i].key, "slot/"))
                        return audit_store_differs(a, "table hist lacks the payload of a version", "none",
                                                   "payload %" PRIu64 " of %s", p->there,
                                                   a->payloads.items[i].key + strlen("slot/"));
        }
        if (!first)
                return 0;
        return audit_store_differs(a, "an entry commits to a missing payload, and no later entry records an erasure",
                                   "none", "a row %" PRIu64 " in table body", first);
}
