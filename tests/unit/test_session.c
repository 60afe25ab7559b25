/* The session against an adapter played from a script: what is done to a toy world between the
 * packets, and the ledger lines that come of it. Needs no cell and no privilege. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/delta.h"
#include "probe/sensor.h"
#include "runner/drive/session.h"
#include "runner/plan/order.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"
#include "tests/lib/tap.h"

/* ---- a world of small files, and the sensor that sees it ---- */

static int look_toys(void *memory, const struct vantage *v, bool full, struct sink *sink,
		     struct err *e)
{
	(void)memory;
	(void)full;
	(void)e;
	int fd = openat(v->scratch, "toys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert(fd >= 0);
	DIR *dir = fdopendir(fd);
	assert(dir);
	for (struct dirent *d; (d = readdir(dir));) {
		if (d->d_name[0] == '.')
			continue;
		cleanup_free char *text = NULL;
		int r = fd_load(fd, d->d_name, 100, &text, NULL, NULL);
		assert(!r);
		char value[128];
		snprintf(value, sizeof(value), "{\"text\":\"%s\"}", text);
		char path[300];
		snprintf(path, sizeof(path), "/p/%s", d->d_name);
		sink_offer(sink, &(struct offer){
					 .id = d->d_name, .zone = zone_of(v, path), .value = value });
	}
	closedir(dir);
	return sink_all(sink);
}

static const struct sensor toys = {
	.domain = "files", .came = "created", .went = "deleted", .damages = true, .look = look_toys
};
static const struct sensor *const sensors[] = { &toys, NULL };

static const struct vantage_zone zones[] = { { "/p", "source" } };

/* ---- the stage ---- */

struct stage {
	char dir[64];
	int scratch;
	int channel;
	pid_t looker;
	int adapter;  /* connection, or -1 */
	int stranger; /* a second one, or -1 */
	int sequence;
};

static void connect_to(const struct stage *s, int *ret)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", s->dir);
	*ret = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r = connect(*ret, (struct sockaddr *)&at, sizeof(at));
	assert(!r);
}

static void put(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert(fd >= 0 && text);
	int r = fd_write_full(fd, text, strlen(text));
	assert(!r);
	close(fd);
}

