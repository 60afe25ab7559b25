#pragma once
/*
 * deeds: what tests do to files, as a table: each deed, and the leaks that it
 * must leave. For the files sensor in a minicell and in a real cell.
 *
 * Paths are relative to a folder with tmp and home; home/project is an overlay
 * over what deeds_base() made. Deeds build on each other, in order.
 */
#include <stdbool.h>
#include <stddef.h>

#include "probe/delta.h"
#include "tests/lib/tap.h"

struct buf;
struct err;
struct fingerprint;

struct deed {
	const char *name;
	void (*act)(void);
	/* "what path" each, in the order of these lines, joined by '|', with /tmp and /home for the
	 * places; "+n": any n. */
	const char *leaks;
};
extern const struct deed deeds[];
extern const size_t deeds_len;

/* What stands under the overlay; done once, `folder` is there and empty. */
void deeds_base(const char *folder);

/* Do each deed, look, and append two texts to seen: "what key" of each leak, sorted and joined by
 * '|', and the same with all that both trackers must agree on. A full look follows, with two texts
 * more, which should be empty. `home` is cut off the front of keys. */
int deeds_run(struct fingerprint *f, void (*act)(void *with, size_t n), void *with,
	      const char *home, struct buf *seen, struct err *e);
const char *deeds_seen(const struct buf *seen, size_t n, bool whole); /* n == deeds_len: the last */
bool deeds_match(const char *leaks, const char *seen);                /* as in struct deed */

/* What fanotify saw is what the table says, and what scan saw. */
static inline void deeds_check(const struct buf *watched, const struct buf *scanned)
{
	for (size_t n = 0; n <= deeds_len; n++) {
		const char *name = n < deeds_len ? deeds[n].name : "nothing more";
		const char *leaks = deeds_seen(watched, n, false);
		if (!tap_ok(deeds_match(n < deeds_len ? deeds[n].leaks : "", leaks), "%s", name))
			printf("# %s\n", leaks);
		const char *a = deeds_seen(watched, n, true);
		const char *b = deeds_seen(scanned, n, true);
		if (!tap_ok(text_eq(a, b), "the same by scan: %s", name))
			printf("# fanotify: %s\n# scan: %s\n", a, b);
	}
}

/* The leaks of a list, or its deltas of another kind, as such a text. */
void deeds_tell(const struct delta_list *deltas, enum delta_kind kind, bool whole, const char *home,
		struct buf *ret);

/* What deeds are made of; each ends the process when it cannot be done. */
void check(bool ok, const char *what);
void put(const char *path, const char *text); /* as the content of a file, made if need be */
void add(const char *path, const char *text);
void make(const char *path); /* a folder */
void drop(const char *path);
void move(const char *from, const char *to);
char *map(const char *path); /* 4096 bytes, shared and writable */

/* Deeds that are used by themselves, too. */
void deed_create(void);
void deed_read(void);
void deed_rewrite_equal(void);
void deed_come_and_go(void);
void deed_copy_up_only(void);
void deed_mode_of_base(void);
void deed_restore_base(void);
void deed_delete_base(void);
