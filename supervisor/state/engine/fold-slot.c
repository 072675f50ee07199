#include "engine/fold-slot.h"

#include "base/clock.h"
#include "engine/execution.h"
#include "engine/round.h"
#include "record/object-row.h"
#include "record/rows.h"

#include <errno.h>
#include <string.h>

/* The used members of an entry. */
typedef struct Fact {
        uint64_t seq;
        const char *slot, *region; /* region: NULL for an event outside of a region */
        const json_t *o;
} Fact;

static int fact_number(const Fact *f, const char *key, uint64_t *ret) {
        return json_get_u64(json_object_get(f->o, key), ret) < 0 ? -EUCLEAN : 0;
}

static int fact_row(Txn *t, const Fact *f, SlotRow *ret) {
        int r = slot_row_get(t, f->slot, ret);

        return r == -ENOENT ? -EUCLEAN : r;
}

/* A missing or existing row contradicts the entry. */
static int fold_error(int r) {
        return r == -ENOENT || r == -EEXIST ? -EUCLEAN : r;
}

static int fold_slot_defined(Txn *t, const Fact *f) {
        SlotRow old;
        int r = slot_row_get(t, f->slot, &old);

        if (r != -ENOENT)
                return r == 0 ? -EUCLEAN : r;
        return slot_row_put(t, f->slot,
                            &(SlotRow){.defined = f->seq, .arbitrated = json_object_get(f->o, "arbitrate") != NULL});
}

static int fold_slot_proposed(Txn *t, const Fact *f) {
        HeldRow held = {.seq = f->seq};
        SlotRow row;
        int r = f->region ? fact_row(t, f, &row) : -EUCLEAN;

        if (r == 0)
                r = fact_number(f, "version", &held.version);
        if (r < 0)
                return r;
        strcpy(held.region, f->region);
        strcpy(held.name, f->slot);
        r = fold_error(held_row_put(t, &held));
        if (r < 0 || row.arbitrated)
                return r;
        row.held_version = held.version;
        row.held_seq = f->seq;
        strcpy(row.held_by, f->region);
        return slot_row_put(t, f->slot, &row);
}

static int fold_held_del(Txn *t, const Fact *f, uint64_t seq) {
        uint8_t key[HELD_KEY_BYTES];

        if (!f->region)
                return -EUCLEAN;
        held_key(f->region, seq, key);
        return fold_error(table_del(t, TABLE_HELD, BYTES(key, sizeof(key))));
}

static int fold_slot_discarded(Txn *t, const Fact *f) {
        uint64_t proposal;
        SlotRow row;
        int r = fact_row(t, f, &row) ?: fact_number(f, "proposed", &proposal) ?: fold_held_del(t, f, proposal);

        if (r < 0 || row.held_version == 0 || row.held_seq != proposal)
                return r;
        row.held_version = 0;
        return slot_row_put(t, f->slot, &row);
}

/* By the operator, by a region's end, or by a verdict. */
static int fold_slot_written(Txn *t, const Fact *f) {
        uint64_t version, body = f->seq;
        SlotRow row;
        int r = fact_row(t, f, &row) ?: fact_number(f, "version", &version);

        if (r == 0 && json_object_get(f->o, "proposed"))
                r = fact_number(f, "proposed", &body);
        if (r == 0 && body != f->seq && !json_object_get(f->o, "arbitrated"))
                r = fold_held_del(t, f, body); /* the proposals of a verdict were deleted at slot.gathered */
        if (r == 0)
                r = fold_error(hist_row_put(t, f->slot, version, f->seq, body));
        if (r < 0)
                return r;
        if (row.held_seq == body)
                row.held_version = 0;
        row.version = version;
        row.written = f->seq;
        row.body = body;
        return slot_row_put(t, f->slot, &row);
}

/* The payloads are erased: rows of older entries lose their reference to them. */
static int fold_slot_erased(Txn *t, const Fact *f) {
        uint64_t from, to, said, n = 0;
        SlotRow row;
        bool newly;
        int r = fact_row(t, f, &row) ?: fact_number(f, "from", &from) ?: fact_number(f, "to", &to)
                ?: fact_number(f, "erased", &said);

        if (r == 0 && (from < 1 || from > to || to > row.version))
                r = -EUCLEAN;
        for (uint64_t v = from; r == 0 && v <= to; v++) {
                r = fold_error(hist_row_erase(t, f->slot, v, &newly));
                n += r == 0 && newly;
        }
        if (r == 0 && n != said)
                r = -EUCLEAN;
        if (r < 0 || to < row.version)
                return r;
        row.body = 0;
        return slot_row_put(t, f->slot, &row);
}

