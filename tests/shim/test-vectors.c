/* The golden vectors against the four shims: each must write exactly the bytes of `line`, and make of the answer what it says. The peer
 * here is a script, not the dispatch: it also sends what no dispatch would. */
#include "tests/shim/spawn.h"

#include "base/io.h"
#include "base/json.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define REGION "01hzy3v5q8r6x2m9d4k7c0w1ab"
#define KEY "00112233445566778899aabbccddeeff"
static const char hello_answer[] = "{\"id\":%s,\"jsonrpc\":\"2.0\",\"result\":{\"key\":\"" KEY "\",\"protocol\":1,\"region\":\"" REGION "\"}}\n";

typedef struct Peer {
        FILE *outcomes, *requests;
        int answers;
        char id[32]; /* of the last request that was no hello of the shim's own */
        char *line;  /* that request with its id as 1; owned */
} Peer;

/* The request with its id taken out: {"jsonrpc":"2.0","id":7,… -> id "7" and the line as if the id were 1. */
static void take_id(const char *request, char id[static 32], char **ret_line, const char *name) {
        static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":";
        size_t n = strspn(request + sizeof(head) - 1, "0123456789");

        cr_assert(strncmp(request, head, sizeof(head) - 1) == 0 && n > 0 && n < 32, "%s: %s", name, request);
        memcpy(id, request + sizeof(head) - 1, n);
        id[n] = 0;
        cr_assert_geq(asprintf(ret_line, "%s1%s", head, request + sizeof(head) - 1 + n), 0);
}

static Peer peer_of(const Driver *d) {
        Peer p = {.outcomes = fdopen(dup(d->out), "r"), .requests = fdopen(dup(d->requests), "r"), .answers = d->answers};

        /* What poll() looks at must not hide in a buffer. */
        setvbuf(p.outcomes, NULL, _IONBF, 0);
        setvbuf(p.requests, NULL, _IONBF, 0);
        return p;
}

/* A process a call may be gone before its second hello is answered. */
static void say(Peer *p, const char *text) {
        int r = io_write_full(p->answers, text, strlen(text));

        cr_assert(r == 0 || r == -EPIPE, "%d", r);
}

/* Answers a vector's request: its answer or answers with the id put in. */
static void answer(Peer *p, json_t *v) {
        json_t *answers = json_object_get(v, "answers"), *one = json_object_get(v, "answer"), *a;
        size_t i;

        if (!answers) {
                _cleanup_json_ json_t *copy = json_deep_copy(one);
                _cleanup_free_ char *text = NULL;

                json_object_set_new(copy, "id", json_integer(strtoll(p->id, NULL, 10)));
                if (json_object_get(copy, "error"))
                        json_object_set_new(json_object_get(copy, "error"), "message", json_string("said by the peer"));
                cr_assert_eq(json_canonical(copy, &text, NULL), 0);
                say(p, text);
                say(p, "\n");
                return;
        }
        json_array_foreach(answers, i, a) {
                const char *s = json_string_value(a), *at = strstr(s, "$ID");
                char line[4096];

                if (at)
                        snprintf(line, sizeof(line), "%.*s%s%s\n", (int)(at - s), s, p->id, at + 3);
                else
                        snprintf(line, sizeof(line), "%s\n", s);
                say(p, line);
        }
}

/* Serves until the outcome is there: a line, or with `whole` all that the process prints. *ret_outcome: owned. */
static void serve(Peer *p, json_t *v, bool says_hello, bool whole, char **ret_outcome) {
        const char *name = json_string_value(json_object_get(v, "name"));
        size_t room = 0;

        for (;;) {
                struct pollfd fds[2] = {{.fd = fileno(p->outcomes), .events = POLLIN}, {.fd = fileno(p->requests), .events = POLLIN}};
                _cleanup_free_ char *request = NULL;

                cr_assert_gt(poll(fds, 2, -1), 0);
                if (fds[1].revents & POLLIN) {
                        _cleanup_free_ char *as_one = NULL;
                        char id[32];

                        cr_assert_gt(getline(&request, &room, p->requests), 0, "%s: half a request", name);
                        room = 0;
                        request[strcspn(request, "\n")] = 0;
                        if (!*request)
                                continue;
                        take_id(request, id, &as_one, name);
                        if (strstr(request, "\"method\":\"hello\"") && !says_hello) {
                                char text[256];

                                snprintf(text, sizeof(text), hello_answer, id);
                                say(p, text);
                                continue;
                        }
                        free(p->line);
                        p->line = TAKE_PTR(as_one);
                        strcpy(p->id, id);
                        answer(p, v);
                        continue;
                }
                *ret_outcome = NULL;
                if (getdelim(ret_outcome, &room, whole ? EOF : '\n', p->outcomes) <= 0) {
                        free(*ret_outcome);
                        *ret_outcome = strdup("");
                }
                return;
        }
}

