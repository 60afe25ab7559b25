/*
 * hash: digests a file as the files sensor does.
 *
 *   hash FILE
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(64, "usage: hash FILE");
	cleanup_close int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", argv[1]);
	struct err e = ERR_NULL;
	struct digest digest;
	char hex[DIGEST_HEX];
	if (digest_file(fd, &digest, NULL, &e))
		errx(1, "%s: %s", argv[1], e.text);
	puts(digest_hex(digest, hex));
	return 0;
}
