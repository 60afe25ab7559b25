/* The files sensor under both trackers: the same deeds must leave the same leaks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensor.h"
#include "probe/sensors/sensors.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "tests/lib/deeds.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/minicell.h"
#include "tests/lib/tap.h"

static const struct sensor *const only_files[] = { &sensor_files, NULL };

static struct fingerprint *first_look(const struct minicell *cell)
{
	struct fingerprint *f = NULL;
	struct err e = ERR_NULL;
	int r = fingerprint_new(&cell->v, only_files, &f, &e);
	if (!r)
		r = fingerprint_look(f, DELTA_STOOD, NULL, NULL, &e);
	if (r) {
		tap_ok(false, "the first look: %s", e.text);
		_exit(tap_done());
	}
	return f;
}

static struct fingerprint *begin(struct minicell *cell, bool watch)
{
	minicell_make(cell, watch);
	return first_look(cell);
}

static void end(struct fingerprint *f, struct minicell *cell)
{
	fingerprint_free(f);
	minicell_done(cell);
}

static void look(struct fingerprint *f, int by, struct delta_list *deltas)
{
	struct err e = ERR_NULL;
	if (fingerprint_look(f, by, deltas, NULL, &e))
		tap_ok(false, "look: %s", e.text);
}

/* ---- the table ---- */

static void act(void *with, size_t n)
{
	(void)with;
	minicell_do(deeds[n].act);
}

static void do_all(bool watch, struct buf *seen)
{
	const char *name = watch ? "fanotify" : "scan";
	struct minicell cell;
	struct err e = ERR_NULL;
	struct fingerprint *f = begin(&cell, watch);
	if (deeds_run(f, act, NULL, "", seen, &e))
		tap_ok(false, "%s: %s", name, e.text);
	const char *why;
	const char *how = fingerprint_tracker(f, &why);
	tap_ok(text_eq(how, name), "%s is what looked: %s", name, why ? why : "always");
	end(f, &cell);
}

static void test_same_leaks(void)
{
	cleanup(buf_done) struct buf watched = BUF_NULL;
	cleanup(buf_done) struct buf scanned = BUF_NULL;
	do_all(true, &watched);
	do_all(false, &scanned);
	deeds_check(&watched, &scanned);
}

/* ---- what is told beside leaks ---- */

static struct fingerprint *begin_with(struct minicell *cell, bool watch, void (*deed)(void))
{
	struct fingerprint *f = begin(cell, watch);
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	minicell_do(deed);
	look(f, 0, &deltas);
	return f;
}

/* Do it, look, and compare "what path" of all deltas of that kind. */
static void expect(struct fingerprint *f, void (*deed)(void), enum delta_kind kind,
		   const char *expected, const char *name)
{
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	cleanup(buf_done) struct buf seen = BUF_NULL;
	if (deed)
		minicell_do(deed);
	look(f, 1, &deltas);
	deeds_tell(&deltas, kind, false, "", &seen);
	if (!tap_ok(deeds_match(expected, seen.at), "%s", name))
		printf("# seen: %s\n", seen.at);
}

static void own_dir(void)
{
	put("tmp/fumehood/ours", "ours");
}

