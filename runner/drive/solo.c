#include "runner/drive/solo.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "runner/drive/signals.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

const int solo_signals[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
			     SIGUSR2, SIGALRM, SIGTSTP, SIGCONT };
const size_t solo_signals_len = countof(solo_signals);

static int take_signal(const struct solo *solo, struct err *e)
{
	int signal = signals_take(solo->signals);
	switch (signal) {
	case 0:
	case SIGCONT: /* whoever stopped us has continued the command, too */
		return 0;
	case SIGTSTP:
		return signals_pause(solo->cell, true, e);
	default:
		return cell_signal(solo->cell, signal, e);
	}
}

/* 1: the command has ended. */
static int take_event(const struct solo *solo, struct cell_event *ret, struct err *e)
{
	int r = cell_read(solo->cell, ret, e);
	if (r)
		return r;
	switch (ret->kind) {
	case CELL_EXITED:
		return 1;
	case CELL_STOPPED:
		return solo->mirror_stops ? signals_pause(solo->cell, true, e) : 0;
	case CELL_GONE:
		break;
	}
	return err_set(e, ECHILD, "the cell ended before its command did: its process 1 was killed");
}

int solo_run(const struct solo *solo, struct cell_event *ret, struct err *e)
{
	int r = cell_go(solo->cell, e);
	while (!r) {
		struct pollfd polls[] = {
			{ .fd = solo->cell->control, .events = POLLIN },
			{ .fd = solo->signals->fd, .events = POLLIN },
		};
		int n = poll(polls, countof(polls), -1);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "wait for the cell");
		if (n < 0)
			continue;
		if (polls[1].revents)
			r = take_signal(solo, e);
		if (!r && polls[0].revents)
			r = take_event(solo, ret, e);
	}
	return r < 0 ? r : 0;
}
