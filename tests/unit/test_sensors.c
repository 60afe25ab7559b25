#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "tests/lib/deltas.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/folder.h"
#include "tests/lib/puppet.h"
#include "tests/lib/tap.h"

/* One sensor on one puppet. */
struct scene {
	struct folder dir; /* where the puppet works */
	struct puppet puppet;
	struct vantage v;
	const struct sensor *sensors[2];
	struct fingerprint *f;
};

static void do_chdir(const char *arg)
{
	if (chdir(arg))
		abort();
}

static void scene_begin(struct scene *s, const struct sensor *sensor)
{
	static const char *const ignored[] = { "IGNORED", NULL };
	folder_make(&s->dir);
	puppet_start(&s->puppet);
	puppet_do(&s->puppet, do_chdir, s->dir.path);
	s->v = (struct vantage){ .root = open("/", O_PATH | O_CLOEXEC),
				 .proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				 .pid = s->puppet.pid,
				 .inner = s->puppet.pid,
				 .env_ignored = ignored };
	s->sensors[0] = sensor;
	s->sensors[1] = NULL;
	if (fingerprint_new(&s->v, s->sensors, &s->f, NULL))
		abort();
}

static void scene_end(struct scene *s)
{
	fingerprint_free(s->f);
	puppet_done(&s->puppet);
	folder_done(&s->dir);
	close(s->v.root);
	close(s->v.proc);
}

/* The scratch folder has another name in every run. */
static char *without_dir(const struct scene *s, const char *text)
{
	struct buf b = BUF_NULL;
	const char *hit;
	for (; (hit = strstr(text, s->dir.path)); text = hit + strlen(s->dir.path)) {
		buf_add(&b, text, (size_t)(hit - text));
		buf_puts(&b, "DIR");
	}
	buf_puts(&b, text);
	return b.at;
}

/* Look for test number `by`, and take what came out as text. */
static char *look(struct scene *s, int by, bool full, bool values)
{
	struct delta_list deltas = DELTA_LIST_NULL;
	struct err e = ERR_NULL;
	int r = full ? fingerprint_look_full(s->f, by, &deltas, &e)
		     : fingerprint_look(s->f, by, &deltas, NULL, &e);
	cleanup_free char *text = r ? strdup(e.text) : deltas_text(&deltas, values);
	delta_list_done(&deltas);
	return without_dir(s, text);
}

/* ---- deeds of the puppet ---- */

static int number(const char *text)
{
	return (int)strtol(text, NULL, 0);
}

static void do_setenv(const char *arg)
{
	char *text = strdup(arg);
	char *equals = strchr(text, '=');
	*equals = '\0';
	setenv(text, equals + 1, 1);
	free(text);
}

static void do_unsetenv(const char *arg)
{
	unsetenv(arg);
}

static void do_clearenv(const char *arg)
{
	(void)arg;
	clearenv();
}

static char raw_text[64] = "RAW=1";
static void do_putenv(const char *arg)
{
	(void)arg;
	putenv(raw_text);
}

static void do_edit_in_place(const char *arg)
{
	snprintf(raw_text, sizeof(raw_text), "%s", arg);
}

/* A vector as no setenv() leaves one. */
static void do_raw_environ(const char *arg)
{
	(void)arg;
	static char *vector[] = { (char *)"TWICE=1",  (char *)"junk",   (char *)"TWICE=2",
				  (char *)"=no name", (char *)"EMPTY=", NULL };
	environ = vector;
}

static void do_many(const char *arg)
{
	char name[32];
	for (int i = 0; i < number(arg); i++) {
		snprintf(name, sizeof(name), "MANY_%d", i);
		setenv(name, "value", 1);
	}
}

static void do_long(const char *arg)
{
	char *text = calloc(1, 100001);
	memset(text, arg[0], 100000);
	setenv("LONG", text, 1);
	free(text);
}

static void do_environ_nowhere(const char *arg)
{
	(void)arg;
	environ = (char **)8;
}

