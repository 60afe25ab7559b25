#include "sandbox/base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int code, const char *fmt, ...)
{
	assert(code > 0);
	if (!e)
		return -code;
	*e = (struct err){ .code = code };
	va_list args;
	va_start(args, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, args);
	va_end(args);
	return -code;
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int code = errno ? errno : EIO;
	if (!e)
		return -code;
	*e = (struct err){ .code = code };
	va_list args;
	va_start(args, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, args);
	va_end(args);
	size_t len = strlen(e->text);
	snprintf(e->text + len, sizeof(e->text) - len, ": %s", strerrordesc_np(code));
	return -code;
}

int err_in(struct err *e, const char *fmt, ...)
{
	if (!e)
		return -EIO;
	assert(e->code > 0);
	struct err inner = *e;
	va_list args;
	va_start(args, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, args);
	va_end(args);
	size_t len = strlen(e->text);
	snprintf(e->text + len, sizeof(e->text) - len, ": %s", inner.text);
	return -e->code;
}

int err_hint(struct err *e, const char *fmt, ...)
{
	if (!e)
		return -EIO;
	assert(e->code > 0);
	va_list args;
	va_start(args, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, args);
	va_end(args);
	return -e->code;
}

int err_status(struct err *e, int status)
{
	if (!e)
		return -EIO;
	assert(e->code > 0);
	e->status = status;
	return -e->code;
}
