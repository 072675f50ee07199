/* Hostile bytes at the vaults: three regions (one of scope invocation-tree, a sub-skill of it, a stranger) open, read, write and close with whatever
 * handle, key, name and value the input makes. A model beside them says who may: whatever comes, nobody gets through who must not, whoever may does,
 * what is read is what was written last, no handle comes twice, and all of it is overwritten in the end (I-4, I-6..I-9, I-17, I-26, I-27). */
#include "base/clock.h"
#include "base/json.h"
#include "region/region-handle.h"
#include "region/region-section.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>
#include <string.h>

#define ISSUED_MAX 256
#define TEXT_MAX 200

enum { ABOVE, BELOW, STRANGER, PARTIES };
#define SECTIONS 3
static const char declared[] = "{\"any\":{\"schema\":{},\"bytes\":100},\"key\":{\"schema\":{\"format\":\"lethe-key\"},\"bytes\":40},"
                               "\"number\":{\"schema\":{\"type\":\"integer\"},\"bytes\":30}}";
static const char *const names[SECTIONS] = {"any", "key", "number"};

typedef struct Party {
        char region[REGION_ID_MAX], key[KEY_TEXT_BYTES + 1];
        Vault *v; /* NULL: gone */
        bool unbound;
        char *values[SECTIONS]; /* canonical, owned; NULL: none yet */
        uint64_t versions[SECTIONS];
} Party;

typedef struct Issued {
        char text[HANDLE_TEXT_MAX];
        int owner, section;
        bool open;
} Issued;

typedef struct World {
        const uint8_t *at, *end;
        Party p[PARTIES];
        Issued issued[ISSUED_MAX];
        size_t n;
} World;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return sodium_init() < 0 ? -1 : 0;
}

static uint8_t take(World *w) {
        return w->at < w->end ? *w->at++ : 0;
}

/* A length and so many bytes, none of them NUL. */
static const char *take_text(World *w, char out[static TEXT_MAX + 1]) {
        size_t n = MIN((size_t)take(w), (size_t)TEXT_MAX), k = 0;

        while (k < n && w->at < w->end) {
                out[k] = (char)take(w);
                if (out[k])
                        k++;
        }
        out[k] = 0;
        return out;
}

static void begin(World *w, int i) {
        _cleanup_json_ json_t *sections = json_loads(declared, 0, NULL);
        Party *p = &w->p[i];
        Diag why = {0};

        *p = (Party){0};
        fuzz_check(region_id_new(clock_real_usec(), p->region) == 0);
        fuzz_check(vault_new(p->region, i == ABOVE ? KEY_SCOPE_TREE : KEY_SCOPE_INVOCATION, i == BELOW ? w->p[ABOVE].v : NULL, sections, &p->v, &why) == 0, "%s",
                   why.text);
        fuzz_check(vault_hand_over(p->v, p->v, p->key));
}

/* Its handles are dead from here on, and what it held is overwritten. */
static void end(World *w, int i) {
        VaultWiped wiped;
        uint64_t open = 0;

        for (size_t k = 0; k < w->n; k++) {
                open += w->issued[k].owner == i && w->issued[k].open;
                w->issued[k].open &= w->issued[k].owner != i;
        }
        fuzz_check(w->p[i].unbound || vault_unbind(w->p[i].v) == open);
        vault_wipe(w->p[i].v, 3, &wiped);
        fuzz_check(wiped.sections == SECTIONS && wiped.bytes_held > 0);
        fuzz_check(wiped.bytes_overwritten == wiped.bytes_held && wiped.bytes_verified == wiped.bytes_held);
        vault_free(TAKE_PTR(w->p[i].v));
        for (size_t k = 0; k < SECTIONS; k++)
                free(TAKE_PTR(w->p[i].values[k]));
}

static bool may(int by, int owner) {
        return by == owner || (by == BELOW && owner == ABOVE);
}

