#include "sandbox/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

int terminal_take(int *ret_master, struct err *e)
{
	int locked = 0;
	cleanup_close int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || ioctl(master, TIOCSPTLCK, &locked) < 0)
		return err_sys(e, "make a terminal");
	cleanup_close int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		return err_sys(e, "take the terminal");
	for (int fd = 0; fd < 3; fd++)
		if (dup2(slave, fd) < 0)
			return err_sys(e, "take the terminal as descriptor %d", fd);
	*ret_master = take_fd(&master);
	return 0;
}
