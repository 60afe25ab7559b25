#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensors/sensors.h"
#include "probe/sensors/sysvipc.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "tests/lib/deltas.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

#define SHM_HEAD                                                                           \
	"       key      shmid perms                  size  cpid  lpid nattch   uid   gid" \
	"  cuid  cgid      atime      dtime      ctime        rss       swap\n"
#define SEM_HEAD \
	"       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n"
#define MSG_HEAD                                                                           \
	"       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid" \
	"  cgid      stime      rtime      ctime\n"

static bool same_object(const struct sysvipc_object *a, const struct sysvipc_object *b)
{
	return a->key == b->key && a->id == b->id && a->mode == b->mode && a->size == b->size &&
	       a->messages == b->messages && a->uid == b->uid && a->gid == b->gid &&
	       a->creator_uid == b->creator_uid && a->creator_gid == b->creator_gid;
}

static void test_parse(void)
{
	// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of reading
	static const struct {
		enum vantage_sysvipc table;
		const char *line;
		bool ok;
		struct sysvipc_object is;
	} cases[] = {
		{ VANTAGE_SHM, SHM_HEAD, false, { 0 } },
		{ VANTAGE_SEM, SEM_HEAD, false, { 0 } },
		{ VANTAGE_MSG, MSG_HEAD, false, { 0 } },
		{ VANTAGE_SHM,
		  "      4660      32770  1600  4096 12 13 2 1 2 3 4 10 11 12 4096 0\n",
		  true,
		  { 4660, 32770, 01600, 4096, 0, 1, 2, 3, 4 } },
		{ VANTAGE_SEM,
		  "-559038737 0 600 3 0 0 0 0 0 99\n",
		  true,
		  { -559038737, 0, 0600, 3, 0, 0, 0, 0, 0 } },
		{ VANTAGE_MSG,
		  "119 5 640 24 2 8 9 1 1 1 1 0 0 0",
		  true,
		  { 119, 5, 0640, 24, 2, 1, 1, 1, 1 } },
		{ VANTAGE_MSG, "119 5 640 24 2 8 9 1 1 1", false, { 0 } }, /* cut */
		{ VANTAGE_SEM, "1 2 689 3 0 0 0 0 0 99", false, { 0 } },   /* no octal number */
		{ VANTAGE_SHM, "", false, { 0 } },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		struct sysvipc_object o = { 0 };
		bool ok = sysvipc_parse(cases[i].table, cases[i].line, &o);
		tap_ok(ok == cases[i].ok && same_object(&o, &cases[i].is), "%s: %.40s",
		       sysvipc_names[cases[i].table], cases[i].line);
	}
}

/* Files stand for the tables, a folder for the mount of queues. */
struct scene {
	struct folder dir;
	struct vantage v;
	const struct sensor *sensors[2];
	struct fingerprint *f;
};

static void put_tables(struct scene *s, const char *shm, const char *sem, const char *msg)
{
	const char *const texts[] = { shm, sem, msg };
	const char *const heads[] = { SHM_HEAD, SEM_HEAD, MSG_HEAD };
	for (size_t i = 0; i < countof(texts); i++) {
		char text[1024]; /* a fault walk lets allocations fail */
		snprintf(text, sizeof(text), "%s%s", heads[i], texts[i]);
		folder_put(&s->dir, sysvipc_names[i], text);
	}
}

