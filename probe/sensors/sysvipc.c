#include "probe/sensors/sysvipc.h"

#include <stdlib.h>

#include "sandbox/base/text.h"

const char *const sysvipc_names[VANTAGE_SYSVIPC_N] = { "shm", "sem", "msg" };

/* Each begins with key, id, mode, size; the four ids stand together. */
enum { KEY, ID, MODE, SIZE };
static const struct {
	size_t messages; /* 0: there is no such column */
	size_t owners;
} columns[VANTAGE_SYSVIPC_N] = {
	[VANTAGE_SHM] = { .owners = 7 },
	[VANTAGE_SEM] = { .owners = 4 },
	[VANTAGE_MSG] = { .messages = 4, .owners = 7 },
};

static bool number_at(const char *line, size_t column, int base, long long *ret)
{
	const char *at = text_word(line, column);
	char *end;
	*ret = strtoll(at, &end, base);
	return end > at && (*end == ' ' || *end == '\n' || *end == '\0');
}

bool sysvipc_parse(enum vantage_sysvipc table, const char *line, struct sysvipc_object *ret)
{
	long long key, id, mode, size, owners[4];
	long long messages = 0;
	if (!number_at(line, KEY, 10, &key) || !number_at(line, ID, 10, &id) ||
	    !number_at(line, MODE, 8, &mode) || !number_at(line, SIZE, 10, &size))
		return false;
	if (columns[table].messages && !number_at(line, columns[table].messages, 10, &messages))
		return false;
	for (size_t i = 0; i < 4; i++)
		if (!number_at(line, columns[table].owners + i, 10, &owners[i]))
			return false;
	*ret = (struct sysvipc_object){
		.key = (int32_t)key,
		.id = (int)id,
		.mode = (unsigned int)mode,
		.size = (uint64_t)size,
		.messages = (uint64_t)messages,
		.uid = (uid_t)owners[0],
		.gid = (gid_t)owners[1],
		.creator_uid = (uid_t)owners[2],
		.creator_gid = (gid_t)owners[3],
	};
	return true;
}
