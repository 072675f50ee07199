// Raw sockets forge packets.
#include "attack.h"

#include <sys/socket.h>

int main(void) {
        int s = socket(AF_INET, SOCK_RAW, 1);
        if (s < 0)
                contained("socket AF_INET");
        escaped("has a socket of family AF_INET");
}
