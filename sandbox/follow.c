#include "sandbox/follow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct walk {
	char real[PATH_MAX]; /* what was walked: "" or "/a/b" */
	char rest[PATH_MAX]; /* what is to come */
	int links_n;
};

static void step_up(struct walk *w)
{
	char *slash = strrchr(w->real, '/');
	if (slash)
		*slash = '\0';
}

/* Puts text in front of the rest; false when that is too long. */
static bool push(struct walk *w, const char *text)
{
	char joined[PATH_MAX];
	size_t len = (size_t)snprintf(joined, sizeof(joined), "%s/%s", text, w->rest);
	if (len >= sizeof(joined))
		return false;
	memcpy(w->rest, joined, len + 1);
	return true;
}

/* Takes the next name off the rest and puts it behind real; false when that is too long. */
static bool step_down(struct walk *w)
{
	size_t at = strlen(w->real);
	size_t len = strcspn(w->rest, "/");
	if (at + 1 + len >= sizeof(w->real))
		return false;
	w->real[at] = '/';
	memcpy(w->real + at + 1, w->rest, len);
	w->real[at + 1 + len] = '\0';
	memmove(w->rest, w->rest + len, strlen(w->rest + len) + 1);
	return true;
}

/* What stands at real may be a link: then its text is what comes next. */
static int enter(struct walk *w, struct follow *f, struct strv *links)
{
	char text[PATH_MAX];
	static char plain;
	static char missing;
	const void *known = map_get(&f->known, w->real);
	if (known)
		return known == &missing;
	ssize_t len = readlinkat(f->root, w->real + 1, text, sizeof(text) - 1);
	if (len < 0 && errno == EINVAL)
		return *w->rest ? map_put(&f->known, w->real, &plain) : 0;
	if (len < 0 && errno == ENOENT && *w->rest)
		return map_put(&f->known, w->real, &missing) < 0 ? -ENOMEM : 1;
	if (len < 0)
		return errno == EIO || errno == ENOMEM ? -errno : 1;
	text[len] = '\0';
	if (++w->links_n > FOLLOW_LINKS_MAX || !push(w, text))
		return 1;
	int r = strv_add(links, w->real);
	if (text[0] == '/')
		w->real[0] = '\0';
	else
		step_up(w);
	return r;
}

/* Length of the next name; 0: there is none. */
static size_t next_name(struct walk *w)
{
	size_t slashes = strspn(w->rest, "/");
	memmove(w->rest, w->rest + slashes, strlen(w->rest + slashes) + 1);
	return strcspn(w->rest, "/");
}

int follow(struct follow *f, const char *path, char ret[PATH_MAX], struct strv *links)
{
	struct walk w; /* two paths, that need not be cleared a thousand times */
	w.links_n = 0;
	w.real[0] = w.rest[0] = '\0';
	if (!push(&w, path))
		return 1;
	for (size_t len = next_name(&w); len > 0; len = next_name(&w)) {
		bool here = len == 1 && w.rest[0] == '.';
		bool up = len == 2 && w.rest[0] == '.' && w.rest[1] == '.';
		if (here || up) {
			memset(w.rest, '/', len);
			if (up)
				step_up(&w);
			continue;
		}
		if (!step_down(&w))
			return 1;
		int r = enter(&w, f, links);
		if (r != 0)
			return r;
	}
	const char *real = w.real[0] ? w.real : "/";
	memcpy(ret, real, strlen(real) + 1);
	return 0;
}

void follow_done(struct follow *f)
{
	map_done(&f->known);
}
