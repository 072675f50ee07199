/* Runs: CLI. The probe of hosts by name: a lethe-proxy is started, given a listener, and asked for a refused host. */
#include "cli/doctor.h"
#include "region/region-proxy.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define DOCTOR_PROXY_ROW "network-by-name"

/* A connected socket whose far end lethe-proxy has accepted, or -errno. */
static int doctor_proxy_dial(const struct sockaddr_in *at) {
        const struct timeval most = {.tv_sec = 5};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) < 0 ||
            connect(fd, (const struct sockaddr *)at, sizeof(*at)) < 0) {
                const int e = -errno;

                close(fd);
                return e;
        }
        return fd;
}

void doctor_proxy_ask(const struct sockaddr_in *at, const char *host, char ret[static 16]) {
        _cleanup_free_ char *request = text_printf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host);
        _cleanup_close_ int fd = doctor_proxy_dial(at);
        ssize_t n = request && fd >= 0 && send(fd, request, strlen(request), MSG_NOSIGNAL) > 0 ? recv(fd, ret, 12, 0) : 0;

        ret[n > 0 ? n : 0] = 0;
}

int doctor_proxy_listen(struct sockaddr_in *ret) {
        socklen_t n = sizeof(*ret);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        *ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        if (fd >= 0 && (bind(fd, (struct sockaddr *)ret, sizeof(*ret)) < 0 || listen(fd, 1) < 0 ||
                        getsockname(fd, (struct sockaddr *)ret, &n) < 0))
                closep(&fd);
        return fd;
}

void doctor_proxy(ProbeReport *r) {
        RegionProxy p = REGION_PROXY_NULL;
        const Grant nothing = {};
        char answer[16] = "";
        struct sockaddr_in at;
        Diag d = {};
        int listener = doctor_proxy_listen(&at);

        if (listener < 0 || region_proxy_start(&p, NULL, false, &d) != 0)
                closep(&listener);
        else if (region_proxy_open(&p, &nothing, listener, -1) == 0)
                doctor_proxy_ask(&at, "refused.invalid:443", answer);
        region_proxy_deinit(&p);
        if (strcmp(answer, "HTTP/1.1 403") == 0)
                probe_add(r, DOCTOR_PROXY_ROW, PROBE_OK, "", "", "lethe-proxy answers");
        else
                probe_add(r, DOCTOR_PROXY_ROW, PROBE_WARN, "--allow and \"allow\" of lethe.json are not possible",
                          "install lethe-proxy beside lethe-worker; it needs Landlock and seccomp", "%s",
                          *d.text ? d.text : "lethe-proxy does not answer");
}
