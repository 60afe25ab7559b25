#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/limits.h"
#include "tests/lib/tap.h"

static const struct {
	const char *limit;
	struct rlimit caller, want;
} cases[] = {
	{ "core", { RLIM_INFINITY, RLIM_INFINITY }, { 1, 1 } },
	{ "core", { 0, RLIM_INFINITY }, { 0, 1 } },
	{ "core", { 0, 0 }, { 0, 0 } }, /* what the caller forbids stays forbidden */
	{ "nofile", { 256, 4096 }, { 1024, 4096 } },
	{ "nofile", { 256, 512 }, { 512, 512 } },
	{ "nofile", { 1 << 20, 1 << 20 }, { 1 << 20, 1 << 20 } },
};

static const struct limit *find(const char *name)
{
	for (size_t i = 0; i < limits_len; i++)
		if (strcmp(limits[i].name, name) == 0)
			return &limits[i];
	return NULL;
}

int main(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		struct rlimit r = limit_of(find(cases[i].limit), cases[i].caller);
		tap_ok(r.rlim_cur == cases[i].want.rlim_cur && r.rlim_max == cases[i].want.rlim_max,
		       "%s %lld %lld", cases[i].limit, (long long)cases[i].caller.rlim_cur,
		       (long long)cases[i].caller.rlim_max);
	}

	struct rlimit low = { .rlim_cur = 64 };
	struct rlimit nofile;
	getrlimit(RLIMIT_NOFILE, &nofile);
	low.rlim_max = nofile.rlim_max;
	setrlimit(RLIMIT_NOFILE, &low);
	struct err e = ERR_NULL;
	tap_ok(limits_apply(&e) == 0, "limits are set: %s", e.text);
	struct rlimit core;
	getrlimit(RLIMIT_CORE, &core);
	getrlimit(RLIMIT_NOFILE, &nofile);
	tap_ok(core.rlim_max <= 1, "a crash leaves nothing");
	tap_ok(nofile.rlim_cur >= 1024 || nofile.rlim_cur == nofile.rlim_max, "descriptors suffice");
	return tap_done();
}
