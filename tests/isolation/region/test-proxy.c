/* Runs: tests. A lethe-proxy that is not ours: what the supervisor makes of its messages. */
#include "base/clock.h"
#include "base/io.h"
#include "region/region-proxy.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Forged {
        RegionProxy proxy;
        Denials denials;
        int end; /* the forged process's */
} Forged;

static Forged forged(void) {
        Forged f = {.proxy = REGION_PROXY_NULL};
        int pair[2];

        cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        cr_assert(io_set_nonblock(pair[0]) == 0 && io_set_nonblock(pair[1]) == 0);
        f.proxy.control = pair[0];
        f.proxy.wanted = true;
        f.end = pair[1];
        return f;
}

static void forged_over(Forged *f) {
        region_proxy_deinit(&f->proxy);
        denials_deinit(&f->denials);
        closep(&f->end);
}

static ProxyEnd an_end(void) {
        return (ProxyEnd){.head = {PROXY_END, sizeof(ProxyEnd)}, .why = PROXY_WHY_NOT_ALLOWED, .port = 443, .name = "evil.test"};
}

static ProxySums the_sums(void) {
        return (ProxySums){.head = {PROXY_SUMS, sizeof(ProxySums)}, .connections = 2, .up = 10, .down = 20};
}

typedef struct Wrong {
        const char *what;
        ProxyEnd end;
        ProxySums sums;
        size_t n; /* bytes that are sent */
        bool is_sums;
} Wrong;

#define END(text, ...) ({ Wrong w_ = {.what = text, .end = an_end(), .n = sizeof(ProxyEnd)}; __VA_ARGS__; w_; })
#define SUMS(text, ...) ({ Wrong w_ = {.what = text, .sums = the_sums(), .n = sizeof(ProxySums), .is_sums = true}; __VA_ARGS__; w_; })

/* each ends the channel once, is told as lost, and leaves nothing in the record. */
Test(region_proxy, a_wrong_message_ends_the_proxy) {
        const Wrong rows[] = {
                END("short", w_.n--),
                END("long", w_.n++),
                END("a head alone", w_.n = sizeof(ProxyHead)),
                END("less than a head", w_.n = 3),
                END("of a supervisor's kind", w_.end.head.kind = PROXY_OPEN),
                END("of no kind", w_.end.head.kind = 99),
                END("of another size than it says", w_.end.head.size++),
                END("why", w_.end.why = PROXY_WHYS),
                END("a name without its end", memset(w_.end.name, 'a', sizeof(w_.end.name))),
                END("a name that is none", strcpy(w_.end.name, "evil.test\n{\"forged\":1}")),
                END("a name in large letters", strcpy(w_.end.name, "EVIL.test")),
                END("a seen name that is none", strcpy(w_.end.seen, "a b")),
                END("bytes beyond JSON's integers", w_.end.up = UINT64_MAX),
                END("bytes down beyond JSON's integers", w_.end.down = UINT64_MAX),
                END("time beyond JSON's integers", w_.end.usec = UINT64_MAX),
                END("a published port that is none", w_.end.published = 65536),
                SUMS("short sums", w_.n--),
                SUMS("long sums", w_.n++),
                SUMS("sums of another size than they say", w_.sums.head.size--),
                SUMS("sums beyond JSON's integers", w_.sums.down = UINT64_MAX),
                SUMS("connections beyond JSON's integers", w_.sums.connections = UINT64_MAX),
                SUMS("more refusals unsaid than refusals", w_.sums.denied_unsaid = 1),
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Forged f = forged();
                union {
                        uint8_t bytes[sizeof(ProxyEnd) + sizeof(ProxySums)];
                        ProxyEnd end;
                } m = {};
                json_t *o;
                bool denied;

                memcpy(m.bytes, rows[i].is_sums ? (const void *)&rows[i].sums : &rows[i].end, rows[i].is_sums ? sizeof(ProxySums) : sizeof(ProxyEnd));
                cr_assert(send(f.end, m.bytes, rows[i].n, 0) == (ssize_t)rows[i].n);
                cr_expect(region_proxy_read(&f.proxy, &f.denials, &denied) == -EPIPE && f.proxy.control < 0, "%s is taken", rows[i].what);
                cr_expect(f.denials.total == 0 && !f.proxy.ends && !denied, "%s is recorded", rows[i].what);
                cr_expect(region_proxy_read(&f.proxy, &f.denials, &denied) == 0, "%s: told twice", rows[i].what);
                o = region_proxy_json(&f.proxy);
                cr_expect(json_is_true(json_object_get(o, "lost")) && json_object_size(o) == 1, "%s", rows[i].what);
                json_decref(o);
                forged_over(&f);
        }
}

