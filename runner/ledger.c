#include "runner/ledger.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/map.h"
#include "sandbox/base/text.h"

#define LEDGER_FILE  "ledger.jsonl"
#define LOCK_FILE    "lock"
#define LOGS         "logs"
#define LOGS_LEN     sizeof(LOGS) /* of "logs/" */
#define NAME_LEN_MAX 64           /* of the project's basename in a path */
#define FILE_LEN_MAX (64 << 20)
#define ID_TRIES     64
#define TAIL_LEN_MAX (64 << 10) /* bytes of a log that are looked at for its last lines */

/* Where the runs of a project are kept. */
static int runs_folder(const char *project, const char *home, char **ret, struct err *e)
{
	const char *state = getenv("XDG_STATE_HOME");
	bool own = state && state[0] == '/';
	if (!own && !home) {
		err_set(e, ENOENT, "you have no home directory to keep the run in");
		err_hint(e, "name a folder with --out DIR");
		return err_status(e, STATUS_USAGE);
	}
	char hex[DIGEST_HEX];
	digest_hex(digest_bytes(project, strlen(project)), hex);
	return asprintf(ret, "%s%s/fumehood/%.*s-%.8s/runs", own ? state : home,
			own ? "" : "/.local/state", NAME_LEN_MAX, strrchr(project, '/') + 1, hex) < 0
		       ? err_set(e, ENOMEM, "find the run folder")
		       : 0;
}

/* A new folder below runs: the time, so that they sort, and chance, so that two at once differ. */
static int new_run(const char *runs, char **ret, struct err *e)
{
	time_t now = time(NULL);
	struct tm utc;
	char stamp[32];
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
	for (int i = 0; i < ID_TRIES; i++) {
		unsigned short chance = 0;
		if (getrandom(&chance, sizeof(chance), 0) < 0)
			return err_sys(e, "name the run");
		cleanup_free char *path = NULL;
		if (asprintf(&path, "%s/%s-%04x", runs, stamp, chance) < 0)
			return err_set(e, ENOMEM, "name the run");
		if (mkdir(path, 0700) == 0) {
			*ret = take_ptr(&path);
			return 0;
		}
		if (errno != EEXIST)
			return err_sys(e, "make %s", path);
	}
	return err_set(e, EEXIST, "no free name for a run in %s", runs);
}

static int make_run_folder(const char *out, const char *project, const char *home, char **ret,
			   struct err *e)
{
	if (!out) {
		cleanup_free char *runs = NULL;
		int r = runs_folder(project, home, &runs, e);
		r = r ? r : fd_make_folders(runs, e);
		return r ? r : new_run(runs, ret, e);
	}
	int r = fd_make_folders(out, e);
	if (r)
		return r;
	*ret = realpath(out, NULL);
	return *ret ? 0 : err_sys(e, "%s", out);
}

/* The folder may lie where others can write: nothing in it is opened through a link or waited for, and
 * what is acted upon has to be the caller's own. */
