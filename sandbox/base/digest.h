#pragma once
/*
 * digest: XXH3-128 (https://xxhash.com), and sums of it.
 *
 * The digest of a set is the sum of its entries' digests modulo 2^128: free of
 * order, and kept up to date in O(changes) by adding and taking away.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct digest {
	uint64_t high;
	uint64_t low;
};
#define DIGEST_NULL ((struct digest){ 0 })
#define DIGEST_HEX  33 /* room for 32 hex digits and NUL */

struct digest digest_bytes(const void *bytes, size_t len);
/* XXH3-64 of them with a seed: how orders are made, so that it never changes. */
uint64_t digest_seeded(const void *bytes, size_t len, uint64_t seed);
/* A regular file, from its start; its length goes to *ret_len when not NULL. Below 256 KiB this is
 * digest_bytes() of its contents; above, holes are skipped. */
int digest_file(int fd, struct digest *ret, uint64_t *ret_len, struct err *e);
struct digest digest_add(struct digest a, struct digest b);
struct digest digest_sub(struct digest a, struct digest b);
bool digest_eq(struct digest a, struct digest b);
/* Writes 32 hex digits and NUL; returns hex. */
char *digest_hex(struct digest d, char hex[DIGEST_HEX]);
