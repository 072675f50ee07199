#include "layer/reader.h"

#include "base/child-registry.h"
#include "base/clock.h"
#include "base/io.h"
#include "layer/layer.h"
#include "spawn/clone.h"
#include "spawn/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statfs.h>

/* The time for a layer: files of a folder that answers slowly, or never, are not waited for. */
#define READ_MSEC 10000
#define READ_BYTES_A_MSEC (16U << 10)
#define READ_MSEC_MOST 600000
#define END_MS 1000
#define READ_LATE_USEC 1000000 /* the kernel ends lethe-layer first */

bool layer_wanted(const Grant *g) {
        for (size_t i = 0; i < g->n_files; i++)
                if (g->files[i].overlay)
                        return true;
        return false;
}

/* The volumes as the index of a layer without entries, in a memory file. */
static int reader_sources(const char *region, const Grant *g) {
        _cleanup_buf_ Buf text = {0};
        _cleanup_close_ int fd = -1;
        Layer l = {0}; /* borrows the texts */
        int r;

        snprintf(l.region, sizeof(l.region), "%s", region);
        for (size_t i = 0; i < g->n_files && l.n_volumes < LAYER_VOLUMES_MAX; i++)
                if (g->files[i].overlay) {
                        l.sources[l.n_volumes] = g->files[i].source;
                        l.targets[l.n_volumes++] = g->files[i].target;
                }
        r = layer_text(&l, &text);
        fd = r == 0 ? memfd_create("layer", MFD_CLOEXEC) : -1;
        if (fd < 0)
                return r ?: -errno;
        r = io_write_full(fd, text.data, text.n);
        return r < 0 ? r : TAKE_FD(fd);
}

int layer_reader_start(LayerReader *l, Spawner *spawner, const char *region, const Grant *g, Diag *reterr) {
        const LayerAsk ask = {.kind = LAYER_SOURCES};
        _cleanup_close_ int theirs = -1, sources = reader_sources(region, g);
        int pair[2], e;

        *l = LAYER_READER_NULL;
        if (sources < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return sources < 0 ? sources : -errno;
        l->channel = pair[0];
        theirs = pair[1];
        e = fcntl(theirs, F_SETFL, 0) < 0 ? -errno : 0;
        if (e == 0 && (!spawner || spawner_launch(spawner, SPAWNER_LAYER, theirs) < 0)) {
                e = launcher_execute("lethe-layer", NULL, theirs);
                l->pid = MAX(e, 0);
                e = MIN(e, 0);
        }
        e = e ?: io_send_fds(l->channel, &ask, sizeof(ask), &sources, 1);
        if (e < 0)
                layer_reader_end(l);
        return e < 0 ? diag(reterr, e, "lethe-layer cannot be started: %s; fix: install lethe-layer beside "
                                       "lethe-worker, or restart the daemon",
                            strerror(-e))
                     : 0;
}

int layer_reader_ask(LayerReader *l, int folder, int scratch, uint64_t began, uint64_t bytes_max) {
        const LayerAsk first = {.kind = LAYER_FOLDER};
        LayerAsk ask = {.kind = LAYER_READ, .began_nsec = began, .bytes_max = bytes_max};
        struct statfs fs;
        uint64_t msec = READ_MSEC;
        int e;

        if (l->channel < 0)
                return -EPIPE;
        if (fstatfs(scratch, &fs) == 0) /* a millisecond for each file */
                msec += (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize / READ_BYTES_A_MSEC +
                        (uint64_t)(fs.f_files - fs.f_ffree);
        ask.msec = (uint32_t)MIN(msec, (uint64_t)READ_MSEC_MOST);
        l->deadline = clock_mono_usec() + ask.msec * UINT64_C(1000) + READ_LATE_USEC;
        e = io_send_fds(l->channel, &first, sizeof(first), &folder, 1);
        return e ?: io_send_fds(l->channel, &ask, sizeof(ask), &scratch, 1);
}

static bool reader_answer_is_valid(const LayerAnswer *a, ssize_t n) {
        uint8_t hash[HASH_BYTES];

        if (n != (ssize_t)sizeof(*a) || !memchr(a->text, 0, sizeof(a->text)) || !memchr(a->digest, 0, sizeof(a->digest)))
                return false;
        for (const char *p = a->text; *p; p++)
                if (*p < ' ' || *p > '~')
                        return false;
        return a->code != 0 ? a->n == 0 && (a->code == LAYER_E_BOUND || (a->code < 0 && a->code > -4096))
                            : a->n <= LAYER_ENTRIES_MAX && (a->n == 0 || hex_decode(a->digest, hash, sizeof(hash)) == 0);
}

static bool reader_over(LayerReader *l, int code) {
        l->code = code;
        if (code != l->answer.code)
                l->answer = (LayerAnswer){.code = code};
        layer_reader_end(l);
        return true;
}

bool layer_reader_look(LayerReader *l, uint64_t now) {
        ssize_t n;

        if (l->channel < 0)
                return true;
        n = TEMP_FAILURE_RETRY(recv(l->channel, &l->answer, sizeof(l->answer), MSG_DONTWAIT | MSG_TRUNC));
        if (n < 0 && errno == EAGAIN)
                return now < l->deadline ? false : reader_over(l, -ETIMEDOUT);
        return reader_over(l, n <= 0                                     ? -EPIPE
                              : reader_answer_is_valid(&l->answer, n) ? l->answer.code
                                                                      : -EPROTO);
}

void layer_reader_end(LayerReader *l) {
        closep(&l->channel);
        l->deadline = UINT64_MAX;
        if (l->pid > 0) {
                kill(l->pid, SIGKILL);
                if (l->code != -ETIMEDOUT && clone_reap(l->pid, END_MS))
                        child_registry_forget(l->pid);
                else
                        child_registry_reap_later(l->pid); /* the kernel holds it, while a file system does not answer */
        }
        l->pid = 0;
}
