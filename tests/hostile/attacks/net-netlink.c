// Netlink reaches routing, audit and many kernel modules.
#include "attack.h"

#include <sys/socket.h>

int main(void) {
        int s = socket(AF_NETLINK, SOCK_RAW, 0);
        if (s < 0)
                contained("socket AF_NETLINK");
        escaped("has a socket of family AF_NETLINK");
}
