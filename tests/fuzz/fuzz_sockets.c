#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/sockets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = strndup((const char *)data, size);
	cleanup(strv_done) struct strv paths = STRV_NULL;
	assert(text && sockets_parse(text, &paths) == 0);
	for (size_t i = 0; i < paths.len; i++)
		assert(paths.at[i][0] == '/' && !strchr(paths.at[i], '\n') &&
		       strstr(text, paths.at[i]));
	return 0;
}