static int open_plain(const struct ledger *l, const char *name, int flags, int *ret, struct err *e)
{
	cleanup_close int fd =
		openat(l->dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return err_sys(e, "open %s/%s", l->path, name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s/%s is no regular file", l->path, name);
	if (l->own && st.st_uid != geteuid()) {
		err_set(e, EPERM, "%s/%s belongs to another user (%u)", l->path, name, st.st_uid);
		err_hint(e,
			 "what it says would be run as you: look at it, then make it yours: "
			 "cp -r %s FOLDER",
			 l->path);
		return err_status(e, STATUS_DATA);
	}
	*ret = take_fd(&fd);
	return 0;
}

static int open_run_folder(const char *path, struct ledger *l, struct err *e)
{
	assert(path);
	l->dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (l->dir < 0)
		return err_sys(e, "open %s", path);
	return 0;
}

/* A lock of this process alone, so that nothing it leaves behind holds it; the kernel lets it go. */
static int lock(struct ledger *l, struct err *e)
{
	int r = open_plain(l, LOCK_FILE, O_RDWR | O_CREAT, &l->lock, e);
	if (r)
		return r;
	struct flock whole = { .l_type = F_WRLCK };
	if (fcntl(l->lock, F_SETLK, &whole) == 0)
		return 0;
	if (errno != EACCES && errno != EAGAIN)
		return err_sys(e, "lock %s", l->path);
	struct flock held = { .l_type = F_WRLCK };
	pid_t pid = fcntl(l->lock, F_GETLK, &held) == 0 && held.l_type != F_UNLCK ? held.l_pid : 0;
	err_set(e, EBUSY, "another fumehood (process %d) writes to %s", (int)pid, l->path);
	err_hint(e, "wait for it, or name another folder with --out DIR");
	return err_status(e, STATUS_USAGE);
}

static int begin(struct ledger *l, struct err *e)
{
	int r = lock(l, e);
	if (r)
		return r;
	l->lines = openat(l->dir, LEDGER_FILE, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC,
			  0600);
	if (l->lines < 0 && errno == EEXIST) {
		err_set(e, EEXIST, "%s holds a run already", l->path);
		err_hint(e,
			 "name another folder with --out, or remove this one; to go on with a "
			 "check that was cut short: check --resume %s",
			 l->path);
		return err_status(e, STATUS_USAGE);
	}
	if (l->lines < 0)
		return err_sys(e, "write %s/" LEDGER_FILE, l->path);
	if (mkdirat(l->dir, LOGS, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s/" LOGS, l->path);
	return 0;
}

/* A folder that cannot be written is the user's to mend. */
static int unwritable(struct err *e)
{
	if (e && !e->status && e->code != ENOMEM) {
		err_status(e, STATUS_USAGE);
		err_hint(e, "name a folder that can be written with --out DIR");
	}
	return e ? err_in(e, "the run folder") : -EIO;
}

int ledger_create(const char *out, const char *project, const char *home, struct ledger *ret,
		  struct err *e)
{
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	int r = make_run_folder(out, project, home, &l.path, e);
	r = r ? r : open_run_folder(l.path, &l, e);
	r = r ? r : begin(&l, e);
	if (r)
		return unwritable(e);
	*ret = take(&l, LEDGER_NULL);
	return 0;
}

int ledger_open(const char *path, struct ledger *ret, struct err *e)
{
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	l.path = realpath(path, NULL);
	if (!l.path) {
		err_sys(e, "%s", path);
		return err_status(e, STATUS_USAGE);
	}
	int r = open_run_folder(l.path, &l, e);
	if (!r)
		*ret = take(&l, LEDGER_NULL);
	return r;
}

/* Half a line, of a write that a kill cut short, would spoil the one that comes behind it. */
static int drop_torn(const struct ledger *l, struct err *e)
{
	char bytes[65536];
	off_t end = lseek(l->lines, 0, SEEK_END);
	off_t whole = end;
	const char *newline = NULL;
	ssize_t len = 0;
	while (whole > 0 && len >= 0 && !newline) {
		off_t from = whole > (off_t)sizeof(bytes) ? whole - (off_t)sizeof(bytes) : 0;
		len = pread(l->lines, bytes, (size_t)(whole - from), from);
		newline = len > 0 ? memrchr(bytes, '\n', (size_t)len) : NULL;
		whole = newline ? from + (newline + 1 - bytes) : from;
	}
	if (end < 0 || len < 0 || (whole != end && ftruncate(l->lines, whole)))
		return err_sys(e, "go on with %s/" LEDGER_FILE, l->path);
	return 0;
}

int ledger_open_own(const char *path, struct ledger *ret, struct err *e)
{
	int r = ledger_open(path, ret, e);
	ret->own = !r;
	return r;
}

int ledger_continue(const char *path, struct ledger *ret, struct err *e)
{
	cleanup(ledger_done) struct ledger l = LEDGER_NULL;
	int r = ledger_open_own(path, &l, e);
	r = r ? r : lock(&l, e);
	if (r)
		return r;
	r = open_plain(&l, LEDGER_FILE, O_RDWR | O_APPEND, &l.lines, e);
	if (r)
		return err_status(e, STATUS_DATA);
	r = drop_torn(&l, e);
	if (!r)
		*ret = take(&l, LEDGER_NULL);
	return r;
}

static int list_runs(const char *runs, struct strv *ret, struct err *e)
{
	assert(runs);
	struct dirent **entries = NULL;
	int n = scandir(runs, &entries, NULL, alphasort);
	if (n < 0)
		return errno == ENOENT ? 0 : err_sys(e, "look into %s", runs);
	int r = 0;
	for (int i = 0; i < n; i++) {
		if (!r && entries[i]->d_name[0] != '.')
			r = strv_add(ret, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return r ? err_set(e, ENOMEM, "look into %s: no memory", runs) : 0;
}

static int no_such_run(const char *run, const char *runs, const struct strv *names, struct err *e)
{
	err_set(e, ENOENT, "there is no run %s, neither as a folder nor in %s", run, runs);
	const char *near = text_nearest(run, (const char *const *)names->at, names->len);
	if (near)
		err_hint(e, "did you mean %s?", near);
	else if (names->len)
		err_hint(e, "the latest is %s", names->at[names->len - 1]);
	return err_status(e, STATUS_USAGE);
}

int ledger_find(const char *run, const char *project, const char *home, char **ret, struct err *e)
{
	struct stat st;
	if (strchr(run, '/') || (stat(run, &st) == 0 && S_ISDIR(st.st_mode))) {
		*ret = strdup(run);
		return *ret ? 0 : err_set(e, ENOMEM, "find the run: no memory");
	}
	cleanup_free char *runs = NULL;
	cleanup(strv_done) struct strv names = STRV_NULL;
	int r = runs_folder(project, home, &runs, e);
	r = r ? r : list_runs(runs, &names, e);
	if (r)
		return r;
	const char *name = text_eq(run, RUN_LATEST) && names.len ? names.at[names.len - 1] : run;
	if (!strv_has(&names, name))
		return no_such_run(run, runs, &names, e);
	return asprintf(ret, "%s/%s", runs, name) < 0 ? err_set(e, ENOMEM, "find the run") : 0;
}

void ledger_done(struct ledger *l)
{
	free(l->path);
	fd_close_at(&l->dir);
	fd_close_at(&l->lines);
	fd_close_at(&l->lock);
	*l = LEDGER_NULL;
}

static int full(const struct ledger *l, const char *name, struct err *e)
{
	int code = errno;
	err_sys(e, "write %s/%s", l->path, name);
	if (code == EFBIG)
		err_hint(e, "files may not grow as far as this one has to: see ulimit -f");
	if (code == ENOSPC || code == EDQUOT)
		err_hint(e, "free some room there, or name another folder with --out DIR");
	return err_status(e, STATUS_HOST);
}

int ledger_append(struct ledger *l, const char *line, size_t len, struct err *e)
{
	assert(l->lines >= 0 && !memchr(line, '\n', len));
	if (len >= LEDGER_LINE_MAX)
		return err_set(e, EMSGSIZE, "a line of the ledger is over %d bytes", LEDGER_LINE_MAX);
	cleanup_free char *whole = malloc(len + 1);
	if (!whole)
		return err_set(e, ENOMEM, "write the ledger");
	memcpy(whole, line, len);
	whole[len] = '\n';

	fault_point("ledger-append");
	off_t end = lseek(l->lines, 0, SEEK_END);
	if (end >= 0 && fd_write_full(l->lines, whole, len + 1) == 0)
		return 0;
	int code = errno;
	/* Half a line in the middle would spoil all that come after it. */
	if (end >= 0 && ftruncate(l->lines, end) < 0)
		return err_sys(e, "write %s/" LEDGER_FILE, l->path);
	errno = code;
	return full(l, LEDGER_FILE, e);
}

static int open_logs(const struct ledger *l, int *ret, struct err *e)
{
	*ret = openat(l->dir, LOGS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret < 0 ? err_sys(e, "open %s/" LOGS, l->path) : 0;
}

/* Below the run folder; from LOGS_LEN on, below its logs. */
static int log_name(const char *order, char **ret, struct err *e)
{
	assert(!strchr(order, '/'));
	return asprintf(ret, LOGS "/%s.log", order) < 0 ? err_set(e, ENOMEM, "open the log") : 0;
}

int ledger_open_log(struct ledger *l, const char *order, int *ret, struct err *e)
{
	cleanup_free char *name = NULL;
	cleanup_close int logs = -1;
	int r = log_name(order, &name, e);
	r = r ? r : open_logs(l, &logs, e);
	if (r)
		return r;
	/* One of a run that was killed; where others can write, perhaps a link of theirs. */
	if (unlinkat(logs, name + LOGS_LEN, 0) && errno != ENOENT)
		return full(l, name, e);
	int fd = openat(logs, name + LOGS_LEN, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC,
			0600);
	if (fd < 0)
		return full(l, name, e);
	*ret = fd;
	return 0;
}

static uint64_t log_max(const struct ledger *l, const struct ledger_log *log)
{
	uint64_t left = l->logged < LEDGER_LOGS_MAX ? LEDGER_LOGS_MAX - l->logged : 0;
	uint64_t max = log->len + left < LEDGER_LOG_MAX ? log->len + left : LEDGER_LOG_MAX;
	return max > LEDGER_LOG_LEAST ? max : LEDGER_LOG_LEAST;
}

int ledger_log(struct ledger *l, struct ledger_log *log, const char *bytes, size_t len)
{
	static const char cut[] = "\nfumehood: the log ends here: of an order 256 MiB are kept, of "
				  "all orders 1 GiB, and then 1 MiB of each\n";
	if (log->cut)
		return 0;
	uint64_t room = log_max(l, log) - log->len;
	size_t part = len < room ? len : (size_t)room;
	if (fd_write_full(log->fd, bytes, part))
		return -1;
	log->len += part;
	l->logged += part;
	log->cut = part < len;
	return log->cut ? fd_write_full(log->fd, cut, sizeof(cut) - 1) : 0;
}

int ledger_log_tail(const struct ledger *l, const char *order, size_t lines_max, char **ret,
		    struct err *e)
{
	cleanup_free char *name = NULL;
	cleanup_close int logs = -1;
	int r = log_name(order, &name, e);
	r = r ? r : open_logs(l, &logs, e);
	if (r)
		return r;
	cleanup_close int fd =
		openat(logs, name + LOGS_LEN, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open %s/%s", l->path, name);
	off_t len = lseek(fd, 0, SEEK_END);
	off_t from = len > TAIL_LEN_MAX ? len - TAIL_LEN_MAX : 0;
	cleanup_free char *text = calloc(1, TAIL_LEN_MAX + 1);
	if (!text)
		return err_set(e, ENOMEM, "read %s", name);
	if (len < 0 || lseek(fd, from, SEEK_SET) < 0 || fd_read_full(fd, text, TAIL_LEN_MAX) < 0)
		return err_sys(e, "read %s/%s", l->path, name);
	size_t end = strlen(text);
	while (end && text[end - 1] == '\n')
		end--;
	text[end] = '\0';
	size_t start = end;
	for (size_t lines = 0; start; start--)
		if (text[start - 1] == '\n' && ++lines == lines_max)
			break;
	*ret = strdup(text + start);
	return *ret ? 0 : err_set(e, ENOMEM, "read %s", name);
}

int ledger_save(struct ledger *l, const char *name, const char *text, size_t len, struct err *e)
{
	cleanup_free char *fresh = NULL;
	if (asprintf(&fresh, "%s.new", name) < 0)
		return err_set(e, ENOMEM, "write %s", name);
	if (unlinkat(l->dir, fresh, 0) && errno != ENOENT)
		return full(l, name, e);
	cleanup_close int fd = openat(l->dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return full(l, name, e);
	int r = fd_write_full(fd, text, len);
	fault_point("ledger-save");
	if (!r && renameat(l->dir, fresh, l->dir, name) == 0)
		return 0;
	int code = errno;
	unlinkat(l->dir, fresh, 0);
	errno = code;
	return full(l, name, e);
}

int ledger_load(const struct ledger *l, const char *name, cJSON **ret, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	cleanup_close int fd = -1;
	int r = open_plain(l, name, O_RDONLY, &fd, e);
	r = r ? r : fd_load_open(fd, name, FILE_LEN_MAX, &text, &len, e);
	if (r)
		return r;
	cleanup_json cJSON *tree = NULL;
	r = json_parse(name, text, len, &tree, e);
	if (r)
		return r;
	if (json_number(tree, "version", 0) != LEDGER_VERSION) {
		err_set(e, EINVAL, "%s/%s is of a version that is not known", l->path, name);
		return err_status(e, STATUS_DATA);
	}
	*ret = take_ptr(&tree);
	return 0;
}

static int read_line(const struct ledger *l, size_t number, const char *text, size_t len,
		     cJSON **ret, struct err *e)
{
	cleanup_json cJSON *line = NULL;
	const char *why = "is no JSON object";
	if (memchr(text, '\0', len) == NULL)
		line = cJSON_ParseWithLength(text, len);
	if (cJSON_IsObject(line) && json_text(line, "kind")) {
		if (json_number(line, "v", 0) == LEDGER_VERSION) {
			*ret = take_ptr(&line);
			return 0;
		}
		why = "is of a version that is not known";
	}
	err_set(e, EINVAL, "%s/" LEDGER_FILE ":%zu: this line %s", l->path, number, why);
	return err_status(e, STATUS_DATA);
}

static int open_lines(const struct ledger *l, FILE **ret, struct err *e)
{
	cleanup_close int fd = -1;
	if (open_plain(l, LEDGER_FILE, O_RDONLY, &fd, e))
		return err_status(e, STATUS_DATA);
	FILE *in = fdopen(fd, "re");
	if (!in)
		return err_sys(e, "open %s/" LEDGER_FILE, l->path);
	fd = -1; /* the stream's */
	*ret = in;
	return 0;
}

/* The next whole line; a last one without its end is torn: the run was killed while it wrote. */
static bool next_line(FILE *in, char **text, size_t *cap, size_t *ret_len)
{
	ssize_t len = getline(text, cap, in);
	if (len <= 0 || (*text)[len - 1] != '\n')
		return false;
	*ret_len = (size_t)len - 1;
	return true;
}

/* The number of the line at which each order began last. */
static int find_begins(FILE *in, struct map *ret)
{
	static const char kind[] = "\"begin\"";
	cleanup_free char *text = NULL;
	size_t cap = 0;
	size_t len;
	for (size_t number = 1; next_line(in, &text, &cap, &len); number++) {
		if (!memmem(text, len, kind, strlen(kind)))
			continue;
		cleanup_json cJSON *line = cJSON_ParseWithLength(text, len);
		const char *order = json_text(line, "order");
		if (!order || !text_eq(json_text(line, "kind"), "begin"))
			continue;
		if (map_put(ret, order, (void *)number)) // NOLINT(performance-no-int-to-ptr)
			return -ENOMEM;
	}
	return 0;
}

static int each_line(const struct ledger *l, FILE *in, const struct map *begins,
		     int (*each)(void *with, const char *kind, const cJSON *line, struct err *e),
		     void *with, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t cap = 0;
	size_t len;
	int r = 0;
	for (size_t number = 1; !r && next_line(in, &text, &cap, &len); number++) {
		cleanup_json cJSON *line = NULL;
		r = read_line(l, number, text, len, &line, e);
		const char *order = r ? NULL : json_text(line, "order");
		bool is_void = order && number < (size_t)map_get(begins, order) &&
			       !text_eq(json_text(line, "kind"), "begin");
		if (!r && !is_void)
			r = each(with, json_text(line, "kind"), line, e);
	}
	return r;
}

int ledger_each(const struct ledger *l,
		int (*each)(void *with, const char *kind, const cJSON *line, struct err *e),
		void *with, struct err *e)
{
	FILE *in = NULL;
	int r = open_lines(l, &in, e);
	if (r)
		return r;
	cleanup(map_done) struct map begins = MAP_NULL(NULL);
	if (find_begins(in, &begins))
		r = err_set(e, ENOMEM, "read %s/" LEDGER_FILE ": no memory", l->path);
	rewind(in);
	r = r ? r : each_line(l, in, &begins, each, with, e);
	if (!r && !feof(in)) /* an error, or a line that the memory does not hold */
		r = err_sys(e, "read %s/" LEDGER_FILE, l->path);
	fclose(in);
	return r;
}
