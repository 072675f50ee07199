#include "audit/audit-internal.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What each type of event means for the canonical tables. The rules are written here a second time on purpose, from the
 * documents and not from engine/: a mistake there shows as a difference here. */

static int lacks(Audit *a, const char *type, const char *field) {
        broken(a, true, "an entry lacks a field or has it of a wrong kind", "field %s of %s", field, type);
        return broken_found(a, "none");
}

static const char *text_of(const json_t *o, const char *key) {
        return json_text(json_object_get(o, key));
}

static FoldedRegion *region_of(Audit *a, const json_t *o) {
        const char *id = text_of(o, "region");

        return id ? map_get(&a->regions, id) : NULL;
}

/* The payload of this entry: its row in table body, and the hash that the entry commits to. */
static int check_body(Audit *a, const json_t *o, const char *type, const json_t *commitment) {
        const char *said = text_of(commitment, "sha256");
        uint64_t bytes;
        uint8_t hash[HASH_BYTES];
        char hex[HASH_HEX_MAX];
        int r;

        if (!said || json_get_u64(json_object_get(commitment, "bytes"), &bytes) < 0)
                return lacks(a, "body", "sha256 and bytes");
        r = erased_payload(a, o, type, a->next_body == a->seq);
        if (r != -ENOENT && (r < 0 || a->next_body != a->seq))
                return r;
        if (r == -ENOENT) {
                broken(a, true, "the entry commits to a payload that is not there", "a row %" PRIu64 " in table body",
                       a->seq);
                return a->next_body == UINT64_MAX ? broken_found(a, "no more rows")
                                                  : broken_found(a, "row %" PRIu64 " next", a->next_body);
        }
        if (a->body.n < BODY_NONCE_BYTES || a->body.n - BODY_NONCE_BYTES != bytes) {
                broken(a, true, "the payload has another length than the entry says", "%" PRIu64 " bytes", bytes);
                return broken_found(a, "%zu bytes with its nonce", a->body.n);
        }
        hash_bytes(a->body.p, a->body.n, hash);
        hex_encode(hash, sizeof(hash), hex);
        if (strcmp(hex, said) != 0) {
                broken(a, true, "the payload is not the one that the entry commits to", "sha256 %s", said);
                return broken_found(a, "sha256 %s", hex);
        }
        return body_step(a);
}

static int slot_defined(Audit *a, const char *name, const json_t *rule) {
        SlotRow *row;

        if (map_get(&a->slots, name)) {
                broken(a, true, "a slot is defined twice", "no definition of %s before", name);
                return broken_found(a, "two");
        }
        row = calloc(1, sizeof(*row));
        if (!row || map_add(&a->slots, name, row) < 0) {
                free(row);
                return -ENOMEM;
        }
        row->defined = a->seq;
        row->arbitrated = rule;
        a->report->slots++;
        return rule ? arbitration_defined(a, name, rule) : 0;
}

static int wrong_version(Audit *a, const char *name, uint64_t expected, uint64_t found) {
        broken(a, true, "a slot's versions do not follow one another", "version %" PRIu64 " of %s", expected, name);
        return broken_found(a, "version %" PRIu64, found);
}

static int slot_proposed(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version) {
        FoldedRegion *r = region_of(a, o);
        const char *id = text_of(o, "region"), *sha = text_of(json_object_get(o, "body"), "sha256");
        const json_t *sure = json_object_get(o, "confidence");
        uint64_t expect;
        FoldedHeld *h;

        if (!r || !sha)
                return lacks(a, "slot.proposed", "region and body");
        if (slot->held_version && strcmp(slot->held_by, id) != 0) {
                broken(a, true, "a slot is proposed by two regions at once", "only region %s", slot->held_by);
                return broken_found(a, "region %s", id);
        }
        if (version != (slot->held_version ? slot->held_version : slot->version) + 1)
                return wrong_version(a, name, (slot->held_version ? slot->held_version : slot->version) + 1, version);
        if (r->n_held == r->room) {
                h = reallocarray(r->held, r->room = r->room ? r->room * 2 : 8, sizeof(*h));
                if (!h)
                        return -ENOMEM;
                r->held = h;
        }
        h = &r->held[r->n_held++];
        *h = (FoldedHeld){.seq = a->seq, .version = version, .expect = -1, .confidence = sure ? json_number_value(sure) : -1};
        if (json_get_u64(json_object_get(o, "expect"), &expect) == 0)
                h->expect = (int64_t)expect;
        strcpy(h->slot, name);
        snprintf(h->sha256, sizeof(h->sha256), "%s", sha);
        if (slot->arbitrated) /* reserved by nobody */
                return 0;
        slot->held_version = version;
        slot->held_seq = a->seq;
        snprintf(slot->held_by, sizeof(slot->held_by), "%s", id);
        return 0;
}

