#pragma once
/*
 * sightings: what the history knows of one test: in which orders it ran, behind
 * what, and whether it passed. Only orders of the sweep and their confirmations
 * count, in which nothing else was varied and each test ran once; and those of the
 * wave, for a test of which these do not show that it both passes and fails.
 *
 * Borrows the lists of the history: good until its next line.
 */
#include "runner/judge/history.h"
#include "runner/shrink/search.h"
#include "sandbox/base/digest.h"

struct sightings {
	struct sighting *at;
	size_t len;
	struct digest vector; /* of what became of it in all of them */
};
#define SIGHTINGS_NULL ((struct sightings){ 0 })

/* Does an order of the sweep, or the confirmation of one, count? */
bool sightings_count(const struct played *p);
/* 0 or -ENOMEM. */
int sightings_of(const struct history *h, uint32_t test, struct sightings *ret);
void sightings_done(struct sightings *s);
