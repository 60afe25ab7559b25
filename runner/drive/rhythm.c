#include "runner/drive/rhythm.h"

#define LEAD_US 50 /* awake so long before it is due: a timer is late, too */

int64_t rhythm_nap_us(const struct rhythm *r)
{
	if (r->rest || r->gap_us > RHYTHM_GAP_US_MAX)
		return -1;
	int64_t nap = r->gap_us - r->gap_us / 4 - LEAD_US;
	return nap > 0 ? nap : 0;
}

void rhythm_heard(struct rhythm *r, int64_t gap_us, enum rhythm_how how)
{
	if (gap_us < r->gap_us)
		r->gap_us = gap_us;
	else
		r->gap_us += (gap_us - r->gap_us) / 8;
	if (r->rest)
		r->rest--;
	r->misses = how == RHYTHM_MISSED ? r->misses + 1 : 0;
	if (r->misses < RHYTHM_MISSES_MAX)
		return;
	r->misses = 0;
	r->rest = RHYTHM_REST;
}
