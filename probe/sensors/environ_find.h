#pragma once
/*
 * environ_find: the address of the C library's `environ` in the test process.
 *
 * It lies in the program (linked statically, or by a copy relocation) or in the
 * C library that is mapped; their files are opened below the cell's root.
 */
#include <stddef.h>
#include <stdint.h>

struct subject;
struct vantage;

/* 1: found. 0: not, and why (at most len bytes) says why. -ENOMEM. */
int environ_find(const struct subject *s, const struct vantage *v, uint64_t *ret, char *why,
		 size_t len);
