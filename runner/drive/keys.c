#include "runner/drive/keys.h"

#include <assert.h>
#include <unistd.h>

static bool in_foreground(const struct keys *k)
{
	return tcgetpgrp(k->fd) == getpgrp();
}

void keys_begin(struct keys *k, int fd)
{
	*k = KEYS_NULL;
	if (fd < 0 || !isatty(fd))
		return;
	k->fd = fd;
	keys_resume(k);
}

void keys_resume(struct keys *k)
{
	assert(!k->on);
	if (k->fd < 0 || !in_foreground(k) || tcgetattr(k->fd, &k->before))
		return;
	struct termios ours = k->before;
	ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ctrl-C and ctrl-Z stay signals */
	ours.c_cc[VMIN] = 0;
	ours.c_cc[VTIME] = 0;
	k->on = tcsetattr(k->fd, TCSANOW, &ours) == 0;
}

void keys_pause(struct keys *k)
{
	if (k->on && in_foreground(k))
		tcsetattr(k->fd, TCSANOW, &k->before);
	k->on = false;
}

struct pollfd keys_poll(const struct keys *k)
{
	return (struct pollfd){ k->on ? k->fd : -1, POLLIN, 0 };
}

bool keys_pressed(struct keys *k)
{
	char typed[64];
	if (!in_foreground(k)) { /* to read would stop us */
		k->on = false;
		return false;
	}
	if (read(k->fd, typed, sizeof(typed)) > 0)
		return true;
	k->on = false; /* it is gone */
	return false;
}
