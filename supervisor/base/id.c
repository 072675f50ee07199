#include "base/id.h"

#include "base/hash.h"
#include "base/io.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

int region_id_new(uint64_t real_usec, char ret[static REGION_ID_MAX]) {
        uint8_t rnd[10];
        uint64_t ms = real_usec / 1000 & ((UINT64_C(1) << 48) - 1), hi = 0, lo = 0;

        if (getrandom(rnd, sizeof(rnd), 0) != (ssize_t)sizeof(rnd))
                return errno ? -errno : -EIO;
        for (int i = 9; i >= 0; i--, ms >>= 5)
                ret[i] = digits[ms & 31];
        for (int i = 0; i < 5; i++) {
                hi = hi << 8 | rnd[i];
                lo = lo << 8 | rnd[5 + i];
        }
        for (int i = 17; i >= 10; i--, hi >>= 5)
                ret[i] = digits[hi & 31];
        for (int i = 25; i >= 18; i--, lo >>= 5)
                ret[i] = digits[lo & 31];
        ret[REGION_ID_LEN] = 0;
        return 0;
}

bool region_id_valid(const char *id) {
        return strlen(id) == REGION_ID_LEN && strspn(id, digits) == REGION_ID_LEN && *id <= '7';
}

uint64_t region_id_usec(const char *id) {
        uint64_t ms = 0;

        for (int i = 0; i < 10; i++)
                ms = ms << 5 | (uint64_t)(strchr(digits, id[i]) - digits);
        return (ms & ((UINT64_C(1) << 48) - 1)) * 1000;
}

bool scope_name_valid(const char *name) {
        size_t n = strlen(name);

        return n > 0 && n <= SCOPE_NAME_BYTES && ((*name >= 'a' && *name <= 'z') || (*name >= '0' && *name <= '9')) &&
               strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

bool slot_name_valid(const char *name) {
        size_t n = strlen(name);

        return n > 0 && n <= SLOT_NAME_MAX && *name >= 'a' && *name <= 'z' &&
               strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._/-") == n;
}

bool skill_name_valid(const char *name) {
        size_t n = strlen(name);

        return n > 0 && n <= 64 && name[0] != '-' && name[n - 1] != '-' && !strstr(name, "--") &&
               strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

const char *host_id(char out[static HOST_ID_MAX]) {
        _cleanup_free_ char *id = NULL;
        uint8_t hash[HASH_BYTES];
        char text[128];
        size_t n;

        if (io_read_file(AT_FDCWD, "/etc/machine-id", 64, &id, &n) < 0)
                return NULL;
        id[strcspn(id, "\n")] = 0;
        if (strlen(id) < 32) /* "uninitialized", or an emptied file */
                return NULL;
        n = (size_t)snprintf(text, sizeof(text), "lethe host\n%s\n", id);
        hash_bytes(text, n, hash);
        strcpy(out, "sha256:");
        hex_encode(hash, sizeof(hash), out + 7);
        return out;
}
