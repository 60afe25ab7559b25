#include "runner/hints.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/printable.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/env.h"

#define NAME_LEN_MIN 3 /* a shorter name of a variable stands in any text */
#define PATH_LEN_MAX 4096

enum when { ALWAYS, WITHOUT_NETWORK, IN_MEMORY, ON_DISK, WITH_OVERLAY, AS_ROOT, BARE };

/* One of the patterns in the text, under a condition. */
static const struct {
	const char *patterns[8];
	enum when when;
	const char *hint;
} rows[] = {
	{ { "Connection refused", "ECONNREFUSED", "Network is unreachable", "ENETUNREACH",
	    "No route to host", "EHOSTUNREACH" },
	  WITHOUT_NETWORK,
	  "a connection failed, and the suite has a loopback of its own: --network host, or --forward "
	  "PORT for one port of yours" },
	{ { "Name or service not known", "Temporary failure in name resolution", "ENOTFOUND",
	    "EAI_AGAIN", "nodename nor servname", "ould not resolve host", "Name does not resolve" },
	  WITHOUT_NETWORK,
	  "a name could not be looked up, and the suite has no network: --network host" },
	{ { "Read-only file system", "EROFS", "[Errno 30]" },
	  ALWAYS,
	  "something outside of the project, the home and tmp was written to: there the suite's "
	  "machine is read-only" },
	{ { "No space left on device", "ENOSPC", "[Errno 28]" },
	  IN_MEMORY,
	  "what the suite may write is full: --scratch-size, or --scratch DIR for a disk" },
	{ { "No space left on device", "ENOSPC", "[Errno 28]" },
	  ON_DISK,
	  "what the suite may write is full: the disk with the folder of --scratch" },
	{ { "Invalid cross-device link", "EXDEV", "[Errno 18]" },
	  WITH_OVERLAY,
	  "a folder of the project was renamed, which an overlay cannot do: --project-mode copy" },
	{ { "Value too large for defined data type", "EOVERFLOW", "[Errno 75]" },
	  WITH_OVERLAY,
	  "something of an owner or a group that is not yours was changed, which an overlay cannot "
	  "do: --project-mode copy" },
	{ { "unshare", "clone: Operation not permitted", "user namespace", "bwrap:" },
	  ALWAYS,
	  "the suite makes namespaces of its own: --allow-nested" },
	{ { "can't start new thread", "fork: Resource temporarily unavailable",
	    "Resource temporarily unavailable: fork", "[Errno 11] Resource temporarily" },
	  ALWAYS,
	  "the suite has as many processes and threads as it may have at once (4096)" },
	{ { "Permission denied", "EACCES", "[Errno 13]" },
	  BARE,
	  "with --isolation landlock TMPDIR, HOME and the copy of the project alone can be written, and "
	  "there are no internet sockets" },
	{ { "Permission denied", "EACCES", "Operation not permitted", "EPERM" },
	  AS_ROOT,
	  "something was refused that root may do outside: the suite runs as root without "
	  "capabilities" },
};

/* Keeps hint, once. */
static int adopt(struct strv *ret, char *hint)
{
	if (!hint || !strv_has(ret, hint))
		return strv_adopt(ret, hint);
	free(hint);
	return 0;
}

static bool applies(const struct hint_facts *f, enum when when)
{
	const bool holds[] = {
		[ALWAYS] = true,        [WITHOUT_NETWORK] = !f->network, [IN_MEMORY] = !f->on_disk,
		[ON_DISK] = f->on_disk, [WITH_OVERLAY] = !f->copy,       [AS_ROOT] = f->root,
		[BARE] = f->landlock,
	};
	return holds[when];
}

static int find_rows(const struct hint_facts *f, const char *text, struct strv *ret)
{
	for (size_t i = 0; i < countof(rows); i++) {
		if (!applies(f, rows[i].when))
			continue;
		for (size_t k = 0; k < countof(rows[i].patterns) && rows[i].patterns[k]; k++)
			if (strstr(text, rows[i].patterns[k]) && adopt(ret, strdup(rows[i].hint)))
				return -ENOMEM;
	}
	return 0;
}

