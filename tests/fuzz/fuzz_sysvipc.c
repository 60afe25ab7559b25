#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "probe/sensors/sysvipc.h"
#include "sandbox/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *line = strndup((const char *)data, size);
	assert(line);
	for (int table = 0; table < VANTAGE_SYSVIPC_N; table++) {
		struct sysvipc_object o = { .id = 77, .messages = 77 };
		bool ok = sysvipc_parse((enum vantage_sysvipc)table, line, &o);
		assert(ok || (o.id == 77 && o.messages == 77)); /* what is refused changes nothing */
		assert(!ok || table == VANTAGE_MSG || !o.messages);
	}
	return 0;
}
