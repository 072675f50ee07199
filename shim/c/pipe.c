/* Runs: skill. How several processes share a pipe:
 *
 * A request and its answer form a critical section under a POSIX record lock on the pipe for requests. The lock
 * belongs to the process and not to the open file, which all processes inherited, and the kernel drops the lock when
 * its holder dies. A process that dies within its section does no harm: the newline that begins every section ends
 * half a request; an unread answer has a foreign id and is skipped; the rest of a half-read answer is not JSON and
 * is skipped, too. */
#include "pipe.h"

#include "lethe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MAX (4 * 1024 * 1024)
#define LINE_MAX_BYTES (1024 * 1024)

static pthread_mutex_t pipe_mutex = PTHREAD_MUTEX_INITIALIZER;

static void pipe_before_fork(void) {
        pthread_mutex_lock(&pipe_mutex);
}

static void pipe_after_fork(void) {
        pthread_mutex_unlock(&pipe_mutex);
}

/* Without the handlers, a child that is forked while another thread holds the mutex would wait for ever. */
__attribute__((constructor)) static void pipe_guard_fork(void) {
        pthread_atfork(pipe_before_fork, pipe_after_fork, pipe_after_fork);
}

int text_add(Text *t, const char *bytes, size_t n) {
        if (t->room - t->n < n + 1) {
                size_t room = t->room * 2 > t->n + n + 512 ? t->room * 2 : t->n + n + 512;
                char *p = realloc(t->p, room);

                if (!p)
                        return LETHE_MEMORY;
                t->p = p;
                t->room = room;
        }
        if (n > 0)
                memcpy(t->p + t->n, bytes, n);
        t->n += n;
        t->p[t->n] = 0;
        return LETHE_OK;
}

int pipe_fail(struct Lethe *l, int ret, const char *code, const char *fmt, ...) {
        va_list ap;

        snprintf(l->code, sizeof(l->code), "%s", code);
        va_start(ap, fmt);
        vsnprintf(l->message, sizeof(l->message), fmt, ap);
        va_end(ap);
        return ret;
}

int pipe_keep_identity(struct Lethe *l, Span result) {
        if (l->identity.p)
                explicit_bzero(l->identity.p, l->identity.n);
        l->identity.n = 0;
        return text_add(&l->identity, result.p, result.n);
}

static int pipe_out_of_memory(struct Lethe *l) {
        return pipe_fail(l, LETHE_MEMORY, "memory", "out of memory");
}

static int pipe_lock(struct Lethe *l, short type) {
        struct flock f = {.l_type = type, .l_whence = SEEK_SET};

        while (fcntl(l->out, F_SETLKW, &f) < 0)
                if (errno != EINTR)
                        return pipe_fail(l, LETHE_NO_PIPE, "no_pipe", "cannot lock the pipe: %s", strerror(errno));
        return LETHE_OK;
}

/* Ids differ between the processes of a region, because a process may read an answer that a dead process left. */
static uint64_t pipe_new_id(struct Lethe *l) {
        uint32_t random;

        if (l->pid != getpid()) {
                if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
                        struct timespec now;

                        clock_gettime(CLOCK_MONOTONIC, &now);
                        random = (uint32_t)getpid() * 2654435761U ^ (uint32_t)now.tv_nsec;
                }
                l->pid = getpid();
                l->next_id = (uint64_t)random << 20;
        }
        return ++l->next_id;
}

/* A sibling may have made the shared pipe nonblocking. */
static void pipe_poll(int fd, short events) {
        poll(&(struct pollfd){.fd = fd, .events = events}, 1, -1);
}

static int pipe_send(struct Lethe *l) {
        for (size_t sent = 0; sent < l->request.n;) {
                ssize_t n = write(l->out, l->request.p + sent, l->request.n - sent);

                if (n >= 0)
                        sent += (size_t)n;
                else if (errno == EAGAIN)
                        pipe_poll(l->out, POLLOUT);
                else if (errno != EINTR)
                        return pipe_fail(l, LETHE_NO_PIPE, "no_pipe", "cannot write to the pipe: %s", strerror(errno));
        }
        return LETHE_OK;
}

/* Reads the next complete line. *ret lies in l->answer, from offset `from`. */
static int pipe_receive(struct Lethe *l, size_t *from, Span *ret) {
        for (;;) {
                char *newline = l->answer.n > *from ? memchr(l->answer.p + *from, '\n', l->answer.n - *from) : NULL;
                char chunk[16384];
                ssize_t n;

                if (newline) {
                        *ret = (Span){l->answer.p + *from, (size_t)(newline - l->answer.p) - *from};
                        *newline = 0;
                        *from += ret->n + 1;
                        return LETHE_OK;
                }
                if (*from == l->answer.n)
                        *from = l->answer.n = 0;
                n = read(l->in, chunk, sizeof(chunk));
                if (n == 0)
                        return pipe_fail(l, LETHE_NO_PIPE, "no_pipe", "the pipe was closed");
                if (n < 0 && errno == EAGAIN)
                        pipe_poll(l->in, POLLIN);
                else if (n < 0 && errno != EINTR)
                        return pipe_fail(l, LETHE_NO_PIPE, "no_pipe", "cannot read from the pipe: %s", strerror(errno));
                if (n > 0 && l->answer.n + (size_t)n > ANSWER_MAX)
                        return pipe_fail(l, LETHE_PROTOCOL, "protocol", "an answer without end");
                if (n > 0 && text_add(&l->answer, chunk, (size_t)n) != LETHE_OK)
                        return pipe_out_of_memory(l);
        }
}

