#include <errno.h>
#include <string.h>

#include "runner/no_hello.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "tests/lib/tap.h"

#define ENDED(code) .wait_status = (code) << 8
#define WHO         .adapter = "pytest", .path = "/bin"

static const struct {
	struct no_hello facts;
	const char *text, *hint; /* what they begin with */
} cases[] = {
	{ { WHO, .command = "make", ENDED(0) },
	  "no pytest session began: make ended with status 0",
	  "is this a pytest project, and does the command run pytest" },
	{ { WHO, .command = "make", ENDED(2) },
	  "no pytest session began: make ended with status 2",
	  "is this a pytest project" },
	{ { WHO, .command = "sh", ENDED(127) },
	  "no pytest session began: sh ended with status 127",
	  "127 says that a command was not found; PATH in the cell is /bin" },
	{ { WHO, .command = "sh", ENDED(126) },
	  "no pytest session began: sh ended with status 126",
	  "126 says that a command could not be executed" },
	{ { WHO, .command = "sh", .wait_status = 11 },
	  "no pytest session began: sh was ended by SIGSEGV",
	  "" },
	{ { WHO, .command = "pytest", .exec_failed = true, .exec_error = ENOENT },
	  "there is no command pytest along PATH in the cell: /bin",
	  "a tool below your home is seen when" },
	{ { WHO, .command = "./x", .exec_failed = true, .exec_error = ENOENT },
	  "run ./x: No such file or directory",
	  "what lies below your home" },
	{ { WHO, .command = "./x", .exec_failed = true, .exec_error = EACCES },
	  "run ./x: Permission denied",
	  "" },
};

int main(void)
{
	for (size_t i = 0; i < countof(cases); i++) {
		struct err e = ERR_NULL;
		int r = no_hello_explain(&cases[i].facts, &e);
		tap_ok(r < 0 && e.status == STATUS_HOST &&
			       strncmp(e.text, cases[i].text, strlen(cases[i].text)) == 0 &&
			       strncmp(e.hint, cases[i].hint, strlen(cases[i].hint)) == 0 &&
			       !e.hint[0] == !cases[i].hint[0],
		       "%s (%s)", e.text, e.hint);
	}
	return tap_done();
}
