// I-41: opens the devices through which a host is taken.
#include "attack.h"

int main(void) {
        static const char *const devices[] = {"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/kvm", "/dev/vda", "/dev/sda",
                                              "/dev/fuse", "/dev/loop-control", "/dev/net/tun", "/dev/userfaultfd", "/dev/console",
                                              "/dev/tty", "/dev/ptmx", "/dev/vsock", "/dev/uinput", "/dev/mapper/control"};
        for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
                if (open(devices[i], O_RDONLY | O_NONBLOCK | O_NOCTTY) >= 0)
                        escaped("%s is open", devices[i]);
        contained("every device");
}