static void do_exit(const char *arg)
{
	(void)arg;
	_exit(0);
}

static void do_nothing(const char *arg)
{
	(void)arg;
}

static void do_rmdir(const char *arg)
{
	if (rmdir(arg))
		abort();
}

static void do_umask(const char *arg)
{
	umask((mode_t)strtoul(arg, NULL, 8));
}

static void do_ignore_signal(const char *arg)
{
	signal(number(arg), SIG_IGN);
}

static void nothing_on_signal(int number)
{
	(void)number;
}

static void do_catch_signal(const char *arg)
{
	signal(number(arg), nothing_on_signal);
}

static void do_default_signal(const char *arg)
{
	signal(number(arg), SIG_DFL);
}

static void do_block_signal(const char *arg)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number(arg));
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void do_limit_files(const char *arg)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = (rlim_t)number(arg);
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void do_nice(const char *arg)
{
	setpriority(PRIO_PROCESS, 0, number(arg));
}

static void do_personality(const char *arg)
{
	personality((unsigned long)strtoul(arg, NULL, 16));
}

/* What the acts below start from, wherever the test runs. */
static void do_plain_process(const char *arg)
{
	(void)arg;
	const struct rlimit files = { 400, 500 };
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGTERM, SIG_DFL);
	setrlimit(RLIMIT_NOFILE, &files);
	setpriority(PRIO_PROCESS, 0, 0);
	umask(022);
}

/* Below this a test binary has descriptors of its own. */
#define FD_BASE 200

static void keep_as(int fd, int number)
{
	if (fd < 0 || dup2(fd, number) < 0)
		abort();
	close(fd);
}

/* "200 FLAGS PATH" */
static void do_open(const char *arg)
{
	int flags = number(text_word(arg, 1));
	keep_as(open(text_word(arg, 2), flags | O_CLOEXEC, 0600), number(arg));
}

static void do_rename(const char *arg)
{
	char to[300];
	snprintf(to, sizeof(to), "%s.moved", arg);
	rename(arg, to);
}

/* One of each kind without a path, from this number on. */
static void do_kinds(const char *arg)
{
	int fd = number(arg);
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		abort();
	keep_as(ends[0], fd++);
	keep_as(ends[1], fd++);
	keep_as(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd++);
	keep_as(eventfd(0, EFD_CLOEXEC), fd++);
	keep_as(epoll_create1(EPOLL_CLOEXEC), fd++);
	keep_as(memfd_create("mine", MFD_CLOEXEC), fd++);
}

static void do_eventfd(const char *arg)
{
	keep_as(eventfd(0, EFD_CLOEXEC), number(arg));
}

static void do_close(const char *arg)
{
	close(number(arg));
}

static void do_close_from(const char *arg)
{
	close_range((unsigned int)number(arg), ~0U, 0);
}

static pthread_t thread;
static sem_t thread_may_end;

static void *wait_to_end(void *with)
{
	sem_wait(&thread_may_end);
	return with;
}

static void do_thread(const char *arg)
{
	sem_init(&thread_may_end, 0, 0);
	pthread_create(&thread, NULL, wait_to_end, NULL);
	pthread_setname_np(thread, arg);
}

static void do_join(const char *arg)
{
	(void)arg;
	sem_post(&thread_may_end);
	pthread_join(thread, NULL);
}

static void do_thread_and_join(const char *arg)
{
	for (int i = 0; i < 20; i++) {
		do_thread(arg);
		do_join(arg);
	}
}

/* ---- the tables ---- */

struct act {
	const char *name;
	void (*deed)(const char *arg);
	const char *arg;
	const char *expect;
	bool full;
};

/* Each act by a test of its own, numbered from 1. */
static void play(struct scene *s, const struct act *acts, size_t n, bool values)
{
	free(look(s, DELTA_STOOD, false, false));
	for (size_t i = 0; i < n; i++) {
		puppet_do(&s->puppet, acts[i].deed, acts[i].arg);
		cleanup_free char *seen = look(s, (int)i + 1, acts[i].full, values);
		tap_ok(text_eq(seen, acts[i].expect), "%s: %s: %s", s->sensors[0]->domain,
		       acts[i].name, seen);
	}
}

