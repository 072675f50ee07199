// fanotify sees, and with a permission group stops, what others do with files.
#include "attack.h"

#include <sys/fanotify.h>

int main(void) {
        long r = syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY);
        if (r < 0)
                contained("fanotify_init");
        escaped("fanotify_init gave %ld", r);
}
