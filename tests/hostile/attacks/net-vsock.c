// vsock talks to the hypervisor and to other guests, past every network namespace.
#include "attack.h"

#include <sys/socket.h>

int main(void) {
        int s = socket(AF_VSOCK, SOCK_STREAM, 0);
        if (s < 0)
                contained("socket AF_VSOCK");
        escaped("has a socket of family AF_VSOCK");
}
