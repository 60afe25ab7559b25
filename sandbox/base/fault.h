#pragma once
/*
 * fault: instants at which the kill -9 tests strike.
 *
 * With -Dfaults=true, FUMEHOOD_FAULT="NAME:N" makes the N-th passing of the
 * point NAME, in whichever fork of the runner, kill the runner with SIGKILL.
 * FUMEHOOD_TRACE=FILE writes there the name of each point that is passed.
 * In any other build all of this is nothing.
 */
#if FUMEHOOD_FAULTS
/* Called once by the runner: remembers what the environment asks for. */
void fault_arm(void);
void fault_point(const char *name);
/* A descriptor that a process which closes all others must keep; -1: not armed. */
int fault_fd(void);
#else
static inline void fault_arm(void)
{
}
static inline void fault_point(const char *name)
{
	(void)name;
}
static inline int fault_fd(void)
{
	return -1;
}
#endif
