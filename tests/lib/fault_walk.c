#include "tests/lib/fault_walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The nth from now fails: counts down to 0, and stays there. */
static int countdown;
static bool hit;

bool fault_walk_on(int n)
{
	bool over = n > 1 && !hit;
	countdown = over ? 0 : n;
	hit = false;
	return !over;
}

bool fault_walk_hit(void)
{
	countdown = 0;
	return hit;
}

static bool fails(int error)
{
	if (countdown == 0 || --countdown > 0)
		return false;
	hit = true;
	errno = error;
	return true;
}

/* What the linker's --wrap makes of a call of `name`. Names that end in 64 are what the headers make
 * of openat and fstatat, since meson always asks for large files. */
#define WRAP(type, name, params, args, error, failure)                \
	type __real_##name params;                                    \
	type __wrap_##name params;                                    \
	type __wrap_##name params                                     \
	{                                                             \
		return fails(error) ? (failure) : __real_##name args; \
	}

WRAP(void *, malloc, (size_t len), (len), ENOMEM, NULL)
WRAP(void *, calloc, (size_t n, size_t len), (n, len), ENOMEM, NULL)
WRAP(void *, realloc, (void *old, size_t len), (old, len), ENOMEM, NULL)
WRAP(void *, reallocarray, (void *old, size_t n, size_t len), (old, n, len), ENOMEM, NULL)
WRAP(char *, strdup, (const char *s), (s), ENOMEM, NULL)
WRAP(char *, strndup, (const char *s, size_t len), (s, len), ENOMEM, NULL)
WRAP(int, vasprintf, (char **ret, const char *fmt, va_list args), (ret, fmt, args), ENOMEM, -1)
WRAP(ssize_t, read, (int fd, void *bytes, size_t len), (fd, bytes, len), EIO, -1)
WRAP(ssize_t, pread64, (int fd, void *bytes, size_t len, off64_t at), (fd, bytes, len, at), EIO, -1)
WRAP(ssize_t, getdents64, (int fd, void *bytes, size_t len), (fd, bytes, len), EIO, -1)
WRAP(ssize_t, process_vm_readv,
     (pid_t pid, const struct iovec *local, unsigned long local_len, const struct iovec *remote,
      unsigned long remote_len, unsigned long flags),
     (pid, local, local_len, remote, remote_len, flags), EFAULT, -1)
WRAP(ssize_t, readlinkat, (int dir, const char *path, char *text, size_t len),
     (dir, path, text, len), EIO, -1)
WRAP(int, fstatat64, (int dir, const char *path, struct stat *st, int flags),
     (dir, path, st, flags), EIO, -1)
WRAP(void *, tsearch, (const void *key, void **root, int (*compare)(const void *, const void *)),
     (key, root, compare), ENOMEM, NULL)
WRAP(DIR *, fdopendir, (int fd), (fd), ENOMEM, NULL)

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __wrap_asprintf(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **ret, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int len = __wrap_vasprintf(ret, fmt, args);
	va_end(args);
	return len;
}

int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = va_arg(args, mode_t); /* garbage, and not looked at, without O_CREAT */
	va_end(args);
	return fails(EMFILE) ? -1 : __real_openat64(dir, path, flags, mode);
}
/* NOLINTEND(bugprone-reserved-identifier) */
