#pragma once
/*
 * cleanup: scopes that own things give them back.
 *
 * A variable marked cleanup(x_done) is released when its scope ends; take()
 * moves its value out and leaves the empty value behind.
 */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup(fn)    __attribute__((cleanup(fn)))
#define countof(array) (sizeof(array) / sizeof((array)[0]))

/* take(&var, NULL_VALUE): the value of var, which becomes NULL_VALUE. */
#define take(ptr, null)                                            \
	({                                                         \
		__typeof__(ptr) take_from_ = (ptr);                \
		__typeof__(*take_from_) take_value_ = *take_from_; \
		*take_from_ = (null);                              \
		take_value_;                                       \
	})
#define take_ptr(ptr) take(ptr, NULL)

static inline void free_at(void *ptr)
{
	free(*(void **)ptr);
}

/* Closes a descriptor that is open; -1 is the empty one. errno stays. */
void fd_close_at(int *fd);

#define cleanup_free  cleanup(free_at)
#define cleanup_close cleanup(fd_close_at)

static inline int take_fd(int *fd)
{
	int value = *fd;
	*fd = -1;
	return value;
}
