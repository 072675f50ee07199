/* Runs: tests. Makes calls of the C shim as it is told: one JSON array a line on standard input, one outcome a line on standard output.
 * driver.py and driver.js do the same for theirs. Also: `stress ROUNDS THREADS`, and two ways to die with the pipe in one's hands. */
#include "lethe.h"

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *text_or_null(json_t *call, size_t i) {
        return json_string_value(json_array_get(call, i));
}

/* JSON text of a value; strings by the shim's own writer. Owned. */
static char *value_text(json_t *v) {
        ptrdiff_t n;
        char *out;

        if (!json_is_string(v))
                return json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        n = lethe_json_quote(json_string_value(v), json_string_length(v), NULL, 0);
        out = malloc((size_t)n + 1);
        lethe_json_quote(json_string_value(v), json_string_length(v), out, (size_t)n + 1);
        return out;
}

__attribute__((format(printf, 3, 4))) static void outcome(Lethe *l, int r, const char *fmt, ...) {
        va_list ap;

        if (r != LETHE_OK)
                printf("{\"error\":\"%s\"}\n", lethe_code(l));
        else {
                printf("{\"ok\":");
                va_start(ap, fmt);
                vprintf(fmt, ap);
                va_end(ap);
                printf("}\n");
        }
        fflush(stdout);
}

static int do_memory(Lethe *l, const char *op, json_t *call) {
        const char *a[8] = {0}, *text = "";
        int n[8] = {0}, r;

        for (size_t i = 0; i < 8; i++) {
                a[i] = text_or_null(call, i);
                n[i] = (int)json_integer_value(json_array_get(call, i));
        }
        if (strcmp(op, "save") == 0) {
                json_t *references = json_array_get(call, 5);
                char *payload = value_text(json_array_get(call, 2)), *refs = json_is_array(references) ? value_text(references) : NULL;

                r = lethe_memory_save(l, &(LetheSave){.kind = a[1], .payload = payload, .id = a[3], .type = a[4], .refs = refs,
                                                      .expect = json_is_integer(json_array_get(call, 6)) ? n[6] : -1, .scope = a[7]}, &text);
                free(payload);
                free(refs);
        } else if (strcmp(op, "load") == 0)
                r = json_array_size(call) > 4 ? lethe_memory_load_past(l, a[1], a[2], a[3], (uint64_t)n[4], a[5], &text)
                                              : lethe_memory_load(l, a[1], a[2], a[3], &text);
        else if (strcmp(op, "records") == 0)
                r = lethe_memory_list(l, a[1], a[2], (unsigned)n[3], a[4], &text);
        else if (strcmp(op, "search") == 0)
                r = lethe_memory_search(l, a[1], (unsigned)n[2], a[3], &text);
        else if (strcmp(op, "history") == 0)
                r = lethe_memory_history(l, a[1], a[2], (uint64_t)n[3], (unsigned)n[4], a[5], &text);
        else if (strcmp(op, "delete") == 0)
                r = lethe_memory_delete(l, a[1], a[2], a[3], a[4], &text);
        else
                return 0;
        outcome(l, r, "%s", text);
        return 1;
}

static int do_own(Lethe *l, const char *op, json_t *call) {
        const char *a[4] = {0}, *text = "";
        int64_t n[5] = {0};
        int r;

        for (size_t i = 0; i < 4; i++)
                a[i] = text_or_null(call, i);
        for (size_t i = 0; i < 5; i++)
                n[i] = json_integer_value(json_array_get(call, i));
        if (strcmp(op, "context") == 0)
                r = lethe_context_read(l,
                                       &(LetheContext){.scope = a[1], .query = a[2], .lane = (unsigned)n[3], .bytes = (unsigned)n[4],
                                                       .at = text_or_null(call, 5)},
                                       &text);
        else if (strcmp(op, "kernel") == 0)
                r = lethe_kernel_read(l, a[1], a[2], a[3], (unsigned)n[4], &text);
        else if (strcmp(op, "notes") == 0)
                r = lethe_note_list(l, (uint64_t)n[1], (unsigned)n[2], &text);
        else if (strcmp(op, "pending") == 0)
                r = lethe_pending_list(l, (uint64_t)n[1], (unsigned)n[2], &text);
        else if (strcmp(op, "view") == 0)
                r = lethe_memory_view(l, a[1], a[2], a[3], &text);
        else if (strcmp(op, "refs") == 0)
                r = lethe_memory_refs(l, a[1], a[2], a[3], &text);
        else
                return 0;
        outcome(l, r, "%s", text);
        return 1;
}

