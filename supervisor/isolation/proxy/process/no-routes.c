/* Runs: lethe-proxy. No routes: the parts of schema/route.h in a program without libcurl, which starts in a tenth of the
 * time. */
#include "proxy/process/state.h"

bool routes_load(void) {
        return true;
}

bool routes_start(void) {
        return true;
}

void routes_read(const uint8_t *packet, size_t n, int fd) {
        (void)packet, (void)n, (void)fd;
        proxy_die();
}

void routes_event(uint64_t tag, uint32_t events) {
        (void)tag, (void)events;
}

int routes_tick(int most) {
        return most;
}

void routes_sweep(void) {
}

void routes_close(void) {
}
