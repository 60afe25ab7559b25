#include "sandbox/etc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/cell_spec.h"

#define ETC_LEN_MAX (8 << 20)

const char *const etc_names[ETC_N] = { "hosts", "hostname", "resolv.conf", "passwd", "group" };

#define HOSTS_OWN \
	"127.0.0.1 localhost " CELL_HOSTNAME "\n::1 localhost ip6-localhost ip6-loopback\n"

/* Nobody answers there, so a look-up fails at once instead of after seconds. */
#define RESOLV_CONF_NONE "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"

/* Does a passwd or group text have a line with this number in its third field? */
static bool has_id(const char *text, unsigned int id)
{
	char field[16];
	snprintf(field, sizeof(field), ":%u:", id);
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *at = memchr(line, ':', len);
		at = at ? memchr(at + 1, ':', len - (size_t)(at + 1 - line)) : NULL;
		if (at && strncmp(at, field, strlen(field)) == 0)
			return true;
		line += len + (line[len] == '\n');
	}
	return false;
}

/* The host's file and one more line; nothing when it has the id. */
static int add_line(struct buf *b, int etc_fd, enum etc_file file, unsigned int id,
		    const char *line, struct err *e)
{
	cleanup_free char *text = NULL;
	struct err why = ERR_NULL;
	if (fd_load(etc_fd, etc_names[file], ETC_LEN_MAX, &text, NULL, &why) < 0) {
		if (why.code != ENOENT) {
			*e = why;
			return err_in(e, "/etc");
		}
	} else if (has_id(text, id)) {
		return 0;
	}
	size_t len = text ? strlen(text) : 0;
	const char *newline = len && text[len - 1] != '\n' ? "\n" : "";
	if (buf_printf(b, "%s%s%s", text ? text : "", newline, line) < 0)
		return err_set(e, ENOMEM, "out of memory");
	return 0;
}

static int make_accounts(const struct cell_spec *spec, int etc_fd, struct etc *etc, struct err *e)
{
	const char *user = spec->user ? spec->user : "user";
	char passwd[512];
	char group[256];
	snprintf(passwd, sizeof(passwd), "%s:x:%u:%u::%s:/bin/sh\n", user, spec->uid, spec->gid,
		 spec->home ? spec->home : "/");
	snprintf(group, sizeof(group), "%s:x:%u:\n", user, spec->gid);
	int r = add_line(&etc->texts[ETC_PASSWD], etc_fd, ETC_PASSWD, spec->uid, passwd, e);
	return r < 0 ? r : add_line(&etc->texts[ETC_GROUP], etc_fd, ETC_GROUP, spec->gid, group, e);
}

/* With the host's network its names stay; what resolv.conf leads to may lie in /run, which the cell
 * hides, so the text itself goes in. */
static int make_names(const struct cell_spec *spec, int etc_fd, struct etc *etc, struct err *e)
{
	cleanup_free char *hosts = NULL;
	cleanup_free char *resolv = NULL;
	bool host = spec->network == CELL_NETWORK_HOST;
	if (host) {
		(void)fd_load(etc_fd, "hosts", ETC_LEN_MAX, &hosts, NULL, NULL);
		(void)fd_load(etc_fd, "resolv.conf", ETC_LEN_MAX, &resolv, NULL, NULL);
	}
	if (buf_printf(&etc->texts[ETC_HOSTS], "%s%s", HOSTS_OWN, hosts ? hosts : "") < 0 ||
	    buf_puts(&etc->texts[ETC_HOSTNAME], CELL_HOSTNAME "\n") < 0 ||
	    buf_puts(&etc->texts[ETC_RESOLV_CONF], resolv ? resolv : RESOLV_CONF_NONE) < 0)
		return err_set(e, ENOMEM, "out of memory");
	return 0;
}

int etc_make(const struct cell_spec *spec, int etc_fd, struct etc *ret, struct err *e)
{
	cleanup(etc_done) struct etc etc = ETC_NULL;
	int r = make_names(spec, etc_fd, &etc, e);
	if (!r)
		r = make_accounts(spec, etc_fd, &etc, e);
	if (r < 0)
		return r;
	*ret = take(&etc, ETC_NULL);
	return 0;
}

void etc_done(struct etc *etc)
{
	for (size_t i = 0; i < countof(etc->texts); i++)
		buf_done(&etc->texts[i]);
}
