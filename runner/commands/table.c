#include <stddef.h>

#include "runner/command.h"

/* As --help lists them. */
const struct command *const commands[] = {
	&cmd_check,  &cmd_run,  &cmd_shrink, &cmd_replay, &cmd_exec,
	&cmd_doctor, &cmd_diff, &cmd_rule,   NULL,
};
