#include "proxy/model.h"

#include <string.h>
#include <strings.h>

#define BYTES_A_TOKEN 4 /* of English text, as OpenAI's and others' tokenizers have it on average */
#define TOKENS_MOST UINT64_C(1000000000)

typedef struct ModelRead {
        ModelRequest *ret;
        const char *why;
        unsigned seen;
} ModelRead;

/* Members of a request that are read, and members that would choose another model behind the list's back. */
static const char *const model_members[] = {"model", "max_tokens", "max_completion_tokens", "max_output_tokens", "n", "best_of"};
static const char *const model_refused[] = {"models", "fallbacks", "fallback_models"};

static void model_member(JsonScan *s, const char *key) {
        ModelRead *r = s->user;

        for (const char *c = key; c && *c; c++)
                if ((unsigned char)*c >= 0x80) /* small letters of other alphabets fold to ASCII letters in some servers */
                        key = NULL;
        if (!key) {
                r->why = "a member's name is no short ASCII text";
                return;
        }
        for (size_t i = 0; i < sizeof(model_members) / sizeof(*model_members); i++)
                if (strcasecmp(key, model_members[i]) == 0) {
                        if (strcmp(key, model_members[i]) != 0)
                                r->why = "a member's name differs from a known name in its capital letters alone";
                        if (r->seen & 1U << i)
                                r->why = "a member stands there twice";
                        r->seen |= 1U << i;
                }
        for (size_t i = 0; i < sizeof(model_refused) / sizeof(*model_refused); i++)
                if (strcasecmp(key, model_refused[i]) == 0)
                        r->why = "the member names further models";
}

static void model_count(ModelRead *r, JsonScanKind kind, uint64_t v, uint64_t *to) {
        if (kind == JSON_SCAN_NULL)
                return;
        if (kind != JSON_SCAN_INTEGER || v < 1 || v > TOKENS_MOST)
                r->why = "a number of tokens or answers is no whole number from 1 to 1000000000";
        else if (v > *to)
                *to = v;
}

static void model_value(JsonScan *s, JsonScanKind kind, const char *text, uint64_t v) {
        ModelRead *r = s->user;
        const char *key = s->key[0];

        if (s->depth == 0 && (kind != JSON_SCAN_OPEN))
                r->why = "the body is no JSON object";
        if (s->depth != 1)
                return;
        if (!(s->objects & 1))
                r->why = "the body is no JSON object";
        else if (strcmp(key, "model") == 0) {
                if (kind != JSON_SCAN_STRING || !text || !*text || strlen(text) >= PROXY_MODEL_MAX)
                        r->why = "\"model\" is no text of 1 to 96 bytes";
                else
                        strcpy(r->ret->model, text);
        } else if (strcmp(key, "n") == 0 || strcmp(key, "best_of") == 0)
                model_count(r, kind, v, &r->ret->answers);
        else if (strncmp(key, "max_", 4) == 0)
                for (size_t i = 1; i < 4; i++)
                        if (strcmp(key, model_members[i]) == 0)
                                model_count(r, kind, v, &r->ret->most_out);
}

const char *model_request_parse(const char *body, size_t n, ModelRequest *ret) {
        ModelRead r = {.ret = ret};
        JsonScan s = {.value = model_value, .member = model_member, .user = &r};
        bool good;

        *ret = (ModelRequest){.answers = 1};
        json_scan_begin(&s);
        good = json_scan_feed(&s, body, n) && json_scan_end(&s);
        return r.why ?: good ? r.seen == 0 && !(s.objects & 1) ? "the body is no JSON object" : NULL
                             : "the body is no JSON";
}

uint64_t model_estimate(size_t bytes) {
        return bytes / BYTES_A_TOKEN + 1;
}

static void usage_value(JsonScan *s, JsonScanKind kind, const char *text, uint64_t v) {
        ModelUsage *u = s->user;
        const char *key = s->depth >= 1 && s->depth <= JSON_SCAN_KEYS ? s->key[s->depth - 1] : "";

        (void)text;
        if (kind != JSON_SCAN_INTEGER || v > TOKENS_MOST)
                return;
        if (s->depth == 2 ? strcmp(s->key[0], "usage") != 0
                          : s->depth != 3 || strcmp(s->key[1], "usage") != 0 ||
                                    (strcmp(s->key[0], "message") != 0 && strcmp(s->key[0], "response") != 0))
                return;
        if (strcmp(key, "prompt_tokens") == 0 || strcmp(key, "input_tokens") == 0)
                u->part_in = v;
        else if (strcmp(key, "completion_tokens") == 0 || strcmp(key, "output_tokens") == 0)
                u->part_out = v;
        else if (strcmp(key, "cache_creation_input_tokens") == 0 || strcmp(key, "cache_read_input_tokens") == 0)
                u->cached += v;
        else
                return;
        u->part = true;
}

static void usage_part(ModelUsage *u) {
        if (u->part && json_scan_end(&u->scan)) {
                const uint64_t in = u->part_in + u->cached;

                u->has = true;
                u->in = in > u->in ? in : u->in;
                u->out = u->part_out > u->out ? u->part_out : u->out;
        }
        u->part = false;
        u->part_in = u->part_out = u->cached = 0;
        json_scan_begin(&u->scan);
}

void model_usage_begin(ModelUsage *u, bool events) {
        *u = (ModelUsage){.scan = {.value = usage_value}, .events = events};
        json_scan_begin(&u->scan);
}

/* A byte of a stream of events (WHATWG HTML, 9.2.6): "data: VALUE" lines, an empty line ends the event. */
static void usage_event_byte(ModelUsage *u, char c) {
        static const char field[] = "data:";
        const unsigned n_field = sizeof(field) - 1;
        const bool lf_of_crlf = u->cr && c == '\n';

        u->cr = c == '\r';
        if (lf_of_crlf)
                return;
        if (c == '\r' || c == '\n') {
                if (u->line == 0)
                        usage_part(u);
                else if (u->data)
                        json_scan_feed(&u->scan, "\n", 1);
                u->line = 0;
                u->data = false;
                return;
        }
        if (u->line < n_field) {
                u->line = c == field[u->line] ? u->line + 1 : n_field + 1;
                u->data = u->line == n_field;
        } else if (u->data)
                json_scan_feed(&u->scan, &c, 1);
}

void model_usage_feed(ModelUsage *u, const char *bytes, size_t n) {
        u->scan.user = u;
        if (!u->events)
                json_scan_feed(&u->scan, bytes, n);
        for (size_t i = 0; u->events && i < n; i++)
                usage_event_byte(u, bytes[i]);
}

void model_usage_end(ModelUsage *u) {
        u->scan.user = u;
        u->bad = !u->events && !json_scan_end(&u->scan);
        usage_part(u);
}
