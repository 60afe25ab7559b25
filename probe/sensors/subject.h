#pragma once
/*
 * subject: the test process, held by a pidfd, so that what is read under its
 * number is known to be its own.
 *
 * Read first, ask subject_gone() then: a number is not given away while its
 * process lives. What reads as it did before needs no asking. Owns the pidfd;
 * borrows the vantage during a call.
 */
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct sink;
struct vantage;

struct subject {
	pid_t pid; /* 0: none yet */
	pid_t inner;
	int pidfd; /* -1: it has ended */
};
#define SUBJECT_NULL ((struct subject){ .pidfd = -1 })

enum subject_state {
	SUBJECT_NONE, /* no test process yet, or it is known to have ended */
	SUBJECT_SAME, /* it may have ended meanwhile */
	SUBJECT_NEW,  /* another one than at the last call */
};

/* What a sensor of the test process does. */
struct subject_ops {
	const char *what; /* it looks at: "its descriptors" */
	/* Forget the process: another is to come, or this one could not be read and begins anew. */
	void (*leave)(void *memory);
	/* 0, or a negative errno. */
	int (*look)(void *memory, const struct vantage *v, bool full, struct sink *sink);
};

/* Hold whom the vantage names now. A subject_state, or a negative errno. */
int subject_follow(struct subject *s, const struct vantage *v, struct err *e);
/* Follow, and look. That the process has ended, or hides what is looked at, is an answer: 0, and in
 * the second case the sink knows. */
int subject_look(struct subject *s, const struct subject_ops *ops, void *memory,
		 const struct vantage *v, bool full, struct sink *sink, struct err *e);
bool subject_gone(struct subject *s); /* once it has ended it is followed no more */
/* Open a file of its folder in the cell's /proc. The descriptor, or a negative errno. */
int subject_open(const struct subject *s, const struct vantage *v, const char *name, int flags);
void subject_done(struct subject *s);
