#include "runner/progress.h"

#include <stdlib.h>
#include <string.h>

#include "probe/event.h"
#include "runner/printable.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"

#define BAR_COLUMNS 20

void progress_begin(struct progress *p, FILE *out, const struct terminal *terminal,
		    int64_t (*now_ms)(void))
{
	*p = (struct progress){ .out = out,
				.terminal = *terminal,
				.now_ms = now_ms,
				.lanes = 1,
				.failed = MAP_NULL(NULL),
				.leaking = MAP_NULL(NULL) };
	p->began_ms = p->told_ms = now_ms();
}

void progress_expect(struct progress *p, const struct progress_left *left, unsigned lanes)
{
	p->left = *left;
	p->lanes = lanes;
}

/* ---- how much is left ---- */

static size_t orders_in_all(const struct progress *p)
{
	return p->orders_done + p->orders_len + p->left.orders;
}

static double seconds_of_one(const struct progress *p)
{
	return p->orders_seconds / (double)p->orders_done;
}

/* As its tests went so far; before the first one ended, as other orders did. */
static double seconds_left_of(const struct progress *p, const struct progress_order *o)
{
	double taken = (double)(p->now_ms() - o->began_ms) / 1000;
	double whole = o->done ? taken * (double)o->tests.len / (double)o->done : seconds_of_one(p);
	return whole > taken ? whole - taken : 0;
}

/* False: nothing is known yet. */
static bool estimate(const struct progress *p, int *ret_seconds)
{
	if (!p->orders_done)
		return false;
	double sum =
		p->left.seconds > 0 ? p->left.seconds : seconds_of_one(p) * (double)p->left.orders;
	for (size_t i = 0; i < p->orders_len; i++)
		sum += seconds_left_of(p, &p->orders[i]);
	size_t busy = p->orders_len + p->left.orders;
	size_t lanes = busy < p->lanes ? busy : p->lanes;
	*ret_seconds = lanes ? (int)(sum / (double)lanes + 0.5) : 0;
	return lanes != 0;
}

/* ---- the display ---- */

static int add_time(struct buf *text, const char *before, int64_t seconds, const char *after)
{
	return buf_printf(text, "%s%d:%02d%s", before, (int)(seconds / 60), (int)(seconds % 60),
			  after);
}

/* Of one order its tests are counted, of several the orders. */
static int add_steps(const struct progress *p, struct buf *text)
{
	if (orders_in_all(p) > 1)
		return buf_printf(text, "%zu/%zu%s orders", p->orders_done, orders_in_all(p),
				  p->left.more ? "+" : "");
	return p->tests_len ? buf_printf(text, "%zu/%zu", p->tests_done, p->tests_len)
			    : buf_puts(text, "collecting");
}

/* "12/340  2 failed  1 leaking  0:07", "3/27+ orders  2 failed  0:07  about 1:10 left" */
static int add_counts(const struct progress *p, struct buf *text)
{
	int left = 0;
	int r = add_steps(p, text);
	if (!r && p->failed.len)
		r = buf_printf(text, "  %zu failed", p->failed.len);
	if (!r && p->leaking.len)
		r = buf_printf(text, "  %zu leaking", p->leaking.len);
	r = r ? r : add_time(text, "  ", (p->now_ms() - p->began_ms) / 1000, "");
	if (!r && orders_in_all(p) > 1 && estimate(p, &left))
		r = add_time(text, "  about ", left, " left");
	return r;
}

static int add_bar(const struct progress *p, struct buf *text)
{
	bool several = orders_in_all(p) > 1;
	size_t all = several ? orders_in_all(p) : p->tests_len;
	size_t full = all ? (several ? p->orders_done : p->tests_done) * BAR_COLUMNS / all : 0;
	int r = buf_puts(text, "[");
	for (size_t i = 0; i < BAR_COLUMNS && !r; i++)
		r = buf_puts(text, i < full ? "#" : ".");
	return r ? r : buf_puts(text, "] ");
}

static int add_running(const struct progress_order *o, struct buf *text)
{
	if (o->running >= o->tests.len)
		return 0;
	cleanup_free char *name = printable(o->tests.at[o->running]);
	return name ? buf_printf(text, "  %s", name) : -1;
}

/* One line of at most `width` columns; on a narrow terminal the bar and the name give way. */
static int add_line(const struct progress *p, int width, struct buf *text)
{
	int r = width >= 60 ? add_bar(p, text) : 0;
	r = r ? r : add_counts(p, text);
	if (!r && p->orders_len)
		r = add_running(&p->orders[0], text);
	if (!r) {
		text->len = (size_t)columns_cut(text->at, width);
		text->at[text->len] = '\0';
	}
	return r;
}

static void draw(struct progress *p)
{
	cleanup(buf_done) struct buf text = BUF_NULL;
	/* The last column stays free: some terminals wrap as soon as it is written. */
	if (add_line(p, terminal_width(&p->terminal) - 1, &text))
		return;
	enum style style = p->failed.len ? STYLE_RED : p->leaking.len ? STYLE_YELLOW : STYLE_GREEN;
	fprintf(p->out, "\r%s%s%s\033[K", terminal_style(&p->terminal, style), text.at,
		terminal_style(&p->terminal, STYLE_PLAIN));
	fflush(p->out);
	p->drawn = true;
}

static void tell(struct progress *p)
{
	cleanup(buf_done) struct buf text = BUF_NULL;
	if (add_counts(p, &text) == 0)
		fprintf(p->out, "fumehood: %s\n", text.at);
}

