#include "audit/fold-state.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The meaning of each event type for the canonical tables. The rules are implemented here a second time on purpose,
 * from the documents and not from engine/: a mistake in engine/ shows as a difference. */

static const char *fold_text(const json_t *o, const char *key) {
        return json_text(json_object_get(o, key));
}

static FoldedRegion *fold_region_of(Audit *a, const json_t *o) {
        const char *id = fold_text(o, "region");

        return id ? map_get(&a->regions, id) : NULL;
}

/* Compares the entry's payload in table body with the length and the hash in the entry. */
static int fold_check_body(Audit *a, const json_t *o, const char *type, const json_t *commitment) {
        const char *said = fold_text(commitment, "sha256");
        uint64_t bytes;
        char hex[HASH_HEX_MAX];
        int r;

        if (!said || json_get_u64(json_object_get(commitment, "bytes"), &bytes) < 0)
                return audit_lacks(a, "body", "sha256 and bytes");
        r = erased_payload(a, o, type, a->next_body == a->seq);
        if (r != -ENOENT && (r < 0 || a->next_body != a->seq))
                return r;
        if (r == -ENOENT)
                return audit_differs(
                        a, "the entry commits to a missing payload",
                        a->next_body == UINT64_MAX ? "no more rows"
                                                   : audit_text("row %" PRIu64 " next", a->next_body).s,
                        "a row %" PRIu64 " in table body", a->seq);
        if (a->body.n < BODY_NONCE_BYTES || a->body.n - BODY_NONCE_BYTES != bytes)
                return audit_differs(a, "the payload's length differs from the entry",
                                     audit_text("%zu bytes with the nonce", a->body.n).s, "%" PRIu64 " bytes", bytes);
        if (strcmp(hash_hex(a->body.p, a->body.n, hex), said) != 0)
                return audit_differs(a, "the payload's hash differs from the entry", audit_text("sha256 %s", hex).s,
                                     "sha256 %s", said);
        return audit_next_body(a);
}

static int fold_slot_defined(Audit *a, const char *name, const json_t *rule) {
        SlotRow *row;

        if (map_get(&a->slots, name))
                return audit_differs(a, "a slot is defined twice", "two", "no definition of %s before", name);
        row = map_add(&a->slots, name, sizeof(*row));
        if (!row)
                return -ENOMEM;
        row->defined = a->seq;
        row->arbitrated = rule;
        a->report->slots++;
        return rule ? arbitration_defined(a, name, rule) : 0;
}

static int fold_slot_proposed(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version) {
        FoldedRegion *r = fold_region_of(a, o);
        const char *id = fold_text(o, "region"), *sha = fold_text(json_object_get(o, "body"), "sha256");
        const json_t *sure = json_object_get(o, "confidence");
        uint64_t expect, next = (slot->held_version ? slot->held_version : slot->version) + 1;
        FoldedHeld *h;

        if (!r || !sha)
                return audit_lacks(a, "slot.proposed", "region and body");
        if (slot->held_version && strcmp(slot->held_by, id) != 0)
                return audit_differs(a, "a slot is proposed by two regions at once", audit_text("region %s", id).s,
                                     "only region %s", slot->held_by);
        if (version != next)
                return audit_wrong_version(a, name, next, version);
        if (!GROW(r->held, r->n_held))
                return -ENOMEM;
        h = &r->held[r->n_held++];
        *h = (FoldedHeld){
                .seq = a->seq, .version = version, .expect = -1, .confidence = sure ? json_number_value(sure) : -1};
        if (json_get_u64(json_object_get(o, "expect"), &expect) == 0)
                h->expect = (int64_t)expect;
        strcpy(h->slot, name);
        snprintf(h->sha256, sizeof(h->sha256), "%s", sha);
        if (slot->arbitrated) /* proposals for a slot with a rule reserve nothing */
                return 0;
        slot->held_version = version;
        slot->held_seq = a->seq;
        snprintf(slot->held_by, sizeof(slot->held_by), "%s", id);
        return 0;
}

