#include "schema/launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x32304c4cU /* "LL02" */
#define WORDS_MAGIC 0x57304c4cU /* "LL0W" */
#define FLAGS_AT 5
#define ALIGN 8

typedef struct LaunchWriter {
        uint8_t *data;
        size_t n, room;
        int error;
} LaunchWriter;

static void launch_put(LaunchWriter *w, const void *p, size_t n) {
        if (w->error < 0 || n == 0)
                return;
        if (n > LAUNCH_MAX || w->n + n > LAUNCH_MAX) {
                w->error = -EFBIG;
                return;
        }
        if (w->n + n > w->room) {
                size_t room = w->room ? w->room : 4096;
                uint8_t *d;

                while (room < w->n + n)
                        room *= 2;
                d = realloc(w->data, room);
                if (!d) {
                        w->error = -ENOMEM;
                        return;
                }
                w->data = d;
                w->room = room;
        }
        memcpy(w->data + w->n, p, n);
        w->n += n;
}

static void launch_put_number(LaunchWriter *w, uint64_t v, size_t n) {
        uint8_t b[8];

        for (size_t i = 0; i < n; i++)
                b[i] = (uint8_t)(v >> (8 * i));
        launch_put(w, b, n);
}

static void launch_put_text(LaunchWriter *w, const char *s) {
        size_t n = strlen(s);

        launch_put_number(w, n, 4);
        launch_put(w, s, n + 1);
}

static void launch_put_count(LaunchWriter *w, size_t n) {
        if (n > LAUNCH_COUNT_MAX && w->error == 0)
                w->error = -EFBIG;
        launch_put_number(w, n, 4);
}

static void launch_put_padding(LaunchWriter *w) {
        static const uint8_t zero[ALIGN];

        launch_put(w, zero, (ALIGN - w->n % ALIGN) % ALIGN);
}

static void launch_put_texts(LaunchWriter *w, const char **v, size_t n) {
        launch_put_count(w, n);
        for (size_t i = 0; i < n; i++)
                launch_put_text(w, v[i]);
}

int launch_encode(const LaunchSpec *s, uint8_t **ret, size_t *ret_n) {
        LaunchWriter w = {0};

        launch_put_number(&w, MAGIC, 4);
        launch_put_number(&w, s->tier, 1);
        launch_put_number(&w, s->flags, 2);
        launch_put_number(&w, s->n_trees, 2);
        for (size_t i = 0; i < LISTEN_MAX; i++)
                launch_put_number(&w, s->listen[i], 2);
        launch_put_number(&w, s->uid, 4);
        launch_put_number(&w, s->gid, 4);
        launch_put_number(&w, s->scratch_bytes, 8);
        launch_put_number(&w, s->scratch_inodes, 8);
        launch_put_text(&w, s->scratch);
        launch_put_text(&w, s->workdir);
        launch_put_text(&w, s->search);
        launch_put_count(&w, s->n_entries);
        for (size_t i = 0; i < s->n_entries; i++) {
                launch_put_number(&w, s->entries[i].kind, 1);
                launch_put_number(&w, s->entries[i].flags, 1);
                launch_put_number(&w, (uint16_t)s->entries[i].tree, 2);
                launch_put_text(&w, s->entries[i].target);
                launch_put_text(&w, s->entries[i].source);
        }
        launch_put_count(&w, s->n_limits);
        for (size_t i = 0; i < s->n_limits; i++) {
                launch_put_number(&w, s->limits[i].resource, 4);
                launch_put_number(&w, s->limits[i].soft, 8);
                launch_put_number(&w, s->limits[i].hard, 8);
        }
        launch_put_texts(&w, s->argv, s->n_argv);
        launch_put_texts(&w, s->env, s->n_env);
        launch_put_count(&w, s->n_filter);
        launch_put_padding(&w);
        launch_put(&w, s->filter, s->n_filter * sizeof(s->filter[0]));
        if (w.error < 0) {
                free(w.data);
                return w.error;
        }
        *ret = w.data;
        *ret_n = w.n;
        return 0;
}

