#include "cli/session-host.h"

#include "base/io.h"
#include "base/owner.h"
#include "cli/serve-call.h"
#include "engine/session.h"
#include "policy/policy.h"
#include "request/paths.h"
#include "spawn/find.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define HOST_LOOK_USEC 10000
#define HOST_LOOKS 200 /* at a host without a socket and not dead yet */
#define PRIVATE_FD 3 /* of lethe-serve --private: its first connection */

/* True when the daemon serves the store. */
static bool host_serves(int fd, const char *socket, const char *store) {
        _cleanup_json_ json_t *answer = NULL;
        _cleanup_free_ char *here = NULL;
        const char *its;

        if ((socket ? serve_call_soon : serve_call)(fd, socket, "ping", json_object(), &answer) != 0)
                return false;
        here = realpath(store, NULL); /* a private daemon may have made it */
        if (!here)
                return false;
        its = json_text(json_object_get(json_object_get(answer, "result"), "store"));
        return its && strcmp(its, here) == 0;
}

static int host_serve(const HostPlace *p) {
        const char *wanted = getenv("LETHE_SERVE");
        _cleanup_free_ char *socket = path_of_socket(p->socket, &(Diag){});
        _cleanup_close_ int fd = -1;

        if (!socket || (wanted && strcmp(wanted, "0") == 0))
                return -ENOENT;
        fd = path_ask(socket);
        return fd >= 0 && host_serves(fd, socket, p->store) ? TAKE_FD(fd) : -ENOENT;
}

/* True when a daemon goes by the same policy, and by an anchor that was named. */
static bool host_is_like(int fd, const HostPlace *p) {
        _cleanup_free_ char *policy = NULL;
        _cleanup_json_ json_t *answer = NULL;
        const char *its_policy, *its_anchor;

        if ((!p->policy && policy_place(&policy) < 0) || serve_call(fd, NULL, "ping", json_object(), &answer) != 0)
                return false;
        its_policy = json_text(json_object_get(json_object_get(answer, "result"), "policy"));
        its_anchor = json_text(json_object_get(json_object_get(answer, "result"), "anchor"));
        return strcmp(its_policy ?: "", p->policy ?: policy ?: "") == 0 && (!p->anchor || strcmp(its_anchor ?: "", p->anchor) == 0);
}

/* A daemon of living regions of the store, or -errno. like: any that is like p, the newest first; else a host of
 * sessions, the oldest first. */
static int host_of_regions(const HostPlace *p, bool like) {
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        RegionRow *rows = NULL;
        uint64_t before = 0;
        size_t n = 0;
        int fd = -ENOENT;
        Diag d = {};

        if (store_open(p->store, STORE_READ, &s, &d) != 0 || store_begin(s, false, &t, &d) != 0 ||
            engine_region_list(t, &rows, &n) != 0)
                return -ENOENT;
        for (size_t i = 0; i < n && fd < 0; i++) {
                const RegionRow *row = &rows[like ? n - 1 - i : i];
                const bool again = like && i > 0 && row->supervisor_lock == before;
                char path[STORE_SOCKET_MAX];

                before = row->supervisor_lock;
                if (again || (!like && !session_of_row(row)) || store_lock_is_free(s, row->supervisor_lock))
                        continue;
                store_place_socket(s, row->supervisor_lock, path);
                fd = path_connect(path);
                if (fd >= 0 && like && !host_is_like(fd, p)) {
                        closep(&fd);
                        fd = -ENOENT;
                }
        }
        region_rows_free(rows, n);
        return fd;
}

static void host_become(const HostPlace *p, const char *program, int connection, int errors) {
        static char anchor[] = "--anchor", policy[] = "--policy";
        char *argv[12] = {(char[]){"lethe-serve"}, (char[]){"--private"}, (char[]){"--store"}, (char *)p->store,
                          (char[]){"--socket"}, (char *)p->store};
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        size_t n = 6;
        sigset_t none;

        if (p->anchor) {
                argv[n++] = anchor;
                argv[n++] = (char *)p->anchor;
        }
        if (p->policy) {
                argv[n++] = policy;
                argv[n++] = (char *)p->policy;
        }
        sigemptyset(&none);
        setsid();
        connection = fcntl(connection, F_DUPFD_CLOEXEC, 10);
        if (null < 0 || connection < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(errors, 2) < 0 ||
            dup2(connection, PRIVATE_FD) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0 || chdir("/") < 0)
                _exit(125);
        execv(program, argv);
        _exit(125);
}