/* The slot has a new version, with the payload of event `from`: its row is in table hist. */
static int fold_slot_takes(Audit *a, const char *name, SlotRow *slot, uint64_t version, uint64_t from) {
        uint64_t written, body;
        int r;

        if (version != slot->version + 1)
                return audit_wrong_version(a, name, slot->version + 1, version);
        slot->version = version;
        slot->written = a->seq;
        slot->body = from;
        r = hist_row_get(a->txn, name, version, &written, &body);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && body == 0 && written == slot->written) {
                r = erased_version(a, name, version, from);
                if (r != 0)
                        return r;
        } else if (r == -ENOENT || written != slot->written || body != slot->body)
                return audit_differs(
                        a, "table hist lacks the version",
                        r == -ENOENT ? "no row"
                                     : audit_text("written at %" PRIu64 ", payload of %" PRIu64, written, body).s,
                        "version %" PRIu64 " of %s written at %" PRIu64 ", payload of %" PRIu64, slot->version, name,
                        slot->written, slot->body);
        a->n_hist++;
        a->report->versions++;
        return 0;
}

int fold_slot_takes_proposal(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version,
                             uint64_t proposed, const char *sha256) {
        const char *sha = fold_text(json_object_get(o, "body"), "sha256");

        if (!sha || strcmp(sha, sha256) != 0)
                return audit_differs(a, "the written value differs from the proposed value",
                                     audit_text("payload %s", sha ? sha : "none").s, "payload %s", sha256);
        return fold_slot_takes(a, name, slot, version, proposed);
}

/* The region's next open proposal: proposals are settled in order. version: NULL when the event has none. */
static int fold_next_held(Audit *a, const json_t *o, const char *name, const uint64_t *version,
                          FoldedRegion **ret_region, FoldedHeld **ret) {
        FoldedRegion *r = fold_region_of(a, o);
        uint64_t proposed;
        FoldedHeld *h;

        if (!r || json_get_u64(json_object_get(o, "proposed"), &proposed) < 0)
                return audit_lacks(a, json_str(o, "type"), "region and proposed");
        if (r->n_settled >= r->n_held)
                return audit_differs(a, "a proposal is settled that was never made", "no open proposal",
                                     "a slot.proposed of the same region before");
        h = &r->held[r->n_settled++];
        if (h->seq != proposed || (version && h->version != *version) || strcmp(h->slot, name) != 0)
                return audit_differs(a, "a proposal is settled out of its turn",
                                     audit_text("version %" PRIu64 " of %s, proposed at %" PRIu64,
                                                version ? *version : h->version, name, proposed).s,
                                     "version %" PRIu64 " of %s, proposed at %" PRIu64, h->version, h->slot, h->seq);
        *ret_region = r;
        *ret = h;
        return 0;
}

/* A region's proposal becomes the slot's value, or is discarded. */
static int fold_slot_settled(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version, bool keep) {
        FoldedRegion *r;
        FoldedHeld *h;
        int e = fold_next_held(a, o, name, &version, &r, &h);

        if (e != 0)
                return e;
        if (keep && r->broke)
                return audit_differs(a, "a write of a region whose changes must be discarded was kept (I-24, I-78)",
                                     "slot.written", "slot.discarded");
        r->kept |= keep;
        if (slot->held_seq == h->seq)
                slot->held_version = 0;
        if (!keep)
                return slot->arbitrated ? arbitration_discarded(a, o, name, r, h) : 0;
        if (slot->arbitrated)
                return audit_differs(a, "a slot with a rule is written without its verdict", "slot.written",
                                     "slot.gathered");
        return fold_slot_takes_proposal(a, o, name, slot, version, h->seq, h->sha256);
}

static int fold_slot_gathered(Audit *a, const json_t *o, const char *name) {
        FoldedRegion *r;
        FoldedHeld *h;

        return fold_next_held(a, o, name, NULL, &r, &h) ?: arbitration_gathered(a, o, name, r, h);
}

static int fold_slot_written(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version) {
        if (json_object_get(o, "arbitrated") && !json_object_get(o, "region") && !fold_text(o, "who"))
                return arbitration_written(a, o, name, slot, version);
        if (json_object_get(o, "region"))
                return fold_slot_settled(a, o, name, slot, version, true);
        if (!fold_text(o, "who"))
                return audit_differs(a, "a slot was written without a region or an operator (I-18)", "neither",
                                     "a region or an operator (who)");
        if (slot->held_version)
                return audit_differs(a, "a slot that a region holds was written from outside of the region",
                                     fold_text(o, "who"), "only region %s", slot->held_by);
        if (!json_object_get(o, "body"))
                return audit_lacks(a, "slot.written", "body");
        return fold_slot_takes(a, name, slot, version, a->seq);
}

