// The assembled root of a region is read-only: a file in any of its folders but scratch would be there for whoever is misled by it.
#include "attack.h"

int main(void) {
        static const char *const places[] = {"/escaped", "/etc/escaped", "/dev/escaped", "/usr/escaped", "/skill/escaped", "/lethe/escaped",
                                             "/lethe/bin/escaped", "/lethe/python/escaped", "/proc/escaped", "/sys/escaped", "/bin/escaped"};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                int fd = open(places[i], O_WRONLY | O_CREAT, 0644);
                if (fd >= 0) {
                        unlink(places[i]);
                        escaped("made %s", places[i]);
                }
        }
        contained("make a file outside scratch");
}
