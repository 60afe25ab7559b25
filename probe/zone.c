#include <string.h>

#include "probe/vantage.h"
#include "sandbox/base/text.h"

const char *zone_of(const struct vantage *v, const char *path)
{
	const char *zone = "system";
	size_t longest = 0;
	for (size_t i = 0; i < v->zones_len; i++) {
		size_t len = strlen(v->zones[i].path);
		if (len < longest || !path_below(path, v->zones[i].path))
			continue;
		zone = v->zones[i].zone;
		longest = len;
	}
	return zone;
}
