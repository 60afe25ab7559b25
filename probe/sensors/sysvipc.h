#pragma once
/*
 * sysvipc: the tables of /proc/sysvipc. Pure: text in, objects out.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/vantage.h"

struct sysvipc_object {
	int32_t key; /* 0: IPC_PRIVATE */
	int id;
	unsigned int mode; /* of shm with SYSVIPC_DEST, too */
	uint64_t size;     /* bytes of shm and msg; semaphores of sem */
	uint64_t messages; /* of msg */
	uid_t uid;
	gid_t gid;
	uid_t creator_uid;
	gid_t creator_gid;
};
#define SYSVIPC_DEST 01000U /* removed: it is gone when the last process lets go */

extern const char *const sysvipc_names[VANTAGE_SYSVIPC_N]; /* shm sem msg */

/* The object of one line of a table. False: it is the heading, or no line of that table. */
bool sysvipc_parse(enum vantage_sysvipc table, const char *line, struct sysvipc_object *ret);
