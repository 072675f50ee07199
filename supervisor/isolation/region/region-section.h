/* Runs: supervisor. The named, typed sections of a region's working state (I-4), and the life of the vault:
 *
 *     vault_new -> [vault_add_evidence] -> handles (region-handle.h) -> vault_unbind -> vault_wipe -> vault_free
 *
 * No function here yields a byte of a section: only handles do, with the region's key (I-59). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "region/region-key.h"
#include "schema/limits.h"

/* "gate.SLOT": evidence read by a gate of this region (I-50). A declared name has no dot. */
#define GATE_SECTION "gate."

enum {
        SECTION_E_BAD = 1, /* bad name, schema or size of a section, or its memory cannot be locked; see the message */
};

/* sections: object name -> {"schema": JSON Schema, "bytes": n}, or NULL; all memory is reserved at once. parent: vault
 * of the region above, borrowed while alive. Enters the list of living vaults. Returns 0, SECTION_E_BAD, -errno. */
int vault_new(const char *region, KeyScope scope, const Vault *parent, const json_t *sections, Vault **ret,
              Diag *reterr);
/* Adds a read-only section "gate.SLOT", readable until the time (CLOCK_MONOTONIC). Returns 0, SECTION_E_BAD, -errno. */
#define EVIDENCE_LASTS UINT64_MAX
int vault_add_evidence(Vault *v, const char *slot, const json_t *value, uint64_t until_usec, Diag *reterr);
void vault_trace_to(Vault *v, VaultTrace fn, void *userdata); /* Sends per-handle traces to fn; NULL: no traces. */

/* Bytes of the region's memory budget reserved for sections, used or not. v may be NULL. */
uint64_t vault_bytes(const Vault *v);
/* [{"name","bytes","write"}]: sections reachable by `to`; evidence for v alone. New reference or NULL. */
json_t *vault_declared(const Vault *v, const Vault *to);

/* Result of vault_wipe(). */
typedef struct VaultWiped {
        uint64_t sections;          /* evidence included */
        uint64_t handles_unbound;
        uint64_t bytes_held, bytes_overwritten, bytes_verified; /* whole pages, the key's included */
        bool resident;              /* all pages were locked: no page could reach swap */
} VaultWiped;

/* Makes every handle stale (I-13, I-17). Returns the number of bound handles, also on a second call. v may be NULL. */
uint64_t vault_unbind(Vault *v);
/* Unbinds handles, overwrites key and sections, reads back. Afterwards the vault is unusable. v may be NULL. */
void vault_wipe(Vault *v, unsigned passes, VaultWiped *ret);
void vault_free(Vault *v); /* Wipes the rest, and frees. NULL is fine. */
