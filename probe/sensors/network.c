#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe/sensors/sensors.h"
#include "probe/sensors/socket_diag.h"
#include "probe/sensors/writers.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

/* From these a port is chosen when a program asks for any: it differs from run to run. What a new
 * network namespace begins with; the suite cannot change it. */
#define EPHEMERAL_MIN 32768
#define EPHEMERAL_MAX 60999

#define UNTOLD       "this kernel does not tell of all sockets (sock_diag)"
#define STARTERS_MAX 16
#define BIT(state)   (1U << (state))

/*
 * The kernel counts the sockets of a namespace, and to read the count is quick. While there are as
 * many as when none but ours was there, there is nothing to ask for. Ours are all there are before
 * the command runs, and what is bound below our own folder, with its other end.
 *
 * In a network that others use, too, only the sockets that processes of the cell hold are looked at,
 * and they are asked for these first.
 */
struct network {
	int counts[2]; /* /proc/net/sockstat and sockstat6; -1 */
	uint64_t bare; /* how many when none but ours was there */
	bool bare_known;
	bool some; /* were told at the last look */

	uint64_t first;                  /* how many at the first look */
	uint32_t starters[STARTERS_MAX]; /* inodes of those of AF_UNIX; the other end of one that
					    was closed is counted, and not shown */
	size_t starters_len;
	bool begun;

	/* in a network that is shared */
	struct writers holders;
	uint32_t *held; /* inodes of the sockets that they hold */
	size_t held_len;
	size_t held_cap;
};

/* One look. */
struct look {
	struct network *n;
	const struct vantage *v;
	struct sink *sink;
	uint64_t ours; /* and no starters */
	bool some;
	bool deaf; /* the kernel does not know what was asked */
};

/* In use, by /proc/net/sockstat: "sockets: used 5\nTCP: inuse 0 …\nUDP: inuse 0 …". */
struct counts {
	uint64_t used;
	uint64_t tcp;
	uint64_t udp;
};

static void network_close(void *memory)
{
	struct network *n = memory;
	fd_close_at(&n->counts[0]);
	fd_close_at(&n->counts[1]);
	writers_done(&n->holders);
	free(n->held);
	free(n);
}

static int network_open(const struct vantage *v, void **ret, struct err *e)
{
	struct network *n = calloc(1, sizeof(*n));
	if (!n)
		return err_sys(e, "follow sockets");
	n->holders = WRITERS_NULL;
	*ret = n;
	/* Of process 1, whose namespaces are the cell's. Without IPv6 there is no second one. */
	n->counts[0] = openat(v->proc, "1/net/sockstat", O_RDONLY | O_CLOEXEC);
	n->counts[1] = openat(v->proc, "1/net/sockstat6", O_RDONLY | O_CLOEXEC);
	return 0;
}

static uint64_t count_behind(const char *text, const char *label)
{
	const char *at = strstr(text, label);
	return at ? strtoull(at + strlen(label), NULL, 10) : 0;
}

static int read_counts(const struct network *n, struct counts *ret)
{
	char text[1024];
	ssize_t len = pread(n->counts[0], text, sizeof(text) - 1, 0);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	*ret = (struct counts){ count_behind(text, "sockets: used "),
				count_behind(text, "TCP: inuse "),
				count_behind(text, "UDP: inuse ") };
	return 0;
}

static int read_counts6(const struct network *n, struct counts *ret)
{
	char text[1024];
	ssize_t len = n->counts[1] < 0 ? 0 : pread(n->counts[1], text, sizeof(text) - 1, 0);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	*ret = (struct counts){ 0, count_behind(text, "TCP6: inuse "),
				count_behind(text, "UDP6: inuse ") };
	return 0;
}

/* ---- telling ---- */

static int offer_value(struct look *look, const char *id, const char *key, const cJSON *value)
{
	cleanup_free char *line = value ? json_line(value) : NULL;
	look->some = true;
	return line ? sink_offer(look->sink, &(struct offer){ .id = id, .key = key, .value = line })
		    : -ENOMEM;
}

static bool is_held(const struct network *n, uint32_t ino)
{
	for (size_t i = 0; i < n->held_len; i++)
		if (n->held[i] == ino)
			return true;
	return false;
}

