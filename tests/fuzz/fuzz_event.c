#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "probe/event.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup(event_done) struct event ev = EVENT_NULL;
	struct err e = ERR_NULL;
	int r = event_parse(&ev, (const char *)data, size, &e);
	assert(e.code == -r && (r == 0) == (ev.packet != NULL)); /* a refusal says why */
	if (r)
		return 0;
	assert(ev.kind < EVENT_HANGUP && event_kind_name(ev.kind));
	bool tells_test = ev.kind == EVENT_START || ev.kind == EVENT_FINISH ||
			  ev.kind == EVENT_UNCOLLECTABLE || ev.fixture;
	bool may_tell = tells_test || ev.kind == EVENT_COLLECTING;
	assert(ev.test ? may_tell && *ev.test : !tells_test);
	assert(!ev.file || (!strchr(ev.file, '/') && *ev.file != '.'));
	assert(!ev.rootdir || *ev.rootdir == '/');
	assert(ev.outcome < OUTCOME_ABSENT);
	return 0;
}
