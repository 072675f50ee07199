#include "region/region-carry.h"

#include "base/clean.h"
#include "base/hash.h"
#include "region/region-locked.h"
#include "schema/jsonschema.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>

typedef struct CarrySection {
        char *name;       /* owned */
        size_t max, used; /* bytes of canonical JSON */
        uint64_t version; /* 0: no value */
        Locked memory;
} CarrySection;

struct Carry {
        Locked key;
        CarrySection *sections;
        size_t n_sections;
};

static int carry_add(Carry *c, const char *name, size_t max, Diag *reterr) {
        CarrySection *s = &c->sections[c->n_sections];
        int e;

        *s = (CarrySection){.name = strdup(name), .max = max};
        if (!s->name)
                return -ENOMEM;
        c->n_sections++;
        e = locked_new(max, &s->memory);
        if (e == 0 && !s->memory.resident)
                e = diag(reterr, CARRY_E_BAD,
                         "session section %s: %zu bytes cannot be locked in memory: raise RLIMIT_MEMLOCK (ulimit -l), "
                         "declare fewer bytes, or close sessions", name, s->memory.n);
        return e;
}

int carry_new(const json_t *sections, Carry **ret, Diag *reterr) {
        Carry *c = calloc(1, sizeof(*c));
        const char *name;
        json_t *said;
        int e;

        if (!c || !(c->sections = calloc(json_object_size(sections) + 1, sizeof(*c->sections)))) {
                carry_free(c);
                return -ENOMEM;
        }
        e = locked_new(KEY_BYTES, &c->key);
        if (e == 0 && getrandom(c->key.p, KEY_BYTES, 0) != KEY_BYTES)
                e = -EIO;
        json_object_foreach((json_t *)sections, name, said) {
                const json_int_t max = json_integer_value(json_object_get(said, "bytes"));

                if (e == 0 && (max < 1 || max > SECTION_BYTES_MAX))
                        e = diag(reterr, CARRY_E_BAD, "session section %s: bytes must be from 1 to %d", name,
                                 SECTION_BYTES_MAX);
                e = e ?: carry_add(c, name, (size_t)max, reterr);
        }
        if (e != 0) {
                carry_free(c);
                return e;
        }
        *ret = c;
        return 0;
}

int carry_check(const json_t *sections, const char *name, const json_t *value, Diag *reterr) {
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
                return diag(reterr, CARRY_E_TOO_LARGE, "section %s: the value has %zu bytes: at most %" JSON_INTEGER_FORMAT
                            " are declared", name, n, json_integer_value(json_object_get(said, "bytes")));
        e = schema ? jsonschema_compile(schema, &compiled, reterr) : 0;
        if (e != 0)
                return e < 0 ? e : CARRY_E_BAD;
        e = compiled ? jsonschema_validate(compiled, value, reterr) : 0;
        if (e > 0)
                diag_prefix(reterr, "section %s", name);
        return e > 0 ? CARRY_E_SCHEMA : e;
}

static CarrySection *carry_find(const Carry *c, const char *name) {
        for (size_t i = 0; i < c->n_sections; i++)
                if (strcmp(c->sections[i].name, name) == 0)
                        return &c->sections[i];
        return NULL;
}

int carry_put(Carry *c, const char *name, const json_t *value, uint64_t version, Diag *reterr) {
        CarrySection *s = carry_find(c, name);
        char *text;
        size_t n;
        int e;

        if (!s)
                return diag(reterr, CARRY_E_UNDECLARED, "the session has no section %s", DIAG_QUOTED(name));
        e = json_canonical(value, &text, &n);
        if (e < 0)
                return e;
        if (n > s->max)
                e = diag(reterr, CARRY_E_TOO_LARGE, "section %s: %zu bytes are more than %zu", name, n, s->max);
        else {
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
        uint64_t n = c->key.n;

        for (size_t i = 0; i < c->n_sections; i++)
                n += c->sections[i].memory.n;
        return n;
}

void carry_hand_over(const Carry *c, char ret[static KEY_TEXT_BYTES + 1]) {
        hex_encode(c->key.p, KEY_BYTES, ret);
}

bool carry_key_is(const Carry *c, const char *text) {
        uint8_t presented[KEY_BYTES];
        bool same = c->key.p && strlen(text) == KEY_TEXT_BYTES && hex_decode(text, presented, sizeof(presented)) == 0 &&
                    sodium_memcmp(presented, c->key.p, KEY_BYTES) == 0;

        sodium_memzero(presented, sizeof(presented));
        return same;
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

void carry_wipe(Carry *c, unsigned passes, VaultWiped *ret) {
        *ret = (VaultWiped){.resident = true, .sections = c->n_sections};
        carry_wipe_memory(&c->key, passes, ret);
        for (size_t i = 0; i < c->n_sections; i++)
                carry_wipe_memory(&c->sections[i].memory, passes, ret);
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
        locked_free(&c->key);
        free(c);
}
