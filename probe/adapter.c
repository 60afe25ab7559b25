#include "probe/adapter.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/text.h"

#define SIGN_LEN_MAX 256       /* bytes in a sign */
#define FILE_LEN_MAX (1 << 20) /* of a file that is searched for a text */

const struct adapter *const adapters[] = { &adapter_pytest, NULL };

const struct adapter *adapter_find(const char *name)
{
	for (const struct adapter *const *a = adapters; *a; a++)
		if (text_eq((*a)->name, name))
			return *a;
	return NULL;
}

static void dir_close_at(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Does a name like pattern stand in folder? */
static bool stands(int folder, const char *pattern)
{
	struct stat st;
	if (!strchr(pattern, '*'))
		return fstatat(folder, pattern, &st, 0) == 0;
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(dir_close_at) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		if (fnmatch(pattern, entry->d_name, FNM_PERIOD) == 0)
			return true;
	return false;
}

static bool holds(int folder, const char *name, const char *text)
{
	cleanup_free char *content = NULL;
	return fd_load(folder, name, FILE_LEN_MAX, &content, NULL, NULL) == 0 &&
	       strstr(content, text);
}

static bool is_there(int project, const char *sign)
{
	char name[SIGN_LEN_MAX];
	const char *text = strchr(sign, ':');
	size_t len = text ? (size_t)(text - sign) : strlen(sign);
	if (len >= sizeof(name))
		return false;
	memcpy(name, sign, len);
	name[len] = '\0';

	char *slash = strrchr(name, '/');
	const char *last = slash ? slash + 1 : name;
	if (slash)
		*slash = '\0';
	cleanup_close int folder =
		openat(project, slash ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return false;
	return text ? holds(folder, last, text + 1) : stands(folder, last);
}

const struct adapter *adapter_detect(int project)
{
	for (const struct adapter *const *a = adapters; *a; a++)
		for (const char *const *sign = (*a)->signs; *sign; sign++)
			if (is_there(project, *sign))
				return *a;
	return NULL;
}