/* ---- variables ---- */

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *word, size_t len)
{
	for (const char *at = text; (at = memmem(at, strlen(at), word, len)); at += len)
		if ((at == text || !in_word(at[-1])) && !in_word(at[len]))
			return true;
	return false;
}

/* Could a text mean the variable when the word stands in it? */
static bool is_telling(const char *name, size_t len)
{
	static const char *const noise[] = { "PWD", "OLDPWD", "SHLVL" };
	bool upper = true;
	for (size_t i = 0; i < len; i++)
		upper = upper && !islower((unsigned char)name[i]);
	for (size_t i = 0; i < countof(noise); i++)
		if (strlen(noise[i]) == len && strncmp(name, noise[i], len) == 0)
			return false;
	return len >= NAME_LEN_MIN && (upper || memchr(name, '_', len));
}

static int find_variables(const struct hint_facts *f, const char *text, struct strv *ret)
{
	for (const char *const *line = f->caller; *line; line++) {
		size_t len = strcspn(*line, "=");
		if (!is_telling(*line, len) || !has_word(text, *line, len))
			continue;
		cleanup_free char *name = strndup(*line, len);
		if (!name)
			return -ENOMEM;
		if (env_get(f->inside, name))
			continue;
		char *hint;
		if (asprintf(&hint, "%s is set outside and is not passed on: --pass-env %s", name,
			     name) < 0 ||
		    adopt(ret, hint))
			return -ENOMEM;
	}
	return 0;
}

/* ---- paths below home ---- */

static bool speaks_of_missing(const char *text)
{
	static const char *const words[] = { "No such file", "FileNotFoundError", "ENOENT",
					     "not found",    "does not exist",    "cannot find" };
	for (size_t i = 0; i < countof(words); i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

static int find_paths(const struct hint_facts *f, const char *text, struct strv *ret)
{
	if (!f->home || !speaks_of_missing(text))
		return 0;
	size_t home_len = strlen(f->home);
	for (const char *at = text; (at = strstr(at, f->home)); at += home_len) {
		size_t len = strcspn(at, " \t\n\r'\"`,;:()<>[]{}|");
		while (len && strchr(".!?", at[len - 1]))
			len--;
		if (at[home_len] != '/' || len <= home_len + 1 || len > PATH_LEN_MAX)
			continue;
		cleanup_free char *path = strndup(at, len);
		if (!path)
			return -ENOMEM;
		if (!f->is_kept_away(f->with, path))
			continue;
		cleanup_free char *word = quoted(path);
		char *hint;
		if (!word ||
		    asprintf(&hint,
			     "%s is there outside, and the suite has a home of its own: "
			     "--expose %s",
			     word, word) < 0 ||
		    adopt(ret, hint))
			return -ENOMEM;
	}
	return 0;
}

/* ---- other users ---- */

static int find_setid(const struct hint_facts *f, const char *text, struct strv *ret)
{
	static const char *const calls[] = { "setuid",    "setgid",    "seteuid",   "setegid",
					     "setreuid",  "setregid",  "setresuid", "setresgid",
					     "setgroups", "initgroups" };
	bool refused = strstr(text, "Operation not permitted") || strstr(text, "EPERM");
	for (size_t i = 0; f->root && !f->setid && refused && i < countof(calls); i++)
		if (has_word(text, calls[i], strlen(calls[i])))
			return adopt(ret, strdup("the suite becomes another user: --caps setid"));
	return 0;
}

int hints_find(const struct hint_facts *f, const char *text, struct strv *ret)
{
	int r = find_variables(f, text, ret);
	r = r ? r : find_paths(f, text, ret);
	r = r ? r : find_setid(f, text, ret);
	return r ? r : find_rows(f, text, ret);
}