static int check_hist(Audit *a, const char *name, const SlotRow *slot) {
        uint64_t written, body;
        int r = hist_row_get(a->txn, name, slot->version, &written, &body);

        if (r < 0 && r != -ENOENT)
                return r;
        if (r == -ENOENT || written != slot->written || body != slot->body) {
                broken(a, true, "table hist does not have this version",
                       "version %" PRIu64 " of %s written at %" PRIu64 ", payload of %" PRIu64, slot->version, name,
                       slot->written, slot->body);
                return r == -ENOENT ? broken_found(a, "no row")
                                    : broken_found(a, "written at %" PRIu64 ", payload of %" PRIu64, written, body);
        }
        a->n_hist++;
        a->report->versions++;
        return 0;
}

/* A region's proposal becomes the slot's value, or is discarded. Proposals are settled in their order. */
static int slot_settled(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version, bool keep) {
        FoldedRegion *r = region_of(a, o);
        const char *sha = text_of(json_object_get(o, "body"), "sha256");
        uint64_t proposed;
        FoldedHeld *h;

        if (!r || json_get_u64(json_object_get(o, "proposed"), &proposed) < 0)
                return lacks(a, keep ? "slot.written" : "slot.discarded", "region and proposed");
        if (r->n_settled >= r->n_held) {
                broken(a, true, "a slot is written without a proposal", "a slot.proposed of the same region before");
                return broken_found(a, "none that is open");
        }
        h = &r->held[r->n_settled++];
        if (h->seq != proposed || h->version != version || strcmp(h->slot, name) != 0) {
                broken(a, true, "a proposal is settled out of its turn",
                       "version %" PRIu64 " of %s, proposed at %" PRIu64, h->version, h->slot, h->seq);
                return broken_found(a, "version %" PRIu64 " of %s, proposed at %" PRIu64, version, name, proposed);
        }
        if (keep && r->broke) {
                broken(a, true, "a region of which nothing may be kept has a write that was kept (I-24, I-78)", "slot.discarded");
                return broken_found(a, "slot.written");
        }
        r->kept |= keep;
        if (slot->held_seq == proposed)
                slot->held_version = 0;
        if (!keep)
                return slot->arbitrated ? arbitration_discarded(a, o, name, r, h) : 0;
        if (slot->arbitrated) {
                broken(a, true, "a slot with a rule is written without its verdict", "slot.gathered");
                return broken_found(a, "slot.written");
        }
        if (!sha || strcmp(sha, h->sha256) != 0) {
                broken(a, true, "what was written is not what was proposed", "payload %s", h->sha256);
                return broken_found(a, "payload %s", sha ? sha : "none");
        }
        if (version != slot->version + 1)
                return wrong_version(a, name, slot->version + 1, version);
        slot->version = version;
        slot->written = a->seq;
        slot->body = proposed;
        return check_hist(a, name, slot);
}

