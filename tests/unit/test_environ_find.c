#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensors/environ_find.h"
#include "probe/sensors/sensors.h"
#include "sandbox/base/cleanup.h"
#include "tests/lib/deltas.h"
#include "tests/lib/tap.h"

/* Programs of each kind of linking; ENVIRON_KINDS is the folder of ours. */
static const struct {
	const char *name;
	const char *argv[4];
	const char *blind; /* NULL: it is seen */
} kinds[] = {
	{ "a position-independent program", { ENVIRON_KINDS "/environ_pie" }, NULL },
	{ "a program at a fixed address, with a copy relocation",
	  { ENVIRON_KINDS "/environ_fixed" },
	  NULL },
	{ "a static program", { ENVIRON_KINDS "/environ_static" }, NULL },
	{ "a static position-independent program", { ENVIRON_KINDS "/environ_static_pie" }, NULL },
	{ "a static program without symbols",
	  { ENVIRON_KINDS "/environ_stripped" },
	  "the program neither shows where its environ is nor maps a C library" },
	{ "the system's python3",
	  { "/usr/bin/python3", "-c",
	    "import os\n"
	    "n = 0\n"
	    "while os.write(1, b'x') and os.read(0, 1):\n"
	    "    n += 1\n"
	    "    os.environ[f'STEP_{n}'] = 'value'\n" },
	  NULL },
};

static pid_t run(const char *const *argv, int *ret_sock)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		abort();
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 0);
		dup2(ends[1], 1);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	*ret_sock = ends[0];
	return pid;
}

/* What a look sees after the program has gone on to its next stop. */
static char *look(struct fingerprint *f, int sock, int by)
{
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	char byte = 0;
	if ((by > 0 && write(sock, &byte, 1) != 1) || read(sock, &byte, 1) != 1 ||
	    fingerprint_look(f, by ? by : DELTA_STOOD, &deltas, NULL, NULL))
		return NULL;
	return deltas_text(&deltas, false);
}

int main(void)
{
	static const struct sensor *const sensors[] = { &sensor_env, NULL };
	cleanup_close int root = open("/", O_PATH | O_CLOEXEC);
	cleanup_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < countof(kinds); i++) {
		struct fingerprint *f = NULL;
		int sock;
		pid_t pid = run(kinds[i].argv, &sock);
		struct vantage v = { .root = root, .proc = proc, .pid = pid, .inner = pid };
		if (fingerprint_new(&v, sensors, &f, NULL))
			abort();
		cleanup_free char *first = look(f, sock, 0);
		cleanup_free char *second = look(f, sock, 1);
		cleanup_free char *third = look(f, sock, 2);
		const char *blind = fingerprint_blind(f, "env");
		bool seen = text_eq(second, "leak added STEP_1\n") &&
			    text_eq(third, "leak added STEP_2\n");
		bool unseen = text_eq(second, "") && text_eq(third, "");
		tap_ok(text_eq(first, "") && text_eq(blind, kinds[i].blind) &&
			       (kinds[i].blind ? unseen : seen),
		       "%s: %s%s", kinds[i].name, second ? second : "it did not run",
		       blind ? blind : "");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(sock);
		fingerprint_free(f);
	}
	return tap_done();
}
