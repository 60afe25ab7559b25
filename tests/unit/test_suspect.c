/* Two real processes write a file, or do not: which of them is charged. */
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensor.h"
#include "probe/suspect.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/tap.h"

enum { POLLUTER = 0, RUNNING = 1 };

/* The entries that a look offers: a survivor, left by POLLUTER, and the file that RUNNING's look
 * sees changed. */
static char survivor_value[64];
static bool file_there;

static int look_survivor(void *memory, const struct vantage *v, bool full, struct sink *sink,
			 struct err *e)
{
	(void)memory, (void)v, (void)full, (void)e;
	return survivor_value[0] ? sink_offer(sink, &(struct offer){ .id = "p",
								     .key = "sleeper",
								     .value = survivor_value })
				 : 0;
}

static char path[64];

static int look_file(void *memory, const struct vantage *v, bool full, struct sink *sink,
		     struct err *e)
{
	(void)memory, (void)v, (void)full, (void)e;
	return file_there
		       ? sink_offer(sink, &(struct offer){ .id = path, .value = "{\"size\":1000}" })
		       : 0;
}

static const struct sensor processes = {
	.domain = "processes", .came = "started", .went = "ended", .lives = true, .look = look_survivor
};
static const struct sensor files = {
	.domain = "files", .came = "created", .went = "deleted", .look = look_file
};
static const struct sensor *const sensors[] = { &processes, &files, NULL };

/* A process that does as it is told, one letter at a time, and answers each. */
struct puppet {
	pid_t pid;
	int tell;
	int hear;
};

static void puppet_do(char what)
{
	static const char bytes[1000];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (what == 'h') /* hold the file open for writing, until the end */
		return;
	(void)!write(fd, bytes, sizeof(bytes)); /* 'w': write it and close it again */
	close(fd);
}

static struct puppet puppet_new(void)
{
	int tell[2];
	int hear[2];
	int r = pipe2(tell, O_CLOEXEC) || pipe2(hear, O_CLOEXEC);
	assert(!r);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		close(tell[1]);
		char what;
		while (read(tell[0], &what, 1) == 1) {
			puppet_do(what);
			(void)!write(hear[1], ".", 1);
		}
		_exit(0);
	}
	close(tell[0]);
	close(hear[1]);
	return (struct puppet){ pid, tell[1], hear[0] };
}

static void puppet_tell(const struct puppet *p, char what)
{
	char answer;
	bool done = write(p->tell, &what, 1) == 1 && read(p->hear, &answer, 1) == 1;
	assert(done);
}

static void puppet_done(struct puppet *p)
{
	close(p->tell);
	close(p->hear);
	waitpid(p->pid, NULL, 0);
}

static const char *name(const void *with, int number)
{
	(void)with;
	static const char *const names[] = { "polluter", "running" };
	return number >= 0 ? names[number] : NULL;
}

static const struct {
	const char *told;
	char test, survivor; /* what each does before the look; 0: nothing */
	const char *how;     /* of the writer; NULL: nobody is charged */
} cases[] = {
	{ "a survivor that holds the file open for writing wrote it", 0, 'h', "descriptor" },
	{ "a survivor that alone wrote enough wrote it", 0, 'w', "io" },
	{ "when both wrote enough, nobody is charged", 'w', 'w', NULL },
	{ "when the test wrote it, nobody else is charged", 'w', 0, NULL },
};

static void check(size_t i)
{
	file_there = false;
	survivor_value[0] = '\0';
	struct puppet test = puppet_new();
	struct puppet survivor = puppet_new();
	struct vantage v = { .proc = open("/proc", O_RDONLY | O_CLOEXEC),
			     .pid = test.pid,
			     .inner = test.pid };
	struct fingerprint *f = NULL;
	struct suspects s = SUSPECTS_NULL;
	struct err e = ERR_NULL;
	struct delta_list deltas = DELTA_LIST_NULL;
	int r = fingerprint_new(&v, sensors, &f, &e);
	assert(!r);
	fingerprint_look(f, DELTA_STOOD, NULL, NULL, &e);
	snprintf(survivor_value, sizeof(survivor_value), "{\"pid\":%d}", survivor.pid);
	fingerprint_look(f, POLLUTER, &deltas, NULL, &e);
	suspects_name(&s, f, &v, POLLUTER, name, NULL, &deltas, &e);
	delta_list_done(&deltas);

	fingerprint_look(f, RUNNING, &deltas, NULL, &e); /* a boundary without news */
	suspects_name(&s, f, &v, RUNNING, name, NULL, &deltas, &e);
	if (cases[i].test)
		puppet_tell(&test, cases[i].test);
	if (cases[i].survivor)
		puppet_tell(&survivor, cases[i].survivor);
	file_there = true;
	fingerprint_look(f, RUNNING, &deltas, NULL, &e);
	r = suspects_name(&s, f, &v, RUNNING, name, NULL, &deltas, &e);

	const struct delta *d = &deltas.at[0];
	char how[64];
	snprintf(how, sizeof(how), "\"how\":\"%s\"", cases[i].how ? cases[i].how : "");
	bool right = cases[i].how ? d->writer && strstr(d->writer, how) &&
					    strstr(d->writer, "\"test\":\"polluter\"")
				  : !d->writer;
	tap_ok(r == 0 && deltas.len == 1 && right && strv_has(&d->suspects, "polluter"), "%s: %s",
	       cases[i].told, d->writer ? d->writer : "-");

	delta_list_done(&deltas);
	suspects_done(&s);
	fingerprint_free(f);
	close(v.proc);
	puppet_done(&survivor); /* first: it holds the other's pipes too */
	puppet_done(&test);
	unlink(path);
}

int main(void)
{
	char dir[] = "/tmp/fumehood-suspect-XXXXXX";
	bool made = mkdtemp(dir) != NULL;
	assert(made);
	snprintf(path, sizeof(path), "%s/file", dir);
	for (size_t i = 0; i < countof(cases); i++)
		check(i);
	rmdir(dir);
	return tap_done();
}
