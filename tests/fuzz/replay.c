/* Runs: tests. Gives each file of a folder to a fuzz target and says so in TAP. Each input stands alone on the heap, so that a sanitizer
 * sees a byte too many. A finding ends the program; the line before the end names the file. */
#include "base/io.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

int main(int argc, char **argv) {
        struct dirent **names;
        int n, dir;

        if (argc != 2 || LLVMFuzzerInitialize(&argc, &argv) != 0)
                return 2;
        dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        n = scandir(argv[1], &names, NULL, alphasort);
        if (dir < 0 || n < 2) {
                fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
                return 2;
        }
        printf("1..%d\n", n - 2);
        for (int i = 0; i < n; i++) {
                if (*names[i]->d_name != '.') {
                        _cleanup_free_ char *text = NULL;
                        _cleanup_free_ uint8_t *copy = NULL;
                        size_t size;

                        printf("# %s\n", names[i]->d_name);
                        fflush(stdout);
                        if (io_read_file(dir, names[i]->d_name, 1 << 22, &text, &size) < 0 || !(copy = malloc(size ? size : 1)))
                                return 2;
                        memcpy(copy, text, size);
                        LLVMFuzzerTestOneInput(copy, size);
                        printf("ok %d - %s\n", i - 1, names[i]->d_name);
                }
                free(names[i]);
        }
        free(names);
        close(dir);
        return 0;
}
