#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"
#include "sandbox/sync.h"
#include "tests/lib/tap.h"

static void test_record(int from, int to)
{
	struct sync_record sent = { .kind = SYNC_ERR };
	err_set(&sent.err, ENOSPC, "mount /tmp: no room");
	err_hint(&sent.err, "make some");
	err_status(&sent.err, STATUS_HOST);
	struct sync_record got = { 0 };
	struct err e = ERR_NULL;
	tap_ok(sync_send(from, &sent, NULL, 0, &e) == 0 && sync_recv(to, &got, NULL, 0, NULL, &e) == 1,
	       "a record goes and comes");
	tap_ok(got.kind == SYNC_ERR && memcmp(&got.err, &sent.err, sizeof(sent.err)) == 0,
	       "an error comes whole");
	tap_ok(sync_tell(from, SYNC_STOP, 15, &e) == 0 &&
		       sync_recv(to, &got, NULL, 0, NULL, &e) == 1 && got.kind == SYNC_STOP &&
		       got.signal == 15,
	       "a signal");
}

static void test_descriptors(int from, int to)
{
	struct sync_record record = { .kind = SYNC_READY };
	struct err e = ERR_NULL;
	int sent[] = { from, to };
	int got[2] = { -1, -1 };
	size_t len = 0;
	sync_send(from, &record, sent, countof(sent), &e);
	tap_ok(sync_recv(to, &record, got, countof(got), &len, &e) == 1 && len == 2 &&
		       got[0] >= 0 && got[1] >= 0,
	       "descriptors come with it");
	for (size_t i = 0; i < countof(got); i++)
		fd_close_at(&got[i]);
	sync_send(from, &record, sent, countof(sent), &e);
	tap_ok(sync_recv(to, &record, NULL, 0, NULL, &e) == -EBADMSG && e.code == EBADMSG,
	       "where none is due they are refused: %s", e.text);
}

static void test_refused(int from, int to)
{
	struct sync_record record;
	struct err e = ERR_NULL;
	fd_send(from, "short", 5, NULL, 0);
	tap_ok(sync_recv(to, &record, NULL, 0, NULL, &e) == -EPROTO && strstr(e.text, "5 bytes"),
	       "a short record is refused: %s", e.text);
}

int main(void)
{
	int ends[2];
	struct err e = ERR_NULL;
	if (sync_pair(ends, &e) < 0)
		return 1;
	test_record(ends[0], ends[1]);
	test_descriptors(ends[0], ends[1]);
	test_refused(ends[0], ends[1]);
	struct sync_record record;
	sync_tell(ends[0], SYNC_EXITED, 0, &e);
	sync_tell(ends[1], SYNC_STOP, 0, &e);
	close(ends[0]);
	tap_ok(sync_recv(ends[1], &record, NULL, 0, NULL, &e) == 1 && record.kind == SYNC_EXITED,
	       "last words are heard, also when ours were not");
	tap_ok(sync_recv(ends[1], &record, NULL, 0, NULL, &e) == 0, "the end is no error");
	tap_ok(sync_tell(ends[1], SYNC_GO, 0, &e) == -EPIPE && e.code == EPIPE,
	       "nobody hears: an error, no signal");
	close(ends[1]);
	return tap_done();
}
