// Sets the clock of the host: to the frequency that it has.
#include "attack.h"

#include <sys/timex.h>

int main(void) {
        long r = ({ struct timex t = {0}; adjtimex(&t); t.modes = ADJ_FREQUENCY; adjtimex(&t); });
        if (r < 0)
                contained("adjtimex");
        escaped("adjtimex gave %ld", r);
}