static void stage_open(struct stage *s, enum view view)
{
	*s = (struct stage){ .dir = "/tmp/fumehood-session-XXXXXX", .adapter = -1, .stranger = -1 };
	char *made = mkdtemp(s->dir);
	assert(made);
	s->scratch = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = mkdirat(s->scratch, "toys", 0700) || mkdirat(s->scratch, "run", 0700) ||
		mkdirat(s->scratch, "run/fumehood", 0700) ||
		mkdirat(s->scratch, "run/fumehood/drop", 0700);
	assert(!r);
	put(s->scratch, "toys/stood", "1");

	struct sockaddr_un at = { .sun_family = AF_UNIX };
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", s->dir);
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;
	r = bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 8) ||
	    setsockopt(listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	assert(!r);
	int ends[2];
	r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
	assert(!r);
	fflush(stdout);
	s->looker = fork();
	if (s->looker == 0) {
		close(ends[0]);
		struct vantage v = { .root = -1,
				     .proc = open("/proc", O_RDONLY | O_CLOEXEC),
				     .scratch = s->scratch,
				     .fanotify = -1,
				     .zones = zones,
				     .zones_len = countof(zones) };
		const struct order order = { .name = (char[]){ "o" },
					     .view = view,
					     .as_collected = true };
		struct session_setup setup = { .order = &order,
					       .project = "/p",
					       .vantage = &v,
					       .sensors = sensors,
					       .listener = listener,
					       .channel = ends[1] };
		struct err e = ERR_NULL;
		r = session_run(&setup, &e);
		if (r)
			fprintf(stderr, "session: %s\n", e.text);
		_exit(r ? 1 : 0);
	}
	close(ends[1]);
	close(listener);
	s->channel = ends[0];
	char ready[sizeof(SESSION_READY)];
	ssize_t n = fd_read_full(s->channel, ready, sizeof(ready));
	assert(n == sizeof(ready));
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void stage_close(struct stage *s)
{
	fd_close_at(&s->adapter);
	fd_close_at(&s->stranger);
	fd_close_at(&s->channel);
	fd_close_at(&s->scratch);
	waitpid(s->looker, NULL, 0);
	nftw(s->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- the script ---- */

/* Sends a packet and takes what is answered: its `t` goes to the transcript. */
static void say(int conn, const char *packet, struct buf *transcript)
{
	if (send(conn, packet, strlen(packet), MSG_NOSIGNAL) < 0) {
		buf_puts(transcript, "unheard\n");
		return;
	}
	if (strstr(packet, "\"collecting\"")) /* nobody answers that */
		return;
	char answer[1024];
	ssize_t n = recv(conn, answer, sizeof(answer) - 1, 0);
	if (n <= 0) {
		buf_puts(transcript, "closed\n");
		return;
	}
	cleanup_json cJSON *tree = cJSON_ParseWithLength(answer, (size_t)n);
	if (!text_eq(json_text(tree, "t"), "go") && !text_eq(json_text(tree, "t"), "plan"))
		buf_printf(transcript, "%s: %s\n", json_text(tree, "t"), json_text(tree, "why"));
}

static void announce(struct stage *s, const char *ids, const char *more, struct buf *transcript)
{
	cleanup_json cJSON *file = cJSON_CreateObject();
	cJSON *tests = cJSON_AddArrayToObject(file, "tests");
	cleanup_free char *copy = strdup(ids);
	for (char *save, *id = strtok_r(copy, " ", &save); id; id = strtok_r(NULL, " ", &save)) {
		cJSON *test = cJSON_CreateObject();
		cJSON_AddStringToObject(test, "id", id);
		cJSON_AddItemToArray(tests, test);
	}
	cleanup_free char *text = json_line(file);
	char path[64];
	snprintf(path, sizeof(path), "run/fumehood/drop/c%d", ++s->sequence);
	put(s->scratch, path, text);
	char packet[128];
	snprintf(packet, sizeof(packet), "{\"v\":1,\"t\":\"collected\",\"file\":\"c%d\"%s}",
		 s->sequence, more);
	say(s->adapter, packet, transcript);
}

/* A fork of the speaker: another process on the same connection. */
static void say_forked(struct stage *s, const char *packet)
{
	pid_t pid = fork();
	if (pid == 0) {
		send(s->adapter, packet, strlen(packet), MSG_NOSIGNAL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void tell_interrupted(struct stage *s)
{
	int r = fd_write_full(s->channel, &(struct session_news){ .interrupted = true },
			      sizeof(struct session_news));
	assert(!r);
}

static void play(struct stage *s, const char *line, struct buf *transcript)
{
	const char *rest = line + 1;
	char path[128];
	const char *equals = strchr(rest, '=');
	int name_len = equals ? (int)(equals - rest) : (int)strlen(rest);
	snprintf(path, sizeof(path), "toys/%.*s", name_len, rest);
	char packet[512];
	switch (line[0]) {
	case '+':
		put(s->scratch, path, equals + 1);
		break;
	case '-':
		unlinkat(s->scratch, path, 0);
		break;
	case 'H': /* hello from rootdir; P: from one that can run tests at once */
	case 'P':
		if (s->adapter < 0)
			connect_to(s, &s->adapter);
		snprintf(packet, sizeof(packet),
			 "{\"v\":1,\"t\":\"hello\",\"adapter\":\"toy\",\"version\":\"1\","
			 "\"can\":[\"%s\"],\"rootdir\":\"%s\"}",
			 line[0] == 'P' ? "parallel" : "reorder", rest);
		say(s->adapter, packet, transcript);
		break;
	case 'C':
		announce(s, rest, "", transcript);
		break;
	case 'B':
		announce(s, "a", rest, transcript);
		break;
	case '{':
		say(s->adapter, line, transcript);
		break;
	case 'F':
		say_forked(s, rest);
		break;
	case 'S':
		connect_to(s, &s->stranger);
		say(s->stranger, rest, transcript);
		fd_close_at(&s->stranger);
		break;
	case 'D': /* done has no answer; the connection stays */
		send(s->adapter, "{\"v\":1,\"t\":\"done\"}", 18, MSG_NOSIGNAL);
		break;
	case 'M': /* a message's file; a link out of the folder */
		put(s->scratch, "run/fumehood/drop/m", rest);
		break;
	case 'L':
		symlinkat("/etc/passwd", s->scratch, "run/fumehood/drop/link");
		break;
	case 'I': /* ctrl-C, as the runner tells it */
		tell_interrupted(s);
		break;
	case 'X':
		fd_close_at(&s->adapter);
		break;
	default:
		assert(false); /* no line of the script */
	}
}

static void tell_deltas(const cJSON *line, const char *member, struct buf *out)
{
	const cJSON *d;
	cJSON_ArrayForEach(d, cJSON_GetObjectItemCaseSensitive(line, member))
	{
		buf_printf(out, " %s:%s:%s%s", json_text(d, "kind"), json_text(d, "what"),
			   json_text(d, "key"), json_true(d, "damage") ? ":damage" : "");
		if (text_eq(json_text(d, "zone"), "state"))
			buf_puts(out, ":state");
		if (json_text(d, "cleans"))
			buf_printf(out, ":cleans=%s", json_text(d, "cleans"));
	}
}

static void tell_line(const char *text, struct buf *out)
{
	cleanup_json cJSON *line = cJSON_Parse(text);
	const char *kind = json_text(line, "kind");
	if (text_eq(kind, "over") || text_eq(kind, "session"))
		return;
	buf_puts(out, kind);
	if (text_eq(kind, "order")) {
		const cJSON *id;
		cJSON_ArrayForEach(id, cJSON_GetObjectItemCaseSensitive(line, "tests"))
		{
			buf_printf(out, " %s", id->valuestring);
		}
	} else if (text_eq(kind, "refused")) {
		buf_printf(out, ": %s", json_text(line, "why"));
	} else {
		const char *name = json_text(line, text_eq(kind, "scope") ? "fixture" : "test");
		if (name)
			buf_printf(out, " %s", name);
		if (json_text(line, "outcome"))
			buf_printf(out, " %s", json_text(line, "outcome"));
		if (json_text(line, "message"))
			buf_printf(out, " (%s)", json_text(line, "message"));
		tell_deltas(line, "deltas", out);
		tell_deltas(line, "unattributed", out);
	}
	buf_puts(out, "\n");
}

static void collect(struct stage *s, const struct session_news *end, struct buf *out)
{
	struct session_news news = *end;
	news.ended = true;
	int r = fd_write_full(s->channel, &news, sizeof(news));
	assert(!r);
	cleanup(buf_done) struct buf all = BUF_NULL;
	char room[4096];
	for (ssize_t n; (n = read(s->channel, room, sizeof(room))) > 0;)
		buf_add(&all, room, (size_t)n);
	for (char *save, *line = strtok_r(all.at, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		tell_line(line, out);
}

#define START(id) "{\"v\":1,\"t\":\"start\",\"test\":\"" id "\"}"
#define PASSED(id, next) \
	"{\"v\":1,\"t\":\"finish\",\"test\":\"" id "\",\"outcome\":\"passed\",\"next\":" next "}"
#define CRASHED(id) \
	"{\"v\":1,\"t\":\"finish\",\"test\":\"" id "\",\"outcome\":\"crashed\",\"next\":null}"
#define FAILED(id, next, file)                                                                \
	"{\"v\":1,\"t\":\"finish\",\"test\":\"" id "\",\"outcome\":\"failed\",\"next\":" next \
	",\"file\":\"" file "\"}"
#define FIXTURE(kind, id, name, at)                                                 \
	"{\"v\":1,\"t\":\"scope_" kind "\",\"test\":\"" id "\",\"fixture\":\"" name \
	"\",\"scope\":\"module\",\"at\":\"" at "\"}"

static const struct { // NOLINT(clang-analyzer-optin.performance.Padding)
	const char *name;
	const char *script[40];
	struct session_news end;
	const char *expected;
	enum view view;
} cases[] = {
	{ "a leak, a touch, and a test that leaves nothing",
	  { "H/p", "Ca b c", START("a"), "+lock=1", PASSED("a", "\"b\""), "+x=1", "-x",
	    PASSED("b", "\"c\""), PASSED("c", "null"), "D" },
	  { 0 },
	  "order a b c\n"
	  "test a passed leak:created:lock\n"
	  "test b passed\n"
	  "test c passed\n"
	  "end complete\n" },
	{ "what stood is damaged, and a later test cleans another's leak",
	  { "H/p", "Ca b c", START("a"), "-stood", "+lock=1", PASSED("a", "\"b\""), "-lock",
	    PASSED("b", "\"c\""), "+stood=1", PASSED("c", "null"), "D" },
	  { 0 },
	  "order a b c\n"
	  "test a passed leak:created:lock leak:deleted:stood:damage\n"
	  "test b passed touch:deleted:lock:cleans=a\n"
	  "test c passed touch:created:stood:cleans=a\n"
	  "end complete\n" },
	{ "what a fixture makes and removes is held, not leaked",
	  { "H/p", "Ca b", START("a"), FIXTURE("open", "a", "db", "begin"), "+db=1",
	    FIXTURE("open", "a", "db", "end"), "+mine=1", PASSED("a", "\"b\""),
	    FIXTURE("close", "b", "db", "begin"), "-db", FIXTURE("close", "b", "db", "end"),
	    PASSED("b", "null"), "D" },
	  { 0 },
	  "order a b\n"
	  "test a passed leak:created:mine held:created:db\n"
	  "test b passed\n"
	  "end complete\n" },
	{ "what outlives the finaliser is the fixture's leak; within it nests another",
	  { "H/p", "Ca", START("a"), FIXTURE("open", "a", "outer", "begin"), "+o=1",
	    FIXTURE("open", "a", "inner", "begin"), "+i=1", FIXTURE("open", "a", "inner", "end"),
	    "+o=2", FIXTURE("open", "a", "outer", "end"), FIXTURE("close", "a", "outer", "begin"),
	    "-o", FIXTURE("close", "a", "outer", "end"), FIXTURE("close", "a", "inner", "begin"),
	    FIXTURE("close", "a", "inner", "end"), PASSED("a", "null"), "D" },
	  { 0 },
	  "order a\n"
	  "scope inner leak:created:i\n"
	  "test a passed held:created:i held:created:o\n"
	  "end complete\n" },
	{ "what a test does to a fixture's file is its leak, unless the fixture ends with it",
	  { "H/p", "Ca b", START("a"), FIXTURE("open", "a", "db", "begin"), "+db=1",
	    FIXTURE("open", "a", "db", "end"), "+db=2", PASSED("a", "\"b\""), "+db=3",
	    FIXTURE("close", "b", "db", "begin"), "-db", FIXTURE("close", "b", "db", "end"),
	    PASSED("b", "null"), "D" },
	  { 0 },
	  "order a b\n"
	  "test a passed leak:changed:db held:created:db\n"
	  "test b passed touch:changed:db\n"
	  "end complete\n" },
	{ "the running test is named when its connection ends; the rest are absent",
	  { "H/p", "Ca b c", START("a"), PASSED("a", "\"b\""), "+lock=1", "X" },
	  { .wait_status = 11 },
	  "order a b c\n"
	  "test a passed\n"
	  "test b crashed (the test process closed its connection during this test) leak:created:lock\n"
	  "test c absent (the test process closed its connection before this test)\n"
	  "end crashed\n" },
	{ "a run that takes too long names the test that was running",
	  { "H/p", "Ca b", START("a"), "X" },
	  { .wait_status = 9, .timed_out = true },
	  "order a b\n"
	  "test a timeout (the time limit of the run passed during this test)\n"
	  "test b absent (the time limit of the run passed before this test)\n"
	  "end timeout\n" },
	{ "after ctrl-C the running test has no outcome",
	  // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): START joins three texts
	  { "H/p", "Ca b", START("a"), "I", "D" },
	  { .wait_status = 2 << 8, .interrupted = true },
	  "order a b\n"
	  "test a absent (interrupted during this test)\n"
	  "test b absent (interrupted before this test)\n"
	  "end interrupted\n" },
	{ "a test that ctrl-C cut short did not crash",
	  { "H/p", "Ca b", START("a"), "I", CRASHED("a"), "D" },
	  { .wait_status = 2 << 8, .interrupted = true },
	  "order a b\n"
	  "test a absent (interrupted during this test)\n"
	  "test b absent (interrupted before this test)\n"
	  "end interrupted\n" },
	{ "nor is a module at fault that ctrl-C kept from being collected",
	  { "H/p", "I",
	    "{\"v\":1,\"t\":\"uncollectable\",\"id\":\"a.py\",\"why\":\"KeyboardInterrupt\"}", "D" },
	  { .wait_status = 2 << 8, .interrupted = true },
	  "end interrupted\n" },
	{ "a long message comes as a file; one that is no file of the drop folder is told",
	  { "H/p", "Ca b c", START("a"), "M{\"v\":1,\"message\":\"long\"}", FAILED("a", "\"b\"", "m"),
	    FAILED("b", "\"c\"", "gone"), "L", FAILED("c", "null", "link"), "D" },
	  { 0 },
	  "order a b c\n"
	  "test a failed (long)\n"
	  "test b failed (open gone of the drop folder: No such file or directory)\n"
	  "test c failed (open link of the drop folder: Too many levels of symbolic links)\n"
	  "end complete\n" },
	{ "the framework's own folder may change",
	  { "H/p", "B,\"basetemp\":\"/p/base\"", START("a"), "+base=1", PASSED("a", "null"), "D" },
	  { 0 },
	  "order a\n"
	  "test a passed leak:created:base:state\n"
	  "end complete\n" },
	{ "no folder that holds a whole zone is the framework's own",
	  { "H/p", "B,\"basetemp\":\"/p\"", START("a"), "+base=1", PASSED("a", "null"), "D" },
	  { 0 },
	  "order a\n"
	  "test a passed leak:created:base\n"
	  "end complete\n" },
	{ "a session that ends early leaves tests absent",
	  { "H/p", "Ca b", START("a"), PASSED("a", "null"), "D" },
	  { 0 },
	  "order a b\n"
	  "test a passed\n"
	  "test b absent (the session ended before this test)\n"
	  "end complete\n" },
	{ "two sessions in one command; one of another root, one with the same ids",
	  { "H/p", "Ca", START("a"), PASSED("a", "null"), "D", "H/p/sub", "Ca", START("a"),
	    "+lock=1", PASSED("a", "null"), "D", "H/p", "Ca", START("a"), PASSED("a", "null"), "D" },
	  { 0 },
	  "order a\n"
	  "test a passed\n"
	  "order sub/a\n"
	  "test sub/a passed leak:created:lock\n"
	  "order a (session 3)\n"
	  "test a (session 3) passed\n"
	  "end complete\n" },
	{ "after a crash the next session of the command goes on",
	  { "H/p", "Ca", START("a"), "X", "H/p/sub", "Cb", START("b"), PASSED("b", "null"), "D" },
	  { 0 },
	  "order a\n"
	  "test a crashed (the test process closed its connection during this test)\n"
	  "order sub/b\n"
	  "test sub/b passed\n"
	  "end crashed\n" },
	{ "a module that cannot be collected is a row",
	  { "H/p", "{\"v\":1,\"t\":\"uncollectable\",\"id\":\"bad.py\",\"why\":\"SyntaxError\"}",
	    "Ca", START("a"), PASSED("a", "null"), "D" },
	  { 0 },
	  "test bad.py error_setup (SyntaxError)\n"
	  "order bad.py a\n"
	  "test a passed\n"
	  "end complete\n" },
	{ "what was collected when the test process ended is the one to blame",
	  { "H/p", "{\"v\":1,\"t\":\"collecting\",\"id\":\"a.py\"}",
	    "{\"v\":1,\"t\":\"collecting\",\"id\":null}",
	    "{\"v\":1,\"t\":\"collecting\",\"id\":\"b.py\"}", "X" },
	  { 0 },
	  "test b.py crashed (the test process closed its connection while this was collected)\n"
	  "end crashed\n" },
	{ "... or when the time limit passed, or no part of the suite was",
	  { "H/p", "{\"v\":1,\"t\":\"collecting\",\"id\":\"a.py\"}",
	    "{\"v\":1,\"t\":\"collecting\",\"id\":null}" },
	  { .wait_status = 9, .timed_out = true },
	  "test . timeout (the time limit of the run passed in a conftest.py or a plugin)\n"
	  "end timeout\n" },
	{ "packets of another process are refused, on its own connection and on the adapter's",
	  { "H/p", "Ca", START("a"), "S" PASSED("a", "null"), "F" PASSED("a", "null"),
	    "S{\"v\":1,\"t\":\"hello\",\"adapter\":\"x\",\"version\":\"1\",\"rootdir\":\"/p\"}",
	    "Snonsense", PASSED("a", "null"), "D" },
	  { 0 },
	  "closed\nclosed\nclosed\n"
	  "order a\n"
	  "refused: the first packet on a connection has to be hello\n"
	  "refused: another process spoke on the adapter's connection\n"
	  "refused: a session is open: a second hello is refused\n"
	  "refused: packet: it is no JSON object\n"
	  "test a passed\n"
	  "end complete\n" },
	{ "an out-of-phase packet of the adapter ends the order",
	  { "H/p", "Ca b", START("a"), START("b"), PASSED("a", "\"b\"") },
	  { 0 },
	  "stop: the adapter sent start while the suite is in a test\n"
	  "stop: the adapter sent start while the suite is in a test\n"
	  "order a b\n"
	  "test a crashed (the adapter sent start while the suite is in a test)\n"
	  "test b absent (the adapter sent start while the suite is in a test)\n"
	  "end protocol\n" },
	{ "a finish of another test ends the order",
	  { "H/p", "Ca b", START("a"), PASSED("b", "null") },
	  { 0 },
	  "stop: a test finished that was not the one running\n"
	  "order a b\n"
	  "test a crashed (a test finished that was not the one running)\n"
	  "test b absent (a test finished that was not the one running)\n"
	  "end protocol\n" },
	{ "two tests under one id are no plan",
	  { "H/p", "Ca a" },
	  { 0 },
	  "stop: two tests were announced under one id\n"
	  "test a absent (two tests were announced under one id)\n"
	  "end protocol\n" },
	{ "tests that run at once end as they will, and nobody looks between them",
	  { "P/p", "Ca b c", PASSED("b", "null"), "+lock=1", FAILED("a", "null", "none"), "D" },
	  { 0 },
	  "order a b c\n"
	  "test b passed\n"
	  "test a failed (open none of the drop folder: No such file or directory)\n"
	  "test c absent (the session ended before this test)\n"
	  "end complete leak:created:lock\n",
	  VIEW_PARALLEL },
	{ "... none of them starts",
	  { "P/p", "Ca b", START("a"), PASSED("a", "null") },
	  { 0 },
	  "stop: the adapter sent start while the suite is running tests at once\n"
	  "stop: the adapter sent start while the suite is running tests at once\n"
	  "order a b\n"
	  "test a absent (the adapter sent start while the suite is running tests at once)\n"
	  "test b absent (the adapter sent start while the suite is running tests at once)\n"
	  "end protocol\n",
	  VIEW_PARALLEL },
	{ "... or ends twice",
	  { "P/p", "Ca", PASSED("a", "null"), PASSED("a", "null") },
	  { 0 },
	  "stop: a test finished that has run already\n"
	  "order a\n"
	  "test a passed\n"
	  "end protocol\n",
	  VIEW_PARALLEL },
	{ "... or is followed by another",
	  { "P/p", "Ca b", PASSED("a", "\"b\"") },
	  { 0 },
	  "stop: no test follows another where tests run at once\n"
	  "order a b\n"
	  "test a absent (no test follows another where tests run at once)\n"
	  "test b absent (no test follows another where tests run at once)\n"
	  "end protocol\n",
	  VIEW_PARALLEL },
	{ "only an adapter that can is asked to, and nobody else may",
	  { "H/p" },
	  { 0 },
	  "stop: the adapter cannot do what this order needs: parallel\n"
	  "end protocol\n",
	  VIEW_PARALLEL },
	{ "in any other order a test that did not start does not finish",
	  { "P/p", "Ca", PASSED("a", "null") },
	  { 0 },
	  "stop: the adapter sent finish while the suite is between tests\n"
	  "order a\n"
	  "test a absent (the adapter sent finish while the suite is between tests)\n"
	  "end protocol\n" },
	{ "changes outside any test are told, and are nobody's",
	  { "H/p", "+early=1", "Ca", START("a"), PASSED("a", "null"), "+late=1", "D" },
	  { 0 },
	  "order a\n"
	  "test a passed\n"
	  "end complete leak:created:early leak:created:late\n" },
};

int main(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		struct stage s;
		stage_open(&s, cases[i].view);
		cleanup(buf_done) struct buf got = BUF_NULL;
		for (const char *const *line = cases[i].script; *line; line++)
			play(&s, *line, &got);
		collect(&s, &cases[i].end, &got);
		if (!tap_ok(text_eq(got.at, cases[i].expected), "%s", cases[i].name))
			printf("# got:\n%s# expected:\n%s", got.at, cases[i].expected);
		stage_close(&s);
	}
	return tap_done();
}