static int fold_slot_erased(Audit *a, const json_t *o, const char *name, SlotRow *slot) {
        uint64_t to;
        int r = fold_text(o, "who") ? erased_versions(a, o, name, slot->version) : audit_lacks(a, "slot.erased", "who");

        if (r == 0 && json_get_u64(json_object_get(o, "to"), &to) == 0 && to == slot->version)
                slot->body = 0;
        return r;
}

static int fold_slot_read(Audit *a, const SlotRow *slot, const json_t *o, const char *name, uint64_t version) {
        uint64_t written;

        if (json_get_u64(json_object_get(o, "written"), &written) < 0)
                return audit_lacks(a, "slot.read", "written");
        if (version != slot->version || written != slot->written)
                return audit_differs(a, "a region read a version that was not valid then (I-20)",
                                     audit_text("version %" PRIu64 ", written at %" PRIu64, version, written).s,
                                     "version %" PRIu64 " of %s, written at %" PRIu64, slot->version, name,
                                     slot->written);
        return 0;
}

static int fold_slot(Audit *a, const json_t *o, const char *type) {
        const char *name = fold_text(o, "slot");
        uint64_t version;
        SlotRow *slot;

        if (strcmp(type, "slot.refused") == 0) /* slot.refused: the name may be anything */
                return 0;
        if (!name || !slot_name_valid(name))
                return audit_lacks(a, type, "slot");
        if (strcmp(type, "slot.defined") == 0)
                return json_object_get(o, "body") ? fold_slot_defined(a, name, json_object_get(o, "arbitrate"))
                                                  : audit_lacks(a, type, "body");
        slot = map_get(&a->slots, name);
        if (!slot)
                return audit_differs(a, "an event names an undefined slot", "none", "slot.defined of %s before", name);
        if (strcmp(type, "slot.gathered") == 0)
                return fold_slot_gathered(a, o, name);
        if (strcmp(type, "slot.erased") == 0)
                return fold_slot_erased(a, o, name, slot);
        if (strcmp(type, "slot.asked") == 0)
                return arbitration_asked(a, o, name);
        if (json_get_u64(json_object_get(o, "version"), &version) < 0)
                return audit_lacks(a, type, "version");
        if (strcmp(type, "slot.arbitrated") == 0)
                return arbitration_decided(a, o, name, slot, version);
        if (strcmp(type, "slot.read") == 0)
                return fold_slot_read(a, slot, o, name, version);
        if (strcmp(type, "slot.proposed") == 0)
                return fold_slot_proposed(a, o, name, slot, version);
        if (strcmp(type, "slot.written") == 0)
                return fold_slot_written(a, o, name, slot, version);
        if (strcmp(type, "slot.discarded") == 0)
                return fold_slot_settled(a, o, name, slot, version, false);
        return 0;
}

/* A sub-skill, or a release callback: both begin and end before the release of the region above. */
static int fold_region_allocated(Audit *a, const json_t *o, const char *id) {
        const char *above = fold_text(o, "parent"), *scope = fold_text(json_object_get(o, "grant"), "key_scope");
        FoldedRegion *r, *parent = above ? map_get(&a->regions, above) : NULL;

        if (!region_id_valid(id))
                return audit_lacks(a, "region.allocated", "region");
        if (json_object_get(o, "parent") && (!parent || parent->released))
                return audit_differs(a, "the parent of a region is not there", above ? above : "none",
                                     "a parent, allocated and not released");
        r = map_add(&a->regions, id, sizeof(*r));
        if (!r)
                return -ENOMEM;
        r->allocated = a->seq;
        r->callback = json_object_get(o, "callback");
        r->broke = json_object_get(o, "discards"); /* below a broken budget: all changes are discarded (I-98) */
        r->success = json_text_is(json_object_get(json_object_get(o, "grant"), "commit"), "success") ||
                     json_object_get(o, "object"); /* an execution (O-38) */
        r->lends_key = scope && strcmp(scope, "invocation-tree") == 0;
        r->parent = parent;
        if (parent)
                parent->n_below++;
        a->report->regions++;
        a->report->alive++;
        return 0;
}

