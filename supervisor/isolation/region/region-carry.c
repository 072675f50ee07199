#include "region/region-carry.h"

#include "base/clean.h"
#include "base/hash.h"
#include "region/region-locked.h"
#include "schema/jsonschema.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

typedef struct CarrySection {
        char *name;       /* owned */
        size_t max, used; /* bytes of canonical JSON */
        uint64_t version; /* 0: no value */
        Locked memory;    /* none before the first reserved value */
} CarrySection;

struct Carry {
        uint8_t key_hash[HASH_BYTES];
        bool has_key;
        VaultWiped left; /* memory that a longer value left */
        CarrySection *sections;
        size_t n_sections;
};

static int carry_add(Carry *c, const char *name, size_t max) {
        CarrySection *s = &c->sections[c->n_sections];

        *s = (CarrySection){.name = strdup(name), .max = max};
        if (!s->name)
                return -ENOMEM;
        c->n_sections++;
        return 0;
}

int carry_new(const json_t *sections, Carry **ret, Diag *reterr) {
        Carry *c = calloc(1, sizeof(*c));
        const char *name;
        json_t *said;
        int e = 0;

        if (!c || !(c->sections = calloc(json_object_size(sections) + 1, sizeof(*c->sections)))) {
                carry_free(c);
                return -ENOMEM;
        }
        c->left.resident = true;
        json_object_foreach((json_t *)sections, name, said) {
                const json_int_t max = json_integer_value(json_object_get(said, "bytes"));

                if (e == 0 && (max < 1 || max > SECTION_BYTES_MAX))
                        e = diag(reterr, CARRY_E_BAD, "session section %s: bytes must be from 1 to %d", name,
                                 SECTION_BYTES_MAX);
                e = e ?: carry_add(c, name, (size_t)max);
        }
        if (e != 0) {
                carry_free(c);
                return e;
        }
        *ret = c;
        return 0;
}

int carry_check(const json_t *sections, const char *name, const json_t *value, size_t *ret_n, Diag *reterr) {
        const json_t *said = json_object_get(sections, name), *schema = json_object_get(said, "schema");
        _cleanup_jsonschema_ JsonSchema *compiled = NULL;
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int e;

        if (!said)
                return diag(reterr, CARRY_E_UNDECLARED, "section %s is not declared in \"session\" of the manifest",
                            DIAG_QUOTED(name));
        e = json_canonical(value, &text, &n);
        if (e < 0)
                return e == -ERANGE ? diag(reterr, CARRY_E_SCHEMA,
                                           "section %s: an integer is beyond 2^53-1: write it as a string", name)
                                    : e;
        if (text)
                sodium_memzero(text, n);
        if (n > (size_t)json_integer_value(json_object_get(said, "bytes")))
                return diag(reterr, CARRY_E_TOO_LARGE,
                            "section %s: the value has %zu bytes: at most %" JSON_INTEGER_FORMAT " are declared", name, n, json_integer_value(json_object_get(said, "bytes")));
        e = schema ? jsonschema_compile(schema, &compiled, reterr) : 0;
        if (e != 0)
                return e < 0 ? e : CARRY_E_BAD;
        e = compiled ? jsonschema_validate(compiled, value, reterr) : 0;
        if (e > 0)
                diag_prefix(reterr, "section %s", name);
        if (e == 0 && ret_n)
                *ret_n = n;
        return e > 0 ? CARRY_E_SCHEMA : e;
}

static CarrySection *carry_find(const Carry *c, const char *name) {
        for (size_t i = 0; i < c->n_sections; i++)
                if (strcmp(c->sections[i].name, name) == 0)
                        return &c->sections[i];
        return NULL;
}

static void carry_wipe_memory(Locked *l, unsigned passes, VaultWiped *w) {
        if (!l->p)
                return;
        w->bytes_held += l->n;
        w->resident = w->resident && l->resident;
        w->bytes_verified += locked_wipe(l, passes);
        w->bytes_overwritten += l->n;
        locked_free(l);
}

