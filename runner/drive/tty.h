#pragma once
/*
 * tty: our side of a terminal that the command has for itself: what is typed
 * goes in, what it shows comes out, and it is as large as ours.
 *
 * Our own terminal is raw meanwhile, so that ctrl-C and ctrl-Z are the other's
 * to understand, and as before whenever we stop or end.
 */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#define TTY_BUFFER_LEN 4096 /* of a pipe that has room at all, this much never blocks */

struct tty_flow {
	char bytes[TTY_BUFFER_LEN];
	size_t from;
	size_t to;
};

struct tty {
	int master; /* borrowed; non-blocking; -1: nothing to do */
	bool ours;  /* stdin is a terminal */
	bool raw;   /* and it is raw now */
	struct termios before;
	bool in_ended;
	bool in_line;   /* what went in last ended no line */
	bool out_ended; /* nobody takes what comes out, or nothing comes any more */
	struct tty_flow in;
	struct tty_flow out;
};
#define TTY_NULL ((struct tty){ .master = -1 })

void tty_begin(struct tty *tty, int master);
/* Our window has another size, or may have. */
void tty_resize(const struct tty *tty);
/* Around a stop. */
void tty_restore(struct tty *tty);
void tty_raw(struct tty *tty);

enum { TTY_POLL_IN, TTY_POLL_OUT, TTY_POLL_MASTER, TTY_POLLS };
/* What to wait for, and what to do then. */
void tty_polls(const struct tty *tty, struct pollfd ret[TTY_POLLS]);
void tty_serve(struct tty *tty, const struct pollfd polls[TTY_POLLS]);
/* The command has ended: shows the rest, and restores. Accepts TTY_NULL. */
void tty_end(struct tty *tty);
