#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/sensors/sensors.h"
#include "probe/sensors/sysvipc.h"
#include "probe/tracker/walk.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

#define TABLE_LEN_MAX (16 << 20) /* bytes of one table: 32768 objects are 6 MB */

/*
 * The tables of SysV objects are read each time, and while their bytes are those of the last look
 * nothing is to be told. Queues have a file each, whose content moves with every message.
 */
struct ipc {
	struct buf tables[VANTAGE_SYSVIPC_N];
	struct buf now;
	off_t queues_size; /* of their folder, which goes by the names in it */
	size_t queues;     /* how many there were at the last look */
};

static int ipc_open(const struct vantage *v, void **ret, struct err *e)
{
	(void)v;
	*ret = calloc(1, sizeof(struct ipc));
	return *ret ? 0 : err_sys(e, "follow IPC objects");
}

static void ipc_close(void *memory)
{
	struct ipc *ipc = memory;
	for (size_t i = 0; i < VANTAGE_SYSVIPC_N; i++)
		buf_done(&ipc->tables[i]);
	buf_done(&ipc->now);
	free(ipc);
}

/* ---- SysV ---- */

/* The whole of a table, with its end: the heading alone fits into the first read. */
static int read_table(int fd, struct buf *b)
{
	buf_clear(b);
	for (;;) {
		int r = buf_reserve(b, 4096);
		if (r)
			return r;
		ssize_t n = pread(fd, b->at + b->len, b->cap - b->len - 1, (off_t)b->len);
		if (n < 0)
			return -errno;
		b->len += (size_t)n;
		b->at[b->len] = '\0';
		if (n == 0 || (b->len > 1 && !memchr(b->at, '\n', b->len - 1)))
			return 0; /* a heading and nothing behind it needs no second read */
		if (b->len > TABLE_LEN_MAX)
			return -EFBIG;
	}
}

/* 1: at least one table is not what it was. */
static int read_tables(struct ipc *ipc, const struct vantage *v)
{
	int moved = 0;
	for (size_t i = 0; i < VANTAGE_SYSVIPC_N; i++) {
		int r = v->sysvipc[i] < 0 ? 0 : read_table(v->sysvipc[i], &ipc->now);
		if (r)
			return r;
		struct buf *last = &ipc->tables[i];
		if (v->sysvipc[i] < 0 || (last->at && last->len == ipc->now.len &&
					  !memcmp(last->at, ipc->now.at, last->len)))
			continue;
		struct buf spare = *last;
		*last = ipc->now;
		ipc->now = spare;
		moved = 1;
	}
	return moved;
}

static bool add_owner(cJSON *value, const struct sysvipc_object *o)
{
	if (o->uid != o->creator_uid && !cJSON_AddNumberToObject(value, "uid", o->uid))
		return false;
	return o->gid == o->creator_gid || cJSON_AddNumberToObject(value, "gid", o->gid);
}

static char *object_value(enum vantage_sysvipc table, const struct sysvipc_object *o)
{
	static const char *const sizes[] = { "size", "semaphores", "size" };
	char mode[16];
	snprintf(mode, sizeof(mode), "%04o", o->mode);
	cleanup_json cJSON *value = cJSON_CreateObject();
	if (!value || !cJSON_AddNumberToObject(value, "id", o->id) ||
	    !cJSON_AddStringToObject(value, "mode", mode) ||
	    !cJSON_AddNumberToObject(value, sizes[table], (double)o->size) ||
	    (table == VANTAGE_MSG && !cJSON_AddNumberToObject(value, "messages", (double)o->messages)) ||
	    !add_owner(value, o))
		return NULL;
	return json_line(value);
}

static int offer_object(struct sink *sink, enum vantage_sysvipc table, const struct sysvipc_object *o)
{
	char id[32];
	char key[32];
	snprintf(id, sizeof(id), "%s %d", sysvipc_names[table], o->id);
	if (o->key)
		snprintf(key, sizeof(key), "%s:0x%x", sysvipc_names[table], (unsigned int)o->key);
	else
		snprintf(key, sizeof(key), "%s:private", sysvipc_names[table]);
	cleanup_free char *value = object_value(table, o);
	return value ? sink_offer(sink, &(struct offer){ .id = id, .key = key, .value = value })
		     : -ENOMEM;
}