static const struct act env_acts[] = {
	{ "nothing", do_nothing, "", "" },
	{ "setenv", do_setenv, "NEW=1", "leak added NEW\n" },
	{ "another value", do_setenv, "NEW=2", "leak changed NEW\n" },
	{ "the same value again", do_setenv, "NEW=2", "" },
	{ "the first value again", do_setenv, "NEW=1", "leak changed NEW\n" },
	{ "unset", do_unsetenv, "NEW", "leak removed NEW restored\n" },
	{ "putenv", do_putenv, NULL, "leak added RAW\n" },
	{ "edited in place", do_edit_in_place, "RAW=3", "leak changed RAW\n" },
	{ "made longer in place", do_edit_in_place, "RAW=333", "leak changed RAW\n" },
	{ "made shorter in place", do_edit_in_place, "RAW=", "leak changed RAW\n" },
	{ "its name edited in place", do_edit_in_place,
	  "WAR=", "leak added WAR\nleak removed RAW restored\n" },
	{ "what the framework moves itself", do_setenv, "IGNORED=1", "" },
	{ "longer than a page", do_long, "a", "leak added LONG\n" },
	{ "its last byte", do_long, "b", "leak changed LONG\n" },
};

static void test_env(void)
{
	struct scene s;
	scene_begin(&s, &sensor_env);
	play(&s, env_acts, countof(env_acts), false);
	tap_ok(fingerprint_blind(s.f, "env") == NULL, "the environment of a child is seen");
	scene_end(&s);
}

static const struct act env_odd_acts[] = {
	{ "set in an empty one", do_setenv, "A=1", "leak added A\n" },
	{ "cleared", do_clearenv, NULL, "leak removed A restored\n" },
	{ "twice, without a name, and empty", do_raw_environ, NULL,
	  "leak added (without a name)\nleak added (without a name)\n"
	  "leak added EMPTY\nleak added TWICE\nleak added TWICE\n" },
	{ "cleared once more", do_clearenv, NULL,
	  "leak removed (without a name) restored\nleak removed (without a name) restored\n"
	  "leak removed EMPTY restored\nleak removed TWICE restored\nleak removed TWICE restored\n" },
};

static void test_env_odd(void)
{
	struct scene s;
	scene_begin(&s, &sensor_env);
	puppet_do(&s.puppet, do_clearenv, NULL);
	play(&s, env_odd_acts, countof(env_odd_acts), false);
	tap_ok(digest_eq(fingerprint_digest(s.f, "env"), DIGEST_NULL),
	       "an empty environment has the empty digest");

	char hex[DIGEST_HEX];
	char expect[128];
	puppet_do(&s.puppet, do_setenv, "PASSWORD=secret");
	cleanup_free char *seen = look(&s, 9, false, true);
	snprintf(expect, sizeof(expect),
		 "leak added PASSWORD ->{\"len\":6,\"digest\":\"%s\"} owner=-1\n",
		 digest_hex(digest_bytes("secret", 6), hex));
	tap_ok(text_eq(seen, expect), "length and digest stand for a value: %s", seen);

	puppet_do(&s.puppet, do_many, "3000");
	cleanup_free char *many = look(&s, 10, false, false);
	size_t lines = 0;
	for (const char *c = many; *c; c++)
		lines += *c == '\n';
	tap_ok(lines == 3000, "more variables than one call can read: %zu", lines);
	puppet_do(&s.puppet, do_setenv, "MANY_2999=other");
	cleanup_free char *one = look(&s, 11, false, false);
	tap_ok(text_eq(one, "leak changed MANY_2999\n"), "the last of them changes: %s", one);
	scene_end(&s);
}

