#include "ledger/anchor.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "base/owner.h"
#include "base/watchdog.h"
#include "ledger/ledger.h"
#include "store/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *given;

void anchor_set_path(const char *file) {
        given = file;
}

bool anchor_is_empty(void) {
        return given && !*given;
}

const char *anchor_said(void) {
        const char *env = given ? given : getenv("LETHE_ANCHOR");

        return env && *env ? env : NULL;
}

char *anchor_path(const Store *s, bool *ret_inside) {
        const char *said = anchor_said(), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        _cleanup_free_ char *real = NULL;
        uint8_t hash[HASH_BYTES];
        char hex[2 * 8 + 1], *path = NULL;
        int n;

        if (ret_inside)
                *ret_inside = false;
        if (said)
                return io_absolute(said);
        real = realpath(store_dir(s), NULL);
        if (!real)
                return NULL;
        hash_bytes(real, strlen(real), hash);
        hex_encode(hash, 8, hex);
        if (state && *state == '/')
                n = asprintf(&path, "%s/lethe-anchors/%s", state, hex);
        else if (home && *home == '/')
                n = asprintf(&path, "%s/.local/state/lethe-anchors/%s", home, hex);
        else {
                if (ret_inside)
                        *ret_inside = true;
                n = asprintf(&path, "%s/anchor", real);
        }
        return n < 0 ? NULL : path;
}

/* A checkpoint of the same length overwrites the old anchor with one write of one sector. This costs a third of a new
 * file and a rename, and each run pays the cost at its end. */
static int anchor_overwrite(const char *path, const char *note, size_t n) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size != n ||
            pwrite(fd, note, n, 0) != (ssize_t)n)
                return -EAGAIN;
        return 0;
}

void anchor_write(Store *s, const char *note, size_t n) {
        const char *path = store_anchor(s);
        _cleanup_watchdog_ WatchdogWait w = path ? watchdog_wait("the anchor", path) : (WatchdogWait){};
        static atomic_flag said = ATOMIC_FLAG_INIT;
        int r = path ? anchor_overwrite(path, note, n) : -ENOENT;

        if (path && r < 0)
                /* seldom; a power cut must not leave an empty anchor, which would be refused */
                r = io_write_file(AT_FDCWD, path, note, n, 0600, true);
        if (path && r == -ENOENT) {
                _cleanup_free_ char *folder = strdup(path);
                char *slash = folder ? strrchr(folder, '/') : NULL;

                if (slash && slash > folder) {
                        *slash = 0;
                        r = io_mkdir_parents(folder, 0700) ?: io_write_file(AT_FDCWD, path, note, n, 0600, true);
                }
        }
        if (r < 0 && !atomic_flag_test_and_set(&said)) {
                log_warning("anchor %s cannot be written (%s): a rollback of the store would not be noticed",
                            path ? path : "?", strerror(-r));
        }
}

/* Returns 0, -errno or NOTE_E_* with the reason. Reads an invalid anchor twice, because a writer may be at work. */
static int anchor_read(const char *path, char **ret, size_t *ret_n, Checkpoint *ret_checkpoint, Diag *reterr) {
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the anchor", path);
        int r = 0;

        for (int again = 0; again < 2; again++) {
                free(TAKE_PTR(*ret));
                r = io_read_file(AT_FDCWD, path, NOTE_MAX, ret, ret_n);
                if (r < 0)
                        return diag(reterr, r, "%s", strerror(-r));
                r = note_parse(*ret, *ret_n, ret_checkpoint, reterr);
                if (r == 0)
                        return 0;
        }
        return r;
}

/* The operator trusts an anchor that the operator named: any fault in the anchor is reported, and the file stays
 * unchanged. Lethe's own anchor is made anew without an error. */
static int anchor_reject(const Store *s, const char *path, const char *why, Diag *reterr) {
        if (anchor_said())
                return diag(reterr, STORE_E_ROLLBACK,
                            "anchor %s %s: nothing says that store %s is not an older copy. Name the anchor of the "
                            "store, or a new file, which Lethe then makes",
                            path, why, store_dir(s));
        if (store_mode(s) != STORE_READ)
                log_warning("anchor %s %s: it is not used", path, why);
        return 0;
}

/* The anchor could not be read; a later try may succeed. Lethe's own anchor must not be made anew from an older
 * state. */
