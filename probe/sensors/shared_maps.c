#include "probe/sensors/shared_maps.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "probe/tracker/walk.h"
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

struct ask {
	int proc;
	int (*each)(void *with, const char *path);
	void *with;
	struct err *e;
};

static int ask_process(const struct ask *ask, int maps)
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
		int r = query.name_size ? ask->each(ask->with, name) : 0;
		if (r)
			return r;
	}
	/* ENOENT: that was the last one. Else the process is gone, or the name is too long for the
	 * kernel: nothing can be done about either. */
	return errno == ENOTTY ? err_sys(ask->e, "ask for the mappings of a process") : 0;
}

static int ask_one(void *with, const struct walk_name *name)
{
	const struct ask *ask = with;
	char path[32];
	if (!isdigit((unsigned char)name->name[0]))
		return 0;
	snprintf(path, sizeof(path), "%s/maps", name->name);
	cleanup_close int maps = openat(ask->proc, path, O_RDONLY | O_CLOEXEC);
	return maps < 0 ? 0 : ask_process(ask, maps); /* it is gone, or not to be looked at */
}

int shared_maps(int proc, int (*each)(void *with, const char *path), void *with, struct err *e)
{
	return walk_list(proc, "", ask_one, &(struct ask){ proc, each, with, e }, e);
}