/* Allocated, released once with all proposals settled, ended once, then no further event (I-15, I-60). */
static int fold_region(Audit *a, const json_t *o, const char *type, const char *id) {
        FoldedRegion *r = map_get(&a->regions, id);
        uint64_t code;

        if (strcmp(type, "region.allocated") == 0)
                return r ? audit_differs(a, "a region is allocated twice (I-1)", id, "an unused id")
                         : fold_region_allocated(a, o, id);
        /* A region that a gate kept from beginning has verdicts and a refusal, and no allocation. */
        if (!r && (strcmp(type, "gate.evaluated") == 0 || strcmp(type, "region.refused") == 0))
                return 0;
        if (!r)
                return audit_differs(a, "an event occurred in a region that was never allocated", id,
                                     "region.allocated before");
        if (strcmp(type, "layer.applied") == 0 || strcmp(type, "layer.dropped") == 0 || strcmp(type, "tool.called") == 0) /* at any time */
                return 0;
        if (r->ended)
                return audit_differs(a, "an event occurred in a region after its end", type,
                                     "nothing after invocation.ended");
        r->kept |= strcmp(type, "memory.save") == 0 || strcmp(type, "memory.delete") == 0 ||
                   strcmp(type, "slot.gathered") == 0;
        if (strcmp(type, "region.released") == 0) {
                if (r->released)
                        return audit_differs(a, "a region is released twice", "two", "one region.released");
                if (r->n_settled < r->n_held)
                        return audit_differs(a, "a region is released before its proposals are settled",
                                             r->held[r->n_settled].slot, "slot.written or slot.discarded for each");
                if (r->n_below > 0)
                        return audit_differs(a, "a region is released before the end of a region below",
                                             "a region without its end", "invocation.ended of all regions below");
                r->released = true;
        } else if (strcmp(type, "invocation.ended") == 0) {
                if (!r->released)
                        return audit_differs(a, "an invocation ended before its region was released (I-15)", "none",
                                             "region.released before");
                if (r->success && r->kept && (json_get_u64(json_object_get(o, "exit_code"), &code) < 0 || code != 0))
                        return audit_differs(a,
                                             "a region without exit code 0 has kept changes, although its skill "
                                             "commits after exit code 0 only (I-78)",
                                             fold_text(o, "outcome") ? fold_text(o, "outcome") : "none", "exit_code 0");
                r->ended = true;
                if (r->parent && !r->left)
                        r->parent->n_below--;
                a->report->alive--;
                free(r->held);
                r->held = NULL;
        /* none of its processes runs any more: the regions above may end first (I-63) */
        } else if (strcmp(type, "region.left") == 0) {
                if (r->parent && !r->left)
                        r->parent->n_below--;
                r->left = true;
        } else if (strcmp(type, "region.faulted") == 0 || strcmp(type, "region.discard_asked") == 0)
                r->broke = true;
        else if (r->broke && (strcmp(type, "memory.save") == 0 || strcmp(type, "memory.delete") == 0))
                return audit_differs(
                        a, "a change of memory by a region whose changes must be discarded was kept (I-24, I-78)", type,
                        "memory.discarded");
        else if (r->released && strcmp(type, "region.recovered") != 0)
                return audit_differs(a, "an event occurred in a region after its release", type,
                                     "region.recovered or invocation.ended only");
        return 0;
}

/* A gate reads the slot's valid version, and a region runs only after the gate has passed (I-50, I-52). */
static int fold_gate(Audit *a, const json_t *o, const char *region) {
        const char *name = fold_text(o, "slot"), *verdict = fold_text(o, "verdict");
        SlotRow *slot = name ? map_get(&a->slots, name) : NULL;
        uint64_t version;

        if (!region || !name || !verdict || json_get_u64(json_object_get(o, "version"), &version) < 0)
                return audit_lacks(a, "gate.evaluated", "region, slot, verdict and version");
        if (version != (slot ? slot->version : 0))
                return audit_differs(a, "a gate was evaluated on a version that was not valid then (I-52)",
                                     audit_text("version %" PRIu64, version).s, "version %" PRIu64 " of %s",
                                     slot ? slot->version : 0, name);
        if (strcmp(verdict, "pass") != 0 && map_get(&a->regions, region))
                return audit_differs(a, "a region runs although one of its gates failed (I-50)", verdict,
                                     "verdict pass");
        return 0;
}