static bool anchor_may_be_good(int r) {
        return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EINTR ||
               (anchor_said() && r < 0 && r != -EISDIR && r != -ELOOP && r != -ENXIO && r != -EFBIG);
}

/* Compares the store with its anchor. Returns 0 when the store has everything that the anchor saw, STORE_E_*, -errno;
 * *ret_late: the store has more entries than the anchor. */
static int anchor_compare(Store *s, const char *path, bool *ret_late, Diag *reterr) {
        _cleanup_free_ char *note = NULL;
        _cleanup_txn_ Txn *t = NULL;
        Checkpoint anchor, now;
        LedgerTree tree;
        MerkleHash root;
        Bytes newest;
        Diag why;
        size_t n;
        int r = anchor_read(path, &note, &n, &anchor, &why);

        *ret_late = false;
        if (r == -ENOENT || r == -EACCES || r == -ENOTDIR)
                return 0;
        if (anchor_may_be_good(r))
                return diag(reterr, r, "store %s: its anchor %s cannot be read: %s", store_dir(s), path, strerror(-r));
        if (r != 0) {
                diag_prefix(&why, "is no checkpoint");
                return anchor_reject(s, path, why.text, reterr);
        }
        if (strcmp(anchor.origin, store_origin(s)) != 0) {
                diag(&why, 0, "is of another ledger, %s, and the store has ledger %s", anchor.origin, store_origin(s));
                return anchor_reject(s, path, why.text, reterr);
        }
        r = store_begin(s, false, &t, reterr);
        if (r != 0)
                return r;
        /* No change since the anchor was written: the usual case, for which no signature need be verified. */
        if (ledger_checkpoint(t, &newest) == 0 && newest.n == n && memcmp(newest.p, note, n) == 0)
                return 0;
        r = note_open(note, n, store_public_key(s), &anchor, &why);
        if (r != 0) {
                diag_prefix(&why, "does not verify");
                return anchor_reject(s, path, why.text, reterr);
        }
        r = ledger_tree_read(t, &tree);
        if (r < 0)
                return diag(reterr, STORE_E_DAMAGED, "store %s: the ledger's tree cannot be read: %s", store_dir(s),
                            store_strerror(r));
        now.size = tree.edge.size;
        if (now.size < anchor.size)
                return diag(reterr, STORE_E_ROLLBACK,
                            "store %s is behind its anchor %s: the ledger has %" PRIu64
                            " entries, the anchor saw %" PRIu64 ": an older copy was put in its place",
                            store_dir(s), path, now.size, anchor.size);
        if (now.size == anchor.size)
                merkle_edge_root(&tree.edge, &root);
        else {
                r = merkle_root(anchor.size, ledger_node, t, &root);
                if (r < 0)
                        return diag(reterr, STORE_E_DAMAGED, "store %s: tree hashes cannot be read: %s", store_dir(s),
                                    store_strerror(r));
        }
        if (memcmp(&root, &anchor.root, sizeof(root)) != 0) {
                char had[HASH_HEX_MAX], has[HASH_HEX_MAX];

                return diag(reterr, STORE_E_ROLLBACK,
                            "store %s contradicts its anchor %s: at %" PRIu64
                            " entries the anchor saw root %s, the store has %s: history was rewritten",
                            store_dir(s), path, anchor.size, hex_encode(anchor.root.b, 32, had),
                            hex_encode(root.b, 32, has));
        }
        *ret_late = now.size > anchor.size;
        return 0;
}

int anchor_check(Store *s, Diag *reterr) {
        _cleanup_free_ char *path = anchor_path(s, NULL);
        Diag other;
        bool late;
        int r;

        if (!path)
                return -ENOMEM;
        r = store_mode(s) == STORE_READ ? 0 : owner_check(path, geteuid(), &other);
        if (r > 0)
                return diag(reterr, STORE_E_OWNER, "anchor %s is not its operator's alone: %s", path, other.text);
        r = anchor_compare(s, path, &late, reterr);
        if (r != 0)
                return r;
        store_set_anchor(s, TAKE_PTR(path));
        /* A killed supervisor had reported more entries than the anchor has. */
        if (late && store_mode(s) != STORE_READ)
                txn_bring_in(s);
        return 0;
}
