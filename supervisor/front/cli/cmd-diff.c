/* Runs: CLI. The layer that a region wrote above a folder (`-v SRC:DST:overlay`): as a unified diff, or as a list. */
#include "base/io.h"
#include "cli/layer-gone.h"
#include "cli/region-selector.h"
#include "cli/with-store.h"
#include "layer/layer.h"
#include "layer/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>

static const char help[] =
        "Usage: lethe diff [OPTIONS] REGION\n"
        "       lethe diff [OPTIONS] --last\n\n"
        "Shows the changes of a run in a folder of an overlay (-v SRC:DST:overlay): text files as a unified diff,\n"
        "other changes as a line that begins with '#'. 'lethe apply REGION' makes the changes.\n"
        HELP_REGION
                HELP_STORE
                        HELP_LAST
        "  --json            as JSON: each path with kind, type, mode, size and digest\n"
        "  -h, --help        print the help\n";

#define TEXT_MAX (8U << 20) /* larger files are told by size and digest */

static json_t *diff_text(const char *text) {
        _cleanup_buf_ Buf b = {0};

        return buf_add_plain(&b, text, strlen(text)) < 0 ? NULL : json_string(b.data ?: "");
}

static int diff_json(const Layer *l, const int *roots, const char *digest) {
        _cleanup_json_ json_t *list = json_array();
        static const char *const states[] = {"ready", "done", "conflict", "refused"};

        for (size_t i = 0; list && i < l->n; i++) {
                const LayerEntry *e = &l->entries[i];
                const char *type = e->type == 'f' ? "file" : e->type == 'd' ? "folder"
                                                     : e->type == 'l'       ? "link"
                                                                            : "other",
                           *why = NULL;
                LayerState s = layer_state(l, i, roots[e->volume], &why);
                char mode[8];

                snprintf(mode, sizeof(mode), "%04o", e->mode);
                if (json_array_append_new(list, json_pack("{s:o, s:o, s:s, s:s, s:s, s:o, s:s*, s:o*, s:s, s:s*}", "source",
                                                          diff_text(l->sources[e->volume]), "path", diff_text(e->path),
                                                          "kind", layer_kind_words[e->kind], "type", type, "mode", mode,
                                                          "size", json_u64(e->size), "digest",
                                                          *e->digest == '-' ? NULL : e->digest, "link",
                                                          e->link ? diff_text(e->link) : NULL, "state", states[s], "reason",
                                                          s >= LAYER_CONFLICT ? why : NULL)) < 0)
                        return cli_fail("diff", EXIT_NOT, "out of memory");
        }
        return cli_print("diff", EXIT_OK, json_pack("{s:i, s:s, s:s, s:O}", "version", 1, "region", l->region,
                                                    "digest", digest, "entries", list));
}

/* Bytes of a region: shown without control characters on a terminal, exact elsewhere. */
static void diff_put(const char *text, size_t n) {
        static int terminal = -1;

        if (terminal < 0)
                terminal = isatty(STDOUT_FILENO);
        while (terminal && n > 0) {
                size_t line = strcspn(text, "\n\t");

                line = MIN(line, n);
                print_safe(stdout, text, line);
                if (line < n)
                        putchar(text[line++]);
                text += line;
                n -= line;
        }
        if (n > 0)
                fwrite(text, 1, n, stdout);
}

/* The name of a path in a line: its letters alone. */
static void diff_name(const char *before, const LayerEntry *e) {
        fputs(before, stdout);
        print_safe(stdout, e->path, strlen(e->path));
}

/* In the head of a diff: a tab tells patch(1) where a name with blanks ends. */
static void diff_head(const char *before, const LayerEntry *e) {
        diff_name(before, e);
        if (strchr(e->path, ' '))
                putchar('\t');
}

static void diff_told(const LayerEntry *e, const char *why) {
        static const char *const types[] = {['d'] = "folder", ['f'] = "file", ['l'] = "link",
                                            ['o'] = "device, socket or FIFO"};

        printf("# %s %s", layer_kind_words[e->kind], types[(unsigned char)e->type]);
        diff_name(" ", e);
        if (e->link) {
                fputs(" -> ", stdout);
                print_safe(stdout, e->link, strlen(e->link));
        }
        if (e->kind != LAYER_REMOVED && e->mode != e->base_mode)
                printf(" mode %04o", e->mode);
        if (e->type == 'f' && e->kind != LAYER_REMOVED && e->kind != LAYER_MODE)
                printf(" %" PRIu64 " bytes sha256:%.16s", e->size, e->digest);
        if (why) {
                fputs(" (", stdout);
                fputs(why, stdout);
                putchar(')');
        }
        putchar('\n');
}

