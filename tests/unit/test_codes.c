#include <stdio.h>
#include <string.h>

#include "runner/judge/classes.h"
#include "runner/judge/codes.h"
#include "runner/judge/rules.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"
#include "tests/lib/tap.h"

/* Every code of the design, by its row there. */
static const char *const all[] = {
	"FH101", "FH102", "FH103", "FH104", "FH105", "FH106", "FH111", "FH121", "FH122", "FH123",
	"FH124", "FH131", "FH141", "FH142", "FH151", "FH152", "FH161", "FH162", "FH171", "FH172",
	"FH173", "FH181", "FH191", "FH201", "FH202", "FH203", "FH204", "FH205", "FH206", "FH207",
	"FH208", "FH209", "FH210", "FH301", "FH302", "FH303", "FH304", "FH305", "FH306", "FH307",
	"FH308", "FH309", "FH310", "FH401", "FH402", "FH403", "FH404",
};

int main(void)
{
	bool same = codes_len == countof(all);
	for (size_t i = 0; i < countof(all) && same; i++)
		same = text_eq(codes[i].code, all[i]);
	tap_ok(same, "the codes are those of the design, in their order");
	for (size_t i = 0; i < codes_len; i++) {
		const struct code *c = &codes[i];
		bool sentence = c->means[strlen(c->means) - 1] == '.' &&
				(!c->what || c->what[strlen(c->what) - 1] == '.');
		tap_ok(sentence && *c->name && code_find(c->code) == c && c->check <= CHECK_INFO,
		       "%s has a page", c->code);
	}
	for (int i = REPAIR_NONE + 1; i < REPAIR_N; i++)
		tap_ok(repairs[i].name && repairs[i].text, "repair %s", repairs[i].name);
	for (int i = 0; i < CLASS_N; i++) {
		const char *code = class_rows[i].code;
		const struct code *c = code ? code_find(code) : NULL;
		tap_ok(!code || (c && c->check == class_rows[i].check),
		       "class %s and its code agree", class_rows[i].name);
	}
	static const char *const domains[] = { "files",     "env",     "process", "descriptors",
					       "processes", "threads", "ipc",     "network",
					       "custom",    "memory" };
	for (size_t i = 0; i < countof(domains); i++)
		tap_ok(code_find(rule_of(domains[i], "changed", "x")->code), "domain %s has a code",
		       domains[i]);
	tap_ok(code_find("fh201") == code_find("FH201-1a2b3c4d") && code_find("fh201"),
	       "any case, and the id of a finding");
	tap_ok(!code_find("FH2010") && !code_find("") && !code_find("FH299"), "no such code");
	tap_ok(text_eq(code_nearest("FH1011"), "FH101"), "the nearest is told");
	tap_ok(!code_nearest("polluter"), "when one is near");
	return tap_done();
}
