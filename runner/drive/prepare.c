#include "runner/drive/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/adapter.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cause.h"
#include "sandbox/closed.h"
#include "sandbox/env.h"
#include "sandbox/secrets.h"
#include "sandbox/sockets.h"

#define DESCRIPTORS_MIN 128
#define FILE_LEN_MIN    (1 << 20)
#define INODES_MIN      16384

/* In place of an adapter where none is to speak. */
static const char *const no_command[] = { NULL };
static const struct adapter nobody = { .command = no_command };

void prepared_done(struct prepared *p)
{
	strv_done(&p->env);
	strv_done(&p->texts);
	strv_done(&p->notes);
	keeps_done(&p->keeps);
	strv_done(&p->homes);
	visible_done(&p->visible);
	free(p->zones);
	free(p->binds);
	free(p->files);
	free(p->errands);
	free(p->forwards);
	scratch_disk_done(&p->disk);
	*p = PREPARED_NULL;
}

static int no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "prepare the cell: no memory");
}

/* Keeps text for as long as the spec; NULL: no memory. */
static const char *keep(struct prepared *p, char *text)
{
	return strv_adopt(&p->texts, text) ? NULL : p->texts.at[p->texts.len - 1];
}

__attribute__((format(printf, 2, 3))) static const char *keepf(struct prepared *p, const char *fmt,
							       ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, fmt);
	int len = vasprintf(&text, fmt, args);
	va_end(args);
	return len < 0 ? NULL : keep(p, text);
}

/* ---- names of places ---- */

/* Without namespaces nothing can stand in the place of something else. */
static int name_places(struct prepared *p, const struct config *c, struct err *e)
{
	struct cell_spec *spec = &p->spec;
	struct prepared_places *at = &p->places;
	const char *top = spec->top;
	const char *below = c->project.cwd + strlen(c->project.path);
	at->tmp = keepf(p, "%s/tmp", top ? top : "");
	at->run = keepf(p, "%s/run", top ? top : "");
	at->own = keepf(p, "%s" CELL_RUN_DIR, top ? top : "");
	at->home = top ? keepf(p, "%s/home", top) : c->home;
	at->cache = keepf(p, "%s/.cache", at->home ? at->home : at->tmp);
	at->project = top ? keepf(p, "%s/project", top) : c->project.path;
	spec->project_seen = at->project;
	if (top && at->project)
		spec->cwd = keepf(p, "%s%s", at->project, below);
	bool all = at->tmp && at->run && at->own && at->cache && at->project && spec->cwd &&
		   (at->home || !top);
	return all ? 0 : no_memory(e);
}

/* text with ${CACHE}, ${TMP} and ${ADAPTER} filled in; the caller's. NULL: no memory. */
static char *expand(const char *text, const struct prepared_places *at)
{
	const struct {
		const char *name, *value, *below;
	} places[] = { { "${CACHE}", at->cache, "" },
		       { "${TMP}", at->tmp, "" },
		       { "${ADAPTER}", at->own, "/adapter" } };
	cleanup(buf_done) struct buf out = BUF_NULL;
	int r = buf_reserve(&out, 0);
	while (*text && !r) {
		size_t i = 0;
		while (i < countof(places) && !text_starts(text, places[i].name))
			i++;
		if (i < countof(places)) {
			r = buf_printf(&out, "%s%s", places[i].value, places[i].below);
			text += strlen(places[i].name);
		} else {
			r = buf_add(&out, text++, 1);
		}
	}
	return r ? NULL : take_ptr(&out.at);
}

/* ---- environment ---- */

#define PREPEND "${PREPEND}"

/* "NAME=VALUE" of an adapter's row. */
static int read_setting(struct prepared *p, const char *row, struct env_setting *ret)
{
	const char *name = keep(p, expand(row, &p->places));
	if (!name)
		return -ENOMEM;
	char *value = strchr(name, '=');
	*value++ = '\0';
	*ret = (struct env_setting){ .name = name, .value = value };
	if (text_starts(value, PREPEND)) {
		ret->between = value[strlen(PREPEND)];
		ret->value = value + strlen(PREPEND) + 1;
	}
	return 0;
}

