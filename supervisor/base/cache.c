#include "base/cache.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int cache_open(const char *store_dir) {
        _cleanup_close_ int store = open(store_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int dir;

        if (store < 0)
                return -errno;
        dir = openat(store, "cache", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir < 0 && errno == ENOENT && faccessat(store, "data.mdb", F_OK, 0) == 0 &&
            mkdirat(store, "cache", 0700) == 0)
                dir = openat(store, "cache", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return dir < 0 ? -errno : dir;
}

static void cache_hash(const char *name, const void *p, size_t n, uint8_t ret[static HASH_BYTES]) {
        uint8_t parts[2 * HASH_BYTES];

        hash_bytes(name, strlen(name), parts);
        hash_bytes(p, n, parts + HASH_BYTES);
        hash_bytes(parts, sizeof(parts), ret);
}

int cache_get(int dir, const char *name, size_t max, uint8_t **ret, size_t *ret_n) {
        _cleanup_free_ char *bytes = NULL;
        uint8_t hash[HASH_BYTES];
        size_t n;
        int e = io_read_file(dir, name, HASH_BYTES + max, &bytes, &n);

        if (e < 0)
                return e;
        if (n < HASH_BYTES)
                return -EBADMSG;
        n -= HASH_BYTES;
        cache_hash(name, bytes + HASH_BYTES, n, hash);
        if (memcmp(hash, bytes, HASH_BYTES) != 0)
                return -EBADMSG;
        memmove(bytes, bytes + HASH_BYTES, n);
        *ret = (uint8_t *)TAKE_PTR(bytes);
        *ret_n = n;
        return 0;
}

void cache_put(int dir, const char *name, const void *p, size_t n) {
        _cleanup_free_ uint8_t *bytes = malloc(HASH_BYTES + n);

        if (!bytes)
                return;
        memcpy(bytes + HASH_BYTES, p, n);
        cache_hash(name, p, n, bytes);
        io_write_file(dir, name, bytes, HASH_BYTES + n, 0600, false);
}
