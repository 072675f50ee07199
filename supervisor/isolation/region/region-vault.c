#include "region/region-vault.h"

#include "base/clock.h"
#include "base/hash.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <string.h>

/* The living vaults of this process with their keys. A key outside of this list is never found by keyscan, so all
 * threads share the list. Scans run under the lock: a vault leaves the list before its key is wiped. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static _Thread_local char here; /* the address names the thread */
static Vault **living;
static const uint8_t **keys;
static KeySet all;

static int vault_enlist_locked(Vault *v) {
        if (!GROW(living, all.n) || !GROW(keys, all.n))
                return -ENOMEM;
        all.v = keys;
        living[all.n] = v;
        keys[all.n++] = v->key.p;
        return 0;
}

int vault_enlist(Vault *v) {
        int e;

        v->owner = &here;
        pthread_rwlock_wrlock(&lock);
        e = vault_enlist_locked(v);
        pthread_rwlock_unlock(&lock);
        return e;
}

void vault_delist(Vault *v) {
        pthread_rwlock_wrlock(&lock);
        for (size_t i = 0; i < all.n; i++) {
                if (living[i]->parent == v)
                        living[i]->parent = NULL;
                if (living[i] == v) {
                        living[i] = living[--all.n];
                        keys[i] = keys[all.n];
                        i--;
                }
        }
        if (all.n == 0) {
                free(living);
                free(keys);
                living = NULL;
                keys = NULL;
                all = (KeySet){0};
        }
        pthread_rwlock_unlock(&lock);
}

Vault *vault_find(const char *region) {
        Vault *v = NULL;

        pthread_rwlock_rdlock(&lock);
        for (size_t i = 0; i < all.n && !v; i++)
                if (living[i]->owner == &here && strcmp(living[i]->region, region) == 0)
                        v = living[i];
        pthread_rwlock_unlock(&lock);
        return v;
}

/* Saves a try; a try beyond the room is only counted. */
static void vault_leave_try(Vault *v, const Presented *p, const char *handle, int code) {
        VaultTry *tried;

        if (!v->tries)
                v->tries = calloc(VAULT_TRIES_MAX, sizeof(*v->tries));
        if (!v->tries || v->n_tries == VAULT_TRIES_MAX) {
                v->more_tries++;
                return;
        }
        tried = &v->tries[v->n_tries++];
        *tried = (VaultTry){.code = code, .usec = clock_real_usec()};
        memcpy(tried->by, p->by->region, sizeof(tried->by));
        if (handle)
                memcpy(tried->handle, handle, strnlen(handle, sizeof(tried->handle) - 1));
}

int vault_try_elsewhere(const char *region, const Presented *p, const char *handle) {
        int code = 0;

        pthread_rwlock_wrlock(&lock);
        for (size_t i = 0; i < all.n && code == 0; i++)
                if (living[i]->owner != &here && strcmp(living[i]->region, region) == 0) {
                        code = vault_key_is(living[i], p) ? HANDLE_E_SCOPE : HANDLE_E_KEY;
                        vault_leave_try(living[i], p, handle, code);
                }
        pthread_rwlock_unlock(&lock);
        return code;
}

VaultTry *vault_take_tries(Vault *v, size_t *ret_n, uint64_t *ret_more) {
        VaultTry *tries;

        pthread_rwlock_wrlock(&lock);
        tries = TAKE_PTR(v->tries);
        *ret_n = v->n_tries;
        *ret_more = v->more_tries;
        v->n_tries = 0;
        v->more_tries = 0;
        pthread_rwlock_unlock(&lock);
        return tries;
}

const KeySet *region_keys_hold(void) {
        pthread_rwlock_rdlock(&lock);
        return &all;
}

void region_keys_let_go(const KeySet **held) {
        if (*held)
                pthread_rwlock_unlock(&lock);
        *held = NULL;
}

const KeyHold region_keys = {region_keys_hold, region_keys_let_go};

int region_keys_in_text(const char *bytes, size_t n) {
        _cleanup_keys_ const KeySet *held = region_keys_hold();

        return keyscan_text(held, bytes, n);
}

int region_keys_in_json(const json_t *value) {
        _cleanup_keys_ const KeySet *held = region_keys_hold();

        return keyscan_json(held, value);
}

size_t region_keys_count(void) {
        _cleanup_keys_ const KeySet *held = region_keys_hold();

        return held->n;
}

KeySet region_keys_but(const Vault *v, const uint8_t **others) {
        size_t n = 0;

        for (size_t i = 0; i < all.n; i++)
                if (living[i] != v)
                        others[n++] = keys[i];
        return (KeySet){.v = others, .n = n};
}

bool vault_may_use(const Vault *v, const Vault *owner) {
        for (; v; v = v->parent) {
                if (v == owner)
                        return true;
                if (!v->parent || v->parent->scope != KEY_SCOPE_TREE)
                        return false;
        }
        return false;
}

bool vault_hand_over(const Vault *owner, const Vault *to, char ret[static KEY_TEXT_BYTES + 1]) {
        if (!vault_may_use(to, owner) || !owner->key.p)
                return false;
        hex_encode(owner->key.p, KEY_BYTES, ret);
        return true;
}

const Vault *vault_above(const Vault *v) {
        return v->parent && v->parent->scope == KEY_SCOPE_TREE ? v->parent : NULL;
}

bool vault_key_is(const Vault *v, const Presented *p) {
        uint8_t presented[KEY_BYTES];
        char text[KEY_TEXT_BYTES + 1];
        bool same;

        if (!p->key || p->n_key != KEY_TEXT_BYTES || !v->key.p)
                return false;
        memcpy(text, p->key, KEY_TEXT_BYTES);
        text[KEY_TEXT_BYTES] = 0;
        same = hex_decode(text, presented, sizeof(presented)) == 0 &&
               sodium_memcmp(presented, v->key.p, KEY_BYTES) == 0;
        sodium_memzero(presented, sizeof(presented));
        sodium_memzero(text, sizeof(text));
        return same;
}

const char *vault_region(const Vault *v) {
        return v->region;
}