static int make_env(struct prepared *p, const struct config *c, const struct adapter *adapter,
		    const char *const *caller, struct err *e)
{
	struct env_setting settings[32];
	size_t n = 0;
	const char *socket = keepf(p, "%s/socket", p->places.own);
	if (!socket)
		return no_memory(e);
	const char *term = env_get(caller, "TERM");
	if (adapter == &nobody && term && (c->tty || isatty(STDOUT_FILENO)))
		settings[n++] = (struct env_setting){ .name = "TERM", .value = term };
	if (adapter != &nobody)
		settings[n++] = (struct env_setting){ .name = "FUMEHOOD_SOCKET", .value = socket };
	for (const char *const *row = adapter->env; row && *row; row++) {
		if (n == countof(settings))
			return err_set(e, E2BIG, "adapter %s sets over %zu variables",
				       adapter->name, countof(settings));
		if (read_setting(p, *row, &settings[n++]))
			return no_memory(e);
	}
	struct env_ask ask = {
		.uid = p->spec.uid,
		.user = p->spec.user,
		.home = p->places.home,
		.top = p->spec.top,
		.path = p->visible.path,
		.caller = caller,
		.tools = (const char *const *)p->visible.tools.at,
		.settings = settings,
		.settings_len = n,
		.pass = (const char *const *)c->pass.at,
		.set = (const char *const *)c->env.at,
	};
	return env_build(&ask, &p->env, e);
}

/* A variable that is not there cannot be passed on. */
static int note_missing(struct prepared *p, const struct config *c, const char *const *caller,
			struct err *e)
{
	for (size_t i = 0; i < c->pass.len; i++)
		if (!env_get(caller, c->pass.at[i]) &&
		    strv_addf(&p->notes, "not set outside, and so not passed on: %s", c->pass.at[i]))
			return no_memory(e);
	return 0;
}

/* ---- what is seen ---- */

/* `whose`: no folder of the system, which daemons have for a home. */
static int add_home(struct prepared *p, const char *path, uid_t whose)
{
	struct stat st;
	const struct cell_spec *spec = &p->spec;
	cleanup_free char *home = path ? realpath(path, NULL) : NULL;
	if (!home || text_eq(home, "/") || stat(home, &st) < 0 || st.st_uid != whose ||
	    path_below(home, spec->project) || (spec->home && path_below(home, spec->home)))
		return 0;
	for (size_t i = 0; i < p->homes.len; i++)
		if (path_below(home, p->homes.at[i]))
			return 0;
	return strv_adopt(&p->homes, take_ptr(&home));
}

/* Root could read those of others; and that of the passwd database, under another HOME. */
static int find_homes(struct prepared *p, struct err *e)
{
	struct stat st;
	struct cell_spec *spec = &p->spec;
	if (spec->uid != 0 || stat(spec->project, &st) < 0)
		return 0;
	int r = add_home(p, VISIBLE_HOMES, 0);
	if (!r)
		r = add_home(p, p->passwd_home, 0);
	const struct passwd *owner = getpwuid(st.st_uid);
	if (!r && owner)
		r = add_home(p, owner->pw_dir, st.st_uid);
	spec->homes = (const char *const *)p->homes.at;
	spec->homes_len = p->homes.len;
	return r ? no_memory(e) : 0;
}

/* Under another HOME the home of the passwd database stays in sight; its secrets do not. */
static int hide_other_home(struct prepared *p, struct err *e)
{
	cleanup_free char *home = p->passwd_home ? realpath(p->passwd_home, NULL) : NULL;
	if (!home || text_eq(home, p->spec.home) || !p->spec.uid)
		return 0;
	for (size_t i = 0; i < secrets_len; i++) {
		char path[PATH_MAX];
		if (snprintf(path, sizeof(path), "%s/%s", home, secrets[i]) >= PATH_MAX)
			continue;
		cleanup_free char *real = realpath(path, NULL);
		bool elsewhere = real && !(p->spec.home && path_below(real, p->spec.home));
		if (elsewhere && strv_add(&p->visible.hidden, real))
			return no_memory(e);
	}
	return 0;
}

