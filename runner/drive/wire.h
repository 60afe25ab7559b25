#pragma once
/*
 * wire: the looker's end of the event socket. Accepts connections, takes one
 * packet at a time with the number of the process that sent it, answers.
 *
 * Knows nothing of what a packet says. Owns its connections; borrows the
 * listener.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "probe/event.h"
#include "runner/drive/rhythm.h"

struct err;

#define WIRE_CONNS_MAX 16 /* at once */

struct wire_conn {
	int fd;
	pid_t pid; /* who said hello on it; 0: nobody yet */
};

struct wire {
	int listener;
	struct wire_conn conns[WIRE_CONNS_MAX];
	size_t conns_len;
	size_t turn;                  /* whose packet is looked for first */
	struct rhythm rhythm;         /* of the packets that were expected */
	char room[EVENT_LEN_MAX + 1]; /* the packet that was taken last */
};

enum wire_kind {
	WIRE_PACKET,
	WIRE_HANGUP,
	WIRE_CROWD, /* all connections are in use, and another waits: conn is silent longest */
	WIRE_OTHER,
};

struct wire_news {
	enum wire_kind kind;
	size_t conn; /* index; valid until wire_drop */
	pid_t pid;   /* of the sender, or of who connected, from the kernel */
	const char *bytes;
	size_t len; /* above EVENT_LEN_MAX: the packet was larger, and is cut */
};

void wire_init(struct wire *w, int listener);
/* Wait for the next packet or hangup. WIRE_OTHER: `other` is readable (or, when !wait, nothing is
 * there). expected: the connection that speaks next, in a rhythm; -1: who knows. 0, or negative errno. */
int wire_next(struct wire *w, int other, int expected, bool wait, struct wire_news *ret,
	      struct err *e);
/* One packet; never waits. -EAGAIN: the other side does not read. */
int wire_answer(struct wire *w, size_t conn, const char *packet);
/* The same, and with it the end of another connection, which takes this one's place. Negative errno:
 * nothing was sent. */
int wire_hand_over(struct wire *w, size_t conn, const char *packet);
void wire_drop(struct wire *w, size_t conn);
void wire_done(struct wire *w);
