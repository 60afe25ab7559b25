/*
 * The table of deeds in a real cell, under both trackers: a suite does them
 * inside, and a looker in the cell's user namespace looks after each.
 *
 * Usage: files; and for itself, in the cell: files --do FOLDER
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cell.h"
#include "tests/lib/deeds.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

#define SUITE "/run/deeds" /* this program, in the cell */

/* ---- in the cell ---- */

static void do_one(size_t n)
{
	pid_t pid = fork();
	int status;
	if (pid == 0) {
		deeds[n].act();
		_exit(0);
	}
	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, deeds[n].name);
}

/* Told which by one byte on 0, answers with one on 1. */
static int suite(const char *folder)
{
	unsigned char n;
	check(chdir(folder) == 0 && symlink("/tmp", "tmp") == 0, folder);
	check(write(STDOUT_FILENO, "", 1) == 1, "begin");
	while (read(STDIN_FILENO, &n, 1) == 1) {
		do_one(n);
		check(write(STDOUT_FILENO, "", 1) == 1, "answer");
	}
	_exit(0);
}

/* ---- the looker ---- */

struct talk {
	int to;
	int from;
};

static void act(void *with, size_t n)
{
	const struct talk *talk = with;
	unsigned char order = (unsigned char)n;
	check(write(talk->to, &order, 1) == 1 && read(talk->from, &order, 1) == 1, deeds[n].name);
}

static int look(const struct cell_view *view, const char *folder, struct talk *talk,
		struct buf *seen, struct err *e)
{
	static const struct sensor *const only_files[] = { &sensor_files, NULL };
	cleanup_free char *home = NULL;
	cleanup_free char *project = NULL;
	check(asprintf(&home, "%s/home", folder) > 0 &&
		      asprintf(&project, "%s/home/project", folder) > 0,
	      "name folders");
	struct vantage_zone zones[] = {
		{ "/tmp", "tmp" }, { home, "home" }, { project, "source" }, { "/tmp/state", "state" }
	};
	struct vantage_place places[countof(view->places)];
	for (size_t i = 0; i < view->places_len; i++)
		places[i] = (struct vantage_place){ view->places[i].dir, view->places[i].path,
						    view->places[i].base };
	struct vantage v = { .root = view->root,
			     .proc = view->proc,
			     .scratch = view->scratch,
			     .fanotify = view->fanotify,
			     .places = places,
			     .places_len = view->places_len,
			     .zones = zones,
			     .zones_len = countof(zones),
			     .own_dir = &CELL_RUN_DIR[1] };
	struct fingerprint *f = NULL;
	if (setns(view->userns, CLONE_NEWUSER))
		return err_sys(e, "join the user namespace");
	int r = fingerprint_new(&v, only_files, &f, e);
	if (!r)
		r = fingerprint_look(f, DELTA_STOOD, NULL, NULL, e);
	if (!r)
		r = deeds_run(f, act, talk, folder, seen, e);
	const char *why = NULL;
	const char *how = f ? fingerprint_tracker(f, &why) : NULL;
	buf_printf(seen, "%s", how ? how : "nothing");
	fingerprint_free(f);
	return r;
}

/* Joining a user namespace cannot be undone: it takes a process. */
static int look_in_fork(const struct cell_view *view, const char *folder, struct talk *talk,
			int answer)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid)
		return pid;
	struct buf seen = BUF_NULL;
	struct err e = ERR_NULL;
	if (look(view, folder, talk, &seen, &e))
		fprintf(stderr, "the looker: %s\n", e.text);
	_exit(fd_write_full(answer, seen.at, seen.len) < 0);
}

/* ---- around it ---- */

struct ends {
	int in[2];     /* what the suite reads */
	int out[2];    /* what it writes */
	int answer[2]; /* what the looker saw */
};

static void run_cell(const struct cell_spec *spec, const char *folder, struct ends *ends,
		     struct buf *seen)
{
	cleanup(cell_done) struct cell cell = CELL_NULL;
	struct err e = ERR_NULL;
	char ready;
	int r = cell_start(spec, &cell, &e);
	if (!r)
		r = cell_go(&cell, &e);
	if (r || read(ends->out[0], &ready, 1) != 1) {
		tap_ok(false, "a cell starts: %s", e.text);
		return;
	}
	struct talk talk = { ends->in[1], ends->out[0] };
	pid_t looker = look_in_fork(&cell.view, folder, &talk, ends->answer[1]);
	fd_close_at(&ends->answer[1]);
	for (ssize_t n = 1; n > 0;) {
		check(buf_reserve(seen, 65536) == 0, "memory");
		n = read(ends->answer[0], seen->at + seen->len, 65536);
		seen->len += n > 0 ? (size_t)n : 0;
		seen->at[seen->len] = '\0';
	}
	int status;
	tap_ok(waitpid(looker, &status, 0) == looker && status == 0, "the looker ends");
}

static void do_all(const struct folder *folder, const char *program, bool watch, struct buf *seen)
{
	cleanup_free char *home = NULL;
	cleanup_free char *project = NULL;
	struct ends ends;
	check(asprintf(&home, "%s/home", folder->path) > 0 &&
		      asprintf(&project, "%s/home/project", folder->path) > 0,
	      "name folders");
	check(pipe2(ends.in, O_CLOEXEC) == 0 && pipe2(ends.out, O_CLOEXEC) == 0 &&
		      pipe2(ends.answer, O_CLOEXEC) == 0,
	      "pipes");
	struct cell_bind bind = { program, SUITE };
	struct cell_spec spec = {
		.uid = getuid(),
		.gid = getgid(),
		.user = "tester",
		.home = home,
		.project = project,
		.cwd = project,
		.argv = (const char *const[]){ SUITE, "--do", folder->path, NULL },
		.env = (const char *const[]){ "PATH=/usr/bin:/bin", NULL },
		.binds = &bind,
		.binds_len = 1,
		.scratch_bytes = 1ULL << 30,
		.scratch_inodes = 1 << 20,
		.pid_max = 4096,
		.no_watch = !watch,
		.grace_ms = 2000,
		.stdin_fd = ends.in[0],
		.stdout_fd = ends.out[1],
		.stderr_fd = STDERR_FILENO,
	};
	run_cell(&spec, folder->path, &ends, seen);
	for (size_t i = 0; i < 2; i++) {
		close(ends.in[i]);
		close(ends.out[i]);
		fd_close_at(&ends.answer[i]);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && text_eq(argv[1], "--do"))
		return suite(argv[2]);
	struct folder folder;
	char program[PATH_MAX];
	cleanup(buf_done) struct buf watched = BUF_NULL;
	cleanup(buf_done) struct buf scanned = BUF_NULL;
	check(realpath("/proc/self/exe", program) != NULL, "find this program");
	folder_make(&folder);
	folder_put(&folder, "home/project", NULL);
	deeds_base(folder_path(&folder, "home/project"));
	do_all(&folder, program, true, &watched);
	do_all(&folder, program, false, &scanned);
	deeds_check(&watched, &scanned);
	tap_ok(text_eq(deeds_seen(&watched, deeds_len + 1, false), "fanotify") &&
		       text_eq(deeds_seen(&scanned, deeds_len + 1, false), "scan"),
	       "each tracker was used");
	folder_done(&folder);
	return tap_done();
}