/* A socket of the host is no file: a read-only mount does not close it. */
static int hide_sockets(struct prepared *p, struct err *e)
{
	cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_free char *text = NULL;
	cleanup(strv_done) struct strv found = STRV_NULL;
	if (root < 0)
		return err_sys(e, "open /");
	int r = fd_load(root, "proc/net/unix", SOCKETS_TEXT_MAX, &text, NULL, e);
	if (r)
		return cause_explain(CAUSE_AT_INSIDE, NULL, e);
	r = sockets_find(root, text, &found, e);
	for (size_t i = 0; i < found.len && !r; i++)
		if (strv_add(&p->visible.hidden, found.at[i]))
			return no_memory(e);
	return r;
}

static int add_all(struct strv *v, const char *const *texts, size_t n)
{
	int r = 0;
	for (size_t i = 0; i < n && !r; i++)
		r = strv_add(v, texts[i]);
	return r;
}

/* What is seen or covered, closed or not. */
static int list_known(const struct prepared *p, const struct config *c, struct strv *ret)
{
	const char *const own[] = { p->spec.project, p->spec.home, p->spec.git_dir };
	int r = add_all(ret, p->spec.homes, p->spec.homes_len);
	r = r ? r : add_all(ret, (const char *const *)c->expose.at, c->expose.len);
	for (size_t i = 0; i < countof(own) && !r; i++)
		r = own[i] ? strv_add(ret, own[i]) : 0;
	for (size_t i = 0; i < p->visible.len && !r; i++)
		r = strv_add(ret, p->visible.rows[i].path);
	return r;
}

/* Root's suite is no more than a user when it reads what is the host's. */
static int hide_closed(struct prepared *p, const struct config *c, struct err *e)
{
	struct stat st;
	if (p->spec.uid != 0 || p->spec.isolation == CELL_ISOLATION_LANDLOCK ||
	    stat(p->spec.project, &st) < 0)
		return 0;
	cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(strv_done) struct strv known = STRV_NULL;
	cleanup(strv_done) struct strv found = STRV_NULL;
	if (root < 0)
		return err_sys(e, "open /");
	if (list_known(p, c, &known))
		return no_memory(e);
	const struct closed_ask ask = { root, st.st_uid, st.st_gid, &known };
	int r = closed_find(&ask, &found, e);
	for (size_t i = 0; i < found.len && !r; i++)
		r = strv_add(&p->visible.hidden, found.at[i]) ? no_memory(e) : 0;
	return r;
}

static int find_visible(struct prepared *p, const struct config *c, const char *const *caller,
			struct err *e)
{
	cleanup_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_sys(e, "open /");
	const char *command = p->spec.argv[0];
	cleanup_free char *absolute = NULL;
	if (strchr(command, '/') &&
	    asprintf(&absolute, "%s%s%s", command[0] == '/' ? "" : c->project.cwd,
		     command[0] == '/' ? "" : "/", command) < 0)
		return no_memory(e);
	struct visible_ask ask = {
		.root = root,
		.home = c->home,
		.homes = p->spec.homes,
		.homes_len = p->spec.homes_len,
		.project = c->project.path,
		.command = absolute ? absolute : command,
		.caller = caller,
		.expose = (const char *const *)c->expose.at,
	};
	return visible_find(&ask, &p->visible, e);
}

static int make_binds(struct prepared *p, struct err *e)
{
	p->binds = calloc(p->visible.len + 1, sizeof(*p->binds));
	if (!p->binds)
		return no_memory(e);
	for (size_t i = 0; i < p->visible.len; i++)
		p->binds[i] = (struct cell_bind){ p->visible.rows[i].path, p->visible.rows[i].path };
	p->spec.binds = p->binds;
	p->spec.binds_len = p->visible.len;
	p->spec.hidden = (const char *const *)p->visible.hidden.at;
	p->spec.hidden_len = p->visible.hidden.len;
	return 0;
}

