#include "sandbox/base/digest.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <xxhash.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

#define READ_LEN (256 * 1024) /* fits the second-level cache */

static struct digest from_xxh(XXH128_hash_t h)
{
	return (struct digest){ .high = h.high64, .low = h.low64 };
}

struct digest digest_bytes(const void *bytes, size_t len)
{
	return from_xxh(XXH3_128bits(bytes, len));
}

int digest_file(int fd, struct digest *ret, uint64_t *ret_len, struct err *e)
{
	cleanup_free char *room = malloc(READ_LEN);
	if (!room)
		return err_sys(e, "hash a file");

	XXH3_state_t *state = NULL; /* made only when the file needs a second read */
	uint64_t at = 0;
	int r = 0;
	for (;;) {
		ssize_t n = pread(fd, room, READ_LEN, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = err_sys(e, "read a file to hash it");
			break;
		}
		if (at == 0 && n < READ_LEN) {
			*ret = digest_bytes(room, (size_t)n);
			at = (uint64_t)n;
			break;
		}
		if (n == 0) {
			*ret = from_xxh(XXH3_128bits_digest(state));
			break;
		}
		if (!state) {
			state = XXH3_createState();
			if (!state) {
				r = err_sys(e, "hash a file");
				break;
			}
			XXH3_128bits_reset(state);
		}
		XXH3_128bits_update(state, room, (size_t)n);
		at += (uint64_t)n;
	}
	XXH3_freeState(state);
	if (!r && ret_len)
		*ret_len = at;
	return r;
}

struct digest digest_add(struct digest a, struct digest b)
{
	uint64_t low = a.low + b.low;
	return (struct digest){ .high = a.high + b.high + (low < a.low), .low = low };
}

struct digest digest_sub(struct digest a, struct digest b)
{
	return (struct digest){ .high = a.high - b.high - (a.low < b.low), .low = a.low - b.low };
}

bool digest_eq(struct digest a, struct digest b)
{
	return a.high == b.high && a.low == b.low;
}

char *digest_hex(struct digest d, char hex[DIGEST_HEX])
{
	snprintf(hex, DIGEST_HEX, "%016llx%016llx", (unsigned long long)d.high,
		 (unsigned long long)d.low);
	return hex;
}
