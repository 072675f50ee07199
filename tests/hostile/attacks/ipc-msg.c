// I-21: a System V message queue or semaphore of the host: keys argv[1].
#include "attack.h"

#include <sys/msg.h>
#include <sys/sem.h>

int main(int argc, char **argv) {
        key_t key = (key_t)strtol(arg(argc, argv, 1), NULL, 0);
        struct msqid_ds ds;
        int id = msgget(key, 0);
        if (id >= 0 && msgctl(id, IPC_STAT, &ds) == 0)
                escaped("queue %d with %lu messages", id, (unsigned long)ds.msg_qnum);
        contained("msgget");
}
