#pragma once
/*
 * touched: which files of the project were changed since its branch left another one:
 * committed, staged, changed or new.
 *
 * Git tells it, in a cell of its own without network: the configuration of a project and its
 * attributes can name programs, which git then runs.
 */
#include "sandbox/base/text.h"
#include "sandbox/cell_spec.h"

struct err;

#define TOUCHED_BYTES_MAX (16 << 20) /* of all names */

/* `base`: what the branch left, a name that git knows; NULL: its upstream. Paths below the project are
 * added to ret. */
int touched_files(const struct cell_spec *suite, const char *base, struct strv *ret, struct err *e);
