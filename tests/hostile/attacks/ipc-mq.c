// I-21: a POSIX message queue of the host: argv[1].
#include "attack.h"

#include <mqueue.h>

int main(int argc, char **argv) {
        mqd_t q = mq_open(arg(argc, argv, 1), O_RDONLY | O_NONBLOCK);
        if (q < 0)
                contained("mq_open %s", argv[1]);
        escaped("opened queue %s", argv[1]);
}
