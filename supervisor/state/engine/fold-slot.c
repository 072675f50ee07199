#include "engine/fold-slot.h"

#include "record/rows.h"

#include <errno.h>
#include <string.h>

/* The members of an entry that count here. */
typedef struct Fact {
        uint64_t seq;
        const char *slot, *region; /* region: NULL when it occurred in none */
        const json_t *o;
} Fact;

static int number(const Fact *f, const char *key, uint64_t *ret) {
        return json_get_u64(json_object_get(f->o, key), ret) < 0 ? -EUCLEAN : 0;
}

static int row_of(Txn *t, const Fact *f, SlotRow *ret) {
        int r = slot_row_get(t, f->slot, ret);

        return r == -ENOENT ? -EUCLEAN : r;
}

/* What must be there, and what must not. */
static int clean(int r) {
        return r == -ENOENT || r == -EEXIST ? -EUCLEAN : r;
}

static int defined(Txn *t, const Fact *f) {
        SlotRow old;
        int r = slot_row_get(t, f->slot, &old);

        if (r != -ENOENT)
                return r == 0 ? -EUCLEAN : r;
        return slot_row_put(t, f->slot, &(SlotRow){.defined = f->seq, .arbitrated = json_object_get(f->o, "arbitrate") != NULL});
}

static int proposed(Txn *t, const Fact *f) {
        HeldRow held = {.seq = f->seq};
        SlotRow row;
        int r = f->region ? row_of(t, f, &row) : -EUCLEAN;

        if (r == 0)
                r = number(f, "version", &held.version);
        if (r < 0)
                return r;
        strcpy(held.region, f->region);
        strcpy(held.name, f->slot);
        r = clean(held_row_put(t, &held));
        if (r < 0 || row.arbitrated)
                return r;
        row.held_version = held.version;
        row.held_seq = f->seq;
        strcpy(row.held_by, f->region);
        return slot_row_put(t, f->slot, &row);
}

static int let_go(Txn *t, const Fact *f, uint64_t seq) {
        uint8_t key[HELD_KEY_BYTES];

        if (!f->region)
                return -EUCLEAN;
        held_key(f->region, seq, key);
        return clean(table_del(t, TABLE_HELD, BYTES(key, sizeof(key))));
}

static int discarded(Txn *t, const Fact *f) {
        uint64_t proposal;
        SlotRow row;
        int r = row_of(t, f, &row);

        if (r == 0)
                r = number(f, "proposed", &proposal);
        if (r == 0)
                r = let_go(t, f, proposal);
        if (r < 0 || row.held_version == 0 || row.held_seq != proposal)
                return r;
        row.held_version = 0;
        return slot_row_put(t, f->slot, &row);
}

/* By the operator, by the end of the region that held it, or by a verdict. */
static int written(Txn *t, const Fact *f) {
        uint64_t version, body = f->seq;
        SlotRow row;
        int r = row_of(t, f, &row);

        if (r == 0)
                r = number(f, "version", &version);
        if (r == 0 && json_object_get(f->o, "proposed"))
                r = number(f, "proposed", &body);
        if (r == 0 && body != f->seq && !json_object_get(f->o, "arbitrated"))
                r = let_go(t, f, body); /* a verdict's were let go when they were gathered */
        if (r == 0)
                r = clean(hist_row_put(t, f->slot, version, f->seq, body));
        if (r < 0)
                return r;
        if (row.held_seq == body)
                row.held_version = 0;
        row.version = version;
        row.written = f->seq;
        row.body = body;
        return slot_row_put(t, f->slot, &row);
}

static int gathered(Txn *t, const Fact *f) {
        const char *tree = json_text(json_object_get(f->o, "tree"));
        QuorumRow row = {.gathered = f->seq};
        int r = number(f, "proposed", &row.seq);

        if (r == 0 && tree && !region_id_valid(tree))
                r = -EUCLEAN;
        if (r == 0)
                r = let_go(t, f, row.seq);
        if (r < 0)
                return r;
        strcpy(row.region, f->region);
        strcpy(row.tree, tree ? tree : f->region);
        return clean(gather_row_put(t, f->slot, &row));
}

static int arbitrated(Txn *t, const Fact *f) {
        const json_t *list = json_object_get(f->o, "proposals"), *winner = json_object_get(f->o, "winner");
        uint64_t seq, won = 0;
        int r = json_array_size(list) > 0 ? 0 : -EUCLEAN;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                uint8_t key[HIST_KEY_MAX];

                if (json_get_u64(json_object_get(json_array_get(list, i), "seq"), &seq) < 0)
                        return -EUCLEAN;
                r = clean(table_del(t, TABLE_GATHER, BYTES(key, slot_seq_key(f->slot, seq, key))));
        }
        if (r == 0 && !json_is_null(winner))
                r = number(f, "winner", &won);
        return r == 0 ? clean(verdict_row_put(t, f->slot, f->seq, won)) : r;
}

static int registered(Txn *t, const Fact *f) {
        const char *name = json_text(json_object_get(json_object_get(f->o, "skill"), "name"));
        uint8_t seq[8];

        be64_put(seq, f->seq);
        return name && *name ? table_put(t, TABLE_SKILL, BYTES_STR(name), BYTES(seq, sizeof(seq))) : -EUCLEAN;
}

static const struct {
        const char *type;
        int (*fold)(Txn *t, const Fact *f);
} types[] = {
        {"slot.defined", defined},     {"slot.proposed", proposed}, {"slot.written", written},         {"slot.discarded", discarded},
        {"slot.gathered", gathered}, {"slot.arbitrated", arbitrated}, {"skill.registered", registered},
};

static int fold(Txn *t, uint64_t seq, const char *type, const char *region, const json_t *o) {
        Fact f = {.seq = seq, .region = region, .o = o};

        if (!type)
                return -EUCLEAN;
        if (*type != 's') /* most of them */
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                if (strcmp(types[i].type, type) != 0)
                        continue;
                f.slot = json_text(json_object_get(o, "slot"));
                if ((types[i].fold != registered && (!f.slot || !slot_name_valid(f.slot))) || (region && !region_id_valid(region)))
                        return -EUCLEAN;
                return types[i].fold(t, &f);
        }
        return 0;
}

int fold_slot_event(Txn *t, uint64_t seq, const json_t *entry) {
        return fold(t, seq, json_text(json_object_get(entry, "type")), json_text(json_object_get(entry, "region")), entry);
}

int fold_slot_append(Txn *t, const Event *e, uint64_t *ret_seq) {
        uint64_t seq;
        int r = event_append(t, e, &seq, NULL);

        if (r == 0)
                r = fold(t, seq, e->type, e->region, e->fields);
        if (r == 0 && ret_seq)
                *ret_seq = seq;
        return r;
}
