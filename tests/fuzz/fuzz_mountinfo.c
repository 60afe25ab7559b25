#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"
#include "sandbox/mountinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = strndup((const char *)data, size);
	assert(text);
	cleanup(strv_done) struct strv points = STRV_NULL;
	struct err e = ERR_NULL;
	int r = mountinfo_parse(text, &points, &e);
	assert(e.code == -r); /* a refusal says why */
	for (size_t i = 0; i < points.len; i++)
		assert(points.at[i][0] == '/');
	return 0;
}
