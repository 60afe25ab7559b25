#pragma once
/*
 * drop: the folder of the cell through which long messages go, as files named
 * in packets. What comes from it is the suite's word: bounded, and never
 * followed out of the folder.
 */
#include "sandbox/base/json.h"

struct err;

/* Read, parse and remove `name`, a JSON text of the adapter. */
int drop_take(int scratch, const char *name, cJSON **ret, struct err *e);
/* Write a new file `name`, readable to all in the cell. */
int drop_put(int scratch, const char *name, const char *text, struct err *e);
