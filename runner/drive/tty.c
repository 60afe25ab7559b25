#include "runner/drive/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"

#define END_OF_FILE 4 /* ctrl-D, as a new terminal has it */

void tty_raw(struct tty *tty)
{
	if (!tty->ours)
		return;
	struct termios raw = tty->before;
	cfmakeraw(&raw);
	tty->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void tty_restore(struct tty *tty)
{
	if (tty->raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &tty->before);
	tty->raw = false;
}

void tty_resize(const struct tty *tty)
{
	static const int ours[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
	struct winsize size;
	for (size_t i = 0; tty->master >= 0 && i < countof(ours); i++) {
		if (ioctl(ours[i], TIOCGWINSZ, &size) < 0)
			continue;
		ioctl(tty->master, TIOCSWINSZ, &size); /* tells the command by SIGWINCH */
		return;
	}
}

void tty_begin(struct tty *tty, int master)
{
	*tty = TTY_NULL;
	if (master < 0)
		return;
	tty->master = master;
	fcntl(master, F_SETFL, O_NONBLOCK);
	tty->ours = tcgetattr(STDIN_FILENO, &tty->before) == 0;
	tty_resize(tty);
	tty_raw(tty);
}

static bool is_empty(const struct tty_flow *flow)
{
	return flow->from == flow->to;
}

/* Both ways, one buffer is filled only when it is empty: nothing is read that cannot be passed on. */
void tty_polls(const struct tty *tty, struct pollfd ret[TTY_POLLS])
{
	bool on = tty->master >= 0;
	bool takes_in = on && !tty->in_ended && is_empty(&tty->in);
	bool gives_out = on && !is_empty(&tty->out);
	short master = 0;
	if (!is_empty(&tty->in))
		master |= POLLOUT;
	if (!tty->out_ended && is_empty(&tty->out))
		master |= POLLIN;
	ret[TTY_POLL_IN] = (struct pollfd){ takes_in ? STDIN_FILENO : -1, POLLIN, 0 };
	ret[TTY_POLL_OUT] = (struct pollfd){ gives_out ? STDOUT_FILENO : -1, POLLOUT, 0 };
	ret[TTY_POLL_MASTER] = (struct pollfd){ on && master ? tty->master : -1, master, 0 };
}

/* At the end of what is typed for it, a terminal hears ctrl-D: once at the begin of a line, twice
 * within one. */
static void end_input(struct tty *tty)
{
	tty->in_ended = true;
	tty->in.from = 0;
	tty->in.to = 0;
	for (int i = 0; i <= tty->in_line; i++)
		tty->in.bytes[tty->in.to++] = END_OF_FILE;
}

static void read_in(struct tty *tty)
{
	ssize_t n = read(STDIN_FILENO, tty->in.bytes, sizeof(tty->in.bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		end_input(tty);
		return;
	}
	tty->in.from = 0;
	tty->in.to = (size_t)n;
	tty->in_line = tty->in.bytes[n - 1] != '\n';
}

static void write_in(struct tty *tty)
{
	ssize_t n = write(tty->master, tty->in.bytes + tty->in.from, tty->in.to - tty->in.from);
	if (n >= 0)
		tty->in.from += (size_t)n;
	else if (errno != EINTR && errno != EAGAIN)
		tty->in.from = tty->in.to;
}

/* False: there is nothing now; EIO says that nobody has the other side open any more. */
static bool read_out(struct tty *tty)
{
	ssize_t n = read(tty->master, tty->out.bytes, sizeof(tty->out.bytes));
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		tty->out_ended = true;
	tty->out.from = 0;
	tty->out.to = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static void write_out(struct tty *tty)
{
	ssize_t n = write(STDOUT_FILENO, tty->out.bytes + tty->out.from, tty->out.to - tty->out.from);
	if (n >= 0)
		tty->out.from += (size_t)n;
	else if (errno != EINTR && errno != EAGAIN)
		tty->out.from = tty->out.to; /* nobody reads it; the command need not wait for that */
}

void tty_serve(struct tty *tty, const struct pollfd polls[TTY_POLLS])
{
	if (polls[TTY_POLL_IN].revents)
		read_in(tty);
	if (polls[TTY_POLL_OUT].revents)
		write_out(tty);
	if (polls[TTY_POLL_MASTER].revents & (POLLIN | POLLHUP | POLLERR) && is_empty(&tty->out) &&
	    !tty->out_ended)
		read_out(tty);
	if (polls[TTY_POLL_MASTER].revents & (POLLOUT | POLLHUP | POLLERR) && !is_empty(&tty->in))
		write_in(tty);
}

void tty_end(struct tty *tty)
{
	if (tty->master >= 0) {
		do
			fd_write_full(STDOUT_FILENO, tty->out.bytes + tty->out.from,
				      tty->out.to - tty->out.from);
		while (read_out(tty));
	}
	tty_restore(tty);
	tty->master = -1;
}
