/* Runs: lethe-layer. Reads a layer that a region wrote above folders of the host, and compares it with the folders.
 *
 *   main.c     messages
 *   confine.c  the rights that lethe-layer gives up
 *   walk.c     the layer: overlayfs's own form, filled by a hostile program
 *   below.c    the folder below the layer: hostile names, changed meanwhile, perhaps served by a program */
#pragma once

#include "base/diag.h"
#include "base/dirents.h"
#include "layer/layer.h"

#include <limits.h>

#define WALK_FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

typedef struct LayerWalk {
        Layer layer; /* its volumes are there before */
        int out;     /* the folder of the kept layer */
        unsigned volume;
        uint64_t began;     /* CLOCK_REALTIME nanoseconds */
        uint64_t left;      /* bytes that may still be kept: holes count, too */
        uint64_t content;   /* number of the newest file */
        uint64_t texts;     /* bytes of all paths and links */
        uint64_t below_left; /* bytes that may still be read below */
        uint64_t names_left; /* names that may still be listed below */
        char path[PATH_MAX];
        Diag *reterr;
} LayerWalk;

typedef struct WalkFolder {
        int upper, lower; /* -1: the folder is not there */
        bool opaque;
        size_t at; /* length of k->path */
        unsigned depth;
        Dirents d;
} WalkFolder;
int walk_folder_new(LayerWalk *k, size_t at, unsigned depth, WalkFolder **ret);
void walk_folder_free(WalkFolder **f);
#define _cleanup_walk_folder_ _cleanup_(walk_folder_free)

/* scratch: of the dead region; below: the folders of the volumes. Fills in k->layer and the kept files. Returns 0,
 * LAYER_E_BOUND, -errno, perhaps with a message. */
int walk_all(LayerWalk *k, int scratch, const int *below);
/* Puts a name behind k->path, whose length is `at`. */
int walk_enter(LayerWalk *k, size_t at, const char *name);
/* Adds an entry for k->path; e.link is taken over. */
int walk_add(LayerWalk *k, LayerEntry e);
int walk_bound(LayerWalk *k, const char *what);

/* Whether other programs changed the file since the region's start. */
bool below_is_touched(const LayerWalk *k, const struct stat *st);
/* Fills in the base of an entry. */
int below_base(LayerWalk *k, int folder, const char *name, const struct stat *st, LayerEntry *e);
/* Returns 1: there; 0: not there; -errno with a message. */
int below_stat(LayerWalk *k, int folder, const char *name, struct stat *ret);
/* Opens a folder; not the root of another mount. Returns a descriptor; -EXDEV; -errno with a message. */
int below_open(LayerWalk *k, int folder, const char *name);
/* The next name, or NULL at the end, beyond the bound of names, or after an error: *ret_e. */
const char *below_next(LayerWalk *k, Dirents *d, int *ret_e);
/* Adds the removal of a path of the folder, and of all below. at: length of k->path. */
int below_removed(LayerWalk *k, int folder, const char *name, size_t at, unsigned depth);
