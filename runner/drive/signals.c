#include "runner/drive/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/cell.h"

int signals_open(const int *heard, size_t n, struct signals *ret, struct err *e)
{
	sigset_t mine;
	sigemptyset(&mine);
	for (size_t i = 0; i < n; i++) {
		struct sigaction now;
		if (!sigaction(heard[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaddset(&mine, heard[i]);
	}
	int fd = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_sys(e, "signalfd");
	sigprocmask(SIG_BLOCK, &mine, &ret->before);
	ret->fd = fd;
	return 0;
}

int signals_take(const struct signals *s)
{
	struct signalfd_siginfo info;
	return read(s->fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

int signals_pause(struct cell *cell, struct err *e)
{
	/* SIGTSTP would do nothing: the command's session has nobody in it who could continue it. */
	cell_signal(cell, SIGSTOP, NULL);
	raise(SIGSTOP);
	return cell_signal(cell, SIGCONT, e);
}

void signals_done(struct signals *s)
{
	if (s->fd < 0)
		return;
	fd_close_at(&s->fd);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}