static int offer_inet(void *with, const struct socket_info *info)
{
	struct look *look = with;
	if (look->v->sockets_shared && !is_held(look->n, info->ino))
		return 0;
	const char *protocol = info->type == SOCK_STREAM ? "tcp" : "udp";
	bool ephemeral = info->port >= EPHEMERAL_MIN && info->port <= EPHEMERAL_MAX;
	bool six = info->family == AF_INET6;
	char address[INET6_ADDRSTRLEN];
	char port[16];
	char key[128];
	char id[32];
	inet_ntop(info->family, info->address, address, sizeof(address));
	snprintf(port, sizeof(port), "%u", info->port);
	snprintf(key, sizeof(key), "%s:%s%s%s:%s", protocol, six ? "[" : "", address,
		 six ? "]" : "", ephemeral ? "ephemeral" : port);
	snprintf(id, sizeof(id), "%s %u", protocol, info->ino);
	cleanup_json cJSON *value = cJSON_CreateObject();
	cJSON_AddStringToObject(value, "address", address);
	cJSON_AddNumberToObject(value, "port", info->port);
	cJSON_AddBoolToObject(value, "ephemeral", ephemeral);
	return offer_value(look, id, key, value);
}

/* The kernel names a socket that asks for any name: NUL and five hex digits. */
static bool is_any_name(const struct socket_info *info)
{
	return info->name_len == 6 && info->name[0] == '\0' &&
	       strspn(info->name + 1, "0123456789abcdef") >= 5;
}

/* "unix:/run/app.sock", and with '@' for each NUL of an abstract name: "unix:@app". */
static void unix_key(const struct socket_info *info, char key[SOCKET_NAME_MAX + 8])
{
	char *to = stpcpy(key, "unix:");
	if (is_any_name(info)) {
		memcpy(to, "@(any)", sizeof("@(any)"));
		return;
	}
	memcpy(to, info->name, info->name_len);
	to[info->name_len] = '\0';
	for (char *end = to + info->name_len; (to = memchr(to, '\0', (size_t)(end - to)));)
		*to = '@';
}

static int offer_unix(struct look *look, const struct socket_info *info)
{
	char key[SOCKET_NAME_MAX + 8];
	char id[32];
	const char *type = info->type == SOCK_STREAM  ? "stream"
			   : info->type == SOCK_DGRAM ? "datagram"
						      : "packets";
	unix_key(info, key);
	snprintf(id, sizeof(id), "unix %u", info->ino);
	cleanup_json cJSON *value = cJSON_CreateObject();
	cJSON_AddStringToObject(value, "type", type);
	cJSON_AddBoolToObject(value, "listening", info->state == TCP_LISTEN);
	return offer_value(look, id, key, value);
}

static bool is_starter(const struct network *n, uint32_t ino)
{
	for (size_t i = 0; i < n->starters_len; i++)
		if (n->starters[i] == ino)
			return true;
	return false;
}

static bool is_own(const struct vantage *v, const struct socket_info *info)
{
	size_t len = v->own_dir ? strlen(v->own_dir) : 0;
	return len && info->name_len > len + 1 && info->name[0] == '/' &&
	       !memcmp(info->name + 1, v->own_dir, len) && info->name[len + 1] == '/';
}

/* What an accepted connection is called is its listener's name. */
static bool waits(const struct socket_info *info)
{
	return info->name_len &&
	       (info->type == SOCK_DGRAM || info->state == TCP_LISTEN || info->state == TCP_CLOSE);
}

static int on_unix(void *with, const struct socket_info *info)
{
	struct look *look = with;
	struct network *n = look->n;
	if (look->v->sockets_shared)
		return waits(info) && is_held(n, info->ino) ? offer_unix(look, info) : 0;
	if (!n->begun && n->starters_len < STARTERS_MAX)
		n->starters[n->starters_len++] = info->ino;
	if (is_starter(n, info->ino))
		return 0;
	if (is_own(look->v, info)) {
		look->ours += info->peer ? 2 : 1;
		return 0;
	}
	return waits(info) ? offer_unix(look, info) : 0;
}

/* ---- asking ---- */

