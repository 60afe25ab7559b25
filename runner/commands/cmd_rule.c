#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runner/command.h"
#include "runner/judge/codes.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/text.h"

#define WIDTH 78

/* One paragraph, broken between words. */
static void paragraph(const char *text)
{
	size_t column = 0;
	for (size_t n = 0; *text_word(text, n); n++) {
		const char *word = text_word(text, n);
		size_t len = strcspn(word, " ");
		if (column && column + 1 + len > WIDTH) {
			putchar('\n');
			column = 0;
		}
		printf("%s%.*s", column ? " " : "", (int)len, word);
		column += (column != 0) + len;
	}
	printf("\n");
}

static const char *says_text(enum check_says says)
{
	static const char *const texts[] = {
		[CHECK_BLOCK] = "it blocks: exit status 1",
		[CHECK_FAILED] = "exit status 2, when nothing blocks",
		[CHECK_WARN] = "it warns",
		[CHECK_INFO] = "it is told, and nothing more",
	};
	return texts[says];
}

static void page(const struct code *c)
{
	const struct repair_row *repair = &repairs[c->repair];
	printf("%s %s\n\n", c->code, c->name);
	paragraph(c->means);
	printf("\nIn check: %s.\n", says_text(c->check));
	if (repair->name || c->what)
		printf("\nRepair%s%s\n\n", repair->name ? ": " : "",
		       repair->name ? repair->name : "");
	if (repair->name)
		paragraph(repair->text);
	if (c->what) {
		fputs(repair->name ? "\n" : "", stdout);
		paragraph(c->what);
	}
	printf("\nTo live with it, in fumehood.json, with the reason, which every summary repeats:\n\n"
	       "  \"ignore\": [{\"code\": \"%s\", \"test\": \"tests/test_a.py::*\", \"reason\": \"...\",\n"
	       "              \"expires\": \"2027-01-31\"}]\n",
	       c->code);
}

static void list(void)
{
	for (size_t i = 0; i < codes_len; i++)
		printf("%s  %-8s %s\n", codes[i].code, check_says_name(codes[i].check),
		       codes[i].name);
}

static int unknown(const char *name, struct err *e)
{
	const char *near = code_nearest(name);
	err_set(e, EINVAL, "there is no rule %s", name);
	if (near)
		err_hint(e, "did you mean %s?", near);
	else
		err_hint(e, "fumehood rule lists what there is");
	return err_status(e, STATUS_USAGE);
}

static int run(int argc, const char *const *argv, struct err *e)
{
	if (argc > 2) {
		err_set(e, EINVAL, "rule takes one code, and \"%s\" is one more", argv[2]);
		return err_status(e, STATUS_USAGE);
	}
	if (argc < 2) {
		list();
		return 0;
	}
	const struct code *c = code_find(argv[1]);
	if (!c)
		return unknown(argv[1], e);
	page(c);
	return 0;
}

const struct command cmd_rule = {
	.name = "rule",
	.args = "[CODE]",
	.help = "say what a code like FH101 means and how it is repaired; without one, list all",
	.more = "CODE may be the id of a finding, too. Exit status: 0, or 64 when there is no such code.\n\n"
		"Examples:\n"
		"  fumehood rule FH201\n"
		"  fumehood rule FH101-1a2b3c4d\n",
	.run = run,
};
