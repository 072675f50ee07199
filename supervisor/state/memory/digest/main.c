/* Runs: skill, in its region. The digest: reads a scan (a line of JSON: records, references), prints its proposals. */
#include "memory/propose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(void) {
        json_error_t why;
        json_t *scan = json_loadf(stdin, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &why), *proposed = NULL;
        int r = scan ? propose(scan, &proposed) : -EINVAL;

        if (r < 0) {
                fprintf(stderr, "digest: %s\n", scan ? strerror(-r) : why.text);
                return 1;
        }
        if (json_dumpf(proposed, stdout, JSON_COMPACT | JSON_SORT_KEYS) < 0 || putchar('\n') == EOF ||
            fflush(stdout) == EOF)
                return 1;
        return 0;
}