/* What $REGION and $KEY stand for. Owned. */
static char *fill_in(const char *line) {
        char *out = malloc(strlen(line) * 8 + 1), *o = out;

        for (; *line; line++)
                if (strncmp(line, "$REGION", 7) == 0) {
                        o = stpcpy(o, REGION);
                        line += 6;
                } else if (strncmp(line, "$KEY", 4) == 0) {
                        o = stpcpy(o, KEY);
                        line += 3;
                } else
                        *o++ = *line;
        *o = 0;
        return out;
}

static json_t *read_vectors(const char *file) {
        _cleanup_free_ char *text = NULL;
        json_t *all = json_array();
        char path[4096], *save = NULL;
        size_t n;

        snprintf(path, sizeof(path), "%s/%s", getenv("LETHE_VECTORS"), file);
        cr_assert_eq(io_read_file(AT_FDCWD, path, 16 << 20, &text, &n), 0, "%s", path);
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                _cleanup_free_ char *filled = fill_in(line);
                json_t *v = json_loads(filled, JSON_ALLOW_NUL, NULL);

                cr_assert(v);
                if (json_object_get(v, "call"))
                        json_array_append(all, v);
                json_decref(v);
        }
        cr_assert_gt(json_array_size(all), 10);
        return all;
}

/* {"ok": result} or {"error": word}: what the shim is to make of the vector's answer. */
static json_t *expected(json_t *v) {
        json_t *answer = json_object_get(v, "answer"), *error = json_object_get(answer, "error");

        if (json_object_get(v, "outcome"))
                return json_incref(json_object_get(v, "outcome"));
        if (error)
                return json_pack("{s:O}", "error", json_object_get(json_object_get(error, "data"), "code"));
        return json_pack("{s:O}", "ok", json_object_get(answer, "result"));
}

static void check_line(Peer *p, json_t *v, Shim shim) {
        const char *line = json_string_value(json_object_get(v, "line"));

        if (line)
                cr_assert_str_eq(p->line, line, "%s, %s: writes %s", shim_names[shim], json_string_value(json_object_get(v, "name")), p->line);
}

static bool is_hello(json_t *v) {
        return strcmp(json_string_value(json_array_get(json_object_get(v, "call"), 0)), "hello") == 0;
}

static void replay(Shim shim, const char *file) {
        _cleanup_json_ json_t *all = read_vectors(file);
        const char *argv[8];
        json_t *v;
        size_t i;
        Driver d;
        Peer p;

        signal(SIGPIPE, SIG_IGN);
        driver_argv(shim, argv);
        d = driver_start(argv, -1, -1, -1);
        p = peer_of(&d);
        json_array_foreach(all, i, v) {
                _cleanup_free_ char *call = json_dumps(json_object_get(v, "call"), JSON_COMPACT), *outcome = NULL, *got = NULL, *want = NULL;
                _cleanup_json_ json_t *expect = expected(v), *is = NULL;

                cr_assert_eq(io_write_full(d.in, call, strlen(call)), 0);
                cr_assert_eq(io_write_full(d.in, "\n", 1), 0);
                serve(&p, v, is_hello(v), false, &outcome);
                is = json_loads(outcome, JSON_ALLOW_NUL, NULL);
                check_line(&p, v, shim);
                got = json_dumps(is ? is : json_null(), JSON_SORT_KEYS | JSON_ENCODE_ANY);
                want = json_dumps(expect, JSON_SORT_KEYS | JSON_ENCODE_ANY);
                cr_assert_str_eq(got, want, "%s, %s: %s", shim_names[shim], json_string_value(json_object_get(v, "name")), got);
        }
        cr_assert_eq(driver_end(&d), 0);
        fclose(p.outcomes);
        fclose(p.requests);
        free(p.line);
}