static int ask(struct look *look, const struct socket_query *query,
	       int (*each)(void *with, const struct socket_info *info), struct err *e)
{
	struct err why = ERR_NULL;
	int r = socket_diag(look->v->sockets, query, each, look, &why);
	if (r == -ENOENT) {
		look->deaf = true;
		return 0;
	}
	if (r && !why.code)
		err_set(&why, -r, "tell of sockets: %s", strerrordesc_np(-r));
	if (r && e)
		*e = why;
	return r;
}

static int ask_inet(struct look *look, int family, const struct counts *counts, struct err *e)
{
	const struct socket_query tcp = { family, SOCK_STREAM, BIT(TCP_LISTEN) };
	const struct socket_query udp = { family, SOCK_DGRAM, BIT(TCP_CLOSE) };
	int r = counts->tcp ? ask(look, &tcp, offer_inet, e) : 0;
	return !r && counts->udp ? ask(look, &udp, offer_inet, e) : r;
}

static int ask_all(struct look *look, const struct counts *counts, struct err *e)
{
	static const struct socket_query unix_ = { AF_UNIX, 0, ~0U };
	struct counts counts6 = { 0 };
	int r = ask(look, &unix_, on_unix, e);
	if (!r && read_counts6(look->n, &counts6))
		r = err_sys(e, "count the sockets");
	r = r ? r : ask_inet(look, AF_INET, counts, e);
	return r ? r : ask_inet(look, AF_INET6, &counts6, e);
}

/* ---- in a network that is shared ---- */

static int on_held(void *with, const char *path, bool mapped)
{
	struct network *n = with;
	(void)mapped;
	if (!text_starts(path, "socket:["))
		return 0;
	if (n->held_len == n->held_cap) {
		size_t cap = n->held_cap ? n->held_cap * 2 : 16;
		uint32_t *held = reallocarray(n->held, cap, sizeof(*held));
		if (!held)
			return -ENOMEM;
		n->held = held;
		n->held_cap = cap;
	}
	n->held[n->held_len++] = (uint32_t)strtoul(path + strlen("socket:["), NULL, 10);
	return 0;
}

static int look_at_shared(struct look *look, struct err *e)
{
	static const struct counts all = { 1, 1, 1 };
	static const struct socket_query unix_ = { AF_UNIX, 0, ~0U };
	struct network *n = look->n;
	int proc = look->v->proc;
	n->held_len = 0;
	int r = writers_list(&n->holders, proc, look->v->warden, e);
	r = r ? r : writers_descriptors(&n->holders, proc, &(struct writers_tell){ on_held, n }, e);
	if (r || !n->held_len)
		return r;
	r = ask(look, &unix_, on_unix, e);
	r = r ? r : ask_inet(look, AF_INET, &all, e);
	return r || n->counts[1] < 0 ? r : ask_inet(look, AF_INET6, &all, e);
}

static int network_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
			struct err *e)
{
	struct network *n = memory;
	struct look look = { .n = n, .v = v, .sink = sink };
	struct counts counts = { 0 };
	if (v->sockets < 0 || n->counts[0] < 0)
		return sink_blind(sink, UNTOLD);
	int r = read_counts(n, &counts);
	if (r)
		return err_set(e, -r, "count the sockets: %s", strerrordesc_np(-r));
	if (n->bare_known && counts.used == n->bare && !n->some && !full)
		return 0;
	r = v->sockets_shared ? look_at_shared(&look, e) : ask_all(&look, &counts, e);
	if (!r)
		r = sink_blind(sink, look.deaf ? UNTOLD : NULL);
	if (r)
		return r;
	if (!n->begun)
		n->first = counts.used;
	n->begun = true;
	n->some = look.some;
	n->bare_known = !v->sockets_shared && counts.used == n->first + look.ours;
	n->bare = counts.used;
	return sink_all(sink);
}

/* Sockets of the cell that wait for others: listening TCP, bound UDP, listening or bound AF_UNIX,
 * also in the abstract namespace. Key: "tcp:127.0.0.1:8080", "udp:[::]:ephemeral",
 * "unix:/run/app.sock", "unix:@app". Value: {"address","port","ephemeral"} or {"type","listening"}.
 * Ours are left out. */
const struct sensor sensor_network = {
	.domain = "network",
	.came = "opened",
	.went = "closed",
	.open = network_open,
	.close = network_close,
	.look = network_look,
};