/* The same messages, unbroken, are taken: the rows above fail for their own reason. */
Test(region_proxy, right_messages_are_taken) {
        const ProxyEnd end = an_end();
        const ProxySums sums = the_sums();
        Forged f = forged();
        bool denied;

        cr_assert(send(f.end, &end, sizeof(end), 0) > 0 && send(f.end, &sums, sizeof(sums), 0) > 0);
        cr_expect(region_proxy_read(&f.proxy, &f.denials, &denied) == 0 && denied && f.proxy.summed && f.proxy.control < 0);
        cr_expect(f.denials.total == 1 && json_array_size(f.proxy.ends) == 1 && f.proxy.sums.down == 20);
        forged_over(&f);
}

static unsigned open_files(void) {
        unsigned n = 0;

        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

/* descriptors that come along stay nobody's. */
Test(region_proxy, descriptors_are_not_taken) {
        Forged f = forged();
        const ProxyEnd end = an_end();
        int fds[IO_SEND_FDS_MAX];
        const unsigned before = open_files();
        bool denied;

        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                fds[i] = f.end;
        cr_assert(io_send_fds(f.end, &end, sizeof(end), fds, ARRAY_SIZE(fds)) == 0);
        cr_expect(region_proxy_read(&f.proxy, &f.denials, &denied) == 0 && f.proxy.control >= 0);
        cr_expect(open_files() == before);
        forged_over(&f);
}

/* the record is bounded, and the number is right. */
Test(region_proxy, a_flood_is_counted) {
        Forged f = forged();
        ProxyEnd end = an_end();
        uint64_t sent = 0, taken;
        bool denied;

        end.why = PROXY_WHY_CLOSED;
        while (sent < 5000) {
                while (sent < 5000 && send(f.end, &end, sizeof(end), 0) > 0)
                        sent++;
                cr_assert(region_proxy_read(&f.proxy, &f.denials, &denied) == 0);
        }
        do {
                taken = json_array_size(f.proxy.ends) + f.proxy.n_others;
                cr_assert(region_proxy_read(&f.proxy, &f.denials, &denied) == 0);
        } while (taken < json_array_size(f.proxy.ends) + f.proxy.n_others);
        cr_expect(taken == sent && json_array_size(f.proxy.ends) == 512, "%zu of %zu", (size_t)taken, (size_t)sent);
        forged_over(&f);
}

/* a process that answers nothing, or never ends to tell, holds up no teardown. */
Test(region_proxy, a_proxy_that_never_ends_is_left) {
        for (int floods = 0; floods < 2; floods++) {
                Forged f = forged();
                const ProxyEnd end = an_end();
                pid_t pid = fork();
                json_t *o;

                cr_assert(pid >= 0);
                if (pid == 0) {
                        closep(&f.proxy.control);
                        fcntl(f.end, F_SETFL, 0);
                        signal(SIGPIPE, SIG_DFL);
                        while (floods)
                                if (send(f.end, &end, sizeof(end), 0) < 0)
                                        _exit(0);
                        for (;;)
                                pause();
                }
                cr_expect(region_proxy_finish(&f.proxy, &f.denials) == -EPIPE);
                o = region_proxy_json(&f.proxy);
                cr_expect(json_is_true(json_object_get(o, "lost")));
                json_decref(o);
                kill(pid, SIGKILL);
                cr_assert(waitpid(pid, NULL, 0) == pid);
                forged_over(&f);
        }
}
