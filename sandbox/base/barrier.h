#pragma once
/*
 * barrier: a wall of the cell that a test can leave out, to see what it held
 * back get through (tests/cells/escapes.py).
 *
 * With -Dbarriers=true, FUMEHOOD_WITHOUT="NAME,NAME" leaves out the walls of
 * these names. In any other build barrier() is the constant true: no program
 * that somebody uses has an off-switch.
 */
#include <stdbool.h>

#if FUMEHOOD_BARRIERS
bool barrier(const char *name);
#else
static inline bool barrier(const char *name)
{
	(void)name;
	return true;
}
#endif
