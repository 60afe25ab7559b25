#pragma once
/*
 * pool: an order that does it, and which of its tests may be left out.
 *
 * Owns its lists. Borrows the order.
 */
#include "runner/shrink/oracle.h"

struct pool {
	const uint32_t *base; /* tests before it, in execution order */
	size_t base_len;
	uint32_t *rank; /* places in base that may be dropped, the last ones first */
	size_t len;
	bool *kept; /* by place: needed */
	bool *in;   /* by place; of pool_try() */
	uint32_t *tests;
	double *sum; /* of the weights of the first n of rank */
};
#define POOL_NULL ((struct pool){ 0 })

/* 0 or -ENOMEM, after which pool_done() is due, too. */
int pool_make(struct pool *p, const struct sighting *base);
/* What is needed and the first `cut` of rank, as p->tests; their number. */
size_t pool_list(struct pool *p, size_t cut);
enum answer pool_try(struct search *s, struct pool *p, size_t cut);
/* Drops all behind a suspect that is needed. NO: nothing was found, and the pool is whole. */
enum answer pool_guess(struct search *s, struct pool *p);
/* Drops what is not needed, until only what is needed is there. NO: not even the whole pool does it
 * again. */
enum answer pool_narrow(struct search *s, struct pool *p);
void pool_done(struct pool *p);
