#include "base/machine.h"

#include <stdlib.h>
#include <string.h>

static uint64_t machine_kib(const char *text, const char *key) {
        const char *p = strstr(text, key);

        return p ? strtoull(p + strlen(key), NULL, 10) * 1024 : 0;
}

uint64_t machine_given(const char *meminfo) {
        return machine_kib(meminfo, "\nAnonPages:") + machine_kib(meminfo, "\nShmem:") + machine_kib(meminfo, "\nSwapTotal:") - machine_kib(meminfo, "\nSwapFree:");
}
