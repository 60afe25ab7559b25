#include "probe/sensors/writers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/sensors/tasks.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

/* linux/fs.h of 6.11; Debian 12 has older headers. */
struct map_query {
	uint64_t size;
	uint64_t flags;
	uint64_t address;
	uint64_t start;
	uint64_t end;
	uint64_t vma_flags;
	uint64_t page_size;
	uint64_t offset;
	uint64_t inode;
	uint32_t major;
	uint32_t minor;
	uint32_t name_size;
	uint32_t build_id_size;
	uint64_t name;
	uint64_t build_id;
};
#define MAP_QUERY      _IOWR('f', 17, struct map_query)
#define MAP_WRITABLE   0x02
#define MAP_SHARED_ONE 0x08
#define MAP_OR_NEXT    0x10
#define MAP_FILE       0x20

#define WARDEN 1

/* It is gone, or not to be looked at. */
static bool is_out_of_sight(int error)
{
	return error == ENOENT || error == ESRCH || error == EACCES || error == EPERM;
}

/* A name in the folder of a process; *ret is -1 when it is out of sight. */
static int open_of(int proc, int process, const char *name, int flags, int *ret, struct err *e)
{
	char path[32];
	snprintf(path, sizeof(path), "%d/%s", process, name);
	*ret = openat(proc, path, O_RDONLY | O_CLOEXEC | flags);
	if (*ret >= 0 || is_out_of_sight(errno))
		return 0;
	return err_sys(e, "open %s of a process", name);
}

int writers_list(struct writers *w, int proc, int warden, struct err *e)
{
	struct roll *all = &w->processes;
	int r = roll_list(all, proc);
	if (r)
		return err_set(e, -r, "list the processes of the cell");
	size_t kept = 0;
	for (size_t i = 0; i < all->names_len; i++) {
		int number = all->names[i];
		bool counts = warden ? number != warden && task_comes_from(proc, number, warden)
				     : number != WARDEN;
		if (counts)
			all->names[kept++] = number;
	}
	all->names_len = kept;
	return 0;
}

bool writers_moved(struct writers *w, int proc)
{
	uint64_t descriptors = 0;
	bool unknown = false;
	for (size_t i = 0; i < w->processes.names_len; i++) {
		char path[32];
		struct stat st;
		snprintf(path, sizeof(path), "%d/fd", w->processes.names[i]);
		if (fstatat(proc, path, &st, 0) == 0)
			descriptors += (uint64_t)st.st_size; /* their number, since 6.2 */
		else
			unknown |= !is_out_of_sight(errno);
	}
	bool moved = unknown || descriptors != w->descriptors;
	w->descriptors = descriptors;
	return moved;
}

static int tell_descriptor(int folder, int number, const struct writers_tell *tell, struct err *e)
{
	char name[16];
	char path[PATH_MAX];
	struct stat st;
	snprintf(name, sizeof(name), "%d", number);
	/* The mode of the link is that of the descriptor. */
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return is_out_of_sight(errno) ? 0 : err_sys(e, "stat a descriptor");
	if (!(st.st_mode & S_IWUSR))
		return 0;
	ssize_t len = readlinkat(folder, name, path, sizeof(path) - 1);
	if (len < 0)
		return is_out_of_sight(errno) ? 0 : err_sys(e, "read where a descriptor leads");
	path[len] = '\0';
	return tell->each(tell->with, path, false);
}

static int tell_descriptors(int folder, const struct writers_tell *tell, struct err *e)
{
	struct roll numbers = ROLL_NULL;
	int r = roll_list(&numbers, folder);
	if (r)
		r = is_out_of_sight(-r) ? 0 : err_set(e, -r, "list a process's descriptors");
	for (size_t i = 0; !r && i < numbers.names_len; i++)
		r = tell_descriptor(folder, numbers.names[i], tell, e);
	roll_done(&numbers, NULL);
	return r;
}

int writers_descriptors(const struct writers *w, int proc, const struct writers_tell *tell,
			struct err *e)
{
	int r = 0;
	for (size_t i = 0; !r && i < w->processes.names_len; i++) {
		cleanup_close int folder = -1;
		r = open_of(proc, w->processes.names[i], "fd", O_DIRECTORY, &folder, e);
		if (!r && folder >= 0)
			r = tell_descriptors(folder, tell, e);
	}
	return r;
}

static int tell_maps(int maps, const struct writers_tell *tell, struct err *e)
{
	char name[PATH_MAX];
	struct map_query query = {
		.size = sizeof(query),
		.flags = MAP_WRITABLE | MAP_SHARED_ONE | MAP_OR_NEXT | MAP_FILE,
		.name = (uintptr_t)name,
	};
	for (;; query.address = query.end) {
		query.name_size = sizeof(name);
		if (ioctl(maps, MAP_QUERY, &query) < 0)
			break;
		int r = query.name_size ? tell->each(tell->with, name, true) : 0;
		if (r)
			return r;
	}
	/* ENOENT: that was the last one. Else the process is gone, or the name is too long for the
	 * kernel: nothing can be done about either. */
	return errno == ENOTTY ? err_sys(e, "ask for the mappings of a process") : 0;
}

int writers_maps(const struct writers *w, int proc, const struct writers_tell *tell, struct err *e)
{
	int r = 0;
	for (size_t i = 0; !r && i < w->processes.names_len; i++) {
		cleanup_close int maps = -1;
		r = open_of(proc, w->processes.names[i], "maps", 0, &maps, e);
		if (!r && maps >= 0)
			r = tell_maps(maps, tell, e);
	}
	return r;
}

void writers_done(struct writers *w)
{
	roll_done(&w->processes, NULL);
}
