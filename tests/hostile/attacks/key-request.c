// request_key searches every keyring of the caller and can start a helper program of the host: argv[1] is a key's description.
#include "attack.h"

int main(int argc, char **argv) {
        long k = syscall(SYS_request_key, "user", arg(argc, argv, 1), NULL, 0);
        if (k < 0)
                contained("request_key");
        escaped("found key %ld", k);
}