/* A region's proposal is gathered: in its turn, like those that are written. */
static int slot_gathered(Audit *a, const json_t *o, const char *name) {
        FoldedRegion *r = region_of(a, o);
        uint64_t proposed;
        FoldedHeld *h;

        if (!r || json_get_u64(json_object_get(o, "proposed"), &proposed) < 0)
                return lacks(a, "slot.gathered", "region and proposed");
        if (r->n_settled >= r->n_held) {
                broken(a, true, "a proposal is gathered that was not made", "a slot.proposed of the same region before");
                return broken_found(a, "none that is open");
        }
        h = &r->held[r->n_settled++];
        if (h->seq != proposed || strcmp(h->slot, name) != 0) {
                broken(a, true, "a proposal is settled out of its turn", "%s, proposed at %" PRIu64, h->slot, h->seq);
                return broken_found(a, "%s, proposed at %" PRIu64, name, proposed);
        }
        return arbitration_gathered(a, o, name, r, h);
}

static int slot_written(Audit *a, const json_t *o, const char *name, SlotRow *slot, uint64_t version) {
        if (json_object_get(o, "arbitrated") && !json_object_get(o, "region") && !text_of(o, "who")) {
                int r = arbitration_written(a, o, name, slot, version);

                return r == 0 ? check_hist(a, name, slot) : r;
        }
        if (json_object_get(o, "region"))
                return slot_settled(a, o, name, slot, version, true);
        if (!text_of(o, "who")) {
                broken(a, true, "a slot was written by nobody (I-18)", "a region or an operator (who)");
                return broken_found(a, "neither");
        }
        if (slot->held_version) {
                broken(a, true, "a slot that a region holds was written by another", "only region %s", slot->held_by);
                return broken_found(a, "%s", text_of(o, "who"));
        }
        if (version != slot->version + 1)
                return wrong_version(a, name, slot->version + 1, version);
        if (!json_object_get(o, "body"))
                return lacks(a, "slot.written", "body");
        slot->version = version;
        slot->written = slot->body = a->seq;
        return check_hist(a, name, slot);
}

static int slot_read(Audit *a, const SlotRow *slot, const json_t *o, const char *name, uint64_t version) {
        uint64_t written;

        if (json_get_u64(json_object_get(o, "written"), &written) < 0)
                return lacks(a, "slot.read", "written");
        if (version != slot->version || written != slot->written) {
                broken(a, true, "a region read a version that did not hold then (I-20)",
                       "version %" PRIu64 " of %s, written at %" PRIu64, slot->version, name, slot->written);
                return broken_found(a, "version %" PRIu64 ", written at %" PRIu64, version, written);
        }
        return 0;
}

static int fold_slot(Audit *a, const json_t *o, const char *type) {
        const char *name = text_of(o, "slot");
        uint64_t version;
        SlotRow *slot;

        if (strcmp(type, "slot.refused") == 0) /* its name may be anything */
                return 0;
        if (!name || !slot_name_valid(name))
                return lacks(a, type, "slot");
        if (strcmp(type, "slot.defined") == 0)
                return json_object_get(o, "body") ? slot_defined(a, name, json_object_get(o, "arbitrate")) : lacks(a, type, "body");
        slot = map_get(&a->slots, name);
        if (!slot) {
                broken(a, true, "an event speaks of a slot that is not defined", "slot.defined of %s before", name);
                return broken_found(a, "none");
        }
        if (strcmp(type, "slot.gathered") == 0)
                return slot_gathered(a, o, name);
        if (json_get_u64(json_object_get(o, "version"), &version) < 0)
                return lacks(a, type, "version");
        if (strcmp(type, "slot.arbitrated") == 0)
                return arbitration_decided(a, o, name, slot, version);
        if (strcmp(type, "slot.read") == 0)
                return slot_read(a, slot, o, name, version);
        if (strcmp(type, "slot.proposed") == 0)
                return slot_proposed(a, o, name, slot, version);
        if (strcmp(type, "slot.written") == 0)
                return slot_written(a, o, name, slot, version);
        if (strcmp(type, "slot.discarded") == 0)
                return slot_settled(a, o, name, slot, version, false);
        return 0;
}

static int out_of_turn(Audit *a, const char *what, const char *expected, const char *found) {
        broken(a, true, what, "%s", expected);
        return broken_found(a, "%s", found);
}