/* The verb that stands for a call about sections; NULL: the call is one of lethe-slot's. */
static const char *section_verb(const char *op) {
        static const char *const verbs[][2] = {{"open", "open"}, {"read_handle", "read"}, {"write_handle", "write"}, {"close", "close"}};

        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                if (strcmp(verbs[i][0], op) == 0)
                        return verbs[i][1];
        return NULL;
}

/* The word behind `lethe-slot carry`; NULL: the call is about no section of a session. */
static const char *carry_verb(const char *op) {
        return strcmp(op, "carry") == 0 ? "read" : strcmp(op, "carry_write") == 0 ? "write" : NULL;
}

/* The word behind `lethe-slot ccs`; NULL: the call is not about the cognitive loop. */
static const char *ccs_verb(const char *op) {
        return strcmp(op, "ccs") == 0 ? "read" : strcmp(op, "ccs_tool") == 0 ? "tool" : NULL;
}

/* A call about typed memory as a command line; NULL names are words. Returns false when it is none. */
static bool memory_argv(json_t *call, const char **argv, char *owned[4]) {
        static const struct {
                const char *op, *verb, *names[8];
        } all[] = {{"save", "save", {NULL, "", "", "--id", "--type", "--refs", "--expect", "--scope"}},
                   {"load", "load", {NULL, "", "", "--scope", "--record-version", "--at"}},
                   {"records", "list", {NULL, "", "--after", "--limit", "--scope"}},
                   {"search", "search", {NULL, "", "--limit", "--scope"}},
                   {"history", "history", {NULL, "", "", "--after", "--limit", "--scope"}},
                   {"delete", "delete", {NULL, "", "", "--reason", "--scope"}},
                   {"view", "view", {NULL, "", "", "--scope"}},
                   {"refs", "refs", {NULL, "", "", "--scope"}},
                   {"context", NULL, {NULL, "--scope", "--query", "--lane", "--bytes", "--at"}},
                   {"kernel", NULL, {NULL, "", "--section", "--after", "--limit"}},
                   {"notes", NULL, {NULL, "--after", "--limit"}},
                   {"pending", NULL, {NULL, "--after", "--limit"}}};
        const char *op = json_string_value(json_array_get(call, 0));
        size_t n = 0, used = 0;

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                if (strcmp(all[i].op, op) != 0)
                        continue;
                argv[n++] = "lethe-slot";
                argv[n++] = all[i].verb ? "memory" : op;
                if (all[i].verb)
                        argv[n++] = all[i].verb;
                for (size_t k = 1; k < json_array_size(call); k++) {
                        json_t *v = json_array_get(call, k);

                        if (json_is_null(v))
                                continue;
                        if (*all[i].names[k])
                                argv[n++] = all[i].names[k];
                        argv[n++] = json_is_string(v) && strcmp(op, "save") != 0 ? json_string_value(v)
                                    : json_is_string(v) && k != 2                 ? json_string_value(v)
                                                                                  : (owned[used++] = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT));
                }
                argv[n] = NULL;
                return true;
        }
        return false;
}

