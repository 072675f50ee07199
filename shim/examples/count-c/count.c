/* Runs: skill. */
#include <lethe.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
        uint64_t version = 0;
        const char *value;
        char text[64], handle[LETHE_HANDLE_MAX];
        long n = 0;
        Lethe *l;

        if (lethe_open(&l) == LETHE_OK && lethe_slot_read(l, "examples/counter", &value, &version) == LETHE_OK)
                n = atol(value);
        else if (strcmp(lethe_code(l), "no_value") != 0)
                goto refused;
        snprintf(text, sizeof(text), "%ld", n + 1);
        /* Working state lies in a section: typed, kept by the supervisor, gone with the region. */
        if (lethe_handle_open(l, "runs", NULL, handle) != LETHE_OK ||
            lethe_handle_write(l, handle, text, 0, NULL) != LETHE_OK ||
            lethe_handle_read(l, handle, &value, NULL) != LETHE_OK)
                goto refused;
        snprintf(text, sizeof(text), "%ld", atol(value));
        if (lethe_slot_write(l, "examples/counter", text, (int64_t)version, NULL) != LETHE_OK)
                goto refused;
        snprintf(text, sizeof(text), "{\"runs\":%ld}", n + 1);
        if (lethe_result(l, text) != LETHE_OK)
                goto refused;
        lethe_close(l);
        return 0;
refused:
        fprintf(stderr, "count: %s: %s\n", lethe_code(l), lethe_message(l));
        return 1;
}
