/* Runs: supervisor. The key of a region, and the types shared by all parts of a region's vault: key, sections
 * (region-section.h) and handles (region-handle.h) (I-4, I-6..I-11).
 *
 * A key is KEY_BYTES from getrandom(2) in locked memory, made and destroyed with the region. The supervisor hands a key
 * over once, on the pipe (I-10). Users of a key:
 *   scope invocation        the region itself
 *   scope invocation-tree   the region and the sub-skills below, as long as each region in between has the same scope
 *                           (I-26, I-27) */
#pragma once

#include "base/keyscan.h"
#include "manifest/vocabulary.h"

typedef struct Vault Vault;

/* The caller and the presented key: text of any length from a hostile region, or NULL. */
typedef struct Presented {
        const Vault *by;
        const char *key;
        size_t n_key;
} Presented;

/* All living keys of this process, for keyscan. Until region_keys_let_go(), no thread makes or ends a region. */
const KeySet *region_keys_hold(void);
void region_keys_let_go(const KeySet **held);
#define _cleanup_keys_ _cleanup_(region_keys_let_go)
/* Both functions, for modules without knowledge of regions. */
extern const KeyHold region_keys;
/* keyscan_text() and keyscan_json() with all living keys. */
int region_keys_in_text(const char *bytes, size_t n);
int region_keys_in_json(const json_t *value);
size_t region_keys_count(void);
/* The held keys without the key of v, for a write into a section of v. `room` holds as many. */
KeySet region_keys_but(const Vault *v, const uint8_t **room);

bool vault_may_use(const Vault *v, const Vault *owner); /* True when v may use the key of `owner`. */
/* Writes the key as text for the pipe. `owner` is `to` itself, or a vault whose key `to` may use. ret is
 * NUL-terminated; the caller overwrites ret. Returns false when the scope forbids the key. */
bool vault_hand_over(const Vault *owner, const Vault *to, char ret[static KEY_TEXT_BYTES + 1]);
const Vault *vault_above(const Vault *v); /* The nearest living vault above v with a key usable by v, or NULL. */
bool vault_key_is(const Vault *v, const Presented *p); /* Compares in constant time. */

const char *vault_region(const Vault *v);

#define HANDLE_TEXT_MAX 64  /* with the NUL */

enum {
        HANDLE_OK = 0,
#define HANDLE_CODE(id, word, rpc) HANDLE_E_##id,
#include "region/handle-codes.def"
#undef HANDLE_CODE
};

/* Per-handle traces (I-37, I-75), one for the presenting region and one for the owner of the section. what: "issued",
 * "dereferenced", "refused", "closed", "unbound". handle: NULL when missing or malformed. section: NULL when
 * unknown. */
typedef struct HandleTrace {
        const char *what, *handle, *section;
        const char *by;       /* in the owner's trace: the presenting region; else NULL */
        const char *of;       /* in the presenter's trace: the owner's region; else NULL */
        int code;             /* of a refusal (HANDLE_E_*), else 0 */
        bool write;           /* for "dereferenced" */
        uint64_t version;     /* for "dereferenced": the version read (0: no value yet) or written */
        uint64_t usec;        /* CLOCK_REALTIME; 0: now */
        uint64_t more;        /* number of further tries without details */
} HandleTrace;
typedef void (*VaultTrace)(void *userdata, const HandleTrace *t);