static void rewrite_and_unlink(void)
{
	deed_rewrite_equal();
	cleanup_close int fd = open("tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
	check(fd >= 0 && write(fd, "t", 1) == 1, "O_TMPFILE");
	cleanup_close int held = open("tmp/held", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
	drop("tmp/held");
	check(write(held, "t", 1) == 1, "write");
}

static void come_and_go_in_project(void)
{
	put("home/project/brief", "x");
	drop("home/project/brief");
}

static void undo_in_base(void)
{
	put("home/project/file", "other");
	put("home/project/file", "file");
}

static void test_touches(void)
{
	struct minicell cell;
	struct fingerprint *f = begin_with(&cell, true, deed_create);
	expect(f, deed_rewrite_equal, DELTA_LEAK, "content /tmp/b", "a rewrite");
	expect(f, rewrite_and_unlink, DELTA_TOUCH, "created /tmp/held|touched /tmp/b",
	       "equal bytes are a touch, what never had a name is none");
	expect(f, deed_come_and_go, DELTA_TOUCH,
	       "created /tmp/brief|created /tmp/briefdir|created /tmp/briefdir/f",
	       "what came and went is touched");
	expect(f, deed_copy_up_only, DELTA_TOUCH, "", "copying up is no touch");
	expect(f, undo_in_base, DELTA_TOUCH, "touched /home/project/file",
	       "what was written and undone in a lower file is");
	expect(f, come_and_go_in_project, DELTA_TOUCH, "created /home/project/brief",
	       "what came and went in the project is touched");
	expect(f, deed_read, DELTA_TOUCH, "", "reading is no touch");
	expect(f, own_dir, DELTA_TOUCH, "", "what is ours is not looked at");
	end(f, &cell);
}

static void read_two(void)
{
	deed_read();
	put("tmp/mine", "mine");
	cleanup_close int fd = open("tmp/mine", O_RDONLY | O_CLOEXEC);
	check(fd >= 0, "open");
	cleanup_close int folder = open("home", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(folder >= 0, "open");
}

static void test_met(void)
{
	struct minicell cell;
	struct fingerprint *f = begin_with(&cell, true, deed_create);
	struct delta_list deltas = DELTA_LIST_NULL;
	struct met_list met = { 0 };
	struct err e = ERR_NULL;
	minicell_do(read_two);
	int r = fingerprint_look(f, 1, &deltas, &met, &e);
	tap_ok(!r && met.len == 1 && text_eq(met.at[0].key, "/tmp/b") && met.at[0].from == 0,
	       "test 1 met what test 0 left, not what it made itself");
	met_list_done(&met);
	r = fingerprint_look(f, 2, &deltas, &met, &e);
	tap_ok(!r && met.len == 0, "our own reads are nobody's");
	met_list_done(&met);
	delta_list_done(&deltas);
	end(f, &cell);
}

static void bring_back(void)
{
	put("home/project/gone", "gone");
}

static void test_digests(bool watch)
{
	struct minicell cell;
	struct fingerprint *f = begin(&cell, watch);
	struct digest first = fingerprint_digest(f, "files");
	expect(f, deed_mode_of_base, DELTA_LEAK, "mode /home/project/dir/deep/x", "a mode changes");
	struct digest second = fingerprint_digest(f, "files");
	expect(f, deed_delete_base, DELTA_LEAK, "deleted /home/project/gone", "a file goes");
	struct digest third = fingerprint_digest(f, "files");
	expect(f, deed_restore_base, DELTA_LEAK, "mode /home/project/dir/deep/x", "the mode returns");
	expect(f, bring_back, DELTA_LEAK, "created /home/project/gone", "the file returns");
	tap_ok(digest_eq(first, fingerprint_digest(f, "files")) && !digest_eq(first, second) &&
		       !digest_eq(second, third) && !digest_eq(first, third),
	       "the digest is what it was before");
	end(f, &cell);
}

static void damage_some(void)
{
	drop("home/project/gone");
	drop("tmp/stood");
	drop("tmp/a");
}

static void test_damage(bool watch)
{
	struct minicell cell;
	minicell_make(&cell, watch);
	put("/tmp/stood", "stood");
	struct fingerprint *f = first_look(&cell);
	cleanup(delta_list_done) struct delta_list none = DELTA_LIST_NULL;
	minicell_do(deed_create);
	look(f, 0, &none);
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	minicell_do(damage_some);
	look(f, 1, &deltas);
	size_t damage = 0;
	size_t ours = 0;
	for (size_t i = 0; i < deltas.len; i++) {
		damage += deltas.at[i].damage;
		ours += !deltas.at[i].damage && text_eq(deltas.at[i].key, "/tmp/a") &&
			deltas.at[i].owner == 0;
	}
	tap_ok(deltas.len == 3 && damage == 2 && ours == 1,
	       "deleting what stood is damage, deleting what a test left is not");
	end(f, &cell);
}

/* ---- writes that no event tells of ---- */

static int orders[2];
static int answers[2];

static void answer(void)
{
	check(write(answers[1], "", 1) == 1, "answer");
}

/* Lives from test to test, and does what it is told to. */
static void linger(void)
{
	close(orders[1]);
	close(answers[0]);
	put("tmp/m", "mapped");
	put("tmp/n", "named");
	volatile char *in_tmp = map("tmp/m");
	volatile char *in_project = map("home/project/file");
	in_tmp[0] = 'M'; /* only the first store to a page moves a time */
	in_project[0] = 'F';
	int spliced = open("home/project/dir/same", O_RDWR | O_CLOEXEC);
	int nameless = open("tmp/n", O_WRONLY | O_APPEND | O_CLOEXEC);
	int source = open("home/project/dir/deep/x", O_RDONLY | O_CLOEXEC);
	put("tmp/h", "held");
	int held = open("tmp/h", O_RDWR | O_CLOEXEC);
	volatile char *in_held = NULL;
	check(link("tmp/n", "tmp/other") == 0 && unlink("tmp/n") == 0, "rename by hand");
	answer();
	for (char order; read(orders[0], &order, 1) == 1; answer()) {
		switch (order) {
		case 't':
			in_tmp[0]++;
			break;
		case 'p':
			in_project[0]++;
			break;
		case 's':
			check(sendfile(spliced, source, NULL, 1) == 1, "sendfile");
			break;
		case 'h': /* no open tells that it is mapped now */
			if (!in_held)
				in_held = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, held,
					       0);
			check(in_held != MAP_FAILED, "mmap");
			in_held[0]++;
			break;
		case 'n':
			check(write(nameless, "!", 1) == 1, "write");
			break;
		default:
			munmap((void *)in_tmp, 4096);
			munmap((void *)in_project, 4096);
			munmap((void *)in_held, 4096);
			close(held);
			close(spliced);
			close(nameless);
			break;
		}
	}
}

static void tell_it(char order)
{
	char done;
	check(write(orders[1], &order, 1) == 1 && read(answers[0], &done, 1) == 1, "an order");
}

static pid_t begin_to_linger(void)
{
	char ready;
	check(pipe2(orders, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0, "pipe");
	pid_t pid = minicell_start(linger);
	close(orders[0]);
	close(answers[1]);
	check(read(answers[0], &ready, 1) == 1, "it lives");
	return pid;
}

static void end_lingering(pid_t pid)
{
	close(orders[1]);
	close(answers[0]);
	minicell_wait(pid);
}

static void test_held(bool watch)
{
	static const struct {
		char order;
		const char *leaks;
		const char *name;
	} rows[] = {
		{ 't', "content /tmp/m", "a store through a held mapping" },
		{ 'p', "content /home/project/file", "the same through an overlay" },
		{ 's', "content /home/project/dir/same", "sendfile into an overlay" },
		{ 'h', "content /tmp/h", "a held descriptor is mapped later" },
		{ 'h', "content /tmp/h", "and stored to" },
		{ 'n', "content /tmp/other", "a write to what lost the name it was opened by" },
		{ 'e', "", "all is let go" },
	};
	struct minicell cell;
	struct fingerprint *f = begin(&cell, watch);
	pid_t pid = begin_to_linger();
	expect(f, NULL, DELTA_LEAK,
	       "content /home/project/file|created /tmp/h|created /tmp/m|created /tmp/other",
	       "it begins");
	expect(f, NULL, DELTA_LEAK, "", "it does nothing");
	for (size_t i = 0; i < countof(rows); i++) {
		tell_it(rows[i].order);
		expect(f, NULL, DELTA_LEAK, rows[i].leaks, rows[i].name);
	}
	end_lingering(pid);
	end(f, &cell);
}

static void test_unattributed(bool watch)
{
	struct minicell cell;
	struct fingerprint *f = begin(&cell, watch);
	pid_t pid = begin_to_linger();
	int proc = cell.v.proc;
	cell.v.proc = -1; /* no one can be asked */
	expect(f, NULL, DELTA_LEAK,
	       "content /home/project/file|created /tmp/h|created /tmp/m|created /tmp/other",
	       "it begins");
	usleep(50000); /* what a scan distrusts is read again */
	expect(f, NULL, DELTA_LEAK, "", "it does nothing");
	tell_it('t');
	expect(f, NULL, DELTA_LEAK, "", "nobody saw the store");
	struct delta_list deltas = DELTA_LIST_NULL;
	struct err e = ERR_NULL;
	int r = fingerprint_look_full(f, DELTA_STOOD, &deltas, &e);
	tap_ok(!r && deltas.len == 1 && text_eq(deltas.at[0].key, "/tmp/m"),
	       "but the last look reads everything again");
	delta_list_done(&deltas);
	cell.v.proc = proc;
	end_lingering(pid);
	end(f, &cell);
}

/* ---- many ---- */

#define MANY 20000 /* more than the 16384 events that the kernel keeps */

static void make_many(void)
{
	char path[32];
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "tmp/%d", i);
		put(path, path);
	}
}

static void make_many_folders(void)
{
	char path[32];
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "home/%d", i);
		make(path);
	}
}

