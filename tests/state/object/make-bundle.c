/* Runs: tests. make-bundle SEED STEPS [NODES]: prints a random object as a file. make-bundle --check FILE: what the supervisor's code makes of a
 * file: "0", or the code and the message. */
#include "random-object.h"
#include "base/io.h"

#include <fcntl.h>

static int check(const char *path) {
        _cleanup_object_bundle_ ObjectBundle b = OBJECT_BUNDLE_NULL;
        _cleanup_free_ char *text = NULL;
        Diag d = {0};
        size_t n;
        int r = io_read_file(AT_FDCWD, path, OBJECT_BUNDLE_MAX, &text, &n);

        if (r == 0)
                r = object_bundle_parse(text, n, &b, &d);
        printf("%d %s\n", r, d.text);
        return r < 0 ? 2 : r > 0;
}

static int print(uint64_t seed, unsigned steps, unsigned nodes) {
        _cleanup_random_object_ RandomObject o;
        _cleanup_buf_ Buf file = {0};

        random_object_by(&o, seed, steps, nodes);
        random_print(&o, &file);
        return fwrite(file.data, 1, file.n, stdout) == file.n && fflush(stdout) == 0 ? 0 : 2;
}

int main(int argc, char **argv) {
        if (argc == 3 && strcmp(argv[1], "--check") == 0)
                return check(argv[2]);
        if (argc != 3 && argc != 4)
                return 2;
        return print(strtoull(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10), argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : RANDOM_SIGNERS);
}