static void test_env_blind(void)
{
	struct scene s;
	scene_begin(&s, &sensor_env);
	free(look(&s, DELTA_STOOD, false, false));
	puppet_do(&s.puppet, do_environ_nowhere, NULL);
	cleanup_free char *seen = look(&s, 1, false, false);
	const char *why = fingerprint_blind(s.f, "env");
	tap_ok(text_eq(seen, "") && text_eq(why, "the environ of the test process points nowhere"),
	       "an environ that points nowhere is told: %s", why ? why : "-");
	puppet_do(&s.puppet, do_clearenv, NULL);
	free(look(&s, 2, false, false));
	puppet_do(&s.puppet, do_setenv, "BACK=1");
	cleanup_free char *back = look(&s, 3, false, false);
	tap_ok(text_eq(back, "leak added BACK\n") && !fingerprint_blind(s.f, "env"),
	       "and seen again when it points somewhere: %s", back);
	scene_end(&s);
}

#define RT_SIGNAL "40" /* SIGRTMIN+6 */

static const struct act process_acts[] = {
	{ "cwd", do_chdir, "gone",
	  "leak changed cwd {\"path\":\"DIR\",\"deleted\":false}>"
	  "{\"path\":\"DIR/gone\",\"deleted\":false} owner=-1\n" },
	{ "cwd deleted", do_rmdir, "../gone",
	  "leak changed cwd {\"path\":\"DIR/gone\",\"deleted\":false}>"
	  "{\"path\":\"DIR/gone\",\"deleted\":true} owner=1\n" },
	{ "cwd whose name looks deleted", do_chdir, "../odd (deleted)",
	  "leak changed cwd {\"path\":\"DIR/gone\",\"deleted\":true}>"
	  "{\"path\":\"DIR/odd (deleted)\",\"deleted\":false} owner=2\n" },
	{ "umask", do_umask, "077",
	  "leak changed umask {\"umask\":\"0022\"}>{\"umask\":\"0077\"} owner=-1\n" },
	{ "umask put back", do_umask, "022",
	  "leak changed umask {\"umask\":\"0077\"}>{\"umask\":\"0022\"} owner=4 restored\n" },
	{ "a signal ignored", do_ignore_signal, "15",
	  "leak changed SIGTERM {\"action\":\"default\",\"blocked\":false}>"
	  "{\"action\":\"ignored\",\"blocked\":false} owner=-1\n" },
	{ "and blocked", do_block_signal, "15",
	  "leak changed SIGTERM {\"action\":\"ignored\",\"blocked\":false}>"
	  "{\"action\":\"ignored\",\"blocked\":true} owner=6\n" },
	{ "a signal caught", do_catch_signal, RT_SIGNAL,
	  "leak changed SIGRTMIN+6 {\"action\":\"default\",\"blocked\":false}>"
	  "{\"action\":\"caught\",\"blocked\":false} owner=-1\n" },
	{ "and put back", do_default_signal, RT_SIGNAL,
	  "leak changed SIGRTMIN+6 {\"action\":\"caught\",\"blocked\":false}>"
	  "{\"action\":\"default\",\"blocked\":false} owner=8 restored\n" },
	{ "a limit", do_limit_files, "300",
	  "leak changed rlimit NOFILE {\"soft\":400,\"hard\":500}>{\"soft\":300,\"hard\":500} "
	  "owner=-1\n" },
	{ "nice", do_nice, "5", "leak changed nice {\"nice\":0}>{\"nice\":5} owner=-1\n" },
	{ "personality", do_personality, "40000",
	  "leak changed personality {\"personality\":\"00000000\"}>"
	  "{\"personality\":\"00040000\"} owner=-1\n" },
	{ "threads that came and went", do_thread_and_join, "t", "" },
	{ "nothing", do_nothing, NULL, "" },
};

static void test_process(void)
{
	struct scene s;
	scene_begin(&s, &sensor_process);
	folder_put(&s.dir, "gone", NULL);
	folder_put(&s.dir, "odd (deleted)", NULL);
	puppet_do(&s.puppet, do_plain_process, NULL);
	play(&s, process_acts, countof(process_acts), true);
	scene_end(&s);
}