static void change_one(void)
{
	add("tmp/777", "+");
}

static void test_overflow(void)
{
	struct minicell cell;
	struct fingerprint *f = begin(&cell, true);
	const char *why;
	expect(f, make_many, DELTA_LEAK, "+20000", "all of 20000 files are seen");
	const char *how = fingerprint_tracker(f, &why);
	tap_ok(text_eq(how, "fanotify") && why && strstr(why, "in 1 ") && strstr(why, "overflowed"),
	       "a scan took the place of lost events: %s", why);
	expect(f, change_one, DELTA_LEAK, "content /tmp/777", "then events go on");
	expect(f, make_many_folders, DELTA_LEAK, "+20000", "all of 20000 folders are seen");
	expect(f, change_one, DELTA_LEAK, "content /tmp/777", "and again events go on");
	struct delta_list deltas = DELTA_LIST_NULL;
	struct err e = ERR_NULL;
	tap_ok(!fingerprint_look_full(f, DELTA_STOOD, &deltas, &e) && deltas.len == 0,
	       "a full look of 40000 entries finds nothing");
	expect(f, change_one, DELTA_LEAK, "content /tmp/777", "events go on after it");
	fingerprint_tracker(f, &why);
	tap_ok(strstr(why, "in 2 "), "our own opens overflow nothing: %s", why);
	end(f, &cell);
}

