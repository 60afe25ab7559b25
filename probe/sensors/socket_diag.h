#pragma once
/*
 * socket_diag: sockets of a network namespace, by NETLINK_SOCK_DIAG
 * (sock_diag(7)).
 *
 * Parsing is pure: bytes of the kernel's answer in, sockets out. Owns nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define SOCKET_NAME_MAX 108 /* bytes of sun_path */

struct socket_info {
	int family;    /* AF_INET AF_INET6 AF_UNIX */
	int type;      /* SOCK_STREAM, … */
	int state;     /* TCP_LISTEN, …: of every family */
	uint32_t ino;  /* 0: no process holds it */
	uint32_t peer; /* AF_UNIX: inode of the other end; 0: none, or gone */
	uint8_t address[16];
	uint16_t port;
	char name[SOCKET_NAME_MAX]; /* AF_UNIX: as bound; may begin with and hold NUL */
	size_t name_len;            /* 0: not bound */
};

/* What is asked for. */
struct socket_query {
	int family;
	int type;        /* SOCK_STREAM: TCP, SOCK_DGRAM: UDP; AF_UNIX: of all types, 0 */
	uint32_t states; /* bit n: state n */
};

/* Tell each socket that fits, until each() returns other than 0. 0, what each() returned, or a
 * negative errno. */
int socket_diag(int netlink, const struct socket_query *query,
		int (*each)(void *with, const struct socket_info *info), void *with, struct err *e);
/* One message of the answer behind its header. False: it is none. */
bool socket_diag_parse(const struct socket_query *query, const void *bytes, size_t len,
		       struct socket_info *ret);