/* The key of one of them, a digit off, text of the input, or none. */
static Presented present(World *w, int by, char room[static TEXT_MAX + 1]) {
        uint8_t how = take(w);
        const char *key = room;

        if (how % 8 < 5)
                strcpy(room, w->p[how % 8 < 3 ? by : (how >> 3) % PARTIES].key);
        else if (how % 8 == 5) {
                strcpy(room, w->p[by].key);
                room[(how >> 3) % KEY_TEXT_BYTES] ^= 1;
        } else if (how % 8 == 6)
                take_text(w, room);
        else
                key = NULL;
        return (Presented){.by = w->p[by].v, .key = key, .n_key = key ? strlen(key) : 0};
}

/* A handle that was issued, one with a byte changed, or text of the input. */
static const char *point(World *w, char room[static TEXT_MAX + 1]) {
        uint8_t how = take(w);

        if (w->n == 0 || how % 4 == 3)
                return take_text(w, room);
        strcpy(room, w->issued[take(w) % w->n].text);
        if (how % 4 == 2)
                room[(how >> 2) % strlen(room)] ^= (char)(1 + take(w) % 127);
        return room;
}

static Issued *known(World *w, const char *handle) {
        for (size_t i = 0; i < w->n; i++)
                if (strcmp(w->issued[i].text, handle) == 0)
                        return &w->issued[i];
        return NULL;
}

/* What the model says: who presents the right key of a party, in hands that it reaches, with a handle that is open. */
static bool admitted(World *w, const Presented *p, int by, const Issued *h) {
        return h && h->open && w->p[h->owner].v && !w->p[h->owner].unbound && may(by, h->owner) && p->key && strcmp(p->key, w->p[h->owner].key) == 0;
}

static void do_open(World *w, int by) {
        char key[TEXT_MAX + 1], region[TEXT_MAX + 1], section[TEXT_MAX + 1], handle[HANDLE_TEXT_MAX];
        Presented p = present(w, by, key);
        uint8_t how = take(w);
        int owner = (how >> 2 & 3) % PARTIES, s = (how >> 4 & 3) % SECTIONS, r;
        Diag why = {0};

        if (how % 4 == 3)
                owner = -1;
        if (owner < 0)
                take_text(w, region);
        else
                strcpy(region, w->p[owner].region);
        if (how >= 0xc0)
                take_text(w, section);
        else
                strcpy(section, names[s]);
        r = handle_open(&p, region, section, handle, &why);
        fuzz_check(r >= 0 && (r == 0 || *why.text), "%d", r);
        for (int i = 0; i < PARTIES; i++) /* text of the input that is right is right */
                if (w->p[i].v && strcmp(region, w->p[i].region) == 0)
                        owner = i;
        s = -1;
        for (int i = 0; i < SECTIONS; i++)
                s = strcmp(section, names[i]) == 0 ? i : s;
        fuzz_check((r == 0) == (owner >= 0 && s >= 0 && w->p[owner].v && !w->p[owner].unbound && may(by, owner) && p.key &&
                                strcmp(p.key, w->p[owner].key) == 0),
                   "%d %s by %d of %d", r, section, by, owner);
        if (r != 0)
                return;
        fuzz_check(!known(w, handle) && strncmp(handle, region, REGION_ID_LEN) == 0, "%s", handle);
        w->issued[w->n] = (Issued){.owner = owner, .section = s, .open = true};
        strcpy(w->issued[w->n++].text, handle);
}

static void do_read(World *w, int by) {
        char key[TEXT_MAX + 1], room[TEXT_MAX + 1];
        Presented p = present(w, by, key);
        const char *handle = point(w, room);
        const Issued *h = known(w, handle);
        _cleanup_json_ json_t *value = NULL;
        _cleanup_free_ char *text = NULL;
        uint64_t version = 0;
        Diag why = {0};
        int r = handle_read(&p, handle, &value, &version, &why);

        fuzz_check(r >= 0, "%d", r);
        fuzz_check((r == 0 || r == HANDLE_E_NO_VALUE) == admitted(w, &p, by, h), "%d: %s by %d", r, handle, by);
        if (r != 0)
                return;
        fuzz_check(json_canonical(value, &text, NULL) == 0);
        fuzz_check(w->p[h->owner].values[h->section] && strcmp(text, w->p[h->owner].values[h->section]) == 0 && version == w->p[h->owner].versions[h->section]);
}

