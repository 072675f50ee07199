/* Runs: supervisor. The inside of a Vault, for the three files that make it up: region-key.c, region-section.c, region-handle.c. No other
 * file includes this (tests/region/leak-paths.py), so that what a region keeps here has no way out but theirs (I-59). */
#pragma once

#include "base/id.h"
#include "region/region-key.h"
#include "region/region-locked.h"
#include "schema/jsonschema.h"

typedef struct Section {
        char *name;           /* owned */
        JsonSchema *schema;   /* owned; NULL: any value */
        size_t max;           /* bytes of a value in canonical form */
        bool read_only;
        Locked memory;        /* `used` bytes of canonical JSON, then zeros */
        size_t used;
        uint64_t version;     /* 0: no value yet */
} Section;

typedef struct HandleSlot {
        uint32_t generation;  /* of the handle that is bound, or was bound last; 0: none yet */
        uint32_t section;
        bool bound;
} HandleSlot;

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
};

/* The living vault of this region, when this thread made it, or NULL: an invocation and all below it is one thread's. */
Vault *vault_find(const char *region);
/* Enters and leaves the list of the living. */
int vault_enlist(Vault *v);
void vault_delist(Vault *v);
