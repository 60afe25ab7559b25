#include <string.h>

#include "probe/vantage.h"
#include "sandbox/base/text.h"

/* Does path lie at or below the zone's? One that ends in "*" is each name that begins so. */
static bool covers(const char *zone, size_t len, const char *path)
{
	if (len && zone[len - 1] == '*')
		return strncmp(path, zone, len - 1) == 0;
	return path_below(path, zone);
}

const char *zone_of(const struct vantage *v, const char *path)
{
	const char *zone = "system";
	size_t longest = 0;
	for (size_t i = 0; i < v->zones_len; i++) {
		size_t len = strlen(v->zones[i].path);
		if (len < longest || !covers(v->zones[i].path, len, path))
			continue;
		zone = v->zones[i].zone;
		longest = len;
	}
	return zone;
}
