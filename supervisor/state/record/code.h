/* Runs: supervisor, CLI. The codes with which the engine refuses a proposal. */
#pragma once

/* Positive codes: refusals. engine_code_name() gives the word for events and replies. */
typedef enum EngineCode {
        ENGINE_OK = 0,
#define ENGINE_CODE(id, word, rpc) ENGINE_E_##id,
#include "record/codes.def"
#undef ENGINE_CODE
} EngineCode;
const char *engine_code_name(EngineCode c);
