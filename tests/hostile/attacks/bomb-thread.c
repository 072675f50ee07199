// I-24: threads are tasks too: argv[1] of them.
#include "attack.h"

#include <pthread.h>

static void *idle(void *p) {
        sleep_msec(2000);
        return p;
}

int main(int argc, char **argv) {
        int want = atoi(arg(argc, argv, 1)), n = 0;
        pthread_attr_t a;
        pthread_attr_init(&a);
        pthread_attr_setstacksize(&a, 32768);
        for (; n < want; n++) {
                pthread_t t;
                errno = pthread_create(&t, &a, idle, NULL);
                if (errno != 0)
                        break;
        }
        if (n < want) {
                sleep_msec(300);
                contained("%d threads", n);
        }
        escaped("%d threads", n);
}