/* A sub-skill, or a release callback: both begin and end while the region above is not released. */
static int region_allocated(Audit *a, const json_t *o, const char *id) {
        const char *above = text_of(o, "parent"), *scope = text_of(json_object_get(o, "grant"), "key_scope");
        FoldedRegion *r, *parent = above ? map_get(&a->regions, above) : NULL;

        if (!region_id_valid(id))
                return lacks(a, "region.allocated", "region");
        if (json_object_get(o, "parent") && (!parent || parent->released))
                return out_of_turn(a, "a region stands below one that is not there", "a parent that is allocated and not released",
                                   above ? above : "none");
        r = calloc(1, sizeof(*r));
        if (!r || map_add(&a->regions, id, r) < 0) {
                free(r);
                return -ENOMEM;
        }
        r->allocated = a->seq;
        r->callback = json_object_get(o, "callback");
        r->broke = json_object_get(o, "discards"); /* it began below a region that broke its budget: nothing of it may be kept (I-98) */
        r->success = json_text_is(json_object_get(json_object_get(o, "grant"), "commit"), "success");
        r->lends_key = scope && strcmp(scope, "invocation-tree") == 0;
        r->parent = parent;
        if (parent)
                parent->n_below++;
        a->report->regions++;
        a->report->alive++;
        return 0;
}

/* allocated, then released exactly once with all proposals settled, then ended exactly once, then nothing (I-15, I-60).
 */
static int fold_region(Audit *a, const json_t *o, const char *type, const char *id) {
        FoldedRegion *r = map_get(&a->regions, id);
        uint64_t code;

        if (strcmp(type, "region.allocated") == 0)
                return r ? out_of_turn(a, "a region is allocated twice (I-1)", "an id that was never used", id)
                         : region_allocated(a, o, id);
        /* A region that a gate kept from beginning has its verdicts and its refusal, and never was. */
        if (!r && (strcmp(type, "gate.evaluated") == 0 || strcmp(type, "region.refused") == 0))
                return 0;
        if (!r)
                return out_of_turn(a, "an event occurred in a region that was never allocated",
                                   "region.allocated before", id);
        if (r->ended)
                return out_of_turn(a, "an event occurred in a region after its end", "nothing after invocation.ended",
                                   type);
        r->kept |= strcmp(type, "memory.save") == 0 || strcmp(type, "memory.delete") == 0 || strcmp(type, "slot.gathered") == 0;
        if (strcmp(type, "region.released") == 0) {
                if (r->released)
                        return out_of_turn(a, "a region is released twice", "one region.released", "two");
                if (r->n_settled < r->n_held)
                        return out_of_turn(a, "a region is released before its proposals are settled",
                                           "slot.written or slot.discarded for each", r->held[r->n_settled].slot);
                if (r->n_below > 0)
                        return out_of_turn(a, "a region is released before one that stands below it has ended",
                                           "invocation.ended of all that it started", "one that has not");
                r->released = true;
        } else if (strcmp(type, "invocation.ended") == 0) {
                if (!r->released)
                        return out_of_turn(a, "an invocation ended before its region was released (I-15)",
                                           "region.released before", "none");
                if (r->success && r->kept && (json_get_u64(json_object_get(o, "exit_code"), &code) < 0 || code != 0))
                        return out_of_turn(a, "a region that did not end with exit code 0 has something that was kept, and its skill commits after that alone (I-78)",
                                           "exit_code 0", text_of(o, "outcome") ? text_of(o, "outcome") : "none");
                r->ended = true;
                if (r->parent && !r->left)
                        r->parent->n_below--;
                a->report->alive--;
                free(r->held);
                r->held = NULL;
        } else if (strcmp(type, "region.left") == 0) { /* nothing of it runs any more: those above may end before it (I-63) */
                if (r->parent && !r->left)
                        r->parent->n_below--;
                r->left = true;
        } else if (strcmp(type, "region.faulted") == 0 || strcmp(type, "region.discard_asked") == 0)
                r->broke = true;
        else if (r->broke && (strcmp(type, "memory.save") == 0 || strcmp(type, "memory.delete") == 0))
                return out_of_turn(a, "a region of which nothing may be kept has a change of memory that was kept (I-24, I-78)", "memory.discarded", type);
        else if (r->released && strcmp(type, "region.recovered") != 0)
                return out_of_turn(a, "an event occurred in a region after its release",
                                   "region.recovered or invocation.ended only", type);
        return 0;
}

