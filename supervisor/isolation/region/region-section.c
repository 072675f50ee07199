#include "region/region-section.h"

#include "region/region-handle.h"
#include "region/region-vault.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static void section_deinit(Section *s) {
        free(s->name);
        jsonschema_free(s->schema);
        locked_free(&s->memory);
        *s = (Section){0};
}

/* Adds a section with locked memory, without a value. */
static int section_add(Vault *v, const char *name, size_t max, Section **ret, Diag *reterr) {
        Section *p = reallocarray(v->sections, v->n_sections + 1, sizeof(*p)), *s;
        int e;

        if (!p)
                return -ENOMEM;
        v->sections = p;
        s = &p[v->n_sections];
        *s = (Section){.name = strdup(name), .max = max};
        if (!s->name)
                return -ENOMEM;
        v->n_sections++;
        e = locked_new(max, &s->memory);
        if (e < 0)
                return e;
        if (!s->memory.resident)
                return diag(reterr, SECTION_E_BAD, "section %s: %zu bytes cannot be locked in memory: raise "
                            "RLIMIT_MEMLOCK (ulimit -l) or declare fewer bytes", name, s->memory.n);
        *ret = s;
        return 0;
}

static int section_declare(Vault *v, const char *name, const json_t *said, Diag *reterr) {
        const json_t *bytes = json_object_get(said, "bytes"), *schema = json_object_get(said, "schema");
        char quoted[400];
        Section *s;
        int r;

        if (!slot_name_valid(name) || strpbrk(name, "./"))
                return diag(reterr, SECTION_E_BAD, "\"%s\" is not a section's name",
                            diag_quote(name, strlen(name), quoted, sizeof(quoted)));
        if (!json_is_integer(bytes) || json_integer_value(bytes) < 1 || json_integer_value(bytes) > SECTION_BYTES_MAX)
                return diag(reterr, SECTION_E_BAD, "section %s: bytes must be from 1 to %d", name, SECTION_BYTES_MAX);
        r = section_add(v, name, (size_t)json_integer_value(bytes), &s, reterr);
        if (r != 0 || !schema)
                return r;
        r = jsonschema_compile(schema, &s->schema, reterr);
        if (r > 0)
                diag_prefix(reterr, "section %s", name);
        return r > 0 ? SECTION_E_BAD : r;
}

static int section_make_key(Vault *v) {
        int e = locked_new(KEY_BYTES, &v->key);

        if (e < 0)
                return e;
        return getrandom(v->key.p, KEY_BYTES, 0) == KEY_BYTES ? 0 : -EIO;
}

int vault_new(const char *region, KeyScope scope, const Vault *parent, const json_t *sections, Vault **ret,
              Diag *reterr) {
        Vault *v = calloc(1, sizeof(*v));
        const char *name;
        json_t *said;
        int r;

        if (!v)
                return -ENOMEM;
        assert(region_id_valid(region));
        snprintf(v->region, sizeof(v->region), "%s", region);
        v->scope = scope;
        v->parent = parent;
        r = section_make_key(v);
        if (r == 0 && json_object_size(sections) > SECTIONS_MAX)
                r = diag(reterr, SECTION_E_BAD, "more than %d sections", SECTIONS_MAX);
        json_object_foreach((json_t *)sections, name, said) {
                r = r ?: section_declare(v, name, said, reterr);
        }
        r = r ?: vault_enlist(v);
        if (r != 0) {
                vault_free(v);
                return r;
        }
        *ret = v;
        return 0;
}

int vault_add_evidence(Vault *v, const char *slot, const json_t *value, uint64_t until_usec, Diag *reterr) {
        char name[sizeof(GATE_SECTION) + SLOT_NAME_MAX], *text;
        Section *s;
        size_t n;
        int r;

        assert(slot_name_valid(slot));
        snprintf(name, sizeof(name), GATE_SECTION "%s", slot);
        r = json_canonical(value, &text, &n);
        if (r < 0)
                return r;
        r = section_add(v, name, n, &s, reterr);
        if (r == 0) {
                memcpy(s->memory.p, text, n);
                s->used = n;
                s->version = 1;
                s->read_only = true;
                s->until_usec = until_usec;
        }
        sodium_memzero(text, n);
        free(text);
        return r;
}

void vault_trace_to(Vault *v, VaultTrace fn, void *userdata) {
        v->trace = fn;
        v->trace_userdata = userdata;
}

uint64_t vault_bytes(const Vault *v) {
        uint64_t n = 0;

        for (size_t i = 0; v && i < v->n_sections; i++)
                n += v->sections[i].memory.n;
        return n;
}

json_t *vault_declared(const Vault *v, const Vault *to) {
        json_t *list = json_array();

        for (size_t i = 0; list && i < v->n_sections; i++) {
                const Section *s = &v->sections[i];

                if ((v == to || !s->read_only) &&
                    json_array_append_new(list, json_pack("{s:s, s:o, s:b}", "name", s->name, "bytes", json_u64(s->max),
                                                          "write", !s->read_only)) < 0) {
                        json_decref(list);
                        return NULL;
                }
        }
        return list;
}

uint64_t vault_unbind(Vault *v) {
        if (!v || v->unbound)
                return v ? v->unbound_handles : 0;
        v->unbound_handles = v->n_bound;
        for (size_t i = 0; i < v->n_handles; i++)
                if (v->handles[i].bound)
                        handle_unbind(v, i);
        handle_tell_tries(v);
        v->unbound = true;
        assert(v->n_bound == 0);
        return v->unbound_handles;
}

static void section_wipe_memory(Locked *l, unsigned passes, VaultWiped *w) {
        if (!l->p)
                return;
        w->bytes_held += l->n;
        w->resident = w->resident && l->resident;
        w->bytes_verified += locked_wipe(l, passes);
        w->bytes_overwritten += l->n;
        locked_free(l);
}

void vault_wipe(Vault *v, unsigned passes, VaultWiped *ret) {
        *ret = (VaultWiped){.resident = true};
        if (!v)
                return;
        ret->handles_unbound = vault_unbind(v);
        vault_delist(v);
        section_wipe_memory(&v->key, passes, ret);
        for (size_t i = 0; i < v->n_sections; i++) {
                section_wipe_memory(&v->sections[i].memory, passes, ret);
                section_deinit(&v->sections[i]);
        }
        ret->sections = v->n_sections;
        v->n_sections = 0;
}

void vault_free(Vault *v) {
        VaultWiped ignored;

        if (!v)
                return;
        vault_trace_to(v, NULL, NULL);
        vault_wipe(v, 1, &ignored);
        free(v->sections);
        free(v->handles);
        free(v->tries); /* tries after the unbinding are only in the presenting region's record */
        free(v);
}
