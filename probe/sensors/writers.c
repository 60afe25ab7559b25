#include "probe/sensors/writers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/sensors/roll.h"
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

#define WARDEN 1 /* ours */

/* It is gone, or not to be looked at. */
static bool is_out_of_sight(int error)
{
	return error == ENOENT || error == ESRCH || error == EACCES || error == EPERM;
}

static int ask_maps(const struct writers *ask, int process, struct err *e)
{
	char room[PATH_MAX];
	snprintf(room, sizeof(room), "%d/maps", process);
	cleanup_close int maps = openat(ask->proc, room, O_RDONLY | O_CLOEXEC);
	if (maps < 0)
		return is_out_of_sight(errno) ? 0 : err_sys(e, "open the mappings of a process");
	struct map_query query = {
		.size = sizeof(query),
		.flags = MAP_WRITABLE | MAP_SHARED_ONE | MAP_OR_NEXT | MAP_FILE,
		.name = (uintptr_t)room,
	};
	for (;; query.address = query.end) {
		query.name_size = sizeof(room);
		if (ioctl(maps, MAP_QUERY, &query) < 0)
			break;
		int r = query.name_size ? ask->each(ask->with, room, true) : 0;
		if (r)
			return r;
	}
	/* ENOENT: that was the last one. */
	return errno == ENOTTY ? err_sys(e, "ask for the mappings of a process") : 0;
}

static int ask_descriptor(const struct writers *ask, int folder, int number, struct err *e)
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
	return path[0] == '/' ? ask->each(ask->with, path, false) : 0;
}

static int ask_descriptors(const struct writers *ask, int process, struct err *e)
{
	char path[32];
	snprintf(path, sizeof(path), "%d/fd", process);
	cleanup_close int folder = openat(ask->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return is_out_of_sight(errno) ? 0 : err_sys(e, "open a process's descriptors");
	struct roll numbers = ROLL_NULL;
	int r = roll_list(&numbers, folder);
	if (r)
		r = is_out_of_sight(-r) ? 0 : err_set(e, -r, "list a process's descriptors");
	for (size_t i = 0; !r && i < numbers.names_len; i++)
		r = ask_descriptor(ask, folder, numbers.names[i], e);
	roll_done(&numbers, NULL);
	return r;
}

int writers_ask(const struct writers *ask, struct err *e)
{
	int r = roll_list(ask->processes, ask->proc);
	if (r)
		return err_set(e, -r, "list the processes of the cell");
	for (size_t i = 0; !r && i < ask->processes->names_len; i++) {
		int process = ask->processes->names[i];
		if (process == WARDEN)
			continue;
		if (ask->descriptors)
			r = ask_descriptors(ask, process, e);
		if (!r)
			r = ask_maps(ask, process, e);
	}
	return r;
}
