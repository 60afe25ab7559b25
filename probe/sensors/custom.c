#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/sensors/sensors.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"

#define SHOWN_LEN_MAX 65536 /* bytes of output that may stand in the ledger */

struct probe {
	bool known;  /* its output was seen once */
	size_t runs; /* that were tried */
	size_t failures;
	char why[VANTAGE_WHY_LEN]; /* of the first one */
};

struct custom {
	struct probe *probes;
	struct buf output;
};

static size_t count(const struct vantage *v)
{
	size_t n = 0;
	while (v->probes && v->probes[n])
		n++;
	return n;
}

static int custom_open(const struct vantage *v, void **ret, struct err *e)
{
	struct custom *c = calloc(1, sizeof(*c));
	struct probe *probes = calloc(count(v) + 1, sizeof(*probes));
	if (!c || !probes) {
		free(c);
		free(probes);
		return err_set(e, ENOMEM, "follow probes");
	}
	c->probes = probes;
	*ret = c;
	return 0;
}

static void custom_close(void *memory)
{
	struct custom *c = memory;
	free(c->probes);
	buf_done(&c->output);
	free(c);
}

static char *value_of(const struct vantage *v, const struct buf *output)
{
	char hex[DIGEST_HEX];
	cleanup_json cJSON *value = cJSON_CreateObject();
	if (!value || !cJSON_AddNumberToObject(value, "len", (double)output->len) ||
	    !cJSON_AddStringToObject(value, "digest",
				     digest_hex(digest_bytes(output->at, output->len), hex)))
		return NULL;
	if (v->show_values && output->len <= SHOWN_LEN_MAX &&
	    json_add_name(value, "value", output->at))
		return NULL;
	return json_line(value);
}

/* What it printed first is no test's doing, when before that it failed. */
static int offer(struct probe *probe, const char *name, const struct vantage *v,
		 const struct buf *output, struct sink *sink)
{
	cleanup_free char *value = value_of(v, output);
	if (!value)
		return -ENOMEM;
	int r = sink_offer(sink,
			   &(struct offer){ .id = name, .value = value, .quiet = !probe->known });
	probe->known |= !r;
	return r;
}

static int ask(struct custom *c, size_t n, const struct vantage *v, struct sink *sink, struct err *e)
{
	struct probe *probe = &c->probes[n];
	char why[VANTAGE_WHY_LEN] = "";
	buf_clear(&c->output);
	if (buf_reserve(&c->output, 0))
		return -ENOMEM;
	int r = v->run_probe(v->run_with, n, &c->output, why, e);
	if (r < 0)
		return r;
	probe->runs++;
	if (r == 0)
		return offer(probe, v->probes[n], v, &c->output, sink);
	if (!probe->failures++)
		memcpy(probe->why, why, sizeof(probe->why));
	return 0;
}

static int tell_failures(const struct custom *c, const struct vantage *v, struct sink *sink)
{
	cleanup(buf_done) struct buf why = BUF_NULL;
	int r = 0;
	for (size_t i = 0; !r && v->probes[i]; i++)
		if (c->probes[i].failures)
			r = buf_printf(&why, "%s%s: %s (in %zu of %zu looks)", why.len ? "; " : "",
				       v->probes[i], c->probes[i].why, c->probes[i].failures,
				       c->probes[i].runs);
	return r ? r : sink_blind(sink, why.at);
}

static int custom_look(void *memory, const struct vantage *v, bool full, struct sink *sink,
		       struct err *e)
{
	struct custom *c = memory;
	int r = 0;
	(void)full;
	for (size_t i = 0; !r && v->probes && v->probes[i]; i++)
		r = ask(c, i, v, sink, e);
	return r || !v->probes ? r : tell_failures(c, v, sink);
}

/* What commands of the user print: a row count, a schema. Key: the name. Value: {"len","digest"}, and
 * "value" where values may be shown. One that fails leaves its entry as it was, and is said. */
const struct sensor sensor_custom = {
	.domain = "custom",
	.came = "added",
	.went = "removed",
	.acts = true,
	.open = custom_open,
	.close = custom_close,
	.look = custom_look,
};
