#pragma once
/*
 * keys: whether a key was pressed on our terminal.
 *
 * Meanwhile the terminal hands on each key at once and shows none; as before
 * whenever we stop or end. Only while we are in the foreground: in the background
 * it is another's.
 */
#include <poll.h>
#include <stdbool.h>
#include <termios.h>

struct keys {
	int fd;  /* borrowed; -1: no terminal */
	bool on; /* it is as we want it */
	struct termios before;
};
#define KEYS_NULL ((struct keys){ .fd = -1 })

/* fd: what may be a terminal. */
void keys_begin(struct keys *k, int fd);
/* Around a stop; also after one that nobody announced. */
void keys_pause(struct keys *k);
void keys_resume(struct keys *k);
struct pollfd keys_poll(const struct keys *k);
/* Takes what was typed. */
bool keys_pressed(struct keys *k);
