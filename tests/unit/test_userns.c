#include <errno.h>
#include <string.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "sandbox/isolation.h"
#include "sandbox/userns.h"
#include "tests/lib/tap.h"

static void test_identity(void)
{
	static const struct {
		const char *map, *identity;
		int r;
	} cases[] = {
		{ "         0          0 4294967295\n", "0 0 4294967295\n", 0 },
		{ "0 100000 65536\n", "0 0 65536\n", 0 },
		{ "0 1000 1\n1 100000 65536\n", "0 0 1\n1 1 65536\n", 0 },
		{ "0 1000 1", "0 0 1\n", 0 },
		{ "", NULL, 0 },
		{ "0 1000\n", NULL, -EPROTO },
		{ "x\n", NULL, -EPROTO },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(buf_done) struct buf identity = BUF_NULL;
		struct err e = ERR_NULL;
		int r = userns_identity(cases[i].map, &identity, &e);
		tap_ok(r == cases[i].r && e.code == -r && text_eq(identity.at, cases[i].identity),
		       "map %s", cases[i].map);
	}
}

static void test_gives(void)
{
	static const struct {
		const char *map;
		unsigned int first, count;
		bool gives;
	} cases[] = {
		{ "0 0 4294967295\n", 0x70000000, 65534, true },
		{ "0 100000 65536\n", 0x70000000, 65534, false },
		{ "0 100000 65536\n1879048192 200000 65534\n", 0x70000000, 65534, true },
		{ "1879048192 200000 65533\n", 0x70000000, 65534, false },
		{ "1879048193 200000 65534", 0x70000000, 65534, false },
		{ "", 1, 1, false },
		{ "x\n", 1, 1, false },
	};
	for (size_t i = 0; i < countof(cases); i++)
		tap_ok(userns_gives(cases[i].map, cases[i].first, cases[i].count) == cases[i].gives,
		       "ids to spare: %s", cases[i].map);
}

static void test_apart(void)
{
	static const struct {
		const char *around;
		unsigned int own;
		const char *map;
	} cases[] = {
		{ "0 0 4294967295\n", 0, "0 0 1\n1 1879048192 65534\n" },
		{ "0 0 4294967295\n", 1, "0 0 1\n1 1 1\n2 1879048193 65533\n" },
		{ "0 0 4294967295\n", 1000,
		  "0 0 1\n1000 1000 1\n1 1879048192 999\n1001 1879049192 64534\n" },
		{ "0 0 4294967295\n", 65534, "0 0 1\n65534 65534 1\n1 1879048192 65533\n" },
		{ "0 0 4294967295\n", 65535, "0 0 1\n65535 65535 1\n1 1879048192 65534\n" },
		{ "0 100000 65536\n", 1000, "0 0 1\n1000 1000 1\n" },
		{ "0 100000 65536\n", 0, "0 0 1\n" },
	};
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup(buf_done) struct buf map = BUF_NULL;
		struct err e = ERR_NULL;
		int r = userns_apart(cases[i].around, cases[i].own, &map, &e);
		tap_ok(r == 0 && text_eq(map.at, cases[i].map), "%u apart in %s: %s", cases[i].own,
		       cases[i].around, map.at);
	}
}

static void test_compare(void)
{
	const uint64_t outside[NAMESPACES_N] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const uint64_t inside[NAMESPACES_N] = { 11, 12, 13, 4, 15, 16, 17, 0 };
	struct cell_spec spec = { .network = CELL_NETWORK_HOST };
	struct isolation isolation = { 0 };
	isolation_compare(&spec, inside, outside, &isolation);
	tap_ok(isolation.state[ISOLATION_USER] == ISOLATION_VERIFIED, "another inode: verified");
	tap_ok(isolation.state[ISOLATION_NET] == ISOLATION_OFF_ASKED && !*isolation.why[ISOLATION_NET],
	       "the host's network, as asked");
	tap_ok(isolation.state[ISOLATION_TIME] == ISOLATION_REDUCED && *isolation.why[ISOLATION_TIME],
	       "a namespace that this kernel has not");
	spec.network = CELL_NETWORK_NONE;
	isolation_compare(&spec, inside, outside, &isolation);
	tap_ok(isolation.state[ISOLATION_NET] == ISOLATION_REDUCED,
	       "the host's network, not asked for: %s", isolation.why[ISOLATION_NET]);
}

int main(void)
{
	test_identity();
	test_gives();
	test_apart();
	test_compare();
	return tap_done();
}
