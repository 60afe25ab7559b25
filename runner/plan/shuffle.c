#include "runner/plan/shuffle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/plan/python.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"

/* ---- units ---- */

static size_t block_of(const struct serials *serials, const char *id)
{
	size_t block = 0;
	while (block < serials->len && !text_glob(serials->at[block].tests, id))
		block++;
	return block;
}

static int make_room(struct units *units, size_t n)
{
	units->at = calloc(n + !n, sizeof(*units->at));
	units->tests = calloc(n + !n, sizeof(*units->tests));
	return units->at && units->tests ? 0 : -ENOMEM;
}

/* The unit at index i of `tests`, and the others of its block behind it. */
static void add_unit(struct units *units, const struct roster *roster, const uint32_t *tests,
		     size_t n, size_t i, const unsigned char *block, const struct serials *serials)
{
	struct unit *unit = &units->at[units->len++];
	const char *id = roster->ids.at[tests[i]];
	bool serial = block[i] < serials->len;
	*unit = (struct unit){ .name = serial ? serials->at[block[i]].tests : id,
			       .id = id,
			       .first = (uint32_t)units->tests_len };
	for (size_t j = i; j < (serial ? n : i + 1); j++)
		if (block[j] == block[i])
			units->tests[units->tests_len++] = tests[j];
	unit->len = (uint32_t)units->tests_len - unit->first;
	units->serial_len += serial ? unit->len : 0;
}

int units_make(const struct roster *roster, const uint32_t *tests, size_t n,
	       const struct serials *serials, struct units *ret)
{
	cleanup(units_done) struct units units = UNITS_NULL;
	cleanup_free unsigned char *block = calloc(n + !n, 1); /* serials->len: none */
	bool begun[SERIALS_MAX + 1] = { false };
	if (!block || make_room(&units, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		block[i] = (unsigned char)block_of(serials, roster->ids.at[tests[i]]);
	for (size_t i = 0; i < n; i++) {
		if (begun[block[i]])
			continue;
		begun[block[i]] = block[i] < serials->len;
		add_unit(&units, roster, tests, n, i, block, serials);
	}
	*ret = take(&units, UNITS_NULL);
	return 0;
}

void units_done(struct units *units)
{
	free(units->at);
	free(units->tests);
	*units = UNITS_NULL;
}

void units_lay(const struct units *units, const uint32_t *order, uint32_t *ret)
{
	for (size_t i = 0; i < units->len; i++) {
		const struct unit *unit = &units->at[order[i]];
		memcpy(ret, units->tests + unit->first, unit->len * sizeof(*ret));
		ret += unit->len;
	}
}

/* ---- shuffles ---- */

#define NAMES_MAX 3

/* What a unit is sorted by: the hash of each name, then the name itself; then where it stands. */
struct place {
	uint64_t hash[NAMES_MAX];
	const char *name[NAMES_MAX];
	size_t name_len[NAMES_MAX];
	uint32_t unit;
};

static int by_place(const void *a, const void *b, void *with)
{
	const struct place *x = a;
	const struct place *y = b;
	size_t names_len = *(const size_t *)with;
	for (size_t i = 0; i < names_len; i++) {
		if (x->hash[i] != y->hash[i])
			return x->hash[i] < y->hash[i] ? -1 : 1;
		size_t len = x->name_len[i] < y->name_len[i] ? x->name_len[i] : y->name_len[i];
		int differ = memcmp(x->name[i], y->name[i], len);
		if (differ)
			return differ;
		if (x->name_len[i] != y->name_len[i])
			return x->name_len[i] < y->name_len[i] ? -1 : 1;
	}
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static void set_name(struct place *p, size_t i, const char *name, size_t len, uint64_t seed)
{
	p->name[i] = name;
	p->name_len[i] = len;
	p->hash[i] = digest_seeded(name, len, seed);
}

/* Returns how many names there are. */
static size_t set_names(struct place *p, const struct unit *unit, enum shuffle_level level,
			uint64_t seed)
{
	size_t n = 0;
	if (level != SHUFFLE_UNITS)
		set_name(p, n++, unit->id, roster_module_len(unit->id), seed);
	if (level == SHUFFLE_CLASSES)
		set_name(p, n++, unit->id, roster_class_len(unit->id), seed);
	if (level != SHUFFLE_MODULES)
		set_name(p, n++, unit->name, strlen(unit->name), seed);
	return n;
}

int shuffle_by_seed(const struct units *units, enum shuffle_level level, uint64_t seed, uint32_t *ret)
{
	cleanup_free struct place *places = calloc(units->len + !units->len, sizeof(*places));
	size_t names_len = 0;
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < units->len; i++) {
		places[i].unit = (uint32_t)i;
		names_len = set_names(&places[i], &units->at[i], level, seed);
	}
	qsort_r(places, units->len, sizeof(*places), by_place, &names_len);
	for (size_t i = 0; i < units->len; i++)
		ret[i] = places[i].unit;
	return 0;
}

int shuffle_python(const struct units *units, uint64_t seed, uint32_t *ret)
{
	struct python_random random;
	for (size_t i = 0; i < units->len; i++)
		ret[i] = (uint32_t)i;
	python_seed_number(&random, seed);
	python_shuffle(&random, ret, units->len);
	return 0;
}

int shuffle_reverse(const struct units *units, uint32_t *ret)
{
	for (size_t i = 0; i < units->len; i++)
		ret[i] = (uint32_t)(units->len - 1 - i);
	return 0;
}