/* lethe-slot and lethe-section: the same call as a command line. Returns false for what a command line cannot say. */
static bool slot_argv(json_t *call, const char **argv, char *owned[4]) {
        const char *op = json_string_value(json_array_get(call, 0));
        size_t n = 0, used = 0;

        if (memory_argv(call, argv, owned))
                return true;
        if (ccs_verb(op)) {
                argv[n++] = "lethe-slot";
                argv[n++] = "ccs";
                argv[n++] = ccs_verb(op);
                if (json_string_value(json_array_get(call, 1)))
                        argv[n++] = json_string_value(json_array_get(call, 1));
                if (json_string_value(json_array_get(call, 2))) {
                        argv[n++] = "--name";
                        argv[n++] = json_string_value(json_array_get(call, 2));
                }
                argv[n] = NULL;
                return true;
        }
        argv[n++] = section_verb(op) ? "lethe-section" : "lethe-slot";
        if (carry_verb(op))
                argv[n++] = "carry";
        op = section_verb(op) ?: carry_verb(op) ?: op;
        argv[n++] = op;
        if (strcmp(op, "run") == 0) {
                json_t *args = json_array_get(call, 2);

                argv[n++] = json_string_value(json_array_get(call, 1));
                for (size_t i = 3; i < 5; i++)
                        if (json_is_string(json_array_get(call, i))) {
                                argv[n++] = i == 3 ? "--entry" : "--input";
                                argv[n++] = json_string_value(json_array_get(call, i));
                        }
                argv[n++] = "--";
                for (size_t i = 0; i < json_array_size(args); i++)
                        argv[n++] = json_string_value(json_array_get(args, i));
                argv[n] = NULL;
                return true;
        }
        if (strcmp(op, "note") == 0 || strcmp(op, "canon") == 0) {
                static const char *const of_note[] = {"", "", "--role"}, *const of_canon[] = {"", "", "", "--state", "--after", "--limit", "--at"};
                const char *const *names = *op == 'n' ? of_note : of_canon;

                for (size_t i = 1; i < json_array_size(call); i++) {
                        json_t *v = json_array_get(call, i);

                        if (json_is_null(v))
                                continue;
                        if (*names[i])
                                argv[n++] = names[i];
                        argv[n++] = json_is_string(v) ? json_string_value(v) : (owned[used++] = json_dumps(v, JSON_ENCODE_ANY));
                }
                argv[n] = NULL;
                return true;
        }
        for (size_t i = 1; i < json_array_size(call); i++) {
                json_t *v = json_array_get(call, i);
                bool value = (strcmp(op, "write") == 0 && i == 2) || strcmp(op, "result") == 0;

                if (json_is_string(v) && strlen(json_string_value(v)) != json_string_length(v))
                        return false;
                if (strcmp(op, "log") == 0 && i == 1)
                        argv[n++] = "--level";
                if (strcmp(op, "write") == 0 && i == 3) {
                        if (json_is_null(v))
                                continue;
                        argv[n++] = "--expect";
                }
                if (strcmp(op, "write") == 0 && i == 4)
                        argv[n++] = "--confidence";
                if (json_is_null(v) && !value)
                        continue;
                if (json_is_string(v)) {
                        if (value)
                                argv[n++] = "--text";
                        argv[n++] = json_string_value(v);
                } else
                        argv[n++] = owned[used++] = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        }
        argv[n] = NULL;
        return true;
}

static void check_slot_output(json_t *call, json_t *expect, const char *output, int status, const char *errors, const char *name) {
        const char *word = json_string_value(json_object_get(expect, "error")), *op = json_string_value(json_array_get(call, 0));
        json_t *ok = json_object_get(expect, "ok");
        char begin[64];

        if (word) {
                snprintf(begin, sizeof(begin), "%s: %s: ", section_verb(op) ? "lethe-section" : "lethe-slot", word);
                cr_assert_eq(WEXITSTATUS(status), 1, "%s: status %d", name, status);
                cr_assert(strncmp(errors, begin, strlen(begin)) == 0, "%s: says %s", name, errors);
                cr_assert_str_empty(output, "%s", name);
                return;
        }
        cr_assert_eq(status, 0, "%s: status %d, %s", name, status, errors);
        if (ccs_verb(op)) {
                _cleanup_json_ json_t *is = json_loads(output, JSON_DECODE_ANY, NULL);

                cr_assert(json_equal(is, strcmp(op, "ccs") == 0 ? ok : json_object_get(ok, "tools")), "%s: %s", name, output);
                return;
        }
        op = section_verb(op) ?: carry_verb(op) ?: op;
        if (strcmp(op, "open") == 0)
                cr_assert(strncmp(output, json_string_value(json_object_get(ok, "handle")), strlen(output) - 1) == 0, "%s: %s", name, output);
        else if (strcmp(op, "read") == 0) {
                _cleanup_json_ json_t *value = json_loads(output, JSON_DECODE_ANY, NULL);

                cr_assert(json_equal(value, json_object_get(ok, "value")), "%s: %s", name, output);
        } else if (strcmp(op, "write") == 0)
                cr_assert_eq(atoll(output), json_integer_value(json_object_get(ok, "version")), "%s: %s", name, output);
        else if (strcmp(op, "list") == 0)
                cr_assert_str_eq(output, "facts\trw\t1\nnotes/a\tr\t1\nempty\tr\t-\nout\tw\t-\n", "%s", name);
        else if (strcmp(op, "note") == 0)
                cr_assert_eq(atoll(output), json_integer_value(json_object_get(ok, "note")), "%s: %s", name, output);
        else if (strcmp(op, "run") == 0 || strcmp(op, "canon") == 0 || strcmp(op, "save") == 0 || strcmp(op, "records") == 0 || strcmp(op, "search") == 0 || strcmp(op, "context") == 0 || strcmp(op, "kernel") == 0 || strcmp(op, "notes") == 0 || strcmp(op, "pending") == 0) {
                _cleanup_json_ json_t *answer = json_loads(output, 0, NULL);

                cr_assert(json_equal(answer, ok), "%s: %s", name, output);
        } else if (strcmp(op, "hello") == 0)
                cr_assert(strstr(output, "\"protocol\":1") && !strstr(output, KEY), "%s: %s", name, output); // I-10: no key on a terminal
        else
                cr_assert_str_empty(output, "%s", name);
}

