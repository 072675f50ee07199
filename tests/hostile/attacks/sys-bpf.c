// bpf(2): programs in the kernel.
#include "attack.h"

#include <linux/bpf.h>

int main(void) {
        union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
        long r = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
        if (r < 0)
                contained("bpf");
        escaped("bpf gave %ld", r);
}
