#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const known[] = { "network", "timeout" };
	cleanup_json cJSON *tree = NULL;
	struct err e = ERR_NULL;
	int r = json_parse("f", (const char *)data, size, &tree, &e);
	assert(e.code == -r && (r == 0) == (tree != NULL)); /* a refusal says why */
	if (r)
		return 0;
	cleanup_free char *text = strndup((const char *)data, size);
	cleanup_free char *line = json_line(tree);
	assert(text && line && !strchr(line, '\n'));
	const struct json_source src = { .name = "f", .text = text, .tree = tree };
	json_known_keys(&src, tree, known, countof(known), NULL);
	return 0;
}
