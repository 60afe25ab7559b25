#pragma once
/*
 * layer_key: what decides whether a prepared layer is the one that is needed.
 */
#include "runner/config.h"
#include "sandbox/base/digest.h"

struct err;

#define LAYER_INPUTS_MAX 4096 /* files */

/* Of the project's path, the commands, `env` and the inputs' contents. */
int layer_key(const struct config *c, const char *const *env, struct digest *ret, struct err *e);

/* Of what stands at a path below dir: its type, whether it can be executed, its contents or where it
 * leads. DIGEST_NULL: nothing. */
int layer_stamp(int dir, const char *path, struct digest *ret, struct err *e);
