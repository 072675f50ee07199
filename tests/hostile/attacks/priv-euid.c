// Not an attack by itself: run.py makes a copy of it set-user-ID root.
#include "attack.h"

int main(void) {
        return geteuid() == 0 ? 0 : 1;
}
