/* Runs: supervisor. The inside of a Vault. Only region-vault.c, region-section.c and region-handle.c include this
 * header (tests/isolation/region/leak-paths.py), so values of a region leave only through these files (I-59). */
#pragma once

#include "base/id.h"
#include "region/region-key.h"
#include "region/region-locked.h"
#include "schema/jsonschema.h"

typedef struct Section {
        char *name;           /* owned */
        JsonSchema *schema;   /* owned; NULL: any value */
        size_t max;           /* bytes of a value in canonical form */
        bool read_only;       /* evidence */
        uint64_t until_usec;  /* for evidence, CLOCK_MONOTONIC: too old from this time on; UINT64_MAX: never */
        Locked memory;        /* `used` bytes of canonical JSON, then zeros */
        size_t used;
        uint64_t version;     /* 0: no value yet */
} Section;

typedef struct HandleSlot {
        uint32_t generation;  /* of the current or last handle; 0: not used yet */
        uint32_t section;
        bool bound;
} HandleSlot;

/* A try by a region of a different thread: refused there, recorded by the owner's thread. */
typedef struct VaultTry {
        char by[REGION_ID_MAX], handle[HANDLE_TEXT_MAX]; /* handle: "" when missing */
        int code;             /* HANDLE_E_* */
        uint64_t usec;        /* CLOCK_REALTIME */
} VaultTry;
#define VAULT_TRIES_MAX 64 /* further tries are only counted */

struct Vault {
        char region[REGION_ID_MAX];
        KeyScope scope;
        const void *owner; /* the thread that made the vault and alone uses it; other threads only scan for the key */
        const Vault *parent;  /* borrowed; NULL: no parent */
        Locked key;           /* KEY_BYTES at its start */
        Section *sections;
        size_t n_sections;
        HandleSlot *handles;  /* index -> handle; grows */
        size_t n_handles, n_bound;
        bool unbound;         /* teardown began: every handle is stale */
        uint64_t unbound_handles; /* number of handles ended by teardown */
        VaultTrace trace;
        void *trace_userdata;
        VaultTry *tries;      /* three fields guarded by the lock of the living list */
        size_t n_tries;
        uint64_t more_tries;
};

/* The living vault of the region, or NULL. Only for the making thread: an invocation with all regions below has one. */
Vault *vault_find(const char *region);
/* Checks a handle of another thread's region, always refused here. Returns 0 for an unknown region, else HANDLE_E_KEY,
 * or HANDLE_E_SCOPE for the right key, and saves the try in the owner's vault. handle: NULL when missing. */
int vault_try_elsewhere(const char *region, const Presented *p, const char *handle);
/* Takes the saved tries of v; the caller frees them. */
VaultTry *vault_take_tries(Vault *v, size_t *ret_n, uint64_t *ret_more);
/* Enter and leave the list of living vaults. */
int vault_enlist(Vault *v);
void vault_delist(Vault *v);
