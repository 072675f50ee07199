#include "base/host.h"

#include "base/hash.h"
#include "base/io.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HOST_FILE "/etc/machine-id"

static const char *host_make(char out[static HOST_ID_MAX]) {
        _cleanup_free_ char *id = NULL;
        uint8_t hash[HASH_BYTES];
        char text[128];
        size_t n;

        if (io_read_file(AT_FDCWD, HOST_FILE, 64, &id, &n) < 0)
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

/* The id of the file as read before: a different file, or changed bytes, make a different id. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stat file;
static char known[HOST_ID_MAX];

static bool host_same(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
               a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

const char *host_id(char out[static HOST_ID_MAX]) {
        const char *id = NULL;
        struct stat st;

        if (stat(HOST_FILE, &st) < 0)
                return NULL;
        pthread_mutex_lock(&lock);
        if (*known && host_same(&st, &file))
                id = strcpy(out, known);
        pthread_mutex_unlock(&lock);
        if (id)
                return id;
        id = host_make(out);
        pthread_mutex_lock(&lock);
        if (id) {
                strcpy(known, id);
                file = st;
        }
        pthread_mutex_unlock(&lock);
        return id;
}
