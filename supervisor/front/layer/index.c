#include "layer/layer.h"


#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define LAYER_HEAD "lethe-layer 1 "
#define FIELDS 12

const char *const layer_kind_words[] = {"added", "changed", "mode", "removed", NULL};

void layer_deinit(Layer *l) {
        for (size_t i = 0; i < l->n; i++) {
                free(l->entries[i].path);
                free(l->entries[i].link);
        }
        free(l->entries);
        for (unsigned i = 0; i < l->n_volumes; i++) {
                free(l->sources[i]);
                free(l->targets[i]);
        }
        *l = (Layer){0};
}

/* A byte that would end a field or a line, and '%', are written as %HH. */
static int layer_put(Buf *b, const char *text) {
        int r = 0;

        for (const char *p = text; r == 0 && *p; p++)
                r = *p > ' ' && *p < 0x7f && *p != '%' ? buf_add(b, p, 1) : buf_printf(b, "%%%02x", (unsigned char)*p);
        return r;
}

int layer_text(const Layer *l, Buf *ret) {
        int r = buf_printf(ret, LAYER_HEAD "%s\n", l->region);

        for (unsigned i = 0; r == 0 && i < l->n_volumes; i++)
                r = buf_add_str(ret, "volume ") ?: layer_put(ret, l->sources[i]) ?
                                           : buf_add_str(ret, " ")               ?
                                           : layer_put(ret, l->targets[i])       ?
                                                                                 : buf_add_str(ret, "\n");
        for (size_t i = 0; r == 0 && i < l->n; i++) {
                const LayerEntry *e = &l->entries[i];

                r = buf_printf(ret, "%s %u %c %o %" PRIu64 " %" PRIu64 " %s %c %o %s ", layer_kind_words[e->kind],
                               e->volume,
                               e->type, e->mode, e->size, e->content, e->digest, e->base, e->base_mode, e->base_digest)
                            ?: layer_put(ret, e->path)  ?
                       : buf_add_str(ret, " ")          ?
                       : layer_put(ret, e->link ?: "-") ?
                                                        : buf_add_str(ret, "\n");
        }
        return r;
}

/* Undoes layer_put(): an owned text, or NULL with *bad. */
static char *layer_take(const char *text, bool *bad) {
        char *out = malloc(strlen(text) + 1), *to = out;

        for (const char *p = text; out && *p; p++) {
                unsigned char byte = (unsigned char)*p;

                if (byte == '%' && (hex_decode((char[]){p[1], p[1] ? p[2] : 0, 0}, &byte, 1) < 0 || byte == 0)) {
                        *bad = true;
                        break;
                }
                p += *p == '%' ? 2 : 0;
                *to++ = (char)byte;
        }
        if (out)
                *to = 0;
        if (out && *bad) {
                free(out);
                return NULL;
        }
        return out;
}

static uint64_t layer_number(const char *text, int base, bool *bad) {
        char *end;
        unsigned long long v;

        errno = 0;
        v = strtoull(text, &end, base);
        *bad |= *text < '0' || *text > '9' || *end || errno != 0;
        return v;
}

static void layer_digest_field(const char *text, char ret[static HASH_HEX_MAX], bool *bad) {
        uint8_t hash[HASH_BYTES];

        *bad |= strcmp(text, "-") != 0 && hex_decode(text, hash, sizeof(hash)) < 0;
        snprintf(ret, HASH_HEX_MAX, "%s", *bad ? "-" : text);
}

/* A path below a folder: no part of it is empty, "." or "..". */
static bool layer_path_valid(const char *path) {
        if (strlen(path) >= PATH_MAX)
                return false;
        for (;;) {
                size_t n = strcspn(path, "/");

                if (n == 0 || n > NAME_MAX || (n <= 2 && path[0] == '.' && (n == 1 || path[1] == '.')))
                        return false;
                if (!path[n])
                        return true;
                path += n + 1;
        }
}

static int layer_parse_entry(char **f, Layer *l) {
        LayerEntry e = {0};
        bool bad = false;
        size_t kind = name_index(layer_kind_words, 4, f[0]);

        if (kind == 4 || strlen(f[2]) != 1 || !strchr("fdlo", *f[2]) || strlen(f[7]) != 1 || !strchr("fFdlo-r?", *f[7]))
                return LAYER_E_DAMAGED;
        e.kind = (LayerKind)kind;
        e.volume = (unsigned)layer_number(f[1], 10, &bad);
        e.type = *f[2];
        e.mode = (unsigned)layer_number(f[3], 8, &bad);
        e.size = layer_number(f[4], 10, &bad);
        e.content = layer_number(f[5], 10, &bad);
        layer_digest_field(f[6], e.digest, &bad);
        e.base = *f[7];
        e.base_mode = (unsigned)layer_number(f[8], 8, &bad);
        layer_digest_field(f[9], e.base_digest, &bad);
        if (bad || e.volume >= l->n_volumes || e.mode > 07777 || e.base_mode > 07777 || l->n >= LAYER_ENTRIES_MAX)
                return LAYER_E_DAMAGED;
        if (!GROW(l->entries, l->n))
                return -ENOMEM;
        e.path = layer_take(f[10], &bad);
        e.link = e.type == 'l' && strcmp(f[11], "-") != 0 ? layer_take(f[11], &bad) : NULL;
        l->entries[l->n++] = e;
        if (bad)
                return LAYER_E_DAMAGED;
        if (!e.path)
                return -ENOMEM;
        return layer_path_valid(e.path) ? 0 : LAYER_E_DAMAGED;
}

static int layer_parse_line(char *line, bool first, Layer *l) {
        char *f[FIELDS + 1], *rest = line;
        size_t n = 0;
        bool bad = false;

        while (n < ARRAY_SIZE(f) && (f[n] = strsep(&rest, " ")))
                n++;
        if (first) {
                if (n != 3 || strcmp(f[0], "lethe-layer") != 0 || strcmp(f[1], "1") != 0 || !region_id_valid(f[2]))
                        return LAYER_E_DAMAGED;
                strcpy(l->region, f[2]);
                return 0;
        }
        if (n == 3 && strcmp(f[0], "volume") == 0 && l->n_volumes < LAYER_VOLUMES_MAX && l->n == 0) {
                unsigned at = l->n_volumes++;

                l->sources[at] = layer_take(f[1], &bad);
                l->targets[at] = bad ? NULL : layer_take(f[2], &bad);
                if (bad || !l->sources[at] || !l->targets[at])
                        return bad ? LAYER_E_DAMAGED : -ENOMEM;
                return *l->sources[at] == '/' ? 0 : LAYER_E_DAMAGED;
        }
        return n == FIELDS ? layer_parse_entry(f, l) : LAYER_E_DAMAGED;
}

int layer_parse(const char *text, size_t n, Layer *ret) {
        _cleanup_layer_ Layer l = {0};
        _cleanup_free_ char *copy = malloc(n + 1);
        char *rest = copy, *line;
        bool first = true;
        int r = 0;

        if (!copy)
                return -ENOMEM;
        memcpy(copy, text, n);
        copy[n] = 0;
        if (n == 0 || copy[n - 1] != '\n' || strlen(copy) != n)
                return LAYER_E_DAMAGED;
        copy[n - 1] = 0;
        for (; r == 0 && (line = strsep(&rest, "\n")); first = false)
                r = layer_parse_line(line, first, &l);
        if (r != 0)
                return r;
        *ret = l;
        l = (Layer){0};
        return 0;
}