static int carry_refuse_unlocked(const CarrySection *s, size_t n, Diag *reterr) {
        struct rlimit limit = {};

        getrlimit(RLIMIT_MEMLOCK, &limit);
        return diag(reterr, CARRY_E_UNLOCKED,
                    "session section %s: %zu bytes cannot be locked in memory: RLIMIT_MEMLOCK (ulimit -l) of the "
                    "session's host is %llu bytes for all of its sessions: raise the limit, declare fewer bytes, or "
                    "close sessions", s->name, n, (unsigned long long)limit.rlim_cur);
}

int carry_reserve(Carry *c, const char *name, size_t n, Diag *reterr) {
        CarrySection *s = carry_find(c, name);
        Locked more;
        int e;

        if (!s)
                return diag(reterr, CARRY_E_UNDECLARED, "the session has no section %s", DIAG_QUOTED(name));
        if (n > s->max)
                return diag(reterr, CARRY_E_TOO_LARGE, "section %s: %zu bytes are more than %zu", name, n, s->max);
        if (s->memory.p && n <= s->memory.n)
                return 0;
        e = locked_new(n, &more);
        if (e == 0 && !more.resident) {
                e = carry_refuse_unlocked(s, more.n, reterr);
                locked_free(&more);
        }
        if (e != 0)
                return e;
        if (s->used > 0)
                memcpy(more.p, s->memory.p, s->used);
        carry_wipe_memory(&s->memory, 1, &c->left);
        s->memory = more;
        return 0;
}

int carry_put(Carry *c, const char *name, const json_t *value, uint64_t version, Diag *reterr) {
        CarrySection *s = carry_find(c, name);
        char *text;
        size_t n;
        int e = json_canonical(value, &text, &n);

        if (e < 0)
                return e;
        e = carry_reserve(c, name, n, reterr);
        if (e == 0) {
                memcpy(s->memory.p, text, n);
                sodium_memzero(s->memory.p + n, s->memory.n - n); /* the rest of a longer value before */
                s->used = n;
                s->version = version;
        }
        sodium_memzero(text, n);
        free(text);
        return e;
}

json_t *carry_values(const Carry *c) {
        _cleanup_json_ json_t *o = json_object();

        for (size_t i = 0; o && i < c->n_sections; i++) {
                const CarrySection *s = &c->sections[i];
                json_t *value;

                if (s->version == 0)
                        continue;
                if (json_parse((const char *)s->memory.p, s->used, s->used, JSON_DEPTH_DEFAULT, &value, NULL) != 0 ||
                    json_object_set_new(o, s->name, json_pack("{s:o, s:I}", "value", value, "version",
                                                              (json_int_t)s->version)) < 0)
                        return NULL;
        }
        return TAKE_PTR(o);
}

uint64_t carry_bytes(const Carry *c) {
        uint64_t n = 0;

        for (size_t i = 0; i < c->n_sections; i++)
                n += c->sections[i].memory.n;
        return n;
}

int carry_hand_over(Carry *c, char ret[static KEY_TEXT_BYTES + 1]) {
        uint8_t key[KEY_BYTES];

        if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
                return -EIO;
        hash_bytes(key, sizeof(key), c->key_hash);
        c->has_key = true;
        hex_encode(key, sizeof(key), ret);
        sodium_memzero(key, sizeof(key));
        return 0;
}

bool carry_key_is(const Carry *c, const char *text) {
        uint8_t presented[KEY_BYTES], hash[HASH_BYTES];
        bool same = false;

        if (c->has_key && strlen(text) == KEY_TEXT_BYTES && hex_decode(text, presented, sizeof(presented)) == 0) {
                hash_bytes(presented, sizeof(presented), hash);
                same = sodium_memcmp(hash, c->key_hash, sizeof(hash)) == 0;
        }
        sodium_memzero(presented, sizeof(presented));
        return same;
}

void carry_wipe(Carry *c, unsigned passes, VaultWiped *ret) {
        *ret = c->left;
        ret->sections = c->n_sections;
        for (size_t i = 0; i < c->n_sections; i++) {
                carry_wipe_memory(&c->sections[i].memory, passes, ret);
                c->sections[i].used = c->sections[i].version = 0;
        }
}

void carry_free(Carry *c) {
        VaultWiped ignored;

        if (!c)
                return;
        if (c->sections)
                carry_wipe(c, 1, &ignored);
        for (size_t i = 0; i < c->n_sections; i++)
                free(c->sections[i].name);
        free(c->sections);
        free(c);
}
