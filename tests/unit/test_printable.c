#include "runner/printable.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

static const struct {
	const char *text, *printable, *quoted;
} cases[] = {
	{ "tests/test_a.py::test_x", "tests/test_a.py::test_x", "tests/test_a.py::test_x" },
	{ "t.py::test_x[1-2]", "t.py::test_x[1-2]", "'t.py::test_x[1-2]'" },
	{ "a b", "a b", "'a b'" },
	{ "", "", "''" },
	{ "it's", "it's", "$'it\\'s'" },
	{ "a\\b", "a\\b", "'a\\b'" },
	{ "a\\b\n", "a\\b\\n", "$'a\\\\b\\n'" },
	{ "t\x1b[2J\x7f", "t\\x1b[2J\\x7f", "$'t\\x1b[2J\\x7f'" },
	{ "\xff.txt", "\\xff.txt", "$'\\xff.txt'" },
	{ "t\xc3\xa9st", "t\xc3\xa9st", "t\xc3\xa9st" },
	{ "a\xe2\x80\xaetxt", "a\\xe2\\x80\\xaetxt", "$'a\\xe2\\x80\\xaetxt'" }, /* right to left */
	{ "\xc2\x9b"
	  "31m",
	  "\\xc2\\x9b31m", "$'\\xc2\\x9b31m'" }, /* an escape sequence in one character */
	{ "$(rm -rf ~)", "$(rm -rf ~)", "'$(rm -rf ~)'" },
};

static const struct {
	const char *text, *line;
} lines[] = {
	{ "a\nE   assert 1 == 2\nE    +  where\n\nt.py:1: AssertionError\n", "assert 1 == 2" },
	{ "E   at once", "at once" },
	{ "Error: no E here\r\n\n", "Error: no E here" },
	{ "one", "one" },
	{ "  \n ", "" },
	{ "", "" },
	{ "a\n\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m" },
};

static const struct {
	const char *text;
	int columns, bytes;
} widths[] = {
	{ "abc", 2, 2 },
	{ "abc", 3, 3 },
	{ "t\xc3\xa9s", 2, 3 },
	{ "\xe6\xb5\x8b\xe8\xaf\x95", 3, 3 }, /* two wide ones */
	{ "\xe6\xb5\x8b\xe8\xaf\x95", 4, 6 },
	{ "e\xcc\x81x", 1, 3 }, /* a combining accent */
	{ "", 5, 0 },
};

static void test_faults(void)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup_free char *word = quoted("it's \x1b");
		cleanup_free char *line = telling_line("a\nb");
		wrong += fault_walk_hit() && word && line;
	}
	tap_ok(wrong == 0 && n > 3, "each of %d faults is told", n);
}

int main(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		cleanup_free char *shown = printable(cases[i].text);
		cleanup_free char *word = quoted(cases[i].text);
		tap_ok(text_eq(shown, cases[i].printable), "printable: %s", shown);
		tap_ok(text_eq(word, cases[i].quoted), "quoted: %s", word);
	}
	for (size_t i = 0; i < countof(lines); i++) {
		cleanup_free char *line = telling_line(lines[i].text);
		tap_ok(text_eq(line, lines[i].line), "telling line: %s", line);
	}
	for (size_t i = 0; i < countof(widths); i++)
		tap_ok(columns_cut(widths[i].text, widths[i].columns) == widths[i].bytes,
		       "%d columns of %s", widths[i].columns, widths[i].text);
	test_faults();
	return tap_done();
}
