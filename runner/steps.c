#include "runner/steps.h"

#include <errno.h>
#include <string.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"

static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./:,@%+";
	return *word && !word[strspn(word, plain)];
}

/* One word of a shell, as every shell reads it. */
static int add_word(struct buf *b, const char *word)
{
	int r = b->len ? buf_puts(b, " ") : 0;
	if (r)
		return r;
	return is_plain(word) ? buf_puts(b, word) : buf_quote(b, word);
}

int steps_command(const struct json_source *src, const cJSON *run, char **ret, struct err *e)
{
	cleanup(buf_done) struct buf words = BUF_NULL;
	const cJSON *word;
	if (cJSON_IsString(run) && run->valuestring[0]) {
		*ret = strdup(run->valuestring);
		return *ret ? 0 : err_set(e, ENOMEM, "no memory");
	}
	if (!cJSON_IsArray(run) || !cJSON_GetArraySize(run))
		return json_refuse(src, run, e,
				   "\"run\" must be a command: a text for a shell, or a list of words");
	cJSON_ArrayForEach(word, run)
	{
		if (!cJSON_IsString(word))
			return json_refuse(src, word, e, "\"run\" must be a list of texts");
		if (add_word(&words, word->valuestring))
			return err_set(e, ENOMEM, "no memory");
	}
	*ret = take_ptr(&words.at);
	return 0;
}

static int step_run(const struct json_source *src, const cJSON *run, struct steps *ret, struct err *e)
{
	char *text = NULL;
	int r = steps_command(src, run, &text, e);
	return r || !strv_adopt(&ret->run, text) ? r : err_set(e, ENOMEM, "no memory");
}

static int step_inputs(const struct json_source *src, const cJSON *inputs, struct steps *ret,
		       struct err *e)
{
	const cJSON *input;
	if (!cJSON_IsArray(inputs))
		return json_refuse(src, inputs, e,
				   "\"inputs\" must be a list of texts: the files that decide what the "
				   "command makes");
	cJSON_ArrayForEach(input, inputs)
	{
		const char *text = cJSON_IsString(input) ? input->valuestring : "";
		if (!text[0] || text[0] == '/' || text_starts(text, "../") ||
		    strstr(text, "/../") || text_ends(text, ".."))
			return json_refuse(src, input, e,
					   "\"inputs\" must be files below the project");
		if (!strv_has(&ret->inputs, text) && strv_add(&ret->inputs, text))
			return err_set(e, ENOMEM, "no memory");
	}
	return 0;
}

int steps_read(const struct json_source *src, const cJSON *steps, struct steps *ret, struct err *e)
{
	static const char *const names[] = { "run", "inputs" };
	const cJSON *step;
	int r = 0;
	cJSON_ArrayForEach(step, steps)
	{
		if (!cJSON_IsObject(step))
			return json_refuse(src, step, e,
					   "a step of \"prepare\" must be an object with \"run\" and "
					   "\"inputs\"");
		r = json_known_keys(src, step, names, countof(names), e);
		for (size_t i = 0; i < countof(names) && !r; i++)
			if (!cJSON_GetObjectItemCaseSensitive(step, names[i]))
				r = json_refuse(src, step, e, "a step of \"prepare\" has no \"%s\"",
						names[i]);
		if (!r)
			r = step_run(src, cJSON_GetObjectItemCaseSensitive(step, "run"), ret, e);
		if (!r)
			r = step_inputs(src, cJSON_GetObjectItemCaseSensitive(step, "inputs"), ret,
					e);
		if (r)
			return r;
	}
	return 0;
}

void steps_done(struct steps *steps)
{
	strv_done(&steps->run);
	strv_done(&steps->inputs);
}
