/* Runs: tests. fill-regions STORE N [PAUSE-USEC]: a store with N regions of every kind that a page about them has to show, one of them alive
 * when it ends (and so without a supervisor then). Their records are made up; names and reasons are as nasty as they can be. */
#include "base/id.h"
#include "engine/engine.h"
#include "store/hooks.h"

#include <stdio.h>
#include <string.h>

static const char *const skills[] = {"fact-extractor", "baggage-quote", "unruly", "<script>alert(1)</script>", "a&b\"'\x01\xe2\x80\xae\x63"};
static const char *const outcomes[] = {"exited", "exited", "exited", "exited", "exited", "signaled", "timed_out", "cancelled", "out_of_region"};

static json_t *teardown(unsigned i) {
        static const char *const grades[] = {"cleared_kernel", "cleared", "cleared", "cleared_early", "cleared_kernel", "cleared_kernel", "cleared"};
        const char *grade = i % 41 == 7 ? "partial" : i % 67 == 9 ? "unscrubbed" : grades[i % 7];
        json_int_t held = 262144 + (json_int_t)(i * 2654435761u % 90000000), over = strcmp(grade, "unscrubbed") == 0 ? 0 : held;

        json_t *not_covered = strcmp(grade, "cleared_kernel") == 0 ? json_array() : json_pack("[s, s, s]", "pipe_buffers", "file_names", i % 5 ? "kernel_stacks" : "socket_buffers");

        return json_pack("{s:s, s:I, s:I, s:I, s:i, s:I, s:{s:I}, s:o, s:s}", "grade", grade, "bytes_held", held, "bytes_overwritten", over, "bytes_verified",
                         i % 41 == 7 ? over / 2 : over, "passes", 1, "usec", (json_int_t)(i % 53 == 20 ? 612000 : 300 + i * 40503u % 60000), "bytes_missed", i % 41 == 7 ? "<i>shared" : "shared", i % 41 == 7 ? over / 2 : 0, "not_covered", not_covered, "discipline", "zero");
}

static int one(Txn *t, unsigned i, bool end, Diag *d) {
        json_t *grant = json_pack("{s:s, s:s, s:i}", "discipline", i % 67 == 9 ? "none" : i % 4 ? "zero" : "multipass", "key_scope",
                                  i % 11 == 3 ? "invocation-tree" : "invocation", "cancel_bound_usec", 250000);
        json_t *released = json_pack("{s:o}", "teardown", teardown(i)), *ended = json_pack("{s:s, s:s}", "outcome", outcomes[i % 9], "reason", "<b>&"), *none = json_object();
        char id[REGION_ID_MAX];
        int r;

        snprintf(id, sizeof(id), "%026u", i);
        r = engine_region_start(t, &(RegionStart){.region = id, .skill_name = skills[i % ARRAY_SIZE(skills)], .skill_digest = "sha256:0", .tier = "namespaces", .grant = grant}, NULL,
                                NULL, d);
        if (r == 0 && i % 53 == 20)
                r = engine_event(t, id, "region.bound_passed", none, NULL);
        if (r == 0 && end)
                r = i % 29 == 5 ? engine_region_recover(t, id, released, d) : engine_region_end(t, &(RegionEnd){id, true, released, ended}, NULL, NULL, d);
        json_decref(grant);
        json_decref(released);
        json_decref(ended);
        json_decref(none);
        return r;
}

int main(int argc, char **argv) {
        unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
        Store *s = NULL;
        Txn *t = NULL;
        Diag d = {0};
        int r = argc < 3 ? -1 : store_open(argv[1], STORE_SUPERVISE, &s, &d);

        for (unsigned i = 0; r == 0 && i < n; i++) {
                if (!t)
                        r = store_begin(s, true, &t, &d);
                if (r == 0)
                        r = one(t, i, i + 1 < n, &d);
                if (r == 0 && (argc > 3 || i % 64 == 63 || i + 1 == n)) /* one by one only when time is to pass between them */
                        r = store_commit(TAKE_PTR(t), &d);
                if (argc > 3)
                        usleep((useconds_t)atoi(argv[3]) * (1 + i % 7 * (i / 60 % 2)));
        }
        if (r != 0)
                fprintf(stderr, "fill-regions: %d %s\n", r, d.text);
        store_free(s);
        return r != 0;
}