/* The host's last line: notes may stand before the reason. */
static const char *host_last_line(int errors, char *text, size_t room) {
        const off_t size = lseek(errors, 0, SEEK_END);
        ssize_t n = size > 0 ? pread(errors, text, room - 1, MAX(size - (off_t)room + 1, (off_t)0)) : 0;
        char *line;

        while (n > 0 && text[n - 1] == '\n')
                n--;
        if (n <= 0)
                return "no answer";
        text[n] = 0;
        line = strrchr(text, '\n');
        return line ? line + 1 : text;
}

static int host_start(const HostPlace *p, int *ret, Diag *reterr) {
        _cleanup_free_ char *program = NULL, *path = io_absolute(p->store);
        _cleanup_close_ int found = find_program("lethe-serve", &program), errors = -1;
        HostPlace at = *p;
        char text[700] = "";
        int sv[2];
        pid_t pid;

        if (found < 0 || !path)
                return diag(reterr, HOST_E_FAILED,
                            "no `lethe serve` answers for the store, and lethe-serve is not to be found at %s: a session "
                            "needs a process that holds it", program ?: "its place");
        at.store = path;
        errors = memfd_create("lethe-errors", MFD_CLOEXEC);
        if (errors < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
                return -errno;
        pid = fork();
        if (pid == 0)
                host_become(&at, program, sv[1], errors);
        close(sv[1]);
        if (pid < 0) {
                close(sv[0]);
                return -errno;
        }
        if (host_serves(sv[0], NULL, path)) {
                *ret = sv[0];
                return 0;
        }
        close(sv[0]);
        return diag(reterr, HOST_E_FAILED,
                    "no `lethe serve` answers for the store, and a private one cannot be started: %s",
                    host_last_line(errors, text, sizeof(text)));
}

int session_host_private(const HostPlace *p, int *ret, Diag *reterr) {
        return host_start(p, ret, reterr);
}

int session_host_like(const HostPlace *p, int *ret, Diag *reterr) {
        int fd = host_of_regions(p, true);

        if (fd < 0)
                return host_start(p, ret, reterr);
        *ret = fd;
        return 0;
}

int session_host_any(const HostPlace *p, int *ret, Diag *reterr) {
        int fd = host_serve(p);

        if (fd < 0)
                fd = host_of_regions(p, false);
        if (fd < 0)
                return host_start(p, ret, reterr);
        *ret = fd;
        return 0;
}

/* A dying process loses the socket before the lock. Returns a descriptor, -ESRCH (dead), -errno. */
static int host_connect(Store *s, uint64_t lock, const char *path) {
        int fd = path_connect(path);

        for (unsigned i = 0; (fd == -ECONNREFUSED || fd == -ENOENT) && i < HOST_LOOKS; i++) {
                if (store_lock_is_free(s, lock))
                        return -ESRCH;
                usleep(HOST_LOOK_USEC);
                fd = path_connect(path);
        }
        return fd;
}

int session_host_of(const HostPlace *p, const char *session, int *ret, Diag *reterr) {
        _cleanup_(region_row_deinit) RegionRow row = {};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        char path[STORE_SOCKET_MAX];
        int e = store_open(p->store, STORE_READ, &s, reterr) ?: store_begin(s, false, &t, reterr);
        bool dead, resumes;

        if (e != 0 && (*ret = host_serve(p)) >= 0) /* a user whom the daemon serves may not read the store */
                return 0;
        if (e != 0)
                return e > 0 ? HOST_E_FAILED : e;
        e = engine_region_get(t, session, &row);
        if (e == ENGINE_E_NO_REGION || (e == 0 && !session_of_row(&row)))
                return diag(reterr, HOST_E_NONE, "there is no open session %s: `lethe why --session %s` says how a session "
                            "ended, `lethe session list` shows the open ones", session, session);
        if (e != 0)
                return e;
        dead = store_lock_is_free(s, row.supervisor_lock);
        resumes = session_resumes(session_of_row(&row));
        if (!dead) { /* the path leads through the open store */
                store_place_socket(s, row.supervisor_lock, path);
                *ret = host_connect(s, row.supervisor_lock, path);
                dead = *ret == -ESRCH;
        }
        store_abort(TAKE_PTR(t));
        store_free(TAKE_PTR(s));
        if (dead && resumes)
                return session_host_any(p, ret, reterr);
        if (dead)
                return diag(reterr, HOST_E_DEAD, "session %s ended with its host, process %llu, which died", session,
                            (unsigned long long)row.supervisor_pid);
        return *ret >= 0 ? 0
                         : diag(reterr, HOST_E_FAILED, "the host of session %s, process %llu, cannot be asked: %s", session,
                                (unsigned long long)row.supervisor_pid, strerror(-*ret));
}
