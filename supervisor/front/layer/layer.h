/* Runs: supervisor, lethe-layer, CLI. Layers that regions wrote above folders of the host (`-v SRC:DST:overlay`). At a
 * region's end lethe-layer reads the layer, filled by a hostile program, out of the scratch, and writes the kept form
 * into the store's folder:
 *
 *  STORE/layers/REGION/index    a line for each changed path (layer_parse())
 *  STORE/layers/REGION/N        the content of the file whose entry has the number N
 *
 * until the layer is applied to the folders or dropped (scrub/kept.h). Then its files are overwritten. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/id.h"

#include <sys/stat.h>

#define LAYER_ENTRIES_MAX 100000
#define LAYER_INDEX_MAX (64U << 20)
#define LAYER_DEPTH_MAX 64 /* folders inside each other */
#define LAYER_VOLUMES_MAX 64
#define LAYER_SHELF "layers" /* of scrub/kept.h */

enum {
        LAYER_E_BOUND = 1, /* the layer is beyond a bound: it is not kept; message names the bound */
        LAYER_E_NONE,      /* no layer of the region is kept */
        LAYER_E_DAMAGED,   /* the index is no text of layer_text() */
        LAYER_E_REFUSED,   /* entries cannot be applied: the message names the first */
        LAYER_E_CHANGED,   /* a path changed during the apply: entries before are applied, the path is not */
};

typedef enum LayerKind { LAYER_ADDED,
                         LAYER_CHANGED,
                         LAYER_MODE,
                         LAYER_REMOVED } LayerKind;
extern const char *const layer_kind_words[];

/* A path of a volume. Types: 'f' file, 'd' folder, 'l' symbolic link, 'o' a socket, FIFO or device; of the base also
 * 'F' a file told by layer_identity(), '-' nothing, 'r' removed by an entry before, and '?' changed by others while the
 * region ran. */
typedef struct LayerEntry {
        LayerKind kind;
        unsigned volume;
        char type;                 /* of the path in the layer; of a removal: of the base */
        unsigned mode;             /* permission bits with setuid, setgid and sticky */
        uint64_t size, content;    /* content: name of the file beside the index; 0: none */
        char digest[HASH_HEX_MAX]; /* of the content or of the link's text; "-": none */
        char base;
        unsigned base_mode;
        char base_digest[HASH_HEX_MAX]; /* as above; of a removed file, and of 'F': of layer_identity() */
        char *path;                     /* below the source, owned */
        char *link;                     /* owned, or NULL */
} LayerEntry;

typedef struct Layer {
        RegionId region;
        char *sources[LAYER_VOLUMES_MAX], *targets[LAYER_VOLUMES_MAX]; /* owned */
        unsigned n_volumes;
        LayerEntry *entries; /* a folder before what is in it; a removed folder too */
        size_t n;
} Layer;
void layer_deinit(Layer *l);
#define _cleanup_layer_ _cleanup_(layer_deinit)

/* The index as text, and back. Text is hostile: the bytes of a path are the region's. Return 0, LAYER_E_DAMAGED,
 * -ENOMEM. */
int layer_text(const Layer *l, Buf *ret);
int layer_parse(const char *text, size_t n, Layer *ret);

/* Opens a kept layer: *ret_fd its folder, owned, open for LAYER_E_DAMAGED, too; lock: as for
 * kept_open(); digest: of the index. Returns 0, LAYER_E_NONE, LAYER_E_DAMAGED, -errno. */
int layer_open(const char *store_dir, const char *region, int lock, Layer *ret, int *ret_fd,
               char digest[static HASH_HEX_MAX], Diag *reterr);
typedef enum LayerState {
        LAYER_READY,
        LAYER_DONE,     /* the path is already as in the layer */
        LAYER_CONFLICT, /* the source differs from the region's view of the source */
        LAYER_REFUSED,  /* no apply makes such a path: a device, a socket, setuid, a link that leads out */
} LayerState;
/* The state of entry i before an apply. why: a reason, static, for the last two. root: of the entry's source, open. */
LayerState layer_state(const Layer *l, size_t i, int root, const char **why);
/* Applies the entries that chosen[] names: all of them, or none, where an entry is a conflict or refused. A killed apply
 * is finished by the next one. folder: of layer_open(), LOCK_EX. done: by entry, false before; *ret_applied: how many.
 * *ret_bad: the index of the entry behind a code. Returns 0, LAYER_E_REFUSED, LAYER_E_CHANGED, -errno. */
int layer_apply(Layer *l, int folder, const bool *chosen, bool *done, size_t *ret_applied, size_t *ret_bad,
                Diag *reterr);
/* Takes done entries out of the index. Returns 0 or -errno. */
int layer_forget(Layer *l, int folder, const bool *done);

/* Shared by the files of this folder and the verbs. */
/* Opens the folder of a path below root, following no link and never leaving root. *ret_leaf: into path. */
int layer_open_parent(int root, const char *path, const char **ret_leaf);
/* Opens a layer's source, through no link. Returns a descriptor or -errno. */
int layer_open_source(const char *source);
/* The type of LayerEntry. */
char layer_type(mode_t mode);
/* Tells a changed file without reading the content: inode, size, time of the last write. */
void layer_identity(const struct stat *st, char ret[static HASH_HEX_MAX]);
/* Opens the regular file of an fstatat(), without waiting, following no link. Returns a descriptor, -ESTALE for another
 * file, -errno. */
int layer_open_file(int folder, const char *name, const struct stat *st);
/* The digest of a regular file, or of a link's text (*ret_link: owned, or NULL to not have it). Returns 0, -EFBIG for a
 * file that grows meanwhile, -ESTALE, -errno. */
int layer_digest(int folder, const char *name, const struct stat *st, char ret[static HASH_HEX_MAX], char **ret_link);
