#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "probe/sensors/tasks.h"
#include "sandbox/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = strndup((const char *)data, size);
	struct task_stat stat;
	assert(text);
	int r = task_stat_parse(text, &stat);
	assert(r == 0 || r == -EINVAL);
	assert(r || strnlen(stat.comm, sizeof(stat.comm)) < sizeof(stat.comm));
	return 0;
}