static int pipe_add_request(struct Lethe *l, uint64_t id, const char *method, const char *params) {
        char head[128];
        size_t before = l->request.n;
        int n = snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%s\"",
                         (unsigned long long)id, method);

        if (text_add(&l->request, head, (size_t)n) ||
            (params && (text_add(&l->request, ",\"params\":", 10) || text_add(&l->request, params, strlen(params)))) ||
            text_add(&l->request, "}\n", 2))
                return pipe_out_of_memory(l);
        if (l->request.n - before - 1 > LINE_MAX_BYTES)
                return pipe_fail(l, LETHE_BAD_ARGUMENT, "line_too_long",
                                 "a request of %zu bytes: at most %d are allowed", l->request.n - before - 1,
                                 LINE_MAX_BYTES);
        return LETHE_OK;
}

/* Copies an answer's error into code and message. */
static int pipe_refused(struct Lethe *l, Span error) {
        Span word = json_member(json_member(error, "data"), "code"), message = json_member(error, "message");
        char *quoted;
        int r = LETHE_REFUSED;

        if (!word.p || word.n < 2 || word.n - 2 >= sizeof(l->code) || !message.p)
                return pipe_fail(l, LETHE_PROTOCOL, "protocol", "an error without code or message");
        quoted = strndup(message.p, message.n);
        if (!quoted)
                return pipe_out_of_memory(l);
        if (lethe_json_unquote(quoted, l->message, sizeof(l->message)) < 0)
                r = pipe_fail(l, LETHE_PROTOCOL, "protocol", "an error with a message that is no text");
        else
                snprintf(l->code, sizeof(l->code), "%.*s", (int)word.n - 2, word.p + 1);
        free(quoted);
        return r;
}

/* Reads until the answer to `id`. An error with id null means that the supervisor did not understand a line: the
 * caller's, or the rest of a dead sibling's. A second hello tells which: answers come in the order of the requests,
 * so when the second hello is answered first, the caller's line was bad. Only skill.run is answered out of order;
 * its line is always understood, so no second hello is sent. */
static int pipe_await(struct Lethe *l, uint64_t hello, uint64_t id, bool probing, Span *ret_result) {
        char own[24], greeting[24], probe[24] = "";
        size_t from = 0;
        Span line;
        int r;

        snprintf(own, sizeof(own), "%llu", (unsigned long long)id);
        snprintf(greeting, sizeof(greeting), "%llu", (unsigned long long)hello);
        l->answer.n = 0;
        while ((r = pipe_receive(l, &from, &line)) == LETHE_OK) {
                Span error, result, answer_id;

                if (!json_utf8_valid(line.p, line.n) || !json_valid(line.p, line.n))
                        continue;
                answer_id = json_member(line, "id");
                error = json_member(line, "error");
                result = json_member(line, "result");
                if (hello && json_is(answer_id, greeting)) {
                        if (error.p)
                                return pipe_refused(l, error);
                        if (result.p && pipe_keep_identity(l, result) != LETHE_OK)
                                return pipe_out_of_memory(l);
                        l->greeted = true;
                } else if (json_is(answer_id, own)) {
                        if (error.p)
                                return pipe_refused(l, error);
                        if (!result.p)
                                return pipe_fail(l, LETHE_PROTOCOL, "protocol", "an answer without result or error");
                        /* within l->answer; the bytes behind the result are not needed any more */
                        ((char *)result.p)[result.n] = 0;
                        *ret_result = result;
                        return LETHE_OK;
                } else if (*probe && json_is(answer_id, probe))
                        return *l->code ? LETHE_REFUSED
                                        : pipe_fail(l, LETHE_PROTOCOL, "protocol", "the request was not answered");
                else if (json_is(answer_id, "null") && error.p && !*probe && probing) {
                        uint64_t n = pipe_new_id(l);

                        r = pipe_refused(l, error);
                        if (r != LETHE_REFUSED)
                                return r;
                        l->request.n = 0;
                        if (text_add(&l->request, "\n", 1))
                                return pipe_out_of_memory(l);
                        r = pipe_add_request(l, n, "hello", "{\"protocol\":1}");
                        if (r == LETHE_OK)
                                r = pipe_send(l);
                        if (r != LETHE_OK)
                                return r;
                        snprintf(probe, sizeof(probe), "%llu", (unsigned long long)n);
                }
        }
        return r;
}

int pipe_call(struct Lethe *l, const char *method, const char *params, Span *ret_result) {
        uint64_t hello = 0, id;
        int r, unlocked;

        if (l->out < 0)
                return pipe_fail(l, LETHE_NO_PIPE, "no_pipe", "no pipe: LETHE_IN and LETHE_OUT name no open pipe");
        pthread_mutex_lock(&pipe_mutex);
        l->code[0] = l->message[0] = 0;
        l->request.n = 0;
        r = text_add(&l->request, "\n", 1) ? pipe_out_of_memory(l) : LETHE_OK;
        if (r == LETHE_OK && !l->greeted && strcmp(method, "hello") != 0)
                r = pipe_add_request(l, hello = pipe_new_id(l), "hello", "{\"protocol\":1}");
        id = pipe_new_id(l);
        if (r == LETHE_OK)
                r = pipe_add_request(l, id, method, params);
        if (r == LETHE_OK && (r = pipe_lock(l, F_WRLCK)) == LETHE_OK) {
                r = pipe_send(l);
                if (r == LETHE_OK)
                        r = pipe_await(l, hello, id, strcmp(method, "skill.run") != 0, ret_result);
                unlocked = pipe_lock(l, F_UNLCK);
                r = r == LETHE_OK ? unlocked : r;
        }
        if (r == LETHE_OK)
                l->code[0] = l->message[0] = 0; /* a probe may have left a sibling's error there */
        pthread_mutex_unlock(&pipe_mutex);
        return r;
}