static int offer_table(struct sink *sink, enum vantage_sysvipc table, const struct buf *text)
{
	int r = 0;
	for (const char *line = text->at; !r && line && *line;) {
		struct sysvipc_object o;
		if (sysvipc_parse(table, line, &o) && !(table == VANTAGE_SHM && o.mode & SYSVIPC_DEST))
			r = offer_object(sink, table, &o);
		const char *end = strchr(line, '\n');
		line = end ? end + 1 : NULL;
	}
	return r;
}

/* ---- POSIX message queues ---- */

struct queues {
	int dir;
	size_t len;
	struct sink *sink;
};

/* Are there some, or other ones than at the last look? */
static bool queues_moved(struct ipc *ipc, const struct vantage *v)
{
	struct stat st;
	if (v->queues < 0 || fstat(v->queues, &st))
		return false;
	bool moved = ipc->queues || st.st_size != ipc->queues_size;
	ipc->queues_size = st.st_size;
	return moved;
}

static int offer_queue(void *with, const struct walk_name *name)
{
	struct queues *q = with;
	struct stat st;
	cleanup_free char *text = NULL;
	int r = fstatat(q->dir, name->name, &st, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
	if (!r)
		r = fd_load(q->dir, name->name, 4096, &text, NULL, NULL);
	if (r)
		return r == -ENOENT ? 0 : r; /* removed meanwhile */
	cleanup_free char *key = NULL;
	cleanup_json cJSON *value = cJSON_CreateObject();
	char mode[16];
	snprintf(mode, sizeof(mode), "%04o", st.st_mode & 07777);
	const char *bytes = strstr(text, "QSIZE:");
	if (asprintf(&key, "mq:/%s", name->name) < 0) {
		key = NULL;
		return -ENOMEM;
	}
	if (!value || !cJSON_AddStringToObject(value, "mode", mode) ||
	    !cJSON_AddNumberToObject(value, "size",
				     bytes ? strtod(bytes + strlen("QSIZE:"), NULL) : 0))
		return -ENOMEM;
	cleanup_free char *line = json_line(value);
	q->len++;
	return line ? sink_offer(q->sink, &(struct offer){ .id = key, .value = line }) : -ENOMEM;
}

/* ---- the row ---- */

static int ipc_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
		    struct err *e)
{
	(void)full;
	struct ipc *ipc = memory;
	if (v->warden)
		return sink_blind(sink, "the objects of the suite cannot be told from the host's");
	int r = read_tables(ipc, v);
	if (r < 0)
		return err_set(e, -r, "read /proc/sysvipc: %s", strerrordesc_np(-r));
	if (!queues_moved(ipc, v) && !r)
		return 0;
	struct queues queues = { .dir = v->queues, .sink = sink };
	r = 0;
	for (size_t i = 0; !r && i < VANTAGE_SYSVIPC_N; i++)
		r = offer_table(sink, (enum vantage_sysvipc)i, &ipc->tables[i]);
	if (!r && v->queues >= 0)
		r = walk_list(v->queues, "", offer_queue, &queues, e);
	ipc->queues = queues.len;
	return r ? r : sink_all(sink);
}

/* SysV shared memory, semaphore sets and message queues, and POSIX message queues, of the cell. Key:
 * "shm:0x2a", "sem:private", "msg:0x7", "mq:/jobs". Value: {"id","mode", then "size", "semaphores",
 * or "size" and "messages"}; {"mode","size"} of a POSIX queue: the bytes that wait in it. What is in
 * shared memory, and the values of semaphores, only a process of the cell could read. POSIX shared
 * memory and named semaphores are files in /dev/shm, and told by that row alone. */
const struct sensor sensor_ipc = {
	.domain = "ipc",
	.came = "created",
	.went = "removed",
	.open = ipc_open,
	.close = ipc_close,
	.look = ipc_look,
};