static void replay_slot(const char *file) {
        _cleanup_json_ json_t *all = read_vectors(file);
        size_t i, skipped = 0;
        json_t *v;

        signal(SIGPIPE, SIG_IGN);
        json_array_foreach(all, i, v) {
                _cleanup_free_ char *output = NULL;
                _cleanup_json_ json_t *expect = expected(v);
                char *owned[4] = {0}, errors[2048] = "";
                const char *argv[16];
                int said[2], status;
                ssize_t n;
                Driver d;
                Peer p;

                if (!slot_argv(json_object_get(v, "call"), argv, owned)) {
                        skipped++;
                        continue;
                }
                cr_assert_eq(pipe2(said, O_CLOEXEC), 0);
                d = driver_start(argv, -1, -1, said[1]);
                close(said[1]);
                p = peer_of(&d);
                serve(&p, v, is_hello(v), true, &output);
                check_line(&p, v, SHIM_SH);
                status = driver_end(&d);
                n = read(said[0], errors, sizeof(errors) - 1);
                errors[MAX(n, 0)] = 0;
                close(said[0]);
                check_slot_output(json_object_get(v, "call"), expect, output, status, errors, json_string_value(json_object_get(v, "name")));
                fclose(p.outcomes);
                fclose(p.requests);
                free(p.line);
                for (size_t k = 0; k < 4; k++)
                        free(owned[k]);
        }
        cr_assert_leq(skipped, 1, "only NUL cannot stand in a command line");
}

Test(vectors, c) {
        replay(SHIM_C, "methods.jsonl");
        replay(SHIM_C, "answers.jsonl");
}

Test(vectors, python) {
        replay(SHIM_PYTHON, "methods.jsonl");
        replay(SHIM_PYTHON, "answers.jsonl");
}

Test(vectors, node) {
        replay(SHIM_NODE, "methods.jsonl");
        replay(SHIM_NODE, "answers.jsonl");
}

Test(vectors, lethe_slot) {
        replay_slot("methods.jsonl");
        replay_slot("answers.jsonl");
}

/* Without a region each says so, and with its own word. */
Test(vectors, no_pipe) {
        for (Shim shim = SHIM_C; shim <= SHIM_NODE; shim++) {
                static const char call[] = "[\"read\",\"facts\"]\n";
                char outcome[64] = "";
                const char *argv[8];
                ssize_t n;
                Driver d;

                unsetenv("LETHE_IN");
                unsetenv("LETHE_OUT");
                driver_argv(shim, argv);
                d = driver_start(argv, -2, -2, -1);
                cr_assert_eq(io_write_full(d.in, call, strlen(call)), 0);
                n = read(d.out, outcome, sizeof(outcome) - 1);
                cr_assert(n > 0 && strstr(outcome, "no_pipe"), "%s: %s", shim_names[shim], outcome);
                cr_assert_eq(driver_end(&d), 0);
        }
}