static const struct act descriptor_acts[] = {
	{ "a file", do_open, "200 0 a",
	  "leak opened DIR/a ->{\"fd\":200,\"target\":\"DIR/a\",\"mode\":\"r\"} owner=-1\n" },
	{ "that is renamed", do_rename, "a", "", .full = true },
	{ "closed", do_close, "200",
	  "leak closed DIR/a {\"fd\":200,\"target\":\"DIR/a\",\"mode\":\"r\"}>- owner=1 restored\n" },
	{ "all kinds", do_kinds, "200",
	  "leak opened pipe ->{\"fd\":200,\"target\":\"pipe\",\"mode\":\"r\"} owner=-1\n"
	  "leak opened pipe ->{\"fd\":201,\"target\":\"pipe\",\"mode\":\"w\"} owner=-1\n"
	  "leak opened socket ->{\"fd\":202,\"target\":\"socket\",\"mode\":\"rw\"} owner=-1\n"
	  "leak opened anon_inode:[eventfd] ->{\"fd\":203,\"target\":\"anon_inode:[eventfd]\","
	  "\"mode\":\"rw\"} owner=-1\n"
	  "leak opened anon_inode:[eventpoll] ->{\"fd\":204,"
	  "\"target\":\"anon_inode:[eventpoll]\",\"mode\":\"rw\"} owner=-1\n"
	  "leak opened /memfd:mine (deleted) ->{\"fd\":205,"
	  "\"target\":\"/memfd:mine (deleted)\",\"mode\":\"rw\"} owner=-1\n" },
	{ "another anonymous one under a number", do_eventfd, "204",
	  "leak closed anon_inode:[eventpoll] {\"fd\":204,"
	  "\"target\":\"anon_inode:[eventpoll]\",\"mode\":\"rw\"}>- owner=4 restored\n"
	  "leak opened anon_inode:[eventfd] ->{\"fd\":204,\"target\":\"anon_inode:[eventfd]\","
	  "\"mode\":\"rw\"} owner=-1\n" },
	{ "another file under a number", do_open, "201 1 /dev/null",
	  "leak closed pipe {\"fd\":201,\"target\":\"pipe\",\"mode\":\"w\"}>- owner=4 restored\n"
	  "leak opened /dev/null ->{\"fd\":201,\"target\":\"/dev/null\",\"mode\":\"w\"} owner=-1\n" },
	{ "O_PATH", do_open, "209 0x200000 /proc/self/status",
	  "leak opened /proc/N/status ->{\"fd\":209,\"target\":\"/proc/N/status\","
	  "\"mode\":\"path\"} owner=-1\n" },
	{ "without a name", do_open, "210 0x410002 .",
	  "leak opened DIR/#N (deleted) ->{\"fd\":210,\"target\":\"DIR/#N (deleted)\","
	  "\"mode\":\"rw\"} owner=-1\n" },
	{ "nothing", do_nothing, NULL, "" },
};

static void test_descriptors(void)
{
	struct scene s;
	scene_begin(&s, &sensor_descriptors);
	folder_put(&s.dir, "a", "a");
	puppet_do(&s.puppet, do_close_from, "200");
	play(&s, descriptor_acts, countof(descriptor_acts), true);
	scene_end(&s);
}

/* A number that stood and now means another file: noticed by the look that trusts nothing, by any
 * look for 0, 1 and 2, and by the others when its turn comes. */
