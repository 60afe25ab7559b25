#include "runner/no_hello.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "sandbox/base/err.h"

int no_exec_explain(const char *command, const char *path, int code, struct err *e)
{
	if (code == ENOENT && !strchr(command, '/')) {
		err_set(e, ENOENT, "there is no command %s along PATH in the cell: %s", command,
			path);
		return err_hint(e, "a tool below your home is seen when its folder stands in your PATH, "
				   "or with --expose PATH");
	}
	errno = code;
	err_sys(e, "run %s", command);
	if (code == ENOENT)
		return err_hint(e, "what lies below your home, /tmp or /run is seen with --expose PATH; "
				   "or the interpreter in its first line is missing");
	return -e->code;
}

static int explain_end(const struct no_hello *n, struct err *e)
{
	int status = n->wait_status;
	if (WIFSIGNALED(status))
		return err_set(e, ENOMSG, "no %s session began: %s was ended by SIG%s", n->adapter,
			       n->command, sigabbrev_np(WTERMSIG(status)));
	int code = WEXITSTATUS(status);
	err_set(e, ENOMSG, "no %s session began: %s ended with status %d", n->adapter, n->command,
		code);
	if (code == STATUS_NOT_FOUND)
		return err_hint(e, "127 says that a command was not found; PATH in the cell is %s",
				n->path);
	if (code == STATUS_NOT_EXECUTABLE)
		return err_hint(e, "126 says that a command could not be executed");
	return err_hint(e,
			"is this a %s project, and does the command run %s in this environment? "
			"PATH in the cell is %s",
			n->adapter, n->adapter, n->path);
}

int no_hello_explain(const struct no_hello *n, struct err *e)
{
	int r = n->exec_failed ? no_exec_explain(n->command, n->path, n->exec_error, e)
			       : explain_end(n, e);
	err_status(e, STATUS_HOST);
	return r;
}