static int fold_time(Audit *a, const json_t *o) {
        const char *time = fold_text(o, "time");
        uint64_t usec;

        if (!time || clock_parse(time, &usec) < 0)
                return audit_lacks(a, "the entry", "time");
        if (strcmp(time, a->last_time) < 0)
                return audit_differs(a, "time goes back", time, "%s", a->last_time);
        strcpy(a->last_time, time);
        return 0;
}

/* Checks the form of an entry, too. */
static int fold_canonical(Audit *a, const json_t *o, Bytes entry) {
        _cleanup_free_ char *canonical = NULL;
        size_t n;

        if (json_canonical(o, &canonical, &n) < 0 || n != entry.n || memcmp(canonical, entry.p, n) != 0)
                return audit_differs(a, "an entry is not in canonical form", "another spelling",
                                     "canonical JSON (RFC 8785)");
        return fold_time(a, o);
}

/* A session of calls has its opening, all calls that its end counts, and nothing after the end. */
static int fold_calls(Audit *a, const json_t *o, const char *type) {
        const char *session = fold_text(o, "session");
        OpenCalls *c = session ? map_get(&a->sessions, session) : NULL;
        uint64_t n;

        if (strcmp(type, "tools.opened") == 0) {
                if (!session)
                        return audit_lacks(a, type, "session");
                if (c)
                        return audit_differs(a, "a session of calls is opened twice", session, "an unused session");
                a->report->open_sessions++;
                return map_add(&a->sessions, session, sizeof(OpenCalls)) ? 0 : -ENOMEM;
        }
        if (!session && strcmp(type, "tool.called") == 0) /* durable before its answer */
                return 0;
        if (!c || c->closed)
                return audit_differs(a, "a call is of no open session", session ? session : "none", "tools.opened before");
        if (strcmp(type, "tool.called") == 0) {
                c->n_calls++;
                return 0;
        }
        if (json_get_u64(json_object_get(o, "calls"), &n) < 0)
                return audit_lacks(a, type, "calls");
        if (n != c->n_calls)
                return audit_differs(a, "a session of calls lacks calls", audit_text("%" PRIu64, c->n_calls).s,
                                     "%" PRIu64, n);
        c->closed = true;
        a->report->open_sessions--;
        return 0;
}

int fold_entry(Audit *a, const json_t *o, Bytes entry, bool canonical) {
        const char *type = fold_text(o, "type"), *region = fold_text(o, "region");
        const json_t *body = json_object_get(o, "body");
        int r = canonical ? fold_time(a, o) : fold_canonical(a, o, entry);

        if (r == 0)
                r = arbitration_owed(a, o);
        if (r != 0)
                return r;
        if (!type)
                return audit_lacks(a, "the entry", "type");
        if (strcmp(type, "ledger.created") == 0) {
                if (a->seq != 0)
                        return audit_differs(a, "the ledger begins twice", type, "ledger.created at 0 only");
                if (!fold_text(o, "origin") || strcmp(fold_text(o, "origin"), a->report->origin) != 0)
                        return audit_differs(a, "the ledger's origin is not the store's",
                                             fold_text(o, "origin") ? fold_text(o, "origin") : "none", "%s",
                                             a->report->origin);
                return 0;
        }
        if (a->seq == 0)
                return audit_differs(a, "the ledger does not begin with ledger.created", type, "ledger.created");
        if (region) {
                r = fold_region(a, o, type, region);
                if (r != 0)
                        return r;
        } else if (json_object_get(o, "region") || strcmp(type, "region.released") == 0 ||
                   strcmp(type, "region.allocated") == 0 || strcmp(type, "invocation.ended") == 0)
                return audit_lacks(a, type, "region");
        if (body && !json_object_get(o, "proposed")) { /* a proposal's payload */
                r = fold_check_body(a, o, type, body);
                if (r != 0)
                        return r;
        }
        r = erased_entry(a, o, type);
        if (r != 0)
                return r;
        if (strcmp(type, "skill.registered") == 0)
                return skills_fold(a, o);
        if (strcmp(type, "gate.evaluated") == 0)
                return fold_gate(a, o, region);
        if (strncmp(type, "tool", 4) == 0)
                return fold_calls(a, o, type);
        if (strncmp(type, "object.", 7) == 0)
                return entries_fold(a, o, type);
        return strncmp(type, "slot.", 5) == 0 ? fold_slot(a, o, type) : 0;
}
