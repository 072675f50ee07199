/* Runs: lethe-layer. Messages (schema/layer.h). */
#include "base/io.h"
#include "base/launched.h"
#include "layer/process/confine.h"
#include "layer/process/walk.h"
#include "schema/layer.h"

#include <errno.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#define SOURCES_MAX (2 * LAYER_VOLUMES_MAX * (3 * PATH_MAX + 64))

static int layer_receive(LayerKindOfAsk kind, LayerAsk *ret, int *ret_fd) {
        ssize_t n = io_receive_fd(LAYER_FD_CHANNEL, -1, ret, sizeof(*ret), ret_fd);

        return n == (ssize_t)sizeof(*ret) && ret->kind == kind && *ret_fd >= 0 ? 0 : -EPIPE;
}

/* Opens the folders of the host now. No link is followed: the names were resolved for the grant. */
static int layer_sources(int from, Layer *ret, int below[static LAYER_VOLUMES_MAX], Diag *reterr) {
        const struct open_how how = {.flags = WALK_FOLDER_FLAGS,
                                     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = lseek(from, 0, SEEK_SET) < 0 ? -errno : io_read_all(from, SOURCES_MAX, &text, &n);

        r = r ?: layer_parse(text, n, ret);
        for (unsigned i = 0; r == 0 && i < ret->n_volumes; i++) {
                below[i] = (int)syscall(SYS_openat2, AT_FDCWD, ret->sources[i], &how, sizeof(how));
                if (below[i] < 0)
                        r = diag(reterr, -errno, "%s cannot be opened: %s", DIAG_QUOTED(ret->sources[i]), strerror(errno));
        }
        return r;
}

static int layer_write(const LayerWalk *k, LayerAnswer *a) {
        _cleanup_buf_ Buf text = {.max = LAYER_INDEX_MAX};
        int r = layer_text(&k->layer, &text);

        if (r == -EFBIG)
                return diag(k->reterr, LAYER_E_BOUND, "the list of paths is longer than 64 MB");
        if (r < 0)
                return r;
        hash_hex(text.data, text.n, a->digest);
        a->n = k->layer.n;
        return io_write_file(k->out, "index", text.data, text.n, 0600, true);
}

static void layer_serve(void) {
        static int below[LAYER_VOLUMES_MAX];
        LayerAnswer a = {0};
        LayerAsk ask;
        Diag d = {0};
        LayerWalk k = {.out = -1, .reterr = &d};
        struct itimerval left = {0};
        int fd, r;

        if (layer_receive(LAYER_SOURCES, &ask, &fd) < 0)
                return;
        r = layer_sources(fd, &k.layer, below, &d);
        close(fd);
        if (layer_receive(LAYER_FOLDER, &ask, &k.out) < 0 || layer_receive(LAYER_READ, &ask, &fd) < 0)
                return;
        left.it_value = (struct timeval){ask.msec / 1000, ask.msec % 1000 * 1000};
        if (setitimer(ITIMER_REAL, &left, NULL) < 0 || !confine_writes(k.out))
                return;
        k.began = ask.began_nsec;
        k.left = ask.bytes_max;
        r = r ?: walk_all(&k, fd, below);
        a.bytes = ask.bytes_max - k.left;
        if (r == 0 && k.layer.n > 0)
                r = layer_write(&k, &a);
        a.code = r;
        if (r != 0) {
                a.n = a.bytes = 0;
                snprintf(a.text, sizeof(a.text), "%.254s", d.text);
        }
        send(LAYER_FD_CHANNEL, &a, sizeof(a), MSG_NOSIGNAL);
}

int main(int argc, char **argv) {
        const pid_t launcher = launched_begin(argc, argv, NULL);

        if (launcher >= 0 && launched_tie(launcher) && confine_begin())
                layer_serve();
        return 0;
}
