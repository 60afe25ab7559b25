#pragma once
/*
 * terminal: one of the cell's own for the command, in place of the caller's
 * standard streams.
 */
struct err;

/* In the process that becomes the command, a session leader, when /dev stands: the new terminal
 * controls it and is its 0, 1 and 2. The other side, for whoever sits at it. */
int terminal_take(int *ret_master, struct err *e);