static void test_reused(void)
{
	struct scene s;
	scene_begin(&s, &sensor_descriptors);
	puppet_do(&s.puppet, do_open, "0 0 /dev/null");
	puppet_do(&s.puppet, do_open, "200 0 /dev/null");
	free(look(&s, DELTA_STOOD, false, false));
	puppet_do(&s.puppet, do_open, "200 0 /dev/zero");
	cleanup_free char *full = look(&s, 1, true, false);
	tap_ok(text_eq(full, "leak closed /dev/null\nleak opened /dev/zero\n"),
	       "a full look sees a number reused: %s", full);
	puppet_do(&s.puppet, do_open, "0 0 /dev/zero");
	cleanup_free char *standard = look(&s, 2, false, false);
	tap_ok(text_eq(standard, "leak closed /dev/null\nleak opened /dev/zero\n"),
	       "any look sees another standard input: %s", standard);
	puppet_do(&s.puppet, do_open, "200 0 /dev/full");
	bool seen = false;
	for (int i = 0; i < 64 && !seen; i++) {
		cleanup_free char *turn = look(&s, 3, false, false);
		seen = text_eq(turn, "leak closed /dev/zero restored\nleak opened /dev/full\n");
	}
	tap_ok(seen, "the others are seen in turn");
	scene_end(&s);
}

static void test_threads(void)
{
	static const struct act acts[] = {
		{ "started", do_thread, "worker", "leak started worker\n" },
		{ "still there", do_nothing, NULL, "", .full = true },
		{ "joined", do_join, NULL, "leak ended worker restored\n" },
		{ "started and joined", do_thread_and_join, "quick", "" },
		{ "started again", do_thread, "left", "leak started left\n" },
	};
	struct scene s;
	scene_begin(&s, &sensor_threads);
	play(&s, acts, countof(acts), false);
	cleanup(delta_list_done) struct delta_list alive = DELTA_LIST_NULL;
	fingerprint_survivors(s.f, &alive, NULL);
	tap_ok(alive.len == 1 && text_eq(alive.at[0].key, "left") && alive.at[0].owner == 5,
	       "a thread that was left is a survivor");
	scene_end(&s);
}

/* The process ends, or another takes its place: an answer, whatever the sensor. */
static void test_gone(void)
{
	static const struct sensor *const sensors[] = { &sensor_env, &sensor_process,
							&sensor_descriptors, &sensor_threads };
	for (size_t i = 0; i < countof(sensors); i++) {
		const char *domain = sensors[i]->domain;
		struct scene s;
		scene_begin(&s, sensors[i]);
		s.v.pid = s.v.inner = 0;
		cleanup_free char *none = look(&s, DELTA_STOOD, false, false);
		s.v.pid = s.v.inner = s.puppet.pid;
		cleanup_free char *first = look(&s, DELTA_STOOD, false, false);
		tap_ok(text_eq(none, "") && text_eq(first, ""),
		       "%s: a process that comes late is learned: %s%s", domain, none, first);
		struct digest digest = fingerprint_digest(s.f, domain);
		puppet_do(&s.puppet, do_exit, NULL);
		waitid(P_PID, (id_t)s.puppet.pid, NULL, WEXITED | WNOWAIT);
		cleanup_free char *zombie = look(&s, 1, false, false);
		waitpid(s.puppet.pid, NULL, 0);
		cleanup_free char *gone = look(&s, 1, true, false);
		tap_ok(text_eq(zombie, "") && text_eq(gone, "") &&
			       digest_eq(digest, fingerprint_digest(s.f, domain)) &&
			       !fingerprint_blind(s.f, domain),
		       "%s: a process that has ended is no failure: %s%s", domain, zombie, gone);
		close(s.puppet.sock);
		puppet_start(&s.puppet);
		s.v.pid = s.v.inner = s.puppet.pid;
		puppet_do(&s.puppet, do_setenv, "ANOTHER=1");
		cleanup_free char *second = look(&s, 2, false, false);
		tap_ok(text_eq(second, ""), "%s: the next session's process is learned anew: %s",
		       domain, second);
		scene_end(&s);
	}
}

/* ---- faults ---- */

/* The whole life of a fingerprint on a puppet that leaves a thing between two looks. */
struct life {
	const struct sensor *sensor;
	void (*leave)(const char *arg);
	void (*undo)(const char *arg);
	const char *left;
	const char *undone;
};

