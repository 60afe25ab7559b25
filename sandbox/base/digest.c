#include "sandbox/base/digest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest_avx2.h"
#include "sandbox/base/err.h"

#define CHUNK_LEN (64 * 1024) /* fits the second-level cache, beside what it is copied from */
#define PAGE_LEN  4096        /* where a page begins, the kernel copies to three times as fast */

static struct digest from_xxh(XXH128_hash_t h)
{
	return (struct digest){ .high = h.high64, .low = h.low64 };
}

struct digest digest_bytes(const void *bytes, size_t len)
{
	return from_xxh(XXH3_128bits(bytes, len));
}

uint64_t digest_seeded(const void *bytes, size_t len, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, len, seed);
}

static ssize_t read_chunk(int fd, char *chunk, uint64_t at)
{
	ssize_t done = 0;
	while (done < CHUNK_LEN) {
		ssize_t n = pread(fd, chunk + done, (size_t)(CHUNK_LEN - done), (off_t)at + done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : done;
		done += n;
	}
	return done;
}

/* Where the chunk begins that holds the next data at or after `at`. False: only a hole is left. */
static bool next_data(int fd, uint64_t *at)
{
	off_t data = lseek(fd, (off_t)*at, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		return false;
	if (data >= 0) /* else this file system cannot tell */
		*at = (uint64_t)data / CHUNK_LEN * CHUNK_LEN;
	return true;
}

static bool all_zero(const char *bytes, size_t len)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

static void update(XXH3_state_t *state, const void *bytes, size_t len)
{
	if (digest_avx2_works())
		digest_avx2_update(state, bytes, len);
	else
		XXH3_128bits_update(state, bytes, len);
}

/* A file of a terabyte can be one hole: it is told by its size and the chunks that hold something,
 * so that holes cost nothing and a written zero is still the same as a hole. */
static int digest_chunks(int fd, char *chunk, XXH3_state_t *state, uint64_t *ret_len, struct err *e)
{
	XXH3_128bits_reset(state);
	uint64_t at = 0;
	for (bool hole = true; !hole || next_data(fd, &at);) {
		ssize_t n = read_chunk(fd, chunk, at);
		if (n < 0)
			return err_sys(e, "read a file to hash it");
		if (n == 0)
			break;
		hole = all_zero(chunk, (size_t)n); /* it may be one */
		if (!hole) {
			update(state, &at, sizeof(at));
			update(state, chunk, (size_t)n);
		}
		at += (uint64_t)n;
	}
	off_t end = lseek(fd, 0, SEEK_END);
	if (end < 0)
		return err_sys(e, "find the end of a file to hash it");
	*ret_len = (uint64_t)end;
	update(state, ret_len, sizeof(*ret_len));
	return 0;
}

static void free_state(XXH3_state_t **state)
{
	XXH3_freeState(*state);
}

int digest_file(int fd, struct digest *ret, uint64_t *ret_len, struct err *e)
{
	cleanup_free char *chunk = aligned_alloc(PAGE_LEN, CHUNK_LEN);
	if (!chunk)
		return err_sys(e, "hash a file");
	ssize_t n = read_chunk(fd, chunk, 0);
	if (n < 0)
		return err_sys(e, "read a file to hash it");
	uint64_t len = (uint64_t)n;
	if (n < CHUNK_LEN) {
		*ret = digest_bytes(chunk, (size_t)n);
	} else {
		cleanup(free_state) XXH3_state_t *state = XXH3_createState();
		if (!state)
			return err_set(e, ENOMEM, "hash a file: no memory");
		int r = digest_chunks(fd, chunk, state, &len, e);
		if (r)
			return r;
		*ret = from_xxh(XXH3_128bits_digest(state));
	}
	if (ret_len)
		*ret_len = len;
	return 0;
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