/* The file in the source; *ret NULL: no text. */
static int diff_read(int folder, const char *name, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        int r = fd < 0 ? -errno : io_read_all(fd, TEXT_MAX, ret, ret_n);

        if (r == 0 && !lines_is_text(*ret, *ret_n))
                r = -EFBIG;
        if (r < 0)
                free(TAKE_PTR(*ret));
        return r == -ENOMEM ? r : 0;
}

static int diff_file(const Layer *l, size_t i, int kept, int root, const char *why) {
        const LayerEntry *e = &l->entries[i];
        _cleanup_free_ char *a = NULL, *b = NULL;
        _cleanup_buf_ Buf hunks = {0};
        char number[24];
        const char *leaf;
        size_t n_a = 0, n_b = 0;
        _cleanup_close_ int folder = layer_open_parent(root, e->path, &leaf);
        bool was = e->base == 'f', is = e->kind != LAYER_REMOVED;
        int r = 0;

        snprintf(number, sizeof(number), "%" PRIu64, e->content);
        if (was && folder >= 0)
                r = diff_read(folder, leaf, &a, &n_a);
        if (r == 0 && is)
                r = diff_read(kept, number, &b, &n_b);
        if (r == 0 && (why || (was && !a) || (is && !b) || (e->kind == LAYER_CHANGED && !was))) {
                diff_told(e, why);
                return 0;
        }
        r = r ?: lines_diff(a ?: "", n_a, b ?: "", n_b, &hunks);
        if (r == -EFBIG) {
                diff_told(e, "too long to be shown");
                return 0;
        }
        if (r < 0)
                return r;
        if (hunks.n == 0 || (is && was && e->mode != e->base_mode) || (is && !was && e->mode & 0111))
                diff_told(e, NULL);
        if (hunks.n == 0)
                return 0;
        if (was)
                diff_head("--- a/", e);
        else
                fputs("--- /dev/null", stdout);
        if (is)
                diff_head("\n+++ b/", e);
        else
                fputs("\n+++ /dev/null", stdout);
        putchar('\n');
        diff_put(hunks.data, hunks.n);
        return 0;
}

static int diff_print(const Layer *l, int kept, const int *roots) {
        unsigned volume = UINT32_MAX;
        int r = 0;

        for (size_t i = 0; r == 0 && i < l->n; i++) {
                const LayerEntry *e = &l->entries[i];
                const char *why = NULL;
                LayerState s = layer_state(l, i, roots[e->volume], &why);

                if (e->volume != volume) {
                        volume = e->volume;
                        fputs("# folder ", stdout);
                        print_safe(stdout, l->sources[volume], strlen(l->sources[volume]));
                        putchar('\n');
                }
                why = s >= LAYER_CONFLICT ? why : s == LAYER_DONE ? "already so"
                                                                  : NULL;
                if (e->type == 'f' && e->kind != LAYER_MODE)
                        r = diff_file(l, i, kept, roots[e->volume], why);
                else
                        diff_told(e, why);
        }
        return r < 0 ? cli_fail("diff", EXIT_NOT, "%s", strerror(-r)) : cli_done("diff", EXIT_OK);
}

int cmd_diff(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION_LAST, {0}};
        _cleanup_store_ Store *s = NULL;
        _cleanup_layer_ Layer l = {0};
        _cleanup_close_ int kept = -1;
        StoreOptions o = {.help = help};
        RegionSelector selector = {0};
        int roots[LAYER_VOLUMES_MAX], r;
        char digest[HASH_HEX_MAX];
        RegionId region;
        Diag d = {0};

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        selector.last = o.value['L'];
        r = selector_argument("diff", &selector, argc, argv) ?: with_store("diff", &o, STORE_READ, &s) ?
                                                                                                       : selector_region("diff", s, &selector, region);
        if (r != EXIT_OK)
                return r;
        r = layer_open(store_dir(s), region, LOCK_SH, &l, &kept, digest, &d);
        if (r == LAYER_E_NONE)
                layer_gone(s, region, &d);
        if (r != 0)
                return cli_refuse("diff", EXIT_NOT, r == LAYER_E_NONE ? "no_layer" : "failed", "%s",
                                  *d.text ? d.text : strerror(-r));
        for (unsigned i = 0; i < l.n_volumes; i++) /* a missing folder shows as conflicts */
                roots[i] = layer_open_source(l.sources[i]);
        r = o.json ? diff_json(&l, roots, digest) : diff_print(&l, kept, roots);
        for (unsigned i = 0; i < l.n_volumes; i++)
                closep(&roots[i]);
        return r;
}