int launch_words_encode(const LaunchSpec *s, uint8_t **ret, size_t *ret_n) {
        LaunchWriter w = {0};

        launch_put_number(&w, WORDS_MAGIC, 4);
        launch_put_text(&w, s->search);
        launch_put_texts(&w, s->argv, s->n_argv);
        launch_put_texts(&w, s->env, s->n_env);
        if (w.error == 0 && w.n > LAUNCH_WORDS_MAX)
                w.error = -EFBIG;
        if (w.error < 0) {
                if (w.data)
                        explicit_bzero(w.data, w.n);
                free(w.data);
                return w.error;
        }
        *ret = w.data;
        *ret_n = w.n;
        return 0;
}

typedef struct LaunchReader {
        const uint8_t *data;
        size_t n, at;
        bool bad;
} LaunchReader;

/* Returns the next n bytes, or NULL and marks the reader bad. */
static const uint8_t *launch_take(LaunchReader *r, size_t n) {
        const uint8_t *p = r->data + r->at;

        if (r->bad || n > r->n - r->at) {
                r->bad = true;
                return NULL;
        }
        r->at += n;
        return p;
}

static uint64_t launch_take_number(LaunchReader *r, size_t n) {
        const uint8_t *p = launch_take(r, n);
        uint64_t v = 0;

        for (size_t i = 0; p && i < n; i++)
                v |= (uint64_t)p[i] << (8 * i);
        return v;
}

static const char *launch_take_text(LaunchReader *r) {
        size_t n = launch_take_number(r, 4);
        const uint8_t *p = n < LAUNCH_MAX ? launch_take(r, n + 1) : NULL;

        if (!p || p[n] != 0 || memchr(p, 0, n)) {
                r->bad = true;
                return "";
        }
        return (const char *)p;
}

/* Takes a count. The rest of the input must have room for as many elements of at least `least` bytes. */
static size_t launch_take_count(LaunchReader *r, size_t least) {
        size_t n = launch_take_number(r, 4);

        if (n > LAUNCH_COUNT_MAX || n > (r->n - r->at) / least)
                r->bad = true;
        return r->bad ? 0 : n;
}

static int launch_take_texts(LaunchReader *r, const char ***ret, size_t *ret_n) {
        size_t n = launch_take_count(r, 5);
        const char **v = calloc(n + 1, sizeof(*v));

        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                v[i] = launch_take_text(r);
        *ret = v;
        *ret_n = n;
        return 0;
}

static int launch_take_entries(LaunchReader *r, LaunchSpec *s) {
        size_t n = launch_take_count(r, 14);

        s->entries = calloc(n + 1, sizeof(*s->entries));
        if (!s->entries)
                return -ENOMEM;
        s->n_entries = n;
        for (size_t i = 0; i < n; i++) {
                LaunchEntry *e = &s->entries[i];

                e->kind = (uint8_t)launch_take_number(r, 1);
                e->flags = (uint8_t)launch_take_number(r, 1);
                e->tree = (int16_t)launch_take_number(r, 2);
                e->target = launch_take_text(r);
                e->source = launch_take_text(r);
                if (e->kind == 0 || e->kind >= LAUNCH_KIND_END || (e->flags & ~LAUNCH_ENTRY_ALL) ||
                    (e->flags & (LAUNCH_TTY | LAUNCH_DEVICE)) == LAUNCH_TTY || e->target[0] != '/' || e->tree < -1 || e->tree >= (int)s->n_trees ||
                    (e->tree >= 0 && e->kind != LAUNCH_BIND))
                        r->bad = true;
        }
        return 0;
}

static int launch_take_limits(LaunchReader *r, LaunchSpec *s) {
        size_t n = launch_take_count(r, 20);

        s->limits = calloc(n + 1, sizeof(*s->limits));
        if (!s->limits)
                return -ENOMEM;
        s->n_limits = n;
        for (size_t i = 0; i < n; i++) {
                s->limits[i].resource = (uint32_t)launch_take_number(r, 4);
                s->limits[i].soft = launch_take_number(r, 8);
                s->limits[i].hard = launch_take_number(r, 8);
        }
        return 0;
}

