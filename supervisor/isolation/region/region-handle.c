#include "region/region-handle.h"

#include "base/clock.h"
#include "region/region-vault.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
        [HANDLE_OK] = "ok",
#define HANDLE_CODE(id, word, rpc) [HANDLE_E_##id] = word,
#include "region/handle-codes.def"
#undef HANDLE_CODE
};

const char *handle_code_name(int code) {
        return code >= 0 && (size_t)code < ARRAY_SIZE(names) ? names[code] : "failed";
}

typedef struct HandleValue {
        char region[REGION_ID_MAX];
        uint32_t index, generation;
} HandleValue;

static void handle_text(const char *region, size_t index, uint32_t generation, char ret[static HANDLE_TEXT_MAX]) {
        snprintf(ret, HANDLE_TEXT_MAX, "%s.%zu.%" PRIu32, region, index, generation);
}

/* A handle has a single valid spelling: the parsed value is written again and compared. */
static int handle_parse(const char *s, HandleValue *ret, Diag *reterr) {
        char again[HANDLE_TEXT_MAX];
        HandleValue h = {0};

        if (strnlen(s, HANDLE_TEXT_MAX) < HANDLE_TEXT_MAX && strlen(s) > REGION_ID_LEN + 1) {
                memcpy(h.region, s, REGION_ID_LEN);
                if (region_id_valid(h.region) &&
                    sscanf(s + REGION_ID_LEN, ".%9" SCNu32 ".%10" SCNu32, &h.index, &h.generation) == 2) {
                        handle_text(h.region, h.index, h.generation, again);
                        if (strcmp(again, s) == 0) {
                                *ret = h;
                                return 0;
                        }
                }
        }
        return diag(reterr, HANDLE_E_BAD, "malformed handle: REGION.INDEX.GENERATION is expected");
}

/* Records in both traces: the presenting region's, and the owner's while the owner still records. */
static void handle_trace(const Presented *p, const Vault *owner, HandleTrace t) {
        const Vault *by = p->by;

        if (owner && owner != by) {
                t.of = owner->region;
                if (owner->trace && !owner->unbound) {
                        HandleTrace theirs = t;

                        theirs.of = NULL;
                        theirs.by = by->region;
                        owner->trace(owner->trace_userdata, &theirs);
                }
        }
        if (by->trace)
                by->trace(by->trace_userdata, &t);
}

static int handle_refuse(const Presented *p, const Vault *owner, const char *handle, const char *section, int code) {
        const HandleTrace t = {.what = "refused", .handle = handle, .section = section, .code = code};

        if (code > 0)
                handle_trace(p, owner, t);
        return code;
}

/* Finds the vault of `region` when the presented key permits access. *ret_owner is always set, for the record: NULL
 * when this thread has no such region. handle: NULL when missing. */
static int handle_reach(const Presented *p, const char *region, const char *handle, const Vault **ret_owner,
                        Vault **ret, Diag *reterr) {
        Vault *v = vault_find(region);
        int code = v ? 0 : vault_try_elsewhere(region, p, handle);

        *ret_owner = v;
        if (!v && code == 0)
                return diag(reterr, HANDLE_E_STALE, "the region of the handle is not alive: its handles are void");
        if (v && !vault_key_is(v, p))
                code = HANDLE_E_KEY;
        else if (v && !vault_may_use(p->by, v))
                code = HANDLE_E_SCOPE;
        if (code == HANDLE_E_KEY)
                return diag(reterr, code,
                            p->key ? "the presented key is not the key of the region of the handle"
                                   : "no key presented: a handle needs the region's key");
        if (code != 0)
                return diag(reterr, code, "the key's scope does not reach this region");
        if (v->unbound)
                return diag(reterr, HANDLE_E_STALE, "the region's handles were unbound");
        *ret = v;
        return 0;
}

/* Each invocation requests evidence by a gate of its own (I-51, I-76): a lent key gives no access to evidence. */
static int handle_check_evidence(const Presented *p, const Vault *v, const Section *s, Diag *reterr) {
        if (!s->read_only || p->by == v)
                return 0;
        return diag(reterr, HANDLE_E_SCOPE, "section %s is the evidence of another invocation: add a gate to the "
                    "manifest of the reading skill", s->name);
}

/* Records the id alone for a region of another thread, or an unknown region. */
static int handle_refuse_unknown(const Presented *p, const char *region, const char *handle, int code) {
        const char *of = strcmp(region, p->by->region) == 0 ? NULL : region;

        if (code > 0)
                handle_trace(p, NULL, (HandleTrace){.what = "refused", .handle = handle, .of = of, .code = code});
        return code;
}

