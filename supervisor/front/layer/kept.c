#include "layer/layer.h"

#include "base/io.h"
#include "scrub/kept.h"

#include <errno.h>
#include <string.h>

int layer_open(const char *store_dir, const char *region, int lock, Layer *ret, int *ret_fd,
               char digest[static HASH_HEX_MAX], Diag *reterr) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int fd = kept_open(store_dir, LAYER_SHELF, region, lock), r;

        *digest = 0;
        if (fd == -ENOENT)
                return diag(reterr, LAYER_E_NONE, "no layer of region %s is kept: the region changed nothing, or the "
                                                  "layer was applied or dropped (events layer.* of 'lethe log')",
                            region);
        if (fd < 0)
                return diag(reterr, fd, "the layer of region %s cannot be opened: %s", region,
                            fd == -EBUSY ? "in use by another lethe" : strerror(-fd));
        *ret_fd = fd;
        r = io_read_file(fd, "index", LAYER_INDEX_MAX, &text, &n);
        if (r < 0 && r != -ENOENT)
                return diag(reterr, r, "the layer of region %s cannot be read: %s", region, strerror(-r));
        r = r == 0 ? layer_parse(text, n, ret) : LAYER_E_DAMAGED;
        if (r == LAYER_E_DAMAGED || (r == 0 && strcmp(ret->region, region) != 0))
                return diag(reterr, LAYER_E_DAMAGED, "the index of the layer of region %s is damaged; fix: lethe apply --drop %s",
                            region, region);
        hash_hex(text, n, digest);
        return r;
}
