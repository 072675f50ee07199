/* The index of a kept layer: an index that can be read is written and read again as the same text, and no path leaves
 * the folder. The same bytes, cut in two texts: the difference. */
#include "layer/layer.h"
#include "layer/lines.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void fuzz_index(const char *text, size_t n) {
        _cleanup_layer_ Layer l = {0}, again = {0};
        _cleanup_buf_ Buf a = {0}, b = {0};
        int r = layer_parse(text, n, &l);

        fuzz_check(r == 0 || r == LAYER_E_DAMAGED, "%d", r);
        if (r != 0)
                return;
        for (size_t i = 0; i < l.n; i++) {
                const LayerEntry *e = &l.entries[i];

                fuzz_check(e->volume < l.n_volumes && *e->path && *e->path != '/' && strcmp(e->path, "..") != 0);
                fuzz_check(strncmp(e->path, "../", 3) != 0 && !strstr(e->path, "/../") && !strstr(e->path, "//"));
        }
        fuzz_check(layer_text(&l, &a) == 0);
        fuzz_check(layer_parse(a.data, a.n, &again) == 0);
        fuzz_check(layer_text(&again, &b) == 0 && a.n == b.n && memcmp(a.data, b.data, a.n) == 0);
}

static void fuzz_lines(const char *text, size_t n) {
        _cleanup_buf_ Buf b = {.max = 1 << 20};
        int r = lines_diff(text, n / 2, text + n / 2, n - n / 2, &b);

        fuzz_check(r == 0 || r == -EFBIG, "%d", r);
        fuzz_check(r != 0 || (b.n == 0) == (n % 2 == 0 && memcmp(text, text + n / 2, n / 2) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_free_ char *text = malloc(n + 1);

        fuzz_check(text != NULL);
        if (n > 0)
                memcpy(text, data, n);
        fuzz_index(text, n);
        fuzz_lines(text, n);
        return 0;
}
