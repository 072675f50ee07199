/* Runs: supervisor. The inside of a Vault, for the three files that make it up: region-key.c, region-section.c, region-handle.c. No other
 * file includes this (tests/isolation/region/leak-paths.py), so that what a region keeps here has no way out but theirs (I-59). */
#pragma once

#include "base/id.h"
#include "region/region-handle.h"
#include "region/region-key.h"
#include "region/region-locked.h"
#include "schema/jsonschema.h"

typedef struct Section {
        char *name;           /* owned */
        JsonSchema *schema;   /* owned; NULL: any value */
        size_t max;           /* bytes of a value in canonical form */
        bool read_only;       /* evidence */
        uint64_t until_usec;  /* of evidence, CLOCK_MONOTONIC: it is too old from then on; UINT64_MAX: never */
        Locked memory;        /* `used` bytes of canonical JSON, then zeros */
        size_t used;
        uint64_t version;     /* 0: no value yet */
} Section;

typedef struct HandleSlot {
        uint32_t generation;  /* of the handle that is bound, or was bound last; 0: none yet */
        uint32_t section;
        bool bound;
} HandleSlot;

/* A try of another thread's region with a handle of this one: it is refused there, and the record is for the vault's own thread to make. */
typedef struct VaultTry {
        char by[REGION_ID_MAX], handle[HANDLE_TEXT_MAX]; /* handle: "" for none */
        int code;             /* HANDLE_E_* */
        uint64_t usec;        /* CLOCK_REALTIME */
} VaultTry;
#define VAULT_TRIES_MAX 64 /* what comes then is counted */

struct Vault {
        char region[REGION_ID_MAX];
        KeyScope scope;
        const void *owner;    /* the thread that made it: it alone uses the vault, and others only look for its key */
        const Vault *parent;  /* borrowed; NULL: none */
        Locked key;           /* KEY_BYTES at its start */
        Section *sections;
        size_t n_sections;
        HandleSlot *handles;  /* index -> handle; grows */
        size_t n_handles, n_bound;
        bool unbound;         /* teardown began: every handle is stale, for whoever asks */
        uint64_t unbound_handles; /* how many that ended */
        VaultTrace trace;
        void *trace_userdata;
        VaultTry *tries;      /* these three: under the lock of the list of the living */
        size_t n_tries;
        uint64_t more_tries;
};

/* The living vault of this region, when this thread made it, or NULL: an invocation and all below it is one thread's. */
Vault *vault_find(const char *region);
/* A handle of a region that lives in this process and was made by another thread: nobody here may use it. Returns 0 when there is no such region, else
 * HANDLE_E_KEY, or HANDLE_E_SCOPE for the right key; the region is left word of it. handle: NULL for none. */
int vault_try_elsewhere(const char *region, const Presented *p, const char *handle);
/* The tries that were left for v: the caller frees them. */
VaultTry *vault_take_tries(Vault *v, size_t *ret_n, uint64_t *ret_more);
/* Enters and leaves the list of the living. */
int vault_enlist(Vault *v);
void vault_delist(Vault *v);