static int make_files(struct prepared *p, const struct adapter *adapter, struct err *e)
{
	p->files = calloc(adapter->files_len + 1, sizeof(*p->files));
	if (!p->files)
		return no_memory(e);
	for (size_t i = 0; i < adapter->files_len; i++) {
		const struct adapter_file *file = &adapter->files[i];
		const char *name = keepf(p, "adapter/%s", file->name);
		if (!name)
			return no_memory(e);
		p->files[i] = (struct cell_file){ name, file->text,
						  (size_t)(file->text_end - file->text) };
	}
	p->spec.files = p->files;
	p->spec.files_len = adapter->files_len;
	return 0;
}

static int make_errands(struct prepared *p, const struct config *c, struct err *e)
{
	p->errands = calloc(c->custom.len + 1, sizeof(*p->errands));
	if (!p->errands)
		return no_memory(e);
	for (size_t i = 0; i < c->custom.len; i++) {
		const struct probe *probe = &c->custom.at[i];
		p->errands[i].argv = (const char *const *)probe->run.at;
		p->probes[i] = probe->name;
		p->probe_ms[i] = probe->timeout_ms;
	}
	p->spec.errands = p->errands;
	p->spec.errands_len = c->custom.len;
	return 0;
}

/* ---- zones ---- */

static int add_zone(struct prepared *p, const char *path, const char *zone)
{
	if (!path)
		return -ENOMEM;
	struct vantage_zone *more = reallocarray(p->zones, p->zones_len + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->zones = more;
	p->zones[p->zones_len++] = (struct vantage_zone){ path, zone };
	return 0;
}

static int add_state_dirs(struct prepared *p, const char *const *dirs)
{
	const char *project = p->places.project;
	for (; dirs && *dirs; dirs++) {
		cleanup_free char *dir = expand(*dirs, &p->places);
		if (!dir)
			return -ENOMEM;
		const char *path = text_eq(dir, ".")      ? project
				   : strchr("/*", dir[0]) ? keepf(p, "%s", dir)
							  : keepf(p, "%s/%s", project, dir);
		if (add_zone(p, path, "state"))
			return -ENOMEM;
	}
	return 0;
}

static int make_zones(struct prepared *p, const struct config *c, const struct adapter *adapter,
		      struct err *e)
{
	const struct prepared_places *at = &p->places;
	const char *top = p->spec.top;
	int r = add_zone(p, at->tmp, "tmp");
	r = r ? r : add_zone(p, top ? keepf(p, "%s/var-tmp", top) : "/var/tmp", "tmp");
	r = r ? r : add_zone(p, at->run, "tmp");
	r = r ? r : add_zone(p, "/dev/shm", "shm");
	r = r ? r : add_zone(p, at->cache, "cache");
	if (!r && at->home)
		r = add_zone(p, at->home, "home");
	r = r ? r : add_zone(p, at->project, "source");
	r = r ? r : add_state_dirs(p, adapter->state_dirs);
	r = r ? r : add_state_dirs(p, (const char *const *)c->state_dirs.at);
	return r ? no_memory(e) : 0;
}

/* ---- ports, and where the scratch lies ---- */

static int make_forwards(struct prepared *p, const struct config *c, struct err *e)
{
	p->forwards = calloc(c->forwards.len + 1, sizeof(*p->forwards));
	if (!p->forwards)
		return no_memory(e);
	for (size_t i = 0; i < c->forwards.len; i++)
		p->forwards[i] = (uint16_t)strtoul(c->forwards.at[i], NULL, 10);
	p->spec.forwards = p->forwards;
	p->spec.forwards_len = c->forwards.len;
	return 0;
}

static int refuse_scratch(const char *why, const char *hint, struct err *e)
{
	err_set(e, EINVAL, "--scratch: %s", why);
	err_hint(e, "%s", hint);
	return err_status(e, STATUS_USAGE);
}

static int find_scratch(struct prepared *p, const struct config *c, struct err *e)
{
	if (!c->scratch)
		return 0;
	if (c->scratch_bytes)
		return refuse_scratch("--scratch-size is a limit of memory, and a disk has its own",
				      "leave one of them out; --scratch-size 0 takes back what "
				      "fumehood.json says",
				      e);
	if (c->tracker == CONFIG_TRACKER_FANOTIFY)
		return refuse_scratch("--tracker fanotify cannot watch a folder on a disk",
				      "leave one of them out", e);
	char *real = realpath(c->scratch, NULL);
	if (!real) {
		err_sys(e, "--scratch: %s", c->scratch);
		return err_status(e, STATUS_USAGE);
	}
	p->spec.scratch_dir = keep(p, real);
	return p->spec.scratch_dir ? 0 : no_memory(e);
}

/* What is asked of the files needs somebody who looks at them. */
static int check_without(const struct config *c, struct err *e)
{
	const char *asked = c->contain ? "contain" : "restore";
	if ((!c->contain && !c->restore) || !strv_has(&c->without, "files"))
		return 0;
	err_set(e, EINVAL, "--%s is about files, which --without leaves out", asked);
	err_hint(e, "leave one of them out; --no-%s takes back what fumehood.json says", asked);
	return err_status(e, STATUS_USAGE);
}

static int refuse_with_landlock(const char *option, struct err *e)
{
	err_set(e, EINVAL, "--isolation landlock: %s needs namespaces", option);
	err_hint(e, "leave one of them out");
	return err_status(e, STATUS_USAGE);
}

/* A folder of the host is the scratch, and the private places have names below it. */
static int make_top(struct prepared *p, const struct config *c, struct err *e)
{
	if (c->isolation != CELL_ISOLATION_LANDLOCK)
		return 0;
	if (c->scratch_bytes)
		return refuse_with_landlock("--scratch-size", e);
	if (c->forwards.len)
		return refuse_with_landlock("--forward", e);
	if (c->tracker == CONFIG_TRACKER_FANOTIFY)
		return refuse_with_landlock("--tracker fanotify", e);
	if (c->allow_nested)
		return refuse_with_landlock("--allow-nested", e);
	if (c->custom.len)
		return refuse_with_landlock("--custom", e);
	const char *asked = getenv("TMPDIR");
	char *real = p->spec.scratch_dir ? NULL : realpath(asked ? asked : "/tmp", NULL);
	if (real)
		p->spec.scratch_dir = keep(p, real);
	if (!p->spec.scratch_dir) {
		err_sys(e, "find a folder for temporary files: %s", asked ? asked : "/tmp");
		return err_status(e, STATUS_USAGE);
	}
	int r = scratch_disk_new(&p->spec, &p->disk, e);
	p->spec.top = p->disk.path;
	return r;
}

/* ---- the spec ---- */

static uint64_t half_of_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
}

