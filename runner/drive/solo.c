#include "runner/drive/solo.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "runner/drive/signals.h"
#include "runner/drive/tty.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

const int solo_signals[] = { SIGINT,  SIGTERM, SIGHUP,   SIGQUIT, SIGUSR1,
			     SIGUSR2, SIGALRM, SIGWINCH, SIGTSTP, SIGCONT };
const size_t solo_signals_len = countof(solo_signals);

static int stop_too(const struct solo *solo, struct err *e)
{
	tty_restore(solo->tty);
	int r = signals_pause(solo->cell, e);
	tty_raw(solo->tty);
	tty_resize(solo->tty);
	return r;
}

static int take_signal(const struct solo *solo, struct err *e)
{
	int signal = signals_take(solo->signals);
	if (signal == SIGWINCH && solo->tty->master >= 0) {
		tty_resize(solo->tty);
		return 0;
	}
	switch (signal) {
	case 0:
		return 0;
	case SIGTSTP:
		return stop_too(solo, e);
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
		return solo->mirror_stops ? stop_too(solo, e) : 0;
	case CELL_GONE:
		break;
	}
	return err_set(e, ECHILD, "the cell ended before its command did: its process 1 was killed");
}

int solo_run(const struct solo *solo, struct cell_event *ret, struct err *e)
{
	enum { CONTROL, SIGNALS, TTY, N = TTY + TTY_POLLS };
	int r = cell_go(solo->cell, e);
	while (!r) {
		struct pollfd polls[N] = {
			[CONTROL] = { solo->cell->control, POLLIN, 0 },
			[SIGNALS] = { solo->signals->fd, POLLIN, 0 },
		};
		tty_polls(solo->tty, &polls[TTY]);
		int n = poll(polls, countof(polls), -1);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "wait for the cell");
		if (n < 0)
			continue;
		tty_serve(solo->tty, &polls[TTY]);
		if (polls[SIGNALS].revents)
			r = take_signal(solo, e);
		if (!r && polls[CONTROL].revents)
			r = take_event(solo, ret, e);
	}
	return r < 0 ? r : 0;
}
