// AF_ALG hands attacker-chosen data to the kernel's ciphers, a source of many holes.
#include "attack.h"

#include <sys/socket.h>

int main(void) {
        int s = socket(AF_ALG, SOCK_SEQPACKET, 0);
        if (s < 0)
                contained("socket AF_ALG");
        escaped("has a socket of family AF_ALG");
}
