#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "runner/ledger.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

static bool matches(const char *text, const char *pattern)
{
	regex_t re;
	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	bool is = regexec(&re, text, 0, NULL, 0) == 0;
	regfree(&re);
	return is;
}

static unsigned int mode_of(const struct ledger *l, const char *name)
{
	struct stat st;
	return fstatat(l->dir, name, &st, 0) ? 0 : st.st_mode & 07777;
}

static int join(void *with, const char *kind, const cJSON *line, struct err *e)
{
	if (text_eq(kind, "stop"))
		return err_set(e, ECANCELED, "stop");
	return buf_printf(with, "%s %d\n", kind, (int)json_number(line, "n", -1));
}

static void test_default_place(const struct folder *f)
{
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	struct err e = ERR_NULL;
	umask(0);
	setenv("XDG_STATE_HOME", folder_path(f, "state"), 1);
	int r = ledger_create(NULL, "/a/my project", "/nowhere", &l, &e);
	tap_ok(r == 0 && matches(l.path, "/state/fumehood/my project-[0-9a-f]{8}/runs/"
					 "[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}$"),
	       "a run has a folder of its own: %s%s", l.path, e.text);
	tap_ok(mode_of(&l, ".") == 0700 && mode_of(&l, "../../..") == 0700 &&
		       mode_of(&l, "logs") == 0700 && mode_of(&l, "ledger.jsonl") == 0600,
	       "which nobody else can read");
	unsetenv("XDG_STATE_HOME");
	cleanup(ledger_done) struct ledger none = LEDGER_NULL;
	r = ledger_create(NULL, "/a", NULL, &none, &e);
	tap_ok(r < 0 && e.status == STATUS_USAGE && none.dir == -1,
	       "without a home it must be named: %s (%s)", e.text, e.hint);
}