static void do_write(World *w, int by) {
        char key[TEXT_MAX + 1], room[TEXT_MAX + 1], said[TEXT_MAX + 1];
        Presented p = present(w, by, key);
        const char *handle = point(w, room);
        const Issued *h = known(w, handle);
        _cleanup_json_ json_t *value = json_loads(take_text(w, said), JSON_DECODE_ANY, NULL);
        char *text = NULL;
        uint64_t version = 0, *last;
        size_t n = 0;
        Diag why = {0};
        int r;

        if (!value)
                value = take(w) % 2 ? json_string(w->p[take(w) % PARTIES].key) : json_integer(take(w));
        r = handle_write(&p, handle, value, take(w) % 4 ? -1 : (int64_t)take(w), &version, &why);
        fuzz_check(r >= 0 && (r == 0 || *why.text), "%d", r);
        fuzz_check(r != 0 || admitted(w, &p, by, h), "%s by %d", handle, by);
        fuzz_check(!admitted(w, &p, by, h) || r == 0 || r == HANDLE_E_TYPE || r == HANDLE_E_TOO_LARGE || r == HANDLE_E_CONFLICT || r == HANDLE_E_ESCAPE, "%d", r);
        if (r != 0)
                return;
        fuzz_check(h->section != 2 || json_is_integer(value), "typed");
        for (int i = 0; i < PARTIES && h->owner != by; i++) /* another's section: no key goes there but its own */
                fuzz_check(i == h->owner || !json_is_string(value) || strcmp(json_string_value(value), w->p[i].key) != 0 || !w->p[i].v);
        fuzz_check(json_canonical(value, &text, &n) == 0 && n <= (h->section == 0 ? 100u : h->section == 1 ? 40u : 30u));
        free(w->p[h->owner].values[h->section]);
        w->p[h->owner].values[h->section] = text;
        last = &w->p[h->owner].versions[h->section];
        fuzz_check(version == ++*last);
}

static void do_close(World *w, int by) {
        char key[TEXT_MAX + 1], room[TEXT_MAX + 1];
        Presented p = present(w, by, key);
        const char *handle = point(w, room);
        Issued *h = known(w, handle);
        Diag why = {0};
        int r = handle_close(&p, handle, &why);

        fuzz_check((r == 0) == admitted(w, &p, by, h), "%d: %s by %d", r, handle, by);
        if (r == 0)
                h->open = false;
}

/* Teardown begins, or is done and another region comes; what is above outlives what is below. */
static void do_end(World *w) {
        int i = take(w) % 2 ? BELOW : STRANGER;

        if (take(w) % 2 && !w->p[i].unbound) {
                vault_unbind(w->p[i].v);
                w->p[i].unbound = true;
        } else {
                end(w, i);
                begin(w, i);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        World w = {.at = data, .end = data + n};

        for (int i = 0; i < PARTIES; i++)
                begin(&w, i);
        while (w.at < w.end && w.n < ISSUED_MAX) {
                uint8_t op = take(&w);
                int by = (op >> 4) % PARTIES;

                switch (op % 8) {
                case 0:
                case 1:
                        do_open(&w, by);
                        break;
                case 2:
                case 3:
                        do_read(&w, by);
                        break;
                case 4:
                case 5:
                        do_write(&w, by);
                        break;
                case 6:
                        do_close(&w, by);
                        break;
                default:
                        do_end(&w);
                }
        }
        for (int i = PARTIES; i-- > 0;)
                end(&w, i);
        fuzz_check(region_keys_count() == 0);
        return 0;
}
