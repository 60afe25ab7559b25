#include <assert.h>
#include <stdint.h>
#include <sys/socket.h>

#include "probe/sensors/socket_diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct socket_query queries[] = {
		{ AF_UNIX, 0, ~0U },
		{ AF_INET, SOCK_STREAM, ~0U },
		{ AF_INET6, SOCK_DGRAM, ~0U },
	};
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		struct socket_info info;
		if (!socket_diag_parse(&queries[i], data, size, &info))
			continue;
		assert(info.name_len <= SOCKET_NAME_MAX);
		assert(info.family == queries[i].family);
	}
	return 0;
}