static void test_lines(const struct folder *f)
{
	const char *path = folder_path(f, "out/deep");
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	struct err e = ERR_NULL;
	int r = ledger_create(path, "/a", NULL, &l, &e);
	tap_ok(r == 0 && text_eq(l.path, path), "--out names the folder: %s", e.text);
	static const char *const lines[] = { "{\"v\":1,\"kind\":\"a\",\"n\":1}",
					     "{\"v\":1,\"kind\":\"b\",\"n\":2}" };
	for (size_t i = 0; i < countof(lines); i++)
		r = r ? r : ledger_append(&l, lines[i], strlen(lines[i]), &e);
	cleanup(ledger_done) struct ledger again = LEDGER_NULL;
	cleanup(buf_done) struct buf seen = BUF_NULL;
	r = r ? r : ledger_open(path, &again, &e);
	r = r ? r : ledger_each(&again, join, &seen, &e);
	tap_ok(r == 0 && text_eq(seen.at, "a 1\nb 2\n"), "lines are read back in order: %s%s",
	       seen.at, e.text);

	cleanup(ledger_done) struct ledger second = LEDGER_NULL;
	r = ledger_create(path, "/a", NULL, &second, &e);
	tap_ok(r == -EEXIST && e.status == STATUS_USAGE && strstr(e.text, "holds a run already"),
	       "a second run is refused there: %s", e.text);

	/* Room for half a line: what could not be written whole is taken back. */
	pid_t pid = fork();
	if (pid == 0) { /* the limit holds for stdout, too */
		struct rlimit limit = { 80, 80 };
		setrlimit(RLIMIT_FSIZE, &limit);
		signal(SIGXFSZ, SIG_IGN);
		char big[64];
		memset(big, 'x', sizeof(big));
		r = ledger_append(&l, big, sizeof(big), &e);
		_exit(r == -EFBIG && e.status == STATUS_HOST && e.hint[0] ? 0 : 1);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	tap_ok(status == 0, "a full disk is told");
	buf_clear(&seen);
	r = ledger_append(&l, "{\"v\":1,\"kind\":\"c\"}", 18, &e);
	r = r ? r : ledger_each(&again, join, &seen, &e);
	tap_ok(r == 0 && text_eq(seen.at, "a 1\nb 2\nc -1\n"), "and what follows is whole: %s",
	       seen.at);
}

/* Foreign lines. */
static const struct {
	const char *text, *seen, *error;
} files[] = {
	{ "", "", "" },
	{ "{\"v\":1,\"kind\":\"a\"}\n{\"v\":1,\"kind\":\"b\"", "a -1\n", "" }, /* torn */
	{ "{\"v\":1,\"kind\":\"a\"}\nxx\n", "a -1\n", "ledger.jsonl:2: this line is no JSON object" },
	{ "[]\n", "", "ledger.jsonl:1: this line is no JSON object" },
	{ "{\"v\":2,\"kind\":\"a\"}\n", "",
	  "ledger.jsonl:1: this line is of a version that is not known" },
	{ "{\"v\":1,\"kind\":\"stop\"}\n{\"v\":1,\"kind\":\"a\"}\n", "", "stop" },
#define LINE(kind, order, n) \
	"{\"v\":1,\"kind\":\"" kind "\",\"order\":\"" order "\",\"n\":" #n "}\n"
	/* an order that begins again is void before it but for its place, another is not */
	{ LINE("begin", "o", 1) LINE("begin", "p", 2) LINE("a", "o", 3) LINE("a", "p", 4)
		  LINE("begin", "o", 5) LINE("a", "p", 6) LINE("a", "o", 7),
	  "begin 1\nbegin 2\na 4\nbegin 5\na 6\na 7\n", "" },
	{ LINE("a", "o", 1) LINE("begin", "o", 2) "{\"v\":1,\"kind\":\"begin\",\"order\":\"o\"}",
	  "begin 2\n", "" },
	{ LINE("a", "begin", 1) LINE("b", "o", 2), "a 1\nb 2\n", "" },
};

static void test_files(const struct folder *f)
{
	for (size_t i = 0; i < countof(files); i++) {
		folder_put(f, "foreign/ledger.jsonl", files[i].text);
		cleanup(ledger_done) struct ledger l = LEDGER_NULL;
		cleanup(buf_done) struct buf seen = BUF_NULL;
		struct err e = ERR_NULL;
		int r = ledger_open(folder_path(f, "foreign"), &l, &e);
		r = r ? r : ledger_each(&l, join, &seen, &e);
		size_t from = strlen(e.text) > strlen(files[i].error)
				      ? strlen(e.text) - strlen(files[i].error)
				      : 0;
		tap_ok((r < 0) == (files[i].error[0] != 0) && text_eq(e.text + from, files[i].error) &&
			       text_eq(seen.at ? seen.at : "", files[i].seen),
		       "file %zu: %s", i, e.text);
	}
}

static void test_logs(const struct folder *f)
{
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	struct err e = ERR_NULL;
	cleanup_close int fd = -1;
	int r = ledger_create(folder_path(f, "logged"), "/a", NULL, &l, &e);
	r = r ? r : ledger_open_log(&l, "s1", &fd, &e);
	for (int i = 1; i <= 30 && !r; i++)
		r = dprintf(fd, "line %d\n", i) < 0;
	cleanup_free char *tail = NULL;
	r = r ? r : ledger_log_tail(&l, "s1", 3, &tail, &e);
	tap_ok(r == 0 && text_eq(tail, "line 28\nline 29\nline 30") &&
		       mode_of(&l, "logs/s1.log") == 0600,
	       "the end of a log: %s%s", tail, e.text);
	cleanup_free char *all = NULL;
	r = ledger_log_tail(&l, "s1", 100, &all, &e);
	tap_ok(r == 0 && text_starts(all, "line 1\n"), "a short log is given whole");

	r = ledger_save(&l, "run.json", "{\"version\":1,\"a\":2}", 19, &e);
	cleanup_json cJSON *tree = NULL;
	r = r ? r : ledger_load(&l, "run.json", &tree, &e);
	tap_ok(r == 0 && json_number(tree, "a", 0) == 2 && mode_of(&l, "run.json.new") == 0,
	       "a file of the folder is written and read: %s", e.text);
	ledger_save(&l, "run.json", "{\"version\":3}", 13, &e);
	cleanup_json cJSON *newer = NULL;
	r = ledger_load(&l, "run.json", &newer, &e);
	tap_ok(r == -EINVAL && e.status == STATUS_DATA && !newer, "a later version is refused: %s",
	       e.text);
}

/* What a suite prints does not fill the disk. */
static void test_log_bounds(const struct folder *f)
{
	static const char cut[] = "the log ends here";
	static const struct {
		uint64_t logged, len;
		size_t kept;
	} rows[] = {
		{ 0, 0, 10 },
		{ 0, LEDGER_LOG_MAX - 10, 10 },
		{ 0, LEDGER_LOG_MAX - 4, 4 },
		{ 0, LEDGER_LOG_MAX, 0 },
		{ LEDGER_LOGS_MAX - 3, LEDGER_LOG_LEAST, 3 },
		{ LEDGER_LOGS_MAX, LEDGER_LOG_LEAST, 0 },
		{ LEDGER_LOGS_MAX, LEDGER_LOG_LEAST - 7, 7 },
		{ LEDGER_LOGS_MAX + LEDGER_LOG_LEAST, 0, 10 },
		{ LEDGER_LOGS_MAX, LEDGER_LOG_MAX, 0 },
	};
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	struct err e = ERR_NULL;
	int r = ledger_create(folder_path(f, "bounded"), "/a", NULL, &l, &e);
	for (size_t i = 0; i < countof(rows); i++) {
		cleanup_close int fd = -1;
		r = r ? r : ledger_open_log(&l, "s1", &fd, &e);
		l.logged = rows[i].logged;
		struct ledger_log log = { .fd = fd, .len = rows[i].len };
		r = r ? r : ledger_log(&l, &log, "0123456789", 10);
		r = r ? r : ledger_log(&l, &log, "", 0);
		cleanup_free char *text = NULL;
		size_t len = 0;
		r = r ? r : fd_load(l.dir, "logs/s1.log", 1000, &text, &len, &e);
		tap_ok(!r && log.len == rows[i].len + rows[i].kept &&
			       l.logged == rows[i].logged + rows[i].kept &&
			       (strstr(text, cut) != NULL) == (rows[i].kept < 10) &&
			       (rows[i].kept == 10) == (len == 10),
		       "row %zu: %zu bytes are kept: %s", i, rows[i].kept, text ? text : e.text);
	}
}

/* What a write that was cut short left is not carried on. */
static void test_continue(const struct folder *f)
{
	static const char *const torn[][2] = {
		{ "", "b -1\n" },
		{ "{\"v\":1,\"kind\":\"a\"}\n", "a -1\nb -1\n" },
		{ "{\"v\":1,\"kind\":\"a\"}\n{\"v\":1,\"ki", "a -1\nb -1\n" },
		{ "{\"v\":1,\"ki", "b -1\n" },
	};
	for (size_t i = 0; i < countof(torn); i++) {
		folder_put(f, "cut/ledger.jsonl", torn[i][0]);
		cleanup(ledger_done) struct ledger l = LEDGER_NULL;
		cleanup(buf_done) struct buf seen = BUF_NULL;
		struct err e = ERR_NULL;
		int r = ledger_continue(folder_path(f, "cut"), &l, &e);
		r = r ? r : ledger_append(&l, "{\"v\":1,\"kind\":\"b\"}", 18, &e);
		r = r ? r : ledger_each(&l, join, &seen, &e);
		tap_ok(r == 0 && text_eq(seen.at, torn[i][1]), "case %zu goes on: %s%s", i, seen.at,
		       e.text);
	}
	/* A long line behind the last whole one. */
	cleanup_free char *big = calloc(1, 200001);
	memset(big, 'x', 200000);
	static const char whole[] = "{\"v\":1,\"kind\":\"a\"}\n";
	memcpy(big, whole, sizeof(whole) - 1);
	folder_put(f, "cut/ledger.jsonl", big);
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	cleanup(buf_done) struct buf seen = BUF_NULL;
	struct err e = ERR_NULL;
	int r = ledger_continue(folder_path(f, "cut"), &l, &e);
	r = r ? r : ledger_each(&l, join, &seen, &e);
	struct stat st;
	tap_ok(r == 0 && text_eq(seen.at, "a -1\n") && !fstat(l.lines, &st) && st.st_size == 19,
	       "however long the rest is");
}

static void test_lock(const struct folder *f)
{
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	struct err e = ERR_NULL;
	int r = ledger_create(folder_path(f, "locked"), "/a", NULL, &l, &e);
	int refused = 0;
	for (int again = 0; again < 2 && !r; again++) {
		pid_t pid = fork();
		if (pid == 0) {
			cleanup(ledger_done) struct ledger other = LEDGER_NULL;
			r = again ? ledger_create(folder_path(f, "locked"), "/a", NULL, &other, &e)
				  : ledger_continue(folder_path(f, "locked"), &other, &e);
			char pid_text[32];
			snprintf(pid_text, sizeof(pid_text), "(process %d)", (int)getppid());
			_exit(r == -EBUSY && e.status == STATUS_USAGE && strstr(e.text, pid_text)
				      ? 0
				      : 1);
		}
		int status = -1;
		waitpid(pid, &status, 0);
		refused += status == 0;
	}
	tap_ok(refused == 2, "two at once in one folder are refused, with who has it");
	ledger_done(&l);
	r = ledger_continue(folder_path(f, "locked"), &l, &e);
	tap_ok(r == 0, "the folder is free when its run has ended: %s", e.text);
}

static void test_find(const struct folder *f)
{
	setenv("XDG_STATE_HOME", folder_path(f, "found"), 1);
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	struct err e = ERR_NULL;
	int r = ledger_create(NULL, "/a/p", NULL, &l, &e);
	const char *name = strrchr(l.path, '/') + 1;
	cleanup_free char *by_name = NULL;
	cleanup_free char *latest = NULL;
	cleanup_free char *path = NULL;
	cleanup_free char *none = NULL;
	r = r ? r : ledger_find(name, "/a/p", NULL, &by_name, &e);
	r = r ? r : ledger_find("latest", "/a/p", NULL, &latest, &e);
	r = r ? r : ledger_find(l.path, "/other", NULL, &path, &e);
	tap_ok(r == 0 && text_eq(by_name, l.path) && text_eq(latest, l.path) && text_eq(path, l.path),
	       "a run is found by its name, as the latest, and by its path: %s", e.text);
	cleanup_free char *near = strdup(name);
	near[0]++;
	r = ledger_find(near, "/a/p", NULL, &none, &e);
	tap_ok(r == -ENOENT && e.status == STATUS_USAGE && strstr(e.hint, name) && !none,
	       "of an unknown one the nearest is told: %s (%s)", e.text, e.hint);
	r = ledger_find("latest", "/no/runs", NULL, &none, &e);
	tap_ok(r == -ENOENT && !none, "there may be none: %s", e.text);
	unsetenv("XDG_STATE_HOME");
}

/* What others put into a folder that they can write, too. */
static void test_planted(const struct folder *f)
{
	static const char *const links[] = { "logs/s1.log", "run.json.new", "run.json", "lock",
					     "ledger.jsonl" };
	int followed = 0;
	for (size_t i = 0; i < countof(links); i++) {
		char name[64];
		snprintf(name, sizeof(name), "planted%zu/%s", i, links[i]);
		folder_put(f, "precious", "{\"version\":1}torn");
		folder_put(f, name, "");
		unlink(folder_path(f, name));
		cleanup_free char *target = strdup(folder_path(f, "precious"));
		int r = symlink(target, folder_path(f, name));
		tap_ok(r == 0, "a link instead of %s", links[i]);
		snprintf(name, sizeof(name), "planted%zu", i);
		cleanup(ledger_done) struct ledger l = LEDGER_NULL;
		cleanup_close int log = -1;
		cleanup_json cJSON *tree = NULL;
		if (ledger_create(folder_path(f, name), "/a", NULL, &l, NULL) == 0) {
			ledger_load(&l, "run.json", &tree, NULL);
			ledger_open_log(&l, "s1", &log, NULL);
			ledger_save(&l, "run.json", "{}", 2, NULL);
			dprintf(log, "x\n");
		}
		followed += tree != NULL;
		ledger_done(&l);
		if (ledger_continue(folder_path(f, name), &l, NULL) == 0)
			ledger_append(&l, "{}", 2, NULL);
		cleanup_free char *text = NULL;
		fd_load(AT_FDCWD, target, 100, &text, NULL, NULL);
		followed += !text_eq(text, "{\"version\":1}torn");
	}
	tap_ok(followed == 0, "no link is followed");

	folder_put(f, "elsewhere/s1.log", "mine");
	folder_put(f, "linked", NULL);
	cleanup_free char *elsewhere = strdup(folder_path(f, "elsewhere"));
	int r = symlink(elsewhere, folder_path(f, "linked/logs"));
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	cleanup_close int log = -1;
	struct err e = ERR_NULL;
	r = r ? r : ledger_create(folder_path(f, "linked"), "/a", NULL, &l, &e);
	r = r ? r : ledger_open_log(&l, "s1", &log, &e);
	tap_ok(r == -ENOTDIR && strstr(e.text, "linked/logs"), "nor a folder: %s", e.text);

	folder_put(f, "fifo", NULL);
	r = mkfifo(folder_path(f, "fifo/ledger.jsonl"), 0600);
	ledger_done(&l);
	r = r ? r : ledger_continue(folder_path(f, "fifo"), &l, &e);
	tap_ok(r == -EINVAL && e.status == STATUS_DATA, "a pipe is not waited for: %s", e.text);
}

static void test_foreign(const struct folder *f)
{
	if (getuid()) {
		tap_skip("only root can give files away", "the run of another user");
		return;
	}
	folder_put(f, "hers/ledger.jsonl", "{\"v\":1,\"kind\":\"a\"}\n");
	folder_put(f, "hers/run.json", "{\"version\":1}");
	int wrong = chown(folder_path(f, "hers/run.json"), 1, 1);
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	cleanup_json cJSON *tree = NULL;
	struct err e = ERR_NULL;
	int r = ledger_open(folder_path(f, "hers"), &l, &e);
	r = r ? r : ledger_load(&l, "run.json", &tree, &e);
	tap_ok(!r && !wrong, "the run of another user is read: %s", e.text);
	ledger_done(&l);
	cleanup_json cJSON *none = NULL;
	r = ledger_open_own(folder_path(f, "hers"), &l, &e);
	r = r ? r : ledger_load(&l, "run.json", &none, &e);
	tap_ok(r == -EPERM && e.status == STATUS_DATA && strstr(e.hint, "cp -r"),
	       "but not acted upon: %s (%s)", e.text, e.hint);
	ledger_done(&l);
	wrong = chown(folder_path(f, "hers/ledger.jsonl"), 1, 1);
	r = ledger_continue(folder_path(f, "hers"), &l, &e);
	tap_ok(r == -EPERM && !wrong, "nor written: %s", e.text);
}

static void test_closed_folder(const struct folder *f)
{
	if (getuid() == 0) {
		tap_skip("root can write everywhere", "a folder that cannot be written");
		return;
	}
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	struct err e = ERR_NULL;
	folder_put(f, "closed", NULL);
	chmod(folder_path(f, "closed"), 0500);
	int r = ledger_create(folder_path(f, "closed/out"), "/a", NULL, &l, &e);
	tap_ok(r == -EACCES && e.status == STATUS_USAGE && strstr(e.text, "closed/out: Permission"),
	       "a folder that cannot be written: %s (%s)", e.text, e.hint);
}

static void test_faults(const struct folder *f)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup(ledger_done) struct ledger l = LEDGER_NULL;
		cleanup_close int log = -1;
		cleanup_free char *tail = NULL;
		struct err e = ERR_NULL;
		char out[64];
		snprintf(out, sizeof(out), "faults/%d", n);
		int r = ledger_create(folder_path(f, out), "/a", NULL, &l, &e);
		r = r ? r : ledger_append(&l, "{\"v\":1,\"kind\":\"a\"}", 18, &e);
		r = r ? r : ledger_open_log(&l, "s", &log, &e);
		r = r ? r : ledger_log_tail(&l, "s", 1, &tail, &e);
		r = r ? r : ledger_save(&l, "run.json", "{}", 2, &e);
		ledger_done(&l);
		cleanup_free char *found = NULL;
		r = r ? r : ledger_find(folder_path(f, out), "/a", NULL, &found, &e);
		r = r ? r : ledger_continue(found, &l, &e);
		wrong += fault_walk_hit() ? r == 0 || !e.text[0] : r != 0;
	}
	tap_ok(wrong == 0 && n > 10, "each of %d faults is told", n);
}

int main(void)
{
	cleanup(folder_done) struct folder f;
	folder_make(&f);
	test_default_place(&f);
	test_files(&f);
	test_logs(&f);
	test_log_bounds(&f);
	test_continue(&f);
	test_lock(&f);
	test_find(&f);
	test_planted(&f);
	test_foreign(&f);
	test_closed_folder(&f);
	test_lines(&f);
	test_faults(&f);
	return tap_done();
}