/* Finds the section of a handle. *ret_v is set when the region may be used. */
static int handle_look_up(const Presented *p, const char *handle, Vault **ret_v, Section **ret, Diag *reterr) {
        const HandleSlot *slot;
        const Vault *owner;
        HandleValue h;
        Vault *v;
        int r = handle_parse(handle, &h, reterr);

        if (r != 0)
                return handle_refuse(p, NULL, NULL, NULL, r);
        r = handle_reach(p, h.region, handle, &owner, &v, reterr);
        if (r != 0)
                return owner ? handle_refuse(p, owner, handle, NULL, r) : handle_refuse_unknown(p, h.region, handle, r);
        slot = h.index < v->n_handles ? &v->handles[h.index] : NULL;
        if (!slot || !slot->bound || slot->generation != h.generation)
                return handle_refuse(p, v, handle, NULL,
                                     diag(reterr, HANDLE_E_STALE, "the handle was closed, or never issued"));
        *ret_v = v;
        *ret = &v->sections[slot->section];
        r = handle_check_evidence(p, v, *ret, reterr);
        return r == 0 ? 0 : handle_refuse(p, v, handle, (*ret)->name, r);
}

/* The lowest free index. An index with exhausted generations is never reused. */
static int handle_free_index(Vault *v, size_t *ret) {
        for (size_t i = 0; i < v->n_handles; i++)
                if (!v->handles[i].bound && v->handles[i].generation < UINT32_MAX) {
                        *ret = i;
                        return 0;
                }
        if (v->n_handles >= HANDLES_MAX)
                return HANDLE_E_TOO_MANY;
        if (!GROW(v->handles, v->n_handles))
                return -ENOMEM;
        v->handles[v->n_handles] = (HandleSlot){0};
        *ret = v->n_handles++;
        return 0;
}

/* *ret_name: the section's name, when declared. */
static int handle_bind(const Presented *p, Vault *v, const char *section, const char **ret_name, size_t *ret,
                       Diag *reterr) {
        char quoted[400];
        size_t s = 0;
        int r;

        while (s < v->n_sections && strcmp(v->sections[s].name, section) != 0)
                s++;
        if (s == v->n_sections)
                return diag(reterr, HANDLE_E_UNDECLARED, "the manifest declares no section \"%s\"",
                            diag_quote(section, strlen(section), quoted, sizeof(quoted)));
        *ret_name = v->sections[s].name;
        r = handle_check_evidence(p, v, &v->sections[s], reterr);
        if (r != 0)
                return r;
        r = handle_free_index(v, ret);
        if (r > 0)
                return diag(reterr, r, "%d handles are open: close one", HANDLES_MAX);
        if (r < 0)
                return r;
        v->handles[*ret].generation++;
        v->handles[*ret].section = (uint32_t)s;
        v->handles[*ret].bound = true;
        v->n_bound++;
        return 0;
}

int handle_open(const Presented *p, const char *region, const char *section, char ret[static HANDLE_TEXT_MAX],
                Diag *reterr) {
        const char *name = NULL;
        const Vault *owner;
        size_t index = 0;
        Vault *v;
        int r;

        if (!region_id_valid(region))
                return handle_refuse(p, NULL, NULL, NULL, diag(reterr, HANDLE_E_BAD, "malformed region id"));
        r = handle_reach(p, region, NULL, &owner, &v, reterr);
        if (r != 0 && !owner)
                return handle_refuse_unknown(p, region, NULL, r);
        r = r ?: handle_bind(p, v, section, &name, &index, reterr);
        if (r != 0)
                return handle_refuse(p, owner, NULL, name, r);
        handle_text(v->region, index, v->handles[index].generation, ret);
        handle_trace(p, v, (HandleTrace){.what = "issued", .handle = ret, .section = name});
        return 0;
}

int handle_read(const Presented *p, const char *handle, json_t **ret_value, uint64_t *ret_version, Diag *reterr) {
        HandleTrace t;
        Section *s;
        Vault *v;
        int r = handle_look_up(p, handle, &v, &s, reterr);

        if (r != 0)
                return r;
        if (s->read_only && clock_mono_usec() >= s->until_usec) {
                r = diag(reterr, HANDLE_E_OLD, "section %s: the evidence is older than its gate allows", s->name);
                return handle_refuse(p, v, handle, s->name, r);
        }
        t = (HandleTrace){.what = "dereferenced", .handle = handle, .section = s->name, .version = s->version};
        if (s->version == 0) {
                handle_trace(p, v, t);
                return diag(reterr, HANDLE_E_NO_VALUE, "section %s: nothing was written yet", s->name);
        }
        r = json_parse((const char *)s->memory.p, s->used, SECTION_BYTES_MAX, PIPE_DEPTH_MAX, ret_value, NULL);
        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        *ret_version = s->version;
        handle_trace(p, v, t);
        return 0;
}