/* "lane 1: s17  34/100  test_a.py::test_x  for 0:12" */
static int add_lane(const struct progress *p, const struct progress_order *o, struct buf *text)
{
	cleanup_free char *name = printable(o->name);
	int r = name ? buf_printf(text, "  lane %u: %s", o->lane, name) : -1;
	if (!r)
		r = o->tests.len ? buf_printf(text, "  %zu/%zu", o->done, o->tests.len)
				 : buf_puts(text, "  collecting");
	r = r ? r : add_running(o, text);
	return r ? r : add_time(text, "  for ", (p->now_ms() - o->since_ms) / 1000, "\n");
}

void progress_tell_lanes(struct progress *p)
{
	if (!p->out)
		return;
	progress_hide(p);
	tell(p);
	for (size_t i = 0; i < p->orders_len; i++) {
		cleanup(buf_done) struct buf text = BUF_NULL;
		if (add_lane(p, &p->orders[i], &text) == 0)
			fputs(text.at, p->out);
	}
	fflush(p->out);
}

int progress_due_ms(const struct progress *p)
{
	if (!p->out)
		return -1;
	int64_t due = p->told_ms + (p->terminal.live ? PROGRESS_BAR_MS : PROGRESS_LINE_MS);
	int64_t left = due - p->now_ms();
	return left > 0 ? (int)left : 0;
}

void progress_tick(struct progress *p)
{
	if (progress_due_ms(p) != 0)
		return;
	p->told_ms = p->now_ms();
	if (p->terminal.live)
		draw(p);
	else
		tell(p);
}

/* ---- what passes; without memory the display lacks something ---- */

static struct progress_order *find(const struct progress *p, const char *name)
{
	for (size_t i = 0; i < p->orders_len; i++)
		if (text_eq(p->orders[i].name, name))
			return &p->orders[i];
	return NULL;
}

static void order_end(struct progress_order *o)
{
	free(o->name);
	strv_done(&o->tests);
}

static void see_begin(struct progress *p, struct progress_order *o, const cJSON *line)
{
	const char *name = json_text(line, "order");
	struct progress_order *more =
		o || !name ? NULL : reallocarray(p->orders, p->orders_len + 1, sizeof(*more));
	if (!more)
		return;
	p->orders = more;
	more[p->orders_len++] =
		(struct progress_order){ .name = strdup(name),
					 .lane = (unsigned)json_number(line, "lane", 0),
					 .began_ms = p->now_ms(),
					 .since_ms = p->now_ms() };
}

static void see_order(struct progress *p, struct progress_order *o, const cJSON *line)
{
	const cJSON *test;
	if (!o)
		return;
	cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(line, "tests"))
	{
		strv_add(&o->tests, test->valuestring ? test->valuestring : "");
	}
	o->since_ms = p->now_ms();
	p->tests_len = o->tests.len;
	p->tests_done = o->done;
}

static bool leaks(const cJSON *line)
{
	const cJSON *delta;
	cJSON_ArrayForEach(delta, cJSON_GetObjectItemCaseSensitive(line, "deltas"))
	{
		if (text_eq(json_text(delta, "kind"), "leak"))
			return true;
	}
	return false;
}

static void see_test(struct progress *p, struct progress_order *o, const cJSON *line)
{
	const char *id = json_text(line, "test");
	if (!o || !id)
		return;
	o->running = (size_t)json_number(line, "n", 0) + 1;
	o->since_ms = p->now_ms();
	p->tests_len = o->tests.len;
	p->tests_done = ++o->done;
	if (outcome_failed(outcome_find(json_text(line, "outcome"))))
		map_put(&p->failed, id, p);
	if (leaks(line))
		map_put(&p->leaking, id, p);
}

static void see_end(struct progress *p, struct progress_order *o, const cJSON *line)
{
	if (!o)
		return;
	p->orders_done++;
	p->orders_seconds += json_number(line, "seconds", 0);
	order_end(o);
	size_t behind = p->orders_len - (size_t)(o - p->orders) - 1;
	memmove(o, o + 1, behind * sizeof(*o));
	p->orders_len--;
}

void progress_see(struct progress *p, const cJSON *line)
{
	static const struct {
		const char *kind;
		void (*see)(struct progress *p, struct progress_order *o, const cJSON *line);
	} kinds[] = { { "begin", see_begin },
		      { "order", see_order },
		      { "test", see_test },
		      { "end", see_end } };
	if (!p->out)
		return;
	const char *kind = json_text(line, "kind");
	for (size_t i = 0; i < countof(kinds); i++)
		if (text_eq(kind, kinds[i].kind))
			kinds[i].see(p, find(p, json_text(line, "order")), line);
	bool last = orders_in_all(p) == 1 && p->tests_done && p->tests_done == p->tests_len;
	if (last && p->terminal.live)
		draw(p); /* whoever watched sees it end, however quick it was */
	else
		progress_tick(p);
}

void progress_hide(struct progress *p)
{
	if (!p->drawn)
		return;
	fputs("\r\033[K", p->out);
	fflush(p->out);
	p->drawn = false;
}

void progress_done(struct progress *p)
{
	progress_hide(p);
	for (size_t i = 0; i < p->orders_len; i++)
		order_end(&p->orders[i]);
	free(p->orders);
	p->orders = NULL;
	p->orders_len = 0;
	map_done(&p->failed);
	map_done(&p->leaking);
}
