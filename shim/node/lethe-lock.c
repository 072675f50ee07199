/* Runs: skill (in node). A record lock, which node lacks: requests of several processes must not mix on the shared
 * pipe. Uses the stable ABI of Node-API (version 1). The few functions are declared here, because a region's node
 * provides them and the build needs no node. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env env, napi_callback_info info);
extern int napi_get_cb_info(napi_env env, napi_callback_info info, size_t *argc, napi_value *argv, napi_value *this_arg,
                            void **data);
extern int napi_get_value_int32(napi_env env, napi_value value, int32_t *ret);
extern int napi_create_int32(napi_env env, int32_t value, napi_value *ret);
extern int napi_create_function(napi_env env, const char *name, size_t length, napi_callback cb, void *data,
                                napi_value *ret);
extern int napi_set_named_property(napi_env env, napi_value object, const char *name, napi_value value);

/* lock(fd, hold): takes the lock, or releases the lock when hold is 0. Returns 0 or the errno. */
static napi_value node_lock(napi_env env, napi_callback_info info) {
        int32_t fd = -1, hold = 0, error = 0;
        napi_value args[2], ret = NULL;
        size_t n = 2;

        napi_get_cb_info(env, info, &n, args, NULL, NULL);
        napi_get_value_int32(env, args[0], &fd);
        napi_get_value_int32(env, args[1], &hold);
        while (fcntl(fd, F_SETLKW, &(struct flock){.l_type = hold ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET}) < 0)
                if (errno != EINTR) {
                        error = errno;
                        break;
                }
        napi_create_int32(env, error, &ret);
        return ret;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports);
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports) {
        napi_value f;

        if (napi_create_function(env, "lock", 4, node_lock, NULL, &f) == 0)
                napi_set_named_property(env, exports, "lock", f);
        return exports;
}
