#include "request/paths.h"

#include "base/watchdog.h"
#include "ledger/anchor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#define CONNECT_SEC 2
#define SEND_SEC 10 /* the most time for a request to a stopped daemon with a full queue */

/* A place that is named by an option, else by the environment: borrowed; NULL: by neither. False: the option is empty,
 * with a message. */
static bool path_said(const char *given, const char *env, const char *empty, const char **ret, Diag *reterr) {
        *ret = given ?: env && *env ? env : NULL;
        if (!*ret || **ret)
                return true;
        diag(reterr, 0, "%s", empty);
        return false;
}

char *path_of_store(const char *given, Diag *reterr) {
        const char *said, *base;
        char *s = NULL;

        if (anchor_is_empty()) {
                diag(reterr, 0, "--anchor is empty: the option names a file");
                return NULL;
        }
        if (!path_said(given, getenv("LETHE_STORE"), "--store is empty: the option names a folder", &said, reterr))
                return NULL;
        if (said)
                return strdup(said);
        base = getenv("XDG_STATE_HOME");
        if (base && *base == '/')
                return asprintf(&s, "%s/lethe", base) < 0 ? NULL : s;
        base = getenv("HOME");
        if (base && *base == '/' && asprintf(&s, "%s/.local/state/lethe", base) < 0)
                return NULL;
        if (geteuid() == 0 && (!s || access(s, F_OK) < 0) && access(PLACE_OF_UNIT, F_OK) == 0) {
                free(s);
                return strdup(PLACE_OF_UNIT);
        }
        if (s)
                return s;
        diag(reterr, 0, "no place for the store: give --store DIR, or set LETHE_STORE, XDG_STATE_HOME or HOME");
        return NULL;
}

char *path_of_socket(const char *given, Diag *reterr) {
        const char *said, *base = getenv("XDG_RUNTIME_DIR");
        char *s = NULL;

        if (!path_said(given, getenv("LETHE_SOCKET"), "--socket is empty: the option names a socket", &said, reterr))
                return NULL;
        if (said)
                return strdup(said);
        if (geteuid() == 0)
                return strdup("/run/lethe/socket");
        if (base && *base == '/')
                return asprintf(&s, "%s/lethe/socket", base) < 0 ? NULL : s;
        diag(reterr, 0, "no place for the socket: give --socket PATH, or set LETHE_SOCKET or XDG_RUNTIME_DIR");
        return NULL;
}

int path_connect(const char *path) {
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the socket", path);
        const struct timeval bound = {.tv_sec = CONNECT_SEC}, later = {.tv_sec = SEND_SEC};
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = -1;

        if (strlen(path) >= sizeof(a.sun_path))
                return -ENAMETOOLONG;
        strcpy(a.sun_path, path);
        if (access(path, F_OK) < 0) /* the usual case without a daemon: no socket is made */
                return -errno;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        /* A listener with a full queue blocks connect(2) without end (unix(7)), or for this time (socket(7)). */
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound)) < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
                return errno == EAGAIN ? -ETIMEDOUT : -errno;
        return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &later, sizeof(later)) < 0 ? -errno : TAKE_FD(fd);
}

int path_ask(const char *path) {
        _cleanup_close_ int fd = path_connect(path);
        struct ucred cred;
        socklen_t n = sizeof(cred);

        if (fd < 0)
                return TAKE_FD(fd);
        /* The credentials are of the process that called listen(2) (unix(7)). */
        if (geteuid() == 0 && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 || cred.uid != 0))
                return -EPERM;
        return TAKE_FD(fd);
}
