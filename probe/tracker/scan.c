#include <stddef.h>

#include "probe/tracker/tracker.h"
#include "probe/tracker/walk.h"
#include "sandbox/base/err.h"

/* It remembers nothing but where to walk. */
static int scan_open(const struct vantage *v, void **ret, struct err *e)
{
	(void)e;
	*ret = (void *)v;
	return 0;
}

static void scan_close(void *memory)
{
	(void)memory;
}

static int tell(void *with, const char *path, const struct walk_name *name)
{
	(void)name;
	const struct tracker_report *report = with;
	return report->dirty(report->with, path, 0);
}

static int list(void *with)
{
	const struct tracker_report *report = with;
	return report->list ? report->list(report->with) : 0;
}

static int scan_drain(void *memory, const struct tracker_report *report, struct err *e)
{
	static const struct walk_ops ops = { .each = tell, .list = list };
	const struct vantage *v = memory;
	for (size_t i = 0; i < v->places_len; i++) {
		const char *dir = v->places[i].dir;
		int r = report->dirty(report->with, dir, 0);
		if (!r)
			r = walk_all(v->scratch, dir, v->own_dir, &ops, (void *)report, e);
		if (r)
			return r;
	}
	return 0;
}

const struct tracker tracker_scan = {
	.name = "scan",
	.open = scan_open,
	.drain = scan_drain,
	.close = scan_close,
};
