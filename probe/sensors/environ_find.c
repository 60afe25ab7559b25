#include "probe/sensors/environ_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/sensors/elf_find.h"
#include "probe/sensors/subject.h"
#include "probe/vantage.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"

#define MAPS_LEN_MAX (16 * 1024 * 1024)

static const char *const symbols[] = { "environ", "__environ", "_environ", NULL };

struct mapping {
	uint64_t start;
	uint64_t offset;
	char path[PATH_MAX]; /* empty: no file */
};

/* "START-END PERMISSIONS OFFSET DEVICE INODE   PATH" at *text, which moves on to the next line.
 * False: none is left. */
static bool next_mapping(const char **text, struct mapping *ret)
{
	char line[PATH_MAX + 128];
	if (!**text)
		return false;
	size_t len = strcspn(*text, "\n");
	snprintf(line, sizeof(line), "%.*s", (int)len, *text);
	*text += len + ((*text)[len] == '\n');
	ret->start = strtoull(line, NULL, 16);
	ret->offset = strtoull(text_word(line, 2), NULL, 16);
	snprintf(ret->path, sizeof(ret->path), "%s", text_word(line, 5));
	return true;
}

static bool is_libc(const char *path)
{
	static const char *const names[] = { "libc.so.", "libc-2.", "ld-musl-", "libc.musl-" };
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; slash && i < countof(names); i++)
		if (text_starts(slash + 1, names[i]))
			return true;
	return false;
}

/* -EFBIG: there is more of it than we read. */
static int load_maps(const struct subject *s, const struct vantage *v, struct buf *ret)
{
	int fd = subject_open(s, v, "maps", O_RDONLY);
	if (fd < 0)
		return fd;
	cleanup_close int maps = fd;
	for (;;) { /* a read gives whole lines, a page or less of them */
		if (ret->len > MAPS_LEN_MAX)
			return -EFBIG;
		int r = buf_reserve(ret, 64 * 1024);
		if (r)
			return r;
		ssize_t n = read(maps, ret->at + ret->len, 64 * 1024);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		ret->len += (size_t)n;
		ret->at[ret->len] = '\0';
	}
}

/* Where the place went when the file with this path was mapped. */
static int place_in(const char *maps, const char *path, const struct elf_place *place, uint64_t *ret)
{
	struct mapping m;
	while (next_mapping(&maps, &m)) {
		if (m.offset != place->offset || !text_eq(m.path, path))
			continue;
		*ret = m.start - place->base + place->address;
		return 1;
	}
	return 0;
}

static int find_in_program(const struct subject *s, const struct vantage *v, const char *maps,
			   uint64_t *ret)
{
	struct elf_place place;
	char name[32];
	char path[PATH_MAX];
	int fd = subject_open(s, v, "exe", O_RDONLY);
	if (fd < 0)
		return fd;
	cleanup_close int exe = fd;
	int r = elf_find(exe, symbols, &place);
	if (r <= 0)
		return r;
	if (place.fixed) {
		*ret = place.address;
		return 1;
	}
	snprintf(name, sizeof(name), "%d/exe", s->inner);
	ssize_t len = readlinkat(v->proc, name, path, sizeof(path) - 1);
	if (len < 0)
		return -errno;
	path[len] = '\0';
	return place_in(maps, path, &place, ret);
}

/* A regular file as the cell sees it: links are followed inside. */
static int open_inside(const struct vantage *v, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	struct stat st;
	cleanup_close int fd = (int)syscall(SYS_openat2, v->root, path, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? take_fd(&fd) : -ENOEXEC;
}

static int find_in_library(const struct vantage *v, const char *maps, uint64_t *ret, char *why,
			   size_t len)
{
	struct mapping m;
	struct elf_place place;
	for (const char *rest = maps; next_mapping(&rest, &m);) {
		if (!is_libc(m.path))
			continue;
		cleanup_close int fd = open_inside(v, m.path);
		int r = fd < 0 ? fd : elf_find(fd, symbols, &place);
		if (r > 0 && !place.fixed)
			return place_in(maps, m.path, &place, ret);
		snprintf(why, len, "no environ in %s: %s", m.path,
			 r < 0 ? strerrordesc_np(-r) : "it has no such symbol");
		return r == -ENOMEM ? r : 0;
	}
	snprintf(why, len, "the program neither shows where its environ is nor maps a C library");
	return 0;
}

int environ_find(const struct subject *s, const struct vantage *v, uint64_t *ret, char *why,
		 size_t len)
{
	cleanup(buf_done) struct buf maps = BUF_NULL;
	const char *what = "memory map";
	int r = load_maps(s, v, &maps);
	if (!r) {
		what = "program";
		r = find_in_program(s, v, maps.at, ret);
	}
	if (r == 0)
		return find_in_library(v, maps.at, ret, why, len);
	if (r > 0 || r == -ENOMEM)
		return r;
	/* The library's environ would be the wrong one if the program has a copy of its own. */
	snprintf(why, len, "its %s may not be read: %s", what, strerrordesc_np(-r));
	return 0;
}
