#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "runner/plan/given.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An order file: taken, and the same when written and read again; or refused with the place. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(given_done) struct given given = GIVEN_NULL;
	cleanup(given_done) struct given again = GIVEN_NULL;
	cleanup(roster_done) struct roster roster = ROSTER_NULL;
	cleanup_free char *text = calloc(1, size + 1);
	struct err e = ERR_NULL;
	assert(text);
	memcpy(text, data, size);
	int r = given_parse("o.json", text, size, &given, &e);
	assert(e.code == -r);
	assert(r == 0 || (e.status == STATUS_DATA && text_starts(e.text, "o.json:")));
	if (r)
		return 0;
	cleanup_free uint32_t *tests = NULL;
	cleanup_free uint32_t *same = NULL;
	size_t n = 0;
	size_t same_n = 0;
	const cJSON *item;
	uint32_t number;
	cJSON_ArrayForEach(item, given.tree) assert(!roster_add(&roster, item->valuestring, &number));
	assert(!given_tests(&given, &roster, &tests, &n, &e));
	cleanup_free char *written = given_write(&roster, tests, n);
	assert(written && !given_parse("again", written, strlen(written), &again, &e));
	assert(!given_tests(&again, &roster, &same, &same_n, &e));
	assert(n == same_n && !memcmp(tests, same, n * sizeof(*tests)));
	return 0;
}
