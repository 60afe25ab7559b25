#include <stddef.h>

#include "runner/command.h"

const struct command *const commands[] = { &cmd_run, &cmd_exec, &cmd_doctor, &cmd_rule, NULL };