static int make_spec(struct prepared *p, const struct config *c, const struct adapter *adapter,
		     struct err *e)
{
	const struct passwd *who = getpwuid(getuid());
	const char *user = who ? keepf(p, "%s", who->pw_name) : keepf(p, "user%u", getuid());
	p->passwd_home = who ? keepf(p, "%s", who->pw_dir) : NULL;
	if (!user || (who && !p->passwd_home))
		return no_memory(e);
	uint64_t bytes = c->scratch_bytes ? c->scratch_bytes : half_of_memory();
	p->spec = (struct cell_spec){
		.uid = getuid(),
		.gid = getgid(),
		.user = user,
		.home = c->home,
		.project = c->project.path,
		.git_dir = c->project.git_dir,
		.cwd = c->project.cwd,
		.argv = c->command[0] ? c->command : adapter->command,
		.network = (enum cell_network)c->network,
		.isolation = (enum cell_isolation)c->isolation,
		.project_copy = c->project_mode == CONFIG_PROJECT_COPY,
		.scratch_bytes = bytes,
		.scratch_inodes = bytes / 4096 < INODES_MIN ? INODES_MIN : bytes / 4096,
		.pid_max = PREPARE_PID_MAX,
		.no_canary = !c->canary || adapter == &nobody,
		.no_watch = c->tracker == CONFIG_TRACKER_SCAN || adapter == &nobody,
		.allow_nested = c->allow_nested,
		.caps = (enum cell_caps)c->caps,
		.timeout_ms = c->timeout_ms,
		.grace_ms = c->grace_ms,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = -1,
	};
	return 0;
}

