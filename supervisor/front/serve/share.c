/* Runs: lethe-serve. Memory that the daemon holds for its clients: queued and running requests, captured output, unread
 * answers. A single account, shown by `lethe capacity`. All users other than the daemon's own together get at most
 * half, and each of them a quarter of the half. */
#include "serve/serve.h"

#include "base/lock.h"

#include <string.h>

static const uint64_t FOREIGN_MAX = SERVE_HELD_MAX / 2, ONE_MAX = SERVE_HELD_MAX / 8;

bool share_take(Server *s, Peer *p, size_t n) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->share_lock);
        bool fits = s->shared + n <= SERVE_HELD_MAX &&
               (!p->foreign || (s->shared_foreign + n <= FOREIGN_MAX && p->shared + n <= ONE_MAX));
        if (fits) {
                s->shared += n;
                s->shared_foreign += p->foreign ? n : 0;
                p->shared += n;
        }
        return fits;
}

void share_give(Server *s, Peer *p, size_t n) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->share_lock);

        s->shared -= n;
        s->shared_foreign -= p->foreign ? n : 0;
        p->shared -= n;
}

/* The memory of a value in Jansson: small values cost more than their text. */
size_t share_of_json(const json_t *v) {
        size_t n = 64 + json_string_length(v);
        const char *key;
        json_t *member;

        for (size_t i = 0; i < json_array_size(v); i++)
                n += share_of_json(json_array_get(v, i));
        json_object_foreach((json_t *)v, key, member)
                n += 64 + strlen(key) + share_of_json(member);
        return n;
}

/* Grows by doubling; meanwhile both pieces count. */
static bool capture_grow(Capture *c, size_t n) {
        size_t room = c->text.room ?: 4096, had = c->charged;

        while (room < c->text.n + n + 1)
                room *= 2;
        room = MIN(room, (size_t)SERVE_CAPTURE_MAX + 1);
        if (room <= c->text.room)
                return true;
        if (!share_take(c->server, c->peer, room))
                return false;
        c->charged = room;
        if (buf_reserve(&c->text, room - 1 - c->text.n) < 0) {
                share_give(c->server, c->peer, room);
                c->charged = had;
                return false;
        }
        share_give(c->server, c->peer, had);
        return true;
}

static void capture_take(RegionSink *sink, const char *bytes, size_t n) {
        Capture *c = (Capture *)sink;
        size_t fits = MIN(n, SERVE_CAPTURE_MAX - c->text.n);

        if (fits > 0 && (!capture_grow(c, fits) || buf_add(&c->text, bytes, fits) < 0))
                fits = 0;
        c->cut |= fits < n;
}

void capture_init(Capture *c, Server *s, Peer *p) {
        *c = (Capture){.sink.take = capture_take, .text.max = SERVE_CAPTURE_MAX + 1, .server = s, .peer = p};
}

void capture_deinit(Capture *c) {
        buf_deinit(&c->text);
        if (c->server)
                share_give(c->server, c->peer, c->charged);
        c->charged = 0;
}