int launch_decode(const uint8_t *bytes, size_t n, LaunchSpec *ret) {
        LaunchReader r = {bytes, n, 0, n > LAUNCH_MAX};
        LaunchSpec s = {0};
        const uint8_t *pad;
        size_t n_pad;
        int e;

        if (launch_take_number(&r, 4) != MAGIC)
                return -EBADMSG;
        s.tier = (uint8_t)launch_take_number(&r, 1);
        s.flags = (uint16_t)launch_take_number(&r, 2);
        s.n_trees = (uint16_t)launch_take_number(&r, 2);
        for (size_t i = 0; i < LISTEN_MAX; i++) {
                s.listen[i] = (uint16_t)launch_take_number(&r, 2);
                r.bad |= s.listen[i] != 0 && (!(s.flags & LAUNCH_LOOPBACK) || (i > 0 && s.listen[i - 1] == 0));
        }
        r.bad |= s.flags & LAUNCH_SOCKETS && !(s.flags & LAUNCH_LOOPBACK);
        s.uid = (uint32_t)launch_take_number(&r, 4);
        s.gid = (uint32_t)launch_take_number(&r, 4);
        s.scratch_bytes = launch_take_number(&r, 8);
        s.scratch_inodes = launch_take_number(&r, 8);
        s.scratch = launch_take_text(&r);
        s.workdir = launch_take_text(&r);
        s.search = launch_take_text(&r);
        if ((s.tier != 1 && s.tier != 2) || (s.flags & ~LAUNCH_ALL) || s.n_trees > 1024 || s.workdir[0] != '/')
                r.bad = true;
        e = launch_take_entries(&r, &s);
        if (e == 0)
                e = launch_take_limits(&r, &s);
        if (e == 0)
                e = launch_take_texts(&r, &s.argv, &s.n_argv);
        if (e == 0)
                e = launch_take_texts(&r, &s.env, &s.n_env);
        if (e == 0) {
                s.n_filter = launch_take_number(&r, 4);
                n_pad = (ALIGN - r.at % ALIGN) % ALIGN;
                pad = launch_take(&r, n_pad);
                for (size_t i = 0; pad && i < n_pad; i++)
                        r.bad |= pad[i] != 0;
                if (s.n_filter > BPF_MAXINSNS)
                        r.bad = true;
                else
                        s.filter = (const struct sock_filter *)(const void *)launch_take(
                                &r, s.n_filter * sizeof(struct sock_filter));
                /* Late words are not in the spec yet. */
                if ((s.flags & (LAUNCH_LATER | LAUNCH_AHEAD)) == LAUNCH_LATER ? s.n_argv > 0 || s.n_env > 0
                                                                              : s.n_argv == 0)
                        r.bad = true;
                if ((s.flags & (LAUNCH_LATER | LAUNCH_AHEAD)) == LAUNCH_AHEAD)
                        r.bad = true;
                if (r.bad || r.at != r.n)
                        e = -EBADMSG;
        }
        if (e < 0) {
                launch_deinit(&s);
                return e;
        }
        *ret = s;
        return 0;
}

size_t launch_spec_bytes(const uint8_t *bytes, size_t n) {
        return n > LAUNCH_WORDS_MAX && bytes[FLAGS_AT] & LAUNCH_LATER ? n - LAUNCH_WORDS_MAX : n;
}

int launch_words_decode(const uint8_t *bytes, size_t n, LaunchSpec *s) {
        LaunchReader r = {bytes, n, 0, n > LAUNCH_WORDS_MAX};
        int e;

        free(s->argv);
        free(s->env);
        s->argv = s->env = NULL;
        s->n_argv = s->n_env = 0;
        if (launch_take_number(&r, 4) != WORDS_MAGIC)
                return -EBADMSG;
        s->search = launch_take_text(&r);
        e = launch_take_texts(&r, &s->argv, &s->n_argv);
        if (e == 0)
                e = launch_take_texts(&r, &s->env, &s->n_env);
        return e < 0 ? e : r.bad || s->n_argv == 0 ? -EBADMSG : 0;
}

void launch_deinit(LaunchSpec *s) {
        free(s->entries);
        free(s->limits);
        free(s->argv);
        free(s->env);
        *s = (LaunchSpec){0};
}