static void scene_begin(struct scene *s)
{
	folder_make(&s->dir);
	put_tables(s, "", "", "");
	folder_put(&s->dir, "queues", NULL);
	s->v = (struct vantage){ .queues = open(folder_path(&s->dir, "queues"),
						O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	for (size_t i = 0; i < VANTAGE_SYSVIPC_N; i++)
		s->v.sysvipc[i] = open(folder_path(&s->dir, sysvipc_names[i]), O_RDONLY | O_CLOEXEC);
	s->sensors[0] = &sensor_ipc;
	s->sensors[1] = NULL;
	s->f = NULL;
}

static void scene_end(struct scene *s)
{
	fingerprint_free(s->f);
	for (size_t i = 0; i < VANTAGE_SYSVIPC_N; i++)
		fd_close_at(&s->v.sysvipc[i]);
	fd_close_at(&s->v.queues);
	folder_done(&s->dir);
}

static void look(struct scene *s, int by, const char *expected, const char *name)
{
	struct delta_list deltas = DELTA_LIST_NULL;
	struct err e = ERR_NULL;
	int r = fingerprint_look(s->f, by, &deltas, NULL, &e);
	cleanup_free char *text = r ? strdup(e.text) : deltas_text(&deltas, true);
	delta_list_done(&deltas);
	tap_ok(text_eq(text, expected), "%s: %s", name, text);
}

#define SHM_VALUE(mode) "{\"id\":3,\"mode\":\"" mode "\",\"size\":4096}"
#define SEM_VALUE       "{\"id\":0,\"mode\":\"0640\",\"semaphores\":2,\"uid\":7}"
#define MSG_VALUE(n)    "{\"id\":9,\"mode\":\"0600\",\"size\":" n "2,\"messages\":" n "}"

static void test_objects(void)
{
	struct scene s;
	scene_begin(&s);
	if (fingerprint_new(&s.v, s.sensors, &s.f, NULL))
		abort();
	look(&s, DELTA_STOOD, "", "an empty namespace");
	put_tables(&s, "4660 3 600 4096 1 1 0 0 0 0 0 1 1 1 0 0\n", "0 0 640 2 7 0 0 0 0 0\n", "");
	look(&s, 1,
	     "leak created shm:0x1234 ->" SHM_VALUE("0600") " owner=-1\n"
							    "leak created sem:private ->" SEM_VALUE
							    " owner=-1\n",
	     "shared memory and a set of semaphores");
	put_tables(&s, "4660 3 600 4096 1 2 1 0 0 0 0 5 5 1 0 0\n", "0 0 640 2 7 0 0 0 0 9\n", "");
	look(&s, 2, "", "that they were used is no change");
	put_tables(&s, "0 3 1600 4096 1 2 1 0 0 0 0 5 5 1 0 0\n", "0 0 640 2 7 0 0 0 0 9\n",
		   "-1 9 600 12 1 1 1 0 0 0 0 0 0 0\n");
	look(&s, 3,
	     "leak created msg:0xffffffff ->" MSG_VALUE(
		     "1") " owner=-1\n"
			  "leak removed shm:0x1234 " SHM_VALUE("0600") ">- owner=1 restored\n",
	     "what is removed is gone, though somebody holds it");
	put_tables(&s, "", "", "-1 9 600 22 2 1 1 0 0 0 0 0 0 0\n");
	look(&s, 4,
	     "leak changed msg:0xffffffff " MSG_VALUE("1") ">" MSG_VALUE(
		     "2") " owner=3\n"
			  "leak removed sem:private " SEM_VALUE ">- owner=1 restored\n",
	     "a message more, the semaphores gone");
	folder_put(&s.dir, "queues/jobs", "QSIZE:5          NOTIFY:0     SIGNO:0     NOTIFY_PID:0\n");
	chmod(folder_path(&s.dir, "queues/jobs"), 0600);
	look(&s, 5, "leak created mq:/jobs ->{\"mode\":\"0600\",\"size\":5} owner=-1\n",
	     "a POSIX queue");
	folder_put(&s.dir, "queues/jobs", "QSIZE:0          NOTIFY:0     SIGNO:0     NOTIFY_PID:0\n");
	look(&s, 6,
	     "leak changed mq:/jobs {\"mode\":\"0600\",\"size\":5}>"
	     "{\"mode\":\"0600\",\"size\":0} owner=5\n",
	     "is emptied");
	unlink(folder_path(&s.dir, "queues/jobs"));
	look(&s, 7, "leak removed mq:/jobs {\"mode\":\"0600\",\"size\":0}>- owner=6 restored\n",
	     "and unlinked");
	scene_end(&s);
}

static void test_none(void)
{
	struct scene s;
	scene_begin(&s);
	scene_end(&s);
	s.v = (struct vantage){ .sysvipc = { -1, -1, -1 }, .queues = -1 };
	if (fingerprint_new(&s.v, s.sensors, &s.f, NULL))
		abort();
	look(&s, 1, "", "a kernel that has none of it");
	fingerprint_free(s.f);
}

static int live(struct scene *s, char **ret, struct err *e)
{
	struct delta_list deltas = DELTA_LIST_NULL;
	put_tables(s, "", "", "");
	int r = fingerprint_new(&s->v, s->sensors, &s->f, e);
	r = r ? r : fingerprint_look(s->f, DELTA_STOOD, &deltas, NULL, e);
	put_tables(s, "4660 3 600 4096 1 1 0 0 0 0 0 1 1 1 0 0\n", "",
		   "7 7 600 0 0 0 0 0 0 0 0 0 0 0\n");
	r = r ? r : fingerprint_look(s->f, 1, &deltas, NULL, e);
	fault_walk_hit();
	*ret = r ? NULL : deltas_text(&deltas, false);
	delta_list_done(&deltas);
	fingerprint_free(s->f);
	s->f = NULL;
	return r;
}

static void test_faults(void)
{
	struct scene s;
	cleanup_free char *whole = NULL;
	cJSON_InitHooks(&(struct cJSON_Hooks){ malloc, free });
	scene_begin(&s);
	folder_put(&s.dir, "queues/jobs", "QSIZE:5\n");
	live(&s, &whole, NULL);
	tap_ok(whole && *whole, "without a fault: %s", whole);
	int n = 1;
	bool handled = true;
	for (; fault_walk_on(n); n++) {
		cleanup_free char *seen = NULL;
		struct err e = ERR_NULL;
		int r = live(&s, &seen, &e);
		bool ok = r ? e.code == -r && e.text[0] : text_eq(seen, whole);
		if (!ok)
			tap_ok(false, "call %d fails: %d, %s%s", n, r, e.text, seen ? seen : "");
		handled = handled && ok;
	}
	tap_ok(handled && n > 10, "each of %d calls failed once", n - 2);
	scene_end(&s);
}

int main(void)
{
	/* On a tmpfs, where a folder grows with each name, as that of the queues does. */
	setenv("TMPDIR", "/dev/shm", 1);
	test_parse();
	test_objects();
	test_none();
	test_faults();
	return tap_done();
}
