#include "base/host.h"

#include "base/hash.h"
#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

const char *host_id(char out[static HOST_ID_MAX]) {
        _cleanup_free_ char *id = NULL;
        uint8_t hash[HASH_BYTES];
        char text[128];
        size_t n;

        if (io_read_file(AT_FDCWD, "/etc/machine-id", 64, &id, &n) < 0)
                return NULL;
        id[strcspn(id, "\n")] = 0;
        if (strlen(id) < 32) /* "uninitialized", or a file that somebody emptied */
                return NULL;
        n = (size_t)snprintf(text, sizeof(text), "lethe host\n%s\n", id);
        hash_bytes(text, n, hash);
        strcpy(out, "sha256:");
        hex_encode(hash, sizeof(hash), out + 7);
        return out;
}
