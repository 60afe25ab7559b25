#pragma once
/*
 * subject: the test process, held by a pidfd, so that what is read under its
 * number is known to be its own.
 *
 * Read first, ask subject_gone() then: a number is not given away while its
 * process lives. Owns the pidfd; borrows the vantage during a call.
 */
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct sink;
struct vantage;

struct subject {
	pid_t pid; /* 0: none yet */
	pid_t inner;
	int pidfd;
};
#define SUBJECT_NULL ((struct subject){ .pidfd = -1 })

enum subject_state {
	SUBJECT_NONE, /* no test process yet, or it has ended */
	SUBJECT_SAME,
	SUBJECT_NEW, /* another one than at the last call */
};

/* Hold whom the vantage names now. A subject_state, or a negative errno. */
int subject_follow(struct subject *s, const struct vantage *v, struct err *e);
bool subject_gone(const struct subject *s);
/* Open a file of its folder in the cell's /proc. The descriptor, or a negative errno. */
int subject_open(const struct subject *s, const struct vantage *v, const char *name, int flags);
/* What it means that reading `what` ended with the negative errno r. 0: it has ended, or it hides
 * that, and the sink knows; else r, with words. */
int subject_failed(const struct subject *s, struct sink *sink, int r, const char *what,
		   struct err *e);
void subject_done(struct subject *s);
