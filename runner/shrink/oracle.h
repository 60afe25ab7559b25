#pragma once
/*
 * oracle: what one search knows, and how it asks for more.
 *
 * An answer comes from the trials. Where they have none, the question is noted
 * for search_ask(), and the answer is OPEN: whoever asked leaves, and comes back
 * the same way once it is there.
 */
#include "runner/shrink/clues.h"
#include "runner/shrink/search.h"
#include "runner/shrink/trials.h"

#define ALONE    0   /* the trial of nothing before it */
#define CUT_COST 1.8 /* runs to halve the candidates */

enum answer {
	YES, /* it did it, `confirm` times of `confirm` */
	NO,  /* it did not, at least once */
	OPEN /* a run is needed; or it has ended, or there is no memory */
};

struct search {
	uint32_t test;
	enum search_kind kind;
	enum search_end end;
	unsigned confirm;
	size_t runs_max;
	struct clues clues;
	struct search_set *hints;
	size_t hints_len;
	bool hints_chosen;
	struct trials trials; /* the first is ALONE */
	struct search_ask *asks;
	size_t *asked; /* trials, beside them */
	size_t asks_len, told;
	size_t runs;
	size_t left; /* estimate; 0: none yet */
	size_t set;  /* trial that was found; ALONE: none */
	unsigned hits, of;
	bool no_memory;
};

/* What is looked for: that it passes, or that it fails. */
bool oracle_goal(const struct search *s);
unsigned oracle_hits(const struct search *s, const struct trial *t);
unsigned oracle_misses(const struct search *s, const struct trial *t);
/* The last three are OPEN, whatever comes of it. */
enum answer oracle_try(struct search *s, const uint32_t *tests, size_t len);
enum answer oracle_answer(struct search *s, size_t trial);
enum answer oracle_ask(struct search *s, size_t trial, unsigned times);
enum answer oracle_end(struct search *s, enum search_end end, unsigned n, unsigned of);
enum answer oracle_no_memory(struct search *s);
/* How many runs are left: to find one of the candidates, and so many more. */
void oracle_expect(struct search *s, size_t candidates, size_t more);
/* Of 2^n things or fewer: n. */
unsigned oracle_bits(size_t things);