static int fold_slot_gathered(Txn *t, const Fact *f) {
        const char *tree = json_text(json_object_get(f->o, "tree"));
        QuorumRow row = {.gathered = f->seq};
        int r = fact_number(f, "proposed", &row.seq);

        if (r == 0 && tree && !region_id_valid(tree))
                r = -EUCLEAN;
        if (r == 0)
                r = fold_held_del(t, f, row.seq);
        if (r < 0)
                return r;
        strcpy(row.region, f->region);
        strcpy(row.tree, tree ? tree : f->region);
        return fold_error(gather_row_put(t, f->slot, &row));
}

/* A question opens a round. */
static int fold_slot_asked(Txn *t, const Fact *f) {
        const char *until = json_text(json_object_get(f->o, "until"));
        Round round = {.asked = f->seq, .open = true};
        SlotRow row;
        int r = fact_row(t, f, &row);

        if (r == 0 && (!row.arbitrated || (until && clock_parse(until, &round.until_usec) < 0)))
                r = -EUCLEAN;
        return r ?: round_put(t, f->slot, &round);
}

/* The verdict on a round closes the round. */
static int fold_close_round(Txn *t, const Fact *f) {
        uint64_t asked;
        Round round;
        int r = fact_number(f, "round", &asked) ?: round_get(t, f->slot, &round);

        if (r == 0 && (round.asked != asked || !round.open))
                r = -EUCLEAN;
        if (r < 0)
                return r;
        round.open = false;
        return round_put(t, f->slot, &round);
}

static int fold_slot_arbitrated(Txn *t, const Fact *f) {
        const json_t *list = json_object_get(f->o, "proposals"), *winner = json_object_get(f->o, "winner");
        bool round = json_object_get(f->o, "round");
        uint64_t seq, won = 0;
        int r = round ? fold_close_round(t, f) : json_array_size(list) > 0 ? 0 : -EUCLEAN;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                uint8_t key[HIST_KEY_MAX];

                if (json_get_u64(json_object_get(json_array_get(list, i), "seq"), &seq) < 0)
                        return -EUCLEAN;
                r = fold_error(table_del(t, TABLE_GATHER, BYTES(key, slot_seq_key(f->slot, seq, key))));
        }
        if (r == 0 && !json_is_null(winner))
                r = fact_number(f, "winner", &won);
        return r == 0 ? fold_error(verdict_row_put(t, f->slot, f->seq, won)) : r;
}

static int fold_skill_registered(Txn *t, const Fact *f) {
        const char *name = json_text(json_object_get(json_object_get(f->o, "skill"), "name"));
        uint8_t seq[8];

        return name && *name ? table_put(t, TABLE_SKILL, BYTES_STR(name), seq_key(f->seq, seq)) : -EUCLEAN;
}

static const struct {
        const char *type;
        int (*fold)(Txn *t, const Fact *f);
} types[] = {
        {"slot.defined", fold_slot_defined},         {"slot.proposed", fold_slot_proposed},
        {"slot.written", fold_slot_written},         {"slot.discarded", fold_slot_discarded},
        {"slot.gathered", fold_slot_gathered},       {"slot.arbitrated", fold_slot_arbitrated},
        {"slot.erased", fold_slot_erased},
        {"slot.asked", fold_slot_asked},
        {"skill.registered", fold_skill_registered},
};

static int fold_slot_fact(Txn *t, uint64_t seq, const char *type, const char *region, const json_t *o) {
        Fact f = {.seq = seq, .region = region, .o = o};

        if (!type)
                return -EUCLEAN;
        if (object_row_concerns(type)) {
                int r = object_row_project(t, seq, type, o);

                return r ?: execution_project(t, seq, type, region, o);
        }
        if (*type != 's') /* most entries */
                return *type == 'r' || *type == 'i' ? execution_project(t, seq, type, region, o) : 0;
        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                if (strcmp(types[i].type, type) != 0)
                        continue;
                f.slot = json_text(json_object_get(o, "slot"));
                if ((types[i].fold != fold_skill_registered && (!f.slot || !slot_name_valid(f.slot))) ||
                    (region && !region_id_valid(region)))
                        return -EUCLEAN;
                return types[i].fold(t, &f);
        }
        return 0;
}

int fold_slot_event(Txn *t, uint64_t seq, const json_t *entry) {
        return fold_slot_fact(t, seq, json_text(json_object_get(entry, "type")),
                              json_text(json_object_get(entry, "region")), entry);
}

int fold_slot_append(Txn *t, const Event *e, uint64_t *ret_seq) {
        _cleanup_json_ json_t *fields = json_incref(e->fields);
        uint64_t seq;
        int r = event_append(t, e, &seq) ?: fold_slot_fact(t, seq, e->type, e->region, fields);

        if (r == 0 && ret_seq)
                *ret_seq = seq;
        return r;
}

int fold_object_append(Txn *t, const Event *e, json_t **row) {
        _cleanup_json_ json_t *fields = json_incref(e->fields);
        uint64_t seq;

        return event_append(t, e, &seq)
                       ?: object_row_project_on(t, seq, e->type, fields, row)
                       ?: execution_project(t, seq, e->type, e->region, fields);
}
