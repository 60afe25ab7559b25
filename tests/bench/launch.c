/*
 * launch: a command in a cell with everything on, as a program of its own, so
 * that its cost stands beside that of others.
 *
 *   launch [--overlays] COMMAND...
 *
 * In the working directory as the project. --overlays prints how many trees the
 * cell covers by an overlay besides the project's.
 */
#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/base/err.h"
#include "sandbox/cell.h"

static _Noreturn void die(const struct err *e)
{
	errx(1, "%s%s%s", e->text, *e->hint ? "; " : "", e->hint);
}

static void expect_verified(const struct cell *cell)
{
	for (size_t i = 0; i < ISOLATION_N; i++)
		if (cell->isolation.state[i] != ISOLATION_VERIFIED)
			errx(1, "isolation %s: %s", isolation_names[i], cell->isolation.why[i]);
	if (cell->view.fanotify < 0)
		errx(1, "no fanotify: %s", cell->view.why_no_fanotify);
}

static int overlays_besides_project(const struct cell *cell)
{
	int n = -1;
	for (size_t i = 0; i < cell->view.places_len; i++)
		n += cell->view.places[i].base >= 0;
	return n;
}

int main(int argc, char **argv)
{
	bool count = argc > 1 && strcmp(argv[1], "--overlays") == 0;
	if (argc < 2 + count)
		errx(64, "usage: launch [--overlays] COMMAND...");
	char cwd[PATH_MAX];
	if (!getcwd(cwd, sizeof(cwd)))
		err(1, "getcwd");
	const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", NULL };
	const struct cell_spec spec = {
		.uid = getuid(),
		.gid = getgid(),
		.user = "user",
		.home = getenv("HOME"),
		.project = cwd,
		.cwd = cwd,
		.argv = (const char *const *)argv + 1 + count,
		.env = env,
		.scratch_bytes = UINT64_C(1) << 30,
		.scratch_inodes = 1 << 20,
		.pid_max = 4096,
		.grace_ms = 1000,
		.stdin_fd = STDIN_FILENO,
		.stdout_fd = STDOUT_FILENO,
		.stderr_fd = STDERR_FILENO,
	};
	struct err e = ERR_NULL;
	struct cell cell = CELL_NULL;
	struct cell_event event;
	if (cell_start(&spec, &cell, &e) < 0)
		die(&e);
	expect_verified(&cell);
	if (cell_go(&cell, &e) < 0 || cell_read(&cell, &event, &e) < 0)
		die(&e);
	if (event.kind != CELL_EXITED || event.exec_failed)
		errx(1, "%s did not run", spec.argv[0]);
	if (count)
		printf("%d\n", overlays_besides_project(&cell));
	/* As fumehood does: our descriptors go first, since the last one to close fanotify or a
	 * detached mount waits for the kernel; the cell then goes in the background. */
	cell_view_done(&cell.view);
	if (cell_release(&cell, &e) < 0)
		die(&e);
	return WIFEXITED(event.wait_status) ? WEXITSTATUS(event.wait_status) : 1;
}