/* Each move lengthens all paths below: one folder after the other around what is there. */
static void too_deep(void)
{
	char name[256];
	memset(name, 'd', 255);
	name[255] = '\0';
	check(chdir("tmp") == 0, "chdir");
	for (int i = 0; i < 70; i++) {
		make(name);
		check(chdir(name) == 0, "chdir");
	}
}

static void test_too_deep(bool watch)
{
	struct minicell cell;
	struct fingerprint *f = begin(&cell, watch);
	tap_ok(!fingerprint_blind(f, "files"), "all can be seen");
	expect(f, too_deep, DELTA_LEAK, "+63", "folders are seen down to 16384 bytes of path");
	tap_ok(fingerprint_blind(f, "files") != NULL, "and what is not is said: %s",
	       fingerprint_blind(f, "files"));
	end(f, &cell);
}

/* ---- faults ---- */

#define ROUNDS_MAX 1000

static int round_now; /* deeds of a round use names and contents of their own */

/* A path with a number in it, good until four more are asked for. */
static const char *numbered(const char *before, int n, const char *after)
{
	static char paths[4][64];
	static int turn;
	char *path = paths[turn++ % 4];
	snprintf(path, sizeof(paths[0]), "%s%d%s", before, n, after);
	return path;
}

static void many_trees(void)
{
	make(MINICELL_BASE "/many");
	for (int n = 1; n <= ROUNDS_MAX; n++) {
		make(numbered(MINICELL_BASE "/many/", n, ""));
		put(numbered(MINICELL_BASE "/many/", n, "/f"), "f");
	}
}

static void begin_rounds(void)
{
	deed_create();
	make("tmp/d0");
	put("tmp/d0/f", "f");
	check(symlink("0", "tmp/link") == 0, "symlink");
}

static void do_round(void)
{
	const char *number = numbered("", round_now, "");
	put("tmp/a", number);
	check(setxattr("tmp/a", "user.mark", number, strlen(number), 0) == 0, "setxattr");
	check(symlink(number, "tmp/new") == 0, "symlink");
	move("tmp/new", "tmp/link");
	move(numbered("tmp/d", round_now - 1, ""), numbered("tmp/d", round_now, ""));
	put("home/project/file", number);
	drop(numbered("home/project/many/", round_now, "/f"));
	drop(numbered("home/project/many/", round_now, ""));
}

static const char round_leaks[] =
	"content /home/project/file|content /tmp/a|created /tmp/d#|created /tmp/d#/f|"
	"deleted /home/project/many/#|deleted /home/project/many/#/f|deleted /tmp/d#|"
	"deleted /tmp/d#/f|target /tmp/link";

static void blur_numbers(char *text)
{
	char *to = text;
	for (const char *at = text; *at; to++) {
		size_t digits = strspn(at, "0123456789");
		*to = *at;
		if (digits)
			*to = '#';
		at += digits ? digits : 1;
	}
	*to = '\0';
}

