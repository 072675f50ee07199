// Packet sockets see and forge frames.
#include "attack.h"

#include <sys/socket.h>

int main(void) {
        int s = socket(AF_PACKET, SOCK_RAW, 0x0300);
        if (s < 0)
                contained("socket AF_PACKET");
        escaped("has a socket of family AF_PACKET");
}