static void do_call(Lethe *l, json_t *call) {
        const char *op = text_or_null(call, 0), *text = "";
        json_t *third = json_array_get(call, 3), *total = json_array_get(call, 2);
        uint64_t version = 0;
        char *value = NULL;

        if (strcmp(op, "hello") == 0) {
                int r = lethe_hello(l, &text);

                outcome(l, r, "%s", text);
        } else if (strcmp(op, "read") == 0) {
                int r = lethe_slot_read(l, text_or_null(call, 1), &text, &version);

                outcome(l, r, "{\"value\":%s,\"version\":%llu}", text, (unsigned long long)version);
        } else if (strcmp(op, "write") == 0) {
                int r;

                value = value_text(json_array_get(call, 2));
                r = lethe_slot_propose(l, text_or_null(call, 1), value, json_is_integer(third) ? json_integer_value(third) : -1,
                                       json_array_size(call) > 4 ? json_number_value(json_array_get(call, 4)) : -1, &version);
                outcome(l, r, "{\"held\":true,\"seq\":0,\"version\":%llu}", (unsigned long long)version);
        } else if (strcmp(op, "list") == 0) {
                int r = lethe_slot_list(l, &text);

                outcome(l, r, "{\"slots\":%s}", text);
        } else if (strcmp(op, "open") == 0) {
                char handle[LETHE_HANDLE_MAX] = "";
                int r = lethe_handle_open(l, text_or_null(call, 1), NULL, handle);

                outcome(l, r, "{\"handle\":\"%s\"}", handle);
        } else if (strcmp(op, "read_handle") == 0) {
                int r = lethe_handle_read(l, text_or_null(call, 1), &text, &version);

                outcome(l, r, "{\"value\":%s,\"version\":%llu}", text, (unsigned long long)version);
        } else if (strcmp(op, "write_handle") == 0) {
                int r;

                value = value_text(json_array_get(call, 2));
                r = lethe_handle_write(l, text_or_null(call, 1), value, json_is_integer(third) ? json_integer_value(third) : -1, &version);
                outcome(l, r, "{\"version\":%llu}", (unsigned long long)version);
        } else if (strcmp(op, "carry") == 0) {
                int r = lethe_carry_read(l, text_or_null(call, 1), &text, &version);

                outcome(l, r, "{\"value\":%s,\"version\":%llu}", text, (unsigned long long)version);
        } else if (strcmp(op, "carry_write") == 0) {
                int r;

                value = value_text(json_array_get(call, 2));
                r = lethe_carry_write(l, text_or_null(call, 1), value, json_is_integer(third) ? json_integer_value(third) : -1, &version);
                outcome(l, r, "{\"held\":true,\"version\":%llu}", (unsigned long long)version);
        } else if (strcmp(op, "ccs") == 0) {
                const char *input = "";
                int r = lethe_ccs_read(l, &text, &input, &version);

                outcome(l, r, "{\"ccs\":%s,\"input\":%s,\"turn\":%llu}", text, input, (unsigned long long)version);
        } else if (strcmp(op, "ccs_tool") == 0) {
                int r = lethe_ccs_tool(l, text_or_null(call, 1), text_or_null(call, 2), &version);

                outcome(l, r, "{\"held\":true,\"tools\":%llu}", (unsigned long long)version);
        } else if (strcmp(op, "note") == 0) {
                int r = lethe_note_add(l, text_or_null(call, 1), text_or_null(call, 2), &version);

                outcome(l, r, "{\"note\":%llu}", (unsigned long long)version);
        } else if (strcmp(op, "canon") == 0) {
                int r = json_array_size(call) > 6
                                ? lethe_canon_read_past(l, text_or_null(call, 1), text_or_null(call, 2), text_or_null(call, 3), text_or_null(call, 4),
                                                        (unsigned)json_integer_value(json_array_get(call, 5)), text_or_null(call, 6), &text)
                                : lethe_canon_read(l, text_or_null(call, 1), text_or_null(call, 2), text_or_null(call, 3), text_or_null(call, 4),
                                                   (unsigned)json_integer_value(json_array_get(call, 5)), &text);

                outcome(l, r, "%s", text);
        } else if (do_own(l, op, call)) {
        } else if (do_memory(l, op, call)) {
        } else if (strcmp(op, "close") == 0)
                outcome(l, lethe_handle_close(l, text_or_null(call, 1)), "{}");
        else if (strcmp(op, "log") == 0)
                outcome(l, lethe_log(l, text_or_null(call, 1), text_or_null(call, 2)), "{}");
        else if (strcmp(op, "progress") == 0)
                outcome(l, lethe_progress(l, json_number_value(json_array_get(call, 1)), json_is_number(total) ? json_number_value(total) : -1, text_or_null(call, 3)), "{}");
        else if (strcmp(op, "run") == 0) {
                const char *args[16] = {0};
                int r;

                for (size_t i = 0; i < json_array_size(total) && i < 15; i++)
                        args[i] = text_or_null(total, i);
                r = lethe_skill_run(l, text_or_null(call, 1), text_or_null(call, 3), args, text_or_null(call, 4), &text);
                outcome(l, r, "%s", text);
        } else {
                value = value_text(json_array_get(call, 1));
                outcome(l, lethe_result(l, value), "{}");
        }
        free(value);
}

