#pragma once
/*
 * err: one failure, told from the outside in.
 *
 * Plain data of fixed size, so that the first process in a cell can send it
 * whole to the runner. Functions that can fail take a `struct err *` last and
 * return 0 or the negative errno that stands in it. Nothing here prints: only
 * main.c does. A NULL err is allowed where the caller looks at the code alone.
 */
#include <stdbool.h>

/* Exit statuses that tell apart whose fault it was. */
enum {
	STATUS_DAMAGE = 1,
	STATUS_FAILED = 2,
	STATUS_INCOMPLETE = 3,
	STATUS_NO_TESTS = 4,
	STATUS_USAGE = 64,
	STATUS_DATA = 65,
	STATUS_HOST = 69,
	STATUS_INTERNAL = 70,
	STATUS_TIMEOUT = 124,
	STATUS_OURS = 125, /* of exec, whose other statuses are the command's */
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_INTERRUPTED = 130,
};

struct err {
	int code;        /* positive errno; 0: no error */
	int status;      /* exit status this deserves; 0 stands for STATUS_INTERNAL */
	char text[1024]; /* "cell: mount /tmp: Permission denied" */
	char hint[512];  /* what the user can do about it; may be empty */
};
#define ERR_NULL ((struct err){ 0 })

/* Set text and code. Returns -code. Texts that are too long are cut. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Like err_set with the code in errno, whose description is appended. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Put context in front of the text that is there: "order 3: ". Returns -code. */
int err_in(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Say what the user can do. Returns -code, so that it can stand in a return. */
int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Say which exit status this deserves. Returns -code. */
int err_status(struct err *e, int status);
