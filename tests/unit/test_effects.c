#include <stdlib.h>
#include <string.h>

#include "runner/report/effects.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

static const char rows[] =
	"[{\"zone\":\"source\",\"class\":\"changed\",\"what\":\"content\",\"key\":\"/w/a\","
	"\"before\":{\"type\":\"file\",\"mode\":\"0644\",\"size\":1},"
	"\"after\":{\"type\":\"file\",\"mode\":\"0644\",\"size\":3}},"
	"{\"zone\":\"tmp\",\"class\":\"created\",\"what\":\"created\",\"key\":\"/tmp/d\",\"before\":null,"
	"\"after\":{\"type\":\"dir\",\"mode\":\"0755\"},\"below\":2},"
	"{\"zone\":\"tmp\",\"class\":\"created\",\"what\":\"created\",\"key\":\"/tmp/d/x\",\"before\":null,"
	"\"after\":{\"type\":\"file\",\"mode\":\"0644\",\"size\":4}},"
	"{\"zone\":\"state\",\"class\":\"created\",\"what\":\"created\",\"key\":\"/tmp/d/y\",\"before\":null,"
	"\"after\":{\"type\":\"file\",\"mode\":\"0644\",\"size\":5}},"
	"{\"zone\":\"tmp\",\"class\":\"attributes\",\"what\":\"mode\",\"key\":\"/tmp/\\u001b[2J\","
	"\"before\":{\"type\":\"file\",\"mode\":\"0644\",\"size\":1},"
	"\"after\":{\"type\":\"file\",\"mode\":\"0600\",\"size\":1}}]";

enum { SOURCE = 0, STATE = 1, TMP = 4 };

static void make_changes(struct changes *c)
{
	*c = (struct changes){ .len = 7, .rows = cJSON_Parse(rows) };
	c->totals[SOURCE][CHANGES_CHANGED] = (struct changes_total){ 1, 3 };
	c->totals[TMP][CHANGES_CREATED] = (struct changes_total){ 4, 1004 }; /* two are not listed */
	c->totals[TMP][CHANGES_ATTRIBUTES] = (struct changes_total){ 1, 0 };
	c->totals[STATE][CHANGES_CREATED] = (struct changes_total){ 1, 5 };
}

static const char *const command[] = { "make", "all", NULL };
static const char *const notes[] = { "a note", NULL };
static const struct isolation isolation = { .why = { "" } };
static const struct cell_event killed = {
	.kind = CELL_EXITED,
	.wait_status = 15,
	.survivors_len = 66, /* more than are told */
	.survivors = { { 7, "sleep" }, { 8, "a b" } },
};

static struct effects effects_of(const struct changes *c, const struct keeps *keeps)
{
	return (struct effects){
		.command = command,
		.project = "/w",
		.cwd = "/w",
		.notes = notes,
		.isolation = &isolation,
		.end = &killed,
		.status = 143,
		.seconds = 1.5,
		.changes = c,
		.keeps = keeps,
	};
}

static const char *const lines[] = {
	"fumehood: ended by SIGTERM; 5 created (1009 bytes), 1 changed (3 bytes), 1 attributes\n",
	"\nsource: 1 changed (3 bytes)\n  changed /w/a (1 -> 3 bytes)\n",
	"\ntmp: 4 created (1004 bytes), 1 attributes\n  created /tmp/d (dir) and 2 below it\n",
	"\n  changed mode of $'/tmp/\\x1b[2J' (mode 0644 -> 0600)\n  … and 2 more",
	"\nstate: 1 created (5 bytes)\n  created /tmp/d/y (file, 5 bytes)\n",
	"\nleft running, and ended: sleep, 'a b', ",
	" and 2 more\n",
	"\nkept /w/out as /srv/out: 1 file, 2 bytes\n",
	"\nnot kept: /w/out/fifo: why\nnot kept: 3 more\n",
	"\nnote: a note\n",
};

static int write_both(const struct effects *x, bool json, char **ret, struct err *e)
{
	const struct effects_look look = { .verbose = false };
	size_t len = 0;
	FILE *out = open_memstream(ret, &len);
	int r = json ? effects_write_json(x, out, e) : effects_write_text(x, &look, out, e);
	fclose(out);
	return r;
}

int main(void)
{
	cleanup(changes_done) struct changes c = CHANGES_NULL;
	make_changes(&c);
	char path[] = "/w/out";
	char to[] = "/srv/out";
	char *left_out[] = { (char[]){ "/w/out/fifo: why" }, NULL };
	const struct keeps keeps = {
		.at = { { .path = path, .to = to, .dir = -1, .done = true, .files = 1, .bytes = 2 },
			{ .path = path, .to = path, .dir = -1 } }, /* it failed */
		.len = 2,
		.left_out = { left_out, 1, 2 },
		.left_out_len = 4,
	};
	const struct effects x = effects_of(&c, &keeps);
	struct err e = ERR_NULL;
	cleanup_free char *text = NULL;
	int r = write_both(&x, false, &text, &e);
	for (size_t i = 0; i < countof(lines); i++)
		tap_ok(r == 0 && strstr(text, lines[i]), "people read: %s", lines[i]);
	tap_ok(!strchr(text, '\x1b') && !strstr(text, "/tmp/d/x"), "and no more");

	cleanup_free char *line = NULL;
	r = write_both(&x, true, &line, &e);
	cleanup_json cJSON *tree = cJSON_Parse(line);
	tap_ok(r == 0 && tree && strchr(line, '\n') == line + strlen(line) - 1, "one line of JSON");
	tap_ok(json_number(tree, "unlisted", -1) == 2 &&
		       json_number(tree, "processes_len", -1) == 66 &&
		       text_eq(json_text(tree, "signal"), "SIGTERM"),
	       "what is not listed is counted");
	tap_ok(cJSON_GetArraySize(cJSON_GetObjectItem(tree, "kept")) == 1 &&
		       cJSON_GetArraySize(cJSON_GetObjectItem(tree, "changes")) == 5,
	       "what was kept, and the rows");

	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup_free char *again = NULL;
		struct err why = ERR_NULL;
		r = write_both(&x, n % 2, &again, &why);
		wrong += fault_walk_hit() && r == 0;
	}
	tap_ok(wrong == 0 && n > 5, "each of %d faults is told", n);
	return tap_done();
}