/* Its folder stands for /proc, where nobody else's processes come and go. */
static void look_into_folder(struct scene *s)
{
	close(s->v.proc);
	s->v.proc = open(s->dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->v.pid = s->v.inner = 0;
}

static void do_put_process(const char *arg)
{
	char text[128];
	const struct folder here = { "." };
	snprintf(text, sizeof(text), "%s/stat", arg);
	folder_put(&here, text, "8 (left) S 5 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0\n");
	snprintf(text, sizeof(text), "%s/cmdline", arg);
	folder_put(&here, text, "left");
}

static void do_remove_process(const char *arg)
{
	struct folder it;
	snprintf(it.path, sizeof(it.path), "%s", arg);
	folder_done(&it);
}

static int live(const struct life *life, struct scene *s, char **ret, bool *ret_blind, struct err *e)
{
	const char *domain = life->sensor->domain;
	struct delta_list deltas = DELTA_LIST_NULL;
	struct fingerprint *f = NULL;
	int r = fingerprint_new(&s->v, s->sensors, &f, e);
	if (!r)
		r = fingerprint_look(f, DELTA_STOOD, &deltas, NULL, e);
	*ret_blind = f && fingerprint_blind(f, domain);
	puppet_do(&s->puppet, life->leave, life->left);
	if (!r)
		r = fingerprint_look(f, 1, &deltas, NULL, e);
	*ret_blind |= f && fingerprint_blind(f, domain);
	if (!r)
		r = fingerprint_look_full(f, 1, &deltas, e);
	*ret_blind |= f && fingerprint_blind(f, domain);
	puppet_do(&s->puppet, life->undo, life->undone);
	fault_walk_hit(); /* from here on nothing fails */
	*ret = r ? NULL : deltas_text(&deltas, false);
	delta_list_done(&deltas);
	fingerprint_free(f);
	return r;
}

static bool is_handled(int r, const struct err *e, bool blind, const char *seen, const char *whole)
{
	if (r)
		return e->code == -r && e->text[0];
	return blind || text_eq(seen, whole);
}

/* Whichever call fails: an error in words, a domain that says it is blind, or the same deltas. */
static void test_faults(void)
{
	static const struct life lives[] = {
		{ &sensor_env, do_setenv, do_unsetenv, "FAULT=1", "FAULT" },
		{ &sensor_process, do_umask, do_umask, "077", "022" },
		{ &sensor_descriptors, do_open, do_close, "200 0 /dev/null", "200" },
		{ &sensor_threads, do_thread, do_join, "worker", NULL },
		{ &sensor_processes, do_put_process, do_remove_process, "8", "8" },
	};
	cJSON_InitHooks(&(struct cJSON_Hooks){ malloc, free });
	for (size_t i = 0; i < countof(lives); i++) {
		const struct life *life = &lives[i];
		struct scene s;
		scene_begin(&s, life->sensor);
		if (life->sensor == &sensor_processes)
			look_into_folder(&s);
		cleanup_free char *whole = NULL;
		bool blind;
		live(life, &s, &whole, &blind, NULL);
		tap_ok(whole && !blind && strchr(whole, '\n'), "%s: without a fault: %s",
		       life->sensor->domain, whole);
		int n = 1;
		bool handled = true;
		for (; fault_walk_on(n); n++) {
			cleanup_free char *seen = NULL;
			struct err e = ERR_NULL;
			int r = live(life, &s, &seen, &blind, &e);
			bool ok = is_handled(r, &e, blind, seen, whole);
			if (!ok)
				tap_ok(false, "%s: call %d fails: %d, %s%s", life->sensor->domain,
				       n, r, e.text, seen ? seen : "");
			handled = handled && ok;
		}
		tap_ok(handled && n > 10, "%s: each of %d calls failed once", life->sensor->domain,
		       n - 2);
		scene_end(&s);
	}
}

int main(void)
{
	test_env();
	test_env_odd();
	test_env_blind();
	test_process();
	test_descriptors();
	test_reused();
	test_threads();
	test_gone();
	test_faults();
	return tap_done();
}
