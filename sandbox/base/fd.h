#pragma once
/*
 * fd: descriptors, read and written whole, and sent from process to process.
 *
 * Every descriptor made here is CLOEXEC. Nothing here keeps one.
 */
#include <stddef.h>
#include <sys/types.h>

struct buf;
struct err;

#define FD_SEND_MAX 64 /* descriptors in one message */

/* Read until len bytes or the end. The count, or -1 and errno. */
ssize_t fd_read_full(int fd, void *bytes, size_t len);
/* Write all of it. 0, or -1 and errno. */
int fd_write_full(int fd, const void *bytes, size_t len);

/* The whole file below dir_fd, at most len_max bytes: -EFBIG above. *ret is freed by the caller
 * and NUL-terminated; ret_len may be NULL. */
int fd_load(int dir_fd, const char *path, size_t len_max, char **ret, size_t *ret_len, struct err *e);
/* What is left of an open one; path is for the error. */
int fd_load_open(int fd, const char *path, size_t len_max, char **ret, size_t *ret_len,
		 struct err *e);

/* mkdir -p, 0700 for what is made. */
int fd_make_folders(const char *path, struct err *e);

/* For a fork that goes on alone: close every descriptor but those n, which are sorted; -1 among them
 * is none. */
int fd_close_others(int *keep, size_t n, struct err *e);
/* 0, 1 and 2 become /dev/null, or whoever waits for their end would wait for us. */
int fd_null_standard(struct err *e);

/* One SEQPACKET message with descriptors. 0, or -1 and errno. */
int fd_send(int sock, const void *bytes, size_t len, const int *fds, size_t fds_len);
/* One message. The count of bytes (0: the other side is gone), or -1 and errno; EBADMSG when it
 * was cut or carried more than fds_max descriptors, none of which stay open. */
ssize_t fd_recv(int sock, void *bytes, size_t len, int *fds, size_t fds_max, size_t *ret_fds_len);
