#include "runner/progress.h"

#include "probe/event.h"
#include "runner/printable.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"

#define BAR_COLUMNS 20

void progress_begin(struct progress *p, FILE *out, const struct terminal *terminal,
		    int64_t (*now_ms)(void))
{
	*p = (struct progress){ .out = out, .terminal = *terminal, .now_ms = now_ms };
	p->began_ms = p->told_ms = now_ms();
}

/* "12/340  2 failed  1 leaking  0:07", or what is known before the tests are. */
static int add_counts(const struct progress *p, struct buf *text)
{
	int64_t seconds = (p->now_ms() - p->began_ms) / 1000;
	int r = p->tests.len ? buf_printf(text, "%zu/%zu", p->done, p->tests.len)
			     : buf_puts(text, "collecting");
	if (!r && p->failed)
		r = buf_printf(text, "  %zu failed", p->failed);
	if (!r && p->leaking)
		r = buf_printf(text, "  %zu leaking", p->leaking);
	return r ? r : buf_printf(text, "  %d:%02d", (int)(seconds / 60), (int)(seconds % 60));
}

static int add_bar(const struct progress *p, struct buf *text)
{
	size_t full = p->tests.len ? p->done * BAR_COLUMNS / p->tests.len : 0;
	int r = buf_puts(text, "[");
	for (size_t i = 0; i < BAR_COLUMNS && !r; i++)
		r = buf_puts(text, i < full ? "#" : ".");
	return r ? r : buf_puts(text, "] ");
}

/* One line of at most `width` columns; on a narrow terminal the bar and the name give way. */
static int add_line(const struct progress *p, int width, struct buf *text)
{
	int r = width >= 60 ? add_bar(p, text) : 0;
	r = r ? r : add_counts(p, text);
	if (!r && p->running < p->tests.len) {
		cleanup_free char *name = printable(p->tests.at[p->running]);
		r = name ? buf_printf(text, "  %s", name) : -1;
	}
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
	enum style style = p->failed ? STYLE_RED : p->leaking ? STYLE_YELLOW : STYLE_GREEN;
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

static bool leaks(const cJSON *line)
{
	const cJSON *delta;
	cJSON_ArrayForEach(delta, cJSON_GetObjectItemCaseSensitive(
					  line, "deltas")) if (text_eq(json_text(delta, "kind"),
								       "leak")) return true;
	return false;
}

void progress_see(struct progress *p, const cJSON *line)
{
	if (!p->out)
		return;
	const char *kind = json_text(line, "kind");
	const cJSON *test;
	if (text_eq(kind, "order")) {
		cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(line, "tests"))
			strv_add(&p->tests, test->valuestring ? test->valuestring : "");
	} else if (text_eq(kind, "test")) {
		p->done++;
		p->running = (size_t)json_number(line, "n", 0) + 1;
		p->failed += outcome_failed(outcome_find(json_text(line, "outcome")));
		p->leaking += leaks(line);
	}
	bool last = p->done && p->done == p->tests.len;
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
	strv_done(&p->tests);
}
