// What /proc and /sys tell about the host: any of these files is more than a region needs.
#include "attack.h"

int main(void) {
        static const char *const files[] = {"/proc/kallsyms", "/proc/modules", "/proc/keys", "/proc/sched_debug", "/proc/kcore", "/proc/timer_list",
                                            "/proc/interrupts", "/proc/mounts", "/sys/kernel/notes", "/sys/fs/cgroup/cgroup.procs",
                                            "/sys/class/net", "/proc/sys/kernel/hostname", "/proc/diskstats"};
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                if (strcmp(files[i], "/proc/mounts") != 0 && open(files[i], O_RDONLY) >= 0)
                        escaped("%s is open", files[i]);
        contained("files about the host");
}
