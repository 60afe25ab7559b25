#include "runner/plan/roster.h"

#include <errno.h>
#include <string.h>

int roster_add(struct roster *r, const char *id, uint32_t *ret)
{
	uint32_t known = roster_find(r, id);
	if (known != ROSTER_NONE) {
		*ret = known;
		return 0;
	}
	uint32_t number = (uint32_t)r->ids.len;
	void *value = (void *)(uintptr_t)(number + 1UL); // NOLINT(performance-no-int-to-ptr)
	if (strv_add(&r->ids, id) || map_put(&r->number, id, value))
		return -ENOMEM;
	*ret = number;
	return 0;
}

uint32_t roster_find(const struct roster *r, const char *id)
{
	uintptr_t value = (uintptr_t)map_get(&r->number, id);
	return value ? (uint32_t)(value - 1) : ROSTER_NONE;
}

void roster_done(struct roster *r)
{
	strv_done(&r->ids);
	map_done(&r->number);
	*r = ROSTER_NULL;
}

size_t roster_module_len(const char *id)
{
	const char *end = strstr(id, "::");
	return end ? (size_t)(end - id) : strlen(id);
}

size_t roster_class_len(const char *id)
{
	size_t len = roster_module_len(id);
	const char *brackets = strchr(id + len, '[');
	for (const char *at = id + len; (at = strstr(at, "::")) && (!brackets || at < brackets);
	     at += 2)
		len = (size_t)(at - id);
	return len;
}
