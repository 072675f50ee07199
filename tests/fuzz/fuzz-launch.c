/* The launch spec: bytes that can be read are exactly those that the writer makes of what was read. */
#include "schema/launch.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

/* The words: as many bytes as were read make the same words again. */
static void words(const uint8_t *bytes, size_t n) {
        _cleanup_free_ uint8_t *out = NULL;
        LaunchSpec s = {0};
        size_t n_out = 0;
        int r = launch_words_decode(bytes, n, &s);

        fuzz_check(r == 0 || r == -EBADMSG, "%d", r);
        if (r == 0) {
                fuzz_check(s.n_argv > 0 && !s.argv[s.n_argv] && !s.env[s.n_env]);
                fuzz_check(launch_words_encode(&s, &out, &n_out) == 0);
                fuzz_check(n_out <= n && memcmp(bytes, out, n_out) == 0, "%zu bytes became %zu", n, n_out);
        }
        launch_deinit(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_free_ uint8_t *aligned = malloc(n ? n : 1), *out = NULL;
        LaunchSpec s = {0};
        size_t n_out = 0;
        int r;

        fuzz_check(aligned != NULL);
        if (n > 0)
                memcpy(aligned, data, n);
        words(aligned, n);
        r = launch_decode(aligned, n, &s);
        fuzz_check(r == 0 || r == -EBADMSG, "%d", r);
        if (r != 0)
                return 0;
        fuzz_check(!s.argv[s.n_argv] && !s.env[s.n_env]);
        fuzz_check((s.n_argv == 0) == ((s.flags & (LAUNCH_LATER | LAUNCH_AHEAD)) == LAUNCH_LATER));
        for (size_t i = 0; i < s.n_argv; i++)
                fuzz_check(s.argv[i] != NULL);
        fuzz_check(launch_encode(&s, &out, &n_out) == 0);
        fuzz_check(n == n_out && memcmp(aligned, out, n) == 0, "%zu bytes became %zu", n, n_out);
        launch_deinit(&s);
        return 0;
}
