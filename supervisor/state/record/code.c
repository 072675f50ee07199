#include "record/code.h"

#include "base/util.h"

static const char *const code_names[] = {
        [ENGINE_OK] = "ok",
#define ENGINE_CODE(id, word, rpc) [ENGINE_E_##id] = word,
#include "record/codes.def"
#undef ENGINE_CODE
};

const char *engine_code_name(EngineCode c) {
        return (size_t)c < ARRAY_SIZE(code_names) ? code_names[c] : "unknown";
}
