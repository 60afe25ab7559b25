#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "runner/plan/python.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"
#include "tests/lib/folder.h"
#include "tests/lib/tap.h"

#define LEN_MAX 1500

/* Seeds by their 32-bit digits, the lowest first, and lengths of lists. */
static const uint32_t seeds[][4] = {
	{ 0 },
	{ 1 },
	{ 2 },
	{ 17 },
	{ 42 },
	{ 12345678 },
	{ 0xffffffff },
	{ 0, 1 },
	{ 1, 1 },
	{ 0xffffffff, 0x1fffff },
	{ 0, 0, 0, 1 },
	{ 7, 0, 5, 9 },
	{ 0, 0, 0, 0x80000000 },
};
static const uint32_t lengths[] = { 0,  1,  2,  3,   4,   5,   7,   8,      9,
				    31, 32, 33, 100, 255, 257, 624, LEN_MAX };
#define COUNTED_SEEDS 200 /* from 0, of lists of 50 */

static const char script[] = "import random, sys\n"
			     "for case in sys.stdin:\n"
			     "    seed, length = case.split()\n"
			     "    items = list(range(int(length)))\n"
			     "    random.Random(int(seed, 16)).shuffle(items)\n"
			     "    print(*items)\n";

/* What is compared: a line for the script, and the line that it should print. */
struct cases {
	struct buf asked;
	struct buf expected;
};

static void expect(struct buf *to, const uint32_t *digits, size_t digits_len, uint32_t len)
{
	static uint32_t items[LEN_MAX];
	struct python_random random;
	for (uint32_t i = 0; i < len; i++)
		items[i] = i;
	python_seed(&random, digits, digits_len);
	python_shuffle(&random, items, len);
	for (uint32_t i = 0; i < len; i++)
		buf_printf(to, "%s%u", i ? " " : "", items[i]);
	buf_puts(to, "\n");
}

static void add_case(struct cases *cases, const uint32_t *digits, size_t digits_len, uint32_t len)
{
	for (size_t i = digits_len; i--;)
		buf_printf(&cases->asked, "%08x", digits[i]);
	buf_printf(&cases->asked, " %u\n", len);
	expect(&cases->expected, digits, digits_len, len);
}

static void add_cases(struct cases *cases)
{
	for (size_t s = 0; s < countof(seeds); s++)
		for (size_t i = 0; i < countof(lengths); i++)
			add_case(cases, seeds[s], countof(seeds[s]), lengths[i]);
	for (uint32_t seed = 0; seed < COUNTED_SEEDS; seed++)
		add_case(cases, &seed, 1, 50);
}

/* What an interpreter prints. False: it does not run. */
static bool ask(const char *python, const char *asked, struct buf *to)
{
	cleanup_free char *command = NULL;
	char bytes[4096];
	size_t n;
	if (asprintf(&command, "'%s' -ISc '%s' < '%s' 2>/dev/null", python, script, asked) < 0)
		return false;
	FILE *out = popen(command, "re"); // NOLINT(cert-env33-c): paths of our own glob
	if (!out)
		return false;
	while ((n = fread(bytes, 1, sizeof(bytes), out)))
		buf_add(to, bytes, n);
	return pclose(out) == 0;
}

static void compare(const struct cases *cases)
{
	static const char *const places[] = { "/usr/bin/python3.[0-9]*[0-9]",
					      "/usr/local/bin/python3.[0-9]*[0-9]",
					      "~/.pyenv/versions/3.*/bin/python3" };
	struct folder folder;
	glob_t found = { 0 };
	folder_make(&folder);
	folder_put(&folder, "cases", cases->asked.at);
	for (size_t i = 0; i < countof(places); i++)
		glob(places[i], GLOB_TILDE | (i ? GLOB_APPEND : 0), NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		cleanup(buf_done) struct buf printed = BUF_NULL;
		if (ask(found.gl_pathv[i], folder_path(&folder, "cases"), &printed))
			tap_ok(text_eq(cases->expected.at, printed.at), "as %s shuffles",
			       found.gl_pathv[i]);
		else
			tap_skip("it does not run", found.gl_pathv[i]);
	}
	if (!found.gl_pathc)
		tap_skip("there is no python3 here", "as CPython shuffles");
	globfree(&found);
	folder_done(&folder);
}

static void test_golden(void)
{
	static const struct {
		uint64_t seed;
		const char *order;
	} golden[] = {
		{ 0, "7 8 1 5 3 4 2 0 9 6\n" },
		{ 1, "6 8 9 7 5 3 0 4 1 2\n" },
		{ 17, "7 3 0 5 1 9 2 4 6 8\n" },
	};
	for (size_t i = 0; i < countof(golden); i++) {
		cleanup(buf_done) struct buf text = BUF_NULL;
		expect(&text, (const uint32_t[]){ (uint32_t)golden[i].seed }, 1, 10);
		tap_ok(text_eq(text.at, golden[i].order), "seed %ju: %s", (uintmax_t)golden[i].seed,
		       text.at);
	}
	struct python_random a;
	struct python_random b;
	python_seed_number(&a, UINT64_C(0x1234567800000009));
	python_seed(&b, (const uint32_t[]){ 9, 0x12345678, 0, 0 }, 4);
	tap_ok(memcmp(&a, &b, sizeof(a)) == 0, "zeros at the end are no digits");
}

int main(void)
{
	struct cases cases = { BUF_NULL, BUF_NULL };
	add_cases(&cases);
	test_golden();
	compare(&cases);
	buf_done(&cases.asked);
	buf_done(&cases.expected);
	return tap_done();
}