/* Only a write into another region's section leaks. The value may contain the key of that region, but no other. */
static int handle_check_escape(const Vault *by, const Vault *v, const json_t *value, Diag *reterr) {
        _cleanup_free_ const uint8_t **room = NULL;
        _cleanup_keys_ const KeySet *all = NULL;
        KeySet others;
        int r;

        if (by == v)
                return 0;
        all = region_keys_hold();
        room = calloc(all->n, sizeof(*room));
        if (!room)
                return -ENOMEM;
        others = region_keys_but(v, room);
        r = keyscan_json(&others, value);
        return r > 0 ? diag(reterr, HANDLE_E_ESCAPE,
                            "the value holds a region's key, and the section is another region's")
                     : r;
}

static int handle_check_value(const Section *s, const json_t *value, char **ret, size_t *ret_n, Diag *reterr) {
        int r = s->schema ? jsonschema_validate(s->schema, value, reterr) : 0;

        if (r > 0) {
                diag_prefix(reterr, "section %s", s->name);
                return HANDLE_E_TYPE;
        }
        r = r ?: json_canonical(value, ret, ret_n);
        if (r == -ERANGE)
                return diag(reterr, HANDLE_E_TYPE, "section %s: not every JSON reader keeps an integer beyond 2^53-1: "
                            "write the number as a string", s->name);
        return r;
}

static int handle_store_value(Section *s, const char *text, size_t n, Diag *reterr) {
        if (n > s->max)
                return diag(reterr, HANDLE_E_TOO_LARGE, "section %s: a value of %zu bytes: at most %zu are declared",
                            s->name, n, s->max);
        memcpy(s->memory.p, text, n);
        if (s->used > n)
                sodium_memzero(s->memory.p + n, s->used - n);
        s->used = n;
        s->version++;
        return 0;
}

int handle_write(const Presented *p, const char *handle, const json_t *value, int64_t expect, uint64_t *ret_version,
                 Diag *reterr) {
        char *text = NULL;
        HandleTrace t;
        size_t n = 0;
        Section *s;
        Vault *v;
        int r = handle_look_up(p, handle, &v, &s, reterr);

        if (r != 0)
                return r;
        if (s->read_only)
                r = diag(reterr, HANDLE_E_READ_ONLY, "section %s is the evidence of a gate: read-only", s->name);
        else if (expect >= 0 && (uint64_t)expect != s->version)
                r = diag(reterr, HANDLE_E_CONFLICT, "section %s is at version %" PRIu64 ", not %" PRId64 " as expected",
                         s->name, s->version, expect);
        else
                r = handle_check_escape(p->by, v, value, reterr);
        r = r ?: handle_check_value(s, value, &text, &n, reterr);
        r = r ?: handle_store_value(s, text, n, reterr);
        if (text)
                sodium_memzero(text, n);
        free(text);
        if (r != 0)
                return handle_refuse(p, v, handle, s->name, r);
        *ret_version = s->version;
        t = (HandleTrace){.what = "dereferenced", .handle = handle, .section = s->name, .version = s->version};
        t.write = true;
        handle_trace(p, v, t);
        return 0;
}

int handle_close(const Presented *p, const char *handle, Diag *reterr) {
        HandleValue h;
        Section *s;
        Vault *v;
        int r = handle_look_up(p, handle, &v, &s, reterr);

        if (r != 0)
                return r;
        handle_parse(handle, &h, reterr);
        v->handles[h.index].bound = false;
        v->n_bound--;
        handle_trace(p, v, (HandleTrace){.what = "closed", .handle = handle, .section = s->name});
        return 0;
}

void handle_unbind(Vault *v, size_t index) {
        char text[HANDLE_TEXT_MAX];

        handle_text(v->region, index, v->handles[index].generation, text);
        v->handles[index].bound = false;
        v->n_bound--;
        if (v->trace)
                v->trace(v->trace_userdata, &(HandleTrace){.what = "unbound", .handle = text,
                                                           .section = v->sections[v->handles[index].section].name});
}

void handle_tell_tries(Vault *v) {
        uint64_t more;
        size_t n;
        _cleanup_free_ VaultTry *tries = vault_take_tries(v, &n, &more);

        for (size_t i = 0; v->trace && i < n; i++)
                v->trace(v->trace_userdata, &(HandleTrace){.what = "refused",
                                                           .handle = *tries[i].handle ? tries[i].handle : NULL,
                                                           .by = tries[i].by, .code = tries[i].code,
                                                           .usec = tries[i].usec, .more = i == n - 1 ? more : 0});
}
