#pragma once
/*
 * deltas: a delta list as text, one line each, to compare with what a test
 * expects: KIND WHAT KEY[@ZONE] [BEFORE>AFTER] [owner=N] [damage] [restored].
 */
#include "probe/delta.h"
#include "sandbox/base/buf.h"

/* The text, freed by the caller. `values`: with what stood before and after, and whose it was. */
static inline char *deltas_text(const struct delta_list *list, bool values)
{
	struct buf b = BUF_NULL;
	buf_puts(&b, "");
	for (size_t i = 0; i < list->len; i++) {
		const struct delta *d = &list->at[i];
		buf_printf(&b, "%s %s %s", delta_kind_names[d->kind], d->what, d->key);
		if (d->zone)
			buf_printf(&b, "@%s", d->zone);
		if (values)
			buf_printf(&b, " %s>%s owner=%d", d->before ? d->before : "-",
				   d->after ? d->after : "-", d->owner);
		buf_printf(&b, "%s%s\n", d->damage ? " damage" : "", d->restored ? " restored" : "");
	}
	return b.at;
}