/* Make a fingerprint while call n fails. */
static void fail_to_open(const struct vantage *v, const char *name)
{
	struct fingerprint *f = NULL;
	struct err e = ERR_NULL;
	int r = fingerprint_new(v, only_files, &f, &e);
	if (!r)
		r = fingerprint_look(f, DELTA_STOOD, NULL, NULL, &e);
	bool hit = fault_walk_hit();
	if (r && !(hit && e.code == -r && e.text[0]))
		tap_ok(false, "%s: the first look: %d, %s", name, r, e.text);
	fingerprint_free(f);
}

/* Look while call n fails, then once more: what both tell is all there is. */
static void fail_to_look(struct fingerprint *f, const char *name)
{
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	cleanup(buf_done) struct buf seen = BUF_NULL;
	struct delta_list rest = DELTA_LIST_NULL;
	struct err e = ERR_NULL;
	int r = fingerprint_look(f, 1, &deltas, NULL, &e);
	bool hit = fault_walk_hit();
	bool handled = !r || (hit && e.code == -r && e.text[0]);
	look(f, 1, &rest);
	delta_list_append(&deltas, &rest);
	deeds_tell(&deltas, DELTA_LEAK, false, "", &seen);
	blur_numbers(seen.at);
	if (!handled || !text_eq(seen.at, round_leaks)) {
		tap_ok(false, "%s: round %d: %d, %s", name, round_now, r, e.text);
		printf("# seen: %s\n", seen.at);
	}
}

static void test_faults(bool watch)
{
	const char *name = watch ? "fanotify" : "scan";
	struct minicell cell;
	minicell_make(&cell, watch);
	minicell_do(begin_rounds);
	int n = 1;
	for (; fault_walk_on(n); n++)
		fail_to_open(&cell.v, name);
	tap_ok(n > 10, "%s: each of %d calls of a first look failed once", name, n - 2);

	struct fingerprint *f = first_look(&cell);
	for (n = 1; n < ROUNDS_MAX; n++) {
		round_now = n;
		minicell_do(do_round);
		if (!fault_walk_on(n))
			break;
		fail_to_look(f, name);
	}
	tap_ok(n > 100 && n < ROUNDS_MAX, "%s: each of %d calls of a look failed once", name, n - 2);
	end(f, &cell);
}

/* ---- words ---- */

static void test_change(void)
{
	static const struct {
		const char *before, *after, *what;
	} rows[] = {
		{ "{\"type\":\"file\",\"mode\":\"0644\",\"size\":1,\"digest\":\"a\"}",
		  "{\"type\":\"file\",\"mode\":\"0600\",\"size\":1,\"digest\":\"a\"}", "mode" },
		{ "{\"type\":\"file\",\"mode\":\"0644\",\"size\":1,\"digest\":\"a\"}",
		  "{\"type\":\"file\",\"mode\":\"0600\",\"size\":1,\"digest\":\"b\"}", "content" },
		{ "{\"type\":\"file\",\"mode\":\"0644\",\"size\":1}",
		  "{\"type\":\"dir\",\"mode\":\"0644\"}", "type" },
		{ "{\"type\":\"dir\",\"mode\":\"0644\"}",
		  "{\"type\":\"dir\",\"mode\":\"0644\",\"gid\":7}", "owner" },
		{ "{\"type\":\"dir\",\"mode\":\"0644\",\"xattrs\":\"a\"}",
		  "{\"type\":\"dir\",\"mode\":\"0644\"}", "xattrs" },
		{ "{\"type\":\"link\",\"mode\":\"0777\",\"target\":\"\\\",\\\"uid\\\":1}a\"}",
		  "{\"type\":\"link\",\"mode\":\"0777\",\"target\":\"\\\",\\\"uid\\\":1}b\"}",
		  "target" },
	};
	for (size_t i = 0; i < countof(rows); i++)
		tap_ok(text_eq(sensor_files.change(rows[i].before, rows[i].after), rows[i].what),
		       "%s: %s", rows[i].what, rows[i].after);
}

static int inside(void)
{
	test_change();
	cJSON_InitHooks(&(struct cJSON_Hooks){ malloc, free });
	deeds_base(MINICELL_BASE);
	many_trees();
	test_same_leaks();
	test_touches();
	test_met();
	for (int watch = 0; watch <= 1; watch++) {
		test_faults(watch);
		test_digests(watch);
		test_damage(watch);
		test_held(watch);
		test_unattributed(watch);
		test_too_deep(watch);
	}
	test_overflow(); /* last: what it allocates makes every fork slow */
	return tap_done();
}

int main(void)
{
	return minicell_enter(inside);
}