/* Where the command finds what a path of the host means: there, but with a cell without namespaces
 * below its folder. The caller's; NULL: no memory. */
static char *place_inside(const struct prepared *p, const char *path)
{
	const struct {
		const char *outside, *inside;
	} moved[] = { /* a project may lie in a home, and both in /tmp */
		      { p->spec.project, p->places.project },
		      { p->spec.home, p->places.home },
		      { "/tmp", p->places.tmp },
		      { "/run", p->places.run }
	};
	for (size_t i = 0; p->spec.top && i < countof(moved); i++) {
		char *inside = NULL;
		if (!moved[i].outside || !path_below(path, moved[i].outside))
			continue;
		const char *rest = path + strlen(moved[i].outside);
		return asprintf(&inside, "%s%s", moved[i].inside, rest) < 0 ? NULL : inside;
	}
	return strdup(path);
}

/* What is kept was named as it is called outside. */
static int find_kept(struct prepared *p, struct err *e)
{
	for (size_t i = 0; i < p->keeps.len; i++) {
		char *inside = place_inside(p, p->keeps.at[i].path);
		if (!inside)
			return no_memory(e);
		free(p->keeps.at[i].path);
		p->keeps.at[i].path = inside;
	}
	return 0;
}

/* What a cell cannot do without, and nobody inside could know why. */
static int check_caller(struct err *e)
{
	struct rlimit files;
	struct rlimit size;
	if (getrlimit(RLIMIT_NOFILE, &files) || getrlimit(RLIMIT_FSIZE, &size))
		return err_sys(e, "read the limits");
	if (files.rlim_cur < DESCRIPTORS_MIN && files.rlim_max > files.rlim_cur) {
		files.rlim_cur = files.rlim_max < 1024 ? files.rlim_max : 1024;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (files.rlim_cur < DESCRIPTORS_MIN) {
		err_set(e, EMFILE, "%ju descriptors may be open here, and a cell needs %d",
			(uintmax_t)files.rlim_cur, DESCRIPTORS_MIN);
		err_hint(e, "raise the limit: ulimit -n %d", 1024);
		return err_status(e, STATUS_USAGE);
	}
	if (size.rlim_cur < FILE_LEN_MIN) {
		err_set(e, EFBIG, "files may have %ju bytes here, and a cell needs %d",
			(uintmax_t)size.rlim_cur, FILE_LEN_MIN);
		err_hint(e, "raise the limit: ulimit -f unlimited");
		return err_status(e, STATUS_USAGE);
	}
	return 0;
}

int prepare(const struct config *c, const struct adapter *adapter, const char *const *caller,
	    struct prepared *ret, struct err *e)
{
	adapter = adapter ? adapter : &nobody;
	cleanup(prepared_done) struct prepared p = PREPARED_NULL;
	int r = check_caller(e);
	r = r ? r : check_without(c, e);
	r = r ? r : keeps_open((const char *const *)c->keep.at, &p.keeps, e);
	r = r ? r : make_spec(&p, c, adapter, e);
	r = r ? r : find_homes(&p, e);
	r = r ? r : find_visible(&p, c, caller, e);
	r = r ? r : hide_other_home(&p, e);
	r = r ? r : hide_closed(&p, c, e);
	r = r ? r : hide_sockets(&p, e);
	r = r ? r : make_binds(&p, e);
	r = r ? r : make_forwards(&p, c, e);
	r = r ? r : find_scratch(&p, c, e);
	r = r ? r : make_top(&p, c, e);
	r = r ? r : name_places(&p, c, e);
	r = r ? r : make_files(&p, adapter, e);
	r = r ? r : make_errands(&p, c, e);
	r = r ? r : make_env(&p, c, adapter, caller, e);
	r = r ? r : note_missing(&p, c, caller, e);
	r = r ? r : make_zones(&p, c, adapter, e);
	if (r)
		return r;
	p.spec.env = (const char *const *)p.env.at;
	r = find_kept(&p, e);
	r = r ? r : cell_spec_check(&p.spec, e);
	if (!r)
		*ret = take(&p, PREPARED_NULL);
	return r;
}
