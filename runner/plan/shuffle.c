#include "runner/plan/shuffle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/plan/python.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"

/* ---- units ---- */

struct making {
	const struct roster *roster;
	const uint32_t *tests;
	size_t tests_len;
	const struct serials *serials;
	unsigned char *block; /* beside tests; serials->len: none */
	struct map modules;   /* name -> number of the first unit that has it, + 1 */
	struct map classes;
};

static void making_done(struct making *m)
{
	free(m->block);
	map_done(&m->modules);
	map_done(&m->classes);
}

static int make_room(struct units *units, size_t n)
{
	units->at = calloc(n + !n, sizeof(*units->at));
	units->tests = calloc(n + !n, sizeof(*units->tests));
	return units->at && units->tests ? 0 : -ENOMEM;
}

static int name_unit(struct units *units, struct map *numbers, enum unit_name which,
		     const char *text, size_t len)
{
	uint32_t own = (uint32_t)(units->len - 1);
	cleanup_free char *name = strndup(text, len);
	if (!name)
		return -ENOMEM;
	uintptr_t known = (uintptr_t)map_get(numbers, name);
	void *value = (void *)(uintptr_t)(own + 1UL); // NOLINT(performance-no-int-to-ptr)
	units->at[own].names[which].text = text;
	units->at[own].names[which].len = (uint32_t)len;
	units->at[own].names[which].number = known ? (uint32_t)(known - 1) : own;
	return known ? 0 : map_put(numbers, name, value);
}

/* The unit at index i of `tests`, and the others of its block behind it. */
static int add_unit(struct making *m, size_t i, struct units *units)
{
	struct unit *unit = &units->at[units->len++];
	const char *id = m->roster->ids.at[m->tests[i]];
	bool serial = m->block[i] < m->serials->len;
	const char *self = serial ? m->serials->at[m->block[i]].tests : id;
	unit->first = (uint32_t)units->tests_len;
	for (size_t j = i; j < (serial ? m->tests_len : i + 1); j++)
		if (m->block[j] == m->block[i])
			units->tests[units->tests_len++] = m->tests[j];
	unit->len = (uint32_t)units->tests_len - unit->first;
	units->serial_len += serial ? unit->len : 0;
	unit->names[UNIT_SELF].text = self;
	unit->names[UNIT_SELF].len = (uint32_t)strlen(self);
	unit->names[UNIT_SELF].number = (uint32_t)(units->len - 1);
	int r = name_unit(units, &m->modules, UNIT_MODULE, id, roster_module_len(id));
	return r ? r : name_unit(units, &m->classes, UNIT_CLASS, id, roster_class_len(id));
}

int units_make(const struct roster *roster, const uint32_t *tests, size_t n,
	       const struct serials *serials, struct units *ret)
{
	cleanup(units_done) struct units units = UNITS_NULL;
	cleanup(making_done) struct making m = { .roster = roster,
						 .tests = tests,
						 .tests_len = n,
						 .serials = serials,
						 .modules = MAP_NULL(NULL),
						 .classes = MAP_NULL(NULL) };
	bool begun[SERIALS_MAX + 1] = { false };
	m.block = calloc(n + !n, 1);
	if (!m.block || make_room(&units, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		m.block[i] = (unsigned char)serials_find(serials, roster->ids.at[tests[i]]);
	for (size_t i = 0; i < n; i++) {
		if (begun[m.block[i]])
			continue;
		begun[m.block[i]] = m.block[i] < serials->len;
		if (add_unit(&m, i, &units))
			return -ENOMEM;
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

/* By what units are sorted, level by level; then by where they stand. */
static const struct {
	enum unit_name names[UNIT_NAMES];
	size_t len;
} sorts[] = {
	[SHUFFLE_UNITS] = { { UNIT_SELF }, 1 },
	[SHUFFLE_MODULES] = { { UNIT_MODULE }, 1 },
	[SHUFFLE_CLASSES] = { { UNIT_MODULE, UNIT_CLASS, UNIT_SELF }, 3 },
};

struct place {
	uint64_t hash[UNIT_NAMES]; /* of the names, as sorted by */
	uint32_t unit;
};

struct sorting {
	const struct units *units;
	enum shuffle_level level;
};

/* The names themselves decide where hashes do not. */
static int by_text(const struct unit *x, const struct unit *y, enum unit_name which)
{
	uint32_t x_len = x->names[which].len;
	uint32_t y_len = y->names[which].len;
	int r = memcmp(x->names[which].text, y->names[which].text, x_len < y_len ? x_len : y_len);
	return r ? r : x_len < y_len ? -1 : 1;
}

static int by_place(const void *a, const void *b, void *with)
{
	const struct place *x = a;
	const struct place *y = b;
	const struct sorting *s = with;
	const struct unit *at = s->units->at;
	for (size_t i = 0; i < sorts[s->level].len; i++) {
		enum unit_name which = sorts[s->level].names[i];
		if (at[x->unit].names[which].number == at[y->unit].names[which].number)
			continue;
		if (x->hash[i] != y->hash[i])
			return x->hash[i] < y->hash[i] ? -1 : 1;
		return by_text(&at[x->unit], &at[y->unit], which);
	}
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

int shuffle_by_seed(const struct units *units, enum shuffle_level level, uint64_t seed, uint32_t *ret)
{
	cleanup_free struct place *places = calloc(units->len + !units->len, sizeof(*places));
	struct sorting sorting = { units, level };
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < units->len; i++) {
		places[i].unit = (uint32_t)i;
		for (size_t k = 0; k < sorts[level].len; k++) {
			enum unit_name which = sorts[level].names[k];
			places[i].hash[k] = digest_seeded(units->at[i].names[which].text,
							  units->at[i].names[which].len, seed);
		}
	}
	qsort_r(places, units->len, sizeof(*places), by_place, &sorting);
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
