#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "runner/config.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A fumehood.json: taken, or refused with the place. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = calloc(1, size + 1);
	assert(text);
	memcpy(text, data, size);
	cleanup(config_done) struct config c = CONFIG_NULL;
	struct err e = ERR_NULL;
	int r = config_file(&c, "f.json", text, size, "/base", &e);
	assert(e.code == -r);
	assert(r == 0 || (e.status == STATUS_DATA && text_starts(e.text, "f.json:")));
	cleanup_json cJSON *json = config_json(&c, CONFIG_RUN);
	assert(json);
	return 0;
}