static int rounds;

/* Reads two slots of known values in turns and writes a third: an answer that is another's is seen at once. */
static void *stress(void *unused) {
        uint64_t last = 0, version;
        const char *value;
        Lethe *l;

        if (lethe_open(&l) != LETHE_OK)
                exit(3);
        for (int i = 0; i < rounds; i++) {
                if (lethe_slot_read(l, "facts", &value, NULL) != LETHE_OK || strcmp(value, "{\"n\":1}") != 0)
                        fprintf(stderr, "facts: %s %s\n", value, lethe_message(l)), exit(4);
                if (lethe_slot_read(l, "notes/a", &value, NULL) != LETHE_OK || strncmp(value, "\"h\xc3\xa9llo", 7) != 0)
                        fprintf(stderr, "notes/a: %s %s\n", value, lethe_message(l)), exit(5);
                if (lethe_slot_write(l, "out", "{\"by\":\"c\"}", -1, &version) != LETHE_OK || version <= last)
                        fprintf(stderr, "out: %s\n", lethe_message(l)), exit(6);
                last = version;
                printf("%llu\n", (unsigned long long)version);
        }
        lethe_close(l);
        return NULL;
}

/* Dies while it holds the pipe: with half a request written, or with an answer that nobody will read. */
static void die(const char *how) {
        int out = atoi(getenv("LETHE_OUT"));
        static char half[5000];

        fcntl(out, F_SETLKW, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET});
        if (strcmp(how, "half") == 0) {
                memset(half, 'x', sizeof(half));
                memcpy(half, "{\"jsonrpc\":\"2.0\",\"id\":\"", 23);
                if (write(out, half, sizeof(half)) != sizeof(half))
                        exit(7);
        } else
                dprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":\"dead\",\"method\":\"slot.read\",\"params\":{\"name\":\"facts\"}}\n");
        kill(getpid(), SIGKILL);
}

int main(int argc, char **argv) {
        char line[65536];
        Lethe *l;

        if (argc == 4 && strcmp(argv[1], "stress") == 0) {
                pthread_t threads[16];
                int n = atoi(argv[3]);

                rounds = atoi(argv[2]);
                for (int i = 0; i < n; i++)
                        pthread_create(&threads[i], NULL, stress, NULL);
                for (int i = 0; i < n; i++)
                        pthread_join(threads[i], NULL);
                return 0;
        }
        if (argc == 3)
                die(argv[2]);
        lethe_open(&l); /* without a pipe every call says so */
        while (fgets(line, sizeof(line), stdin)) {
                json_t *call = json_loads(line, JSON_ALLOW_NUL, NULL);

                do_call(l, call);
                json_decref(call);
        }
        lethe_close(l);
        return 0;
}