/* A gate reads what holds at that moment, and a region runs only when it passed (I-50, I-52). */
static int fold_gate(Audit *a, const json_t *o, const char *region) {
        const char *name = text_of(o, "slot"), *verdict = text_of(o, "verdict");
        SlotRow *slot = name ? map_get(&a->slots, name) : NULL;
        uint64_t version;

        if (!region || !name || !verdict || json_get_u64(json_object_get(o, "version"), &version) < 0)
                return lacks(a, "gate.evaluated", "region, slot, verdict and version");
        if (version != (slot ? slot->version : 0)) {
                broken(a, true, "a gate was evaluated on a version that did not hold then (I-52)", "version %" PRIu64 " of %s", slot ? slot->version : 0, name);
                return broken_found(a, "version %" PRIu64, version);
        }
        if (strcmp(verdict, "pass") != 0 && map_get(&a->regions, region))
                return out_of_turn(a, "a region runs although one of its gates failed (I-50)", "verdict pass", verdict);
        return 0;
}

/* Order of time. */
static int fold_time(Audit *a, const json_t *o) {
        const char *time = text_of(o, "time");
        uint64_t usec;

        if (!time || clock_parse(time, &usec) < 0)
                return lacks(a, "the entry", "time");
        if (strcmp(time, a->last_time) < 0)
                return out_of_turn(a, "time goes back", a->last_time, time);
        strcpy(a->last_time, time);
        return 0;
}

/* The form of an entry as well. */
static int fold_common(Audit *a, const json_t *o, Bytes entry) {
        _cleanup_free_ char *canonical = NULL;
        size_t n;

        if (json_canonical(o, &canonical, &n) < 0 || n != entry.n || memcmp(canonical, entry.p, n) != 0)
                return out_of_turn(a, "an entry is not in canonical form", "canonical JSON (RFC 8785)",
                                   "another spelling");
        return fold_time(a, o);
}

int fold_entry(Audit *a, const json_t *o, Bytes entry, bool canonical) {
        const char *type = text_of(o, "type"), *region = text_of(o, "region");
        const json_t *body = json_object_get(o, "body");
        int r = canonical ? fold_time(a, o) : fold_common(a, o, entry);

        if (r == 0)
                r = arbitration_owed(a, o);
        if (r != 0)
                return r;
        if (!type)
                return lacks(a, "the entry", "type");
        if (strcmp(type, "ledger.created") == 0) {
                if (a->seq != 0)
                        return out_of_turn(a, "the ledger begins twice", "ledger.created at 0 only", type);
                if (!text_of(o, "origin") || strcmp(text_of(o, "origin"), a->report->origin) != 0)
                        return out_of_turn(a, "the ledger is of another origin", a->report->origin,
                                           text_of(o, "origin") ? text_of(o, "origin") : "none");
                return 0;
        }
        if (a->seq == 0)
                return out_of_turn(a, "the ledger does not begin with ledger.created", "ledger.created", type);
        if (region) {
                r = fold_region(a, o, type, region);
                if (r != 0)
                        return r;
        } else if (json_object_get(o, "region") || strcmp(type, "region.released") == 0 ||
                   strcmp(type, "region.allocated") == 0 || strcmp(type, "invocation.ended") == 0)
                return lacks(a, type, "region");
        /* slot.written of a region speaks of the payload of its proposal. */
        if (body && !json_object_get(o, "proposed")) {
                r = check_body(a, o, type, body);
                if (r != 0)
                        return r;
        }
        r = erased_entry(a, o, type);
        if (r != 0)
                return r;
        if (strcmp(type, "skill.registered") == 0)
                return fold_skill(a, o);
        if (strcmp(type, "gate.evaluated") == 0)
                return fold_gate(a, o, region);
        return strncmp(type, "slot.", 5) == 0 ? fold_slot(a, o, type) : 0;
}
