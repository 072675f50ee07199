/* Runs: supervisor. The named, typed sections of a region's working state (I-4), and the life of the vault that holds them:
 *
 *     vault_new -> [vault_add_evidence] -> handles (region-handle.h) -> vault_unbind -> vault_wipe -> vault_free
 *
 * No function here yields a byte of a section: for that there are handles, which want the region's key (I-59). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "region/region-key.h"
#include "schema/limits.h"

/* "gate.SLOT": the evidence that a gate of this region read (I-50). A declared name has no dot. */
#define GATE_SECTION "gate."

enum {
        SECTION_E_BAD = 1, /* a section's name, schema or size cannot be, or its memory cannot be locked; message says which */
};

/* sections: object name -> {"schema": JSON Schema, "bytes": n}, or NULL: their memory is reserved whole at once. parent: of a sub-skill's
 * region, borrowed as long as it lives. Enlists the region among the living. Returns 0, SECTION_E_BAD, -errno. */
int vault_new(const char *region, KeyScope scope, const Vault *parent, const json_t *sections, Vault **ret, Diag *reterr);
/* A read-only section "gate.SLOT" with this value, which can be read until then (CLOCK_MONOTONIC). Returns 0, SECTION_E_BAD, -errno. */
#define EVIDENCE_LASTS UINT64_MAX
int vault_add_evidence(Vault *v, const char *slot, const json_t *value, uint64_t until_usec, Diag *reterr);
/* Per-handle traces go to fn; NULL: nowhere. */
void vault_trace_to(Vault *v, VaultTrace fn, void *userdata);

/* Bytes that the vault's sections take of the region's memory, used or not. v may be NULL. */
uint64_t vault_bytes(const Vault *v);
/* [{"name","bytes","write"}]: what is declared and `to` may reach with v's key, never what is in it; evidence is v's alone. New reference, NULL when out of
 * memory. */
json_t *vault_declared(const Vault *v, const Vault *to);

/* What teardown did to a vault. */
typedef struct VaultWiped {
        uint64_t sections;          /* sections, evidence among them */
        uint64_t handles_unbound;
        uint64_t bytes_held, bytes_overwritten, bytes_verified; /* whole pages, the key's among them */
        bool resident;              /* all of it was locked: none could reach swap */
} VaultWiped;

/* I-13, I-17: from here on every handle of the region is stale. Returns how many were bound; the second time what the first one did. v may
 * be NULL. */
uint64_t vault_unbind(Vault *v);
/* Unbinds, overwrites key and sections, reads back. The vault is then of no use, and its key no longer looked for. v may be NULL. */
void vault_wipe(Vault *v, unsigned passes, VaultWiped *ret);
/* Wipes what was not wiped, and frees. NULL is fine. */
void vault_free(Vault *v);
