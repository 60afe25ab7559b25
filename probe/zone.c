#include <string.h>

#include "probe/vantage.h"
#include "sandbox/base/text.h"

/* A zone that begins with "*" is a name wherever it stands, with all below it; one that ends in "*"
 * is each name that begins so. How much of path decides: the longest wins. */
static size_t covered(const char *zone, const char *path)
{
	size_t len = strlen(zone);
	if (zone[0] == '*') {
		const char *at = strstr(path, zone + 1);
		while (at && at[len - 1] != '/' && at[len - 1] != '\0')
			at = strstr(at + 1, zone + 1);
		return at ? (size_t)(at - path) + len - 1 : 0;
	}
	if (len && zone[len - 1] == '*')
		return strncmp(path, zone, len - 1) == 0 ? len : 0;
	return path_below(path, zone) ? len : 0;
}

const struct vantage_place *place_of(const struct vantage *v, const char *path)
{
	const struct vantage_place *found = NULL;
	for (size_t i = 0; i < v->places_len; i++)
		if (path_below(path, v->places[i].path) &&
		    (!found || path_below(v->places[i].path, found->path)))
			found = &v->places[i];
	return found;
}

const char *zone_of(const struct vantage *v, const char *path)
{
	const char *zone = "system";
	size_t longest = 0;
	for (size_t i = 0; i < v->zones_len; i++) {
		size_t len = covered(v->zones[i].path, path);
		if (len == 0 || len < longest)
			continue;
		zone = v->zones[i].zone;
		longest = len;
	}
	return zone;
}
