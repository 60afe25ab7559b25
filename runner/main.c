#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runner/command.h"
#include "runner/printable.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fault.h"
#include "sandbox/base/text.h"

static void overview(FILE *out)
{
	fprintf(out,
		"fumehood runs a test suite in many orders, each in a fresh little Linux, and tells\n"
		"which test breaks which, and what each leaves behind.\n\n"
		"usage: fumehood [OPTIONS] -- CMD...\n"
		"       fumehood COMMAND [OPTIONS] -- CMD...\n\n");
	for (size_t i = 0; commands[i]; i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->help);
	fprintf(out, "\nto begin: fumehood -- pytest\n"
		     "options of a command: fumehood COMMAND --help\n"
		     "the manual: man fumehood\n"
		     "the version: fumehood --version\n");
}

static void command_help(const struct command *command, bool brief)
{
	printf("usage: fumehood %s %s\n\n%s\n", command->name, command->args, command->help);
	config_help(command->options, stdout);
	if (!brief)
		printf("\n%s", command->more);
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (text_eq(name, commands[i]->name))
			return commands[i];
	return NULL;
}

static int unknown(const char *name, struct err *e)
{
	const char *names[64];
	size_t n = 0;
	for (; commands[n] && n < countof(names); n++)
		names[n] = commands[n]->name;
	err_set(e, EINVAL, "there is no command %s", name);
	const char *near = text_nearest(name, names, n);
	if (near)
		err_hint(e, "did you mean %s?", near);
	else
		err_hint(e, "fumehood --help lists what there is");
	return err_status(e, STATUS_USAGE);
}

/* The first of -h and --help among the options: 'h', '-', or 0. */
static char asks_help(int argc, const char *const *argv)
{
	for (int i = 0; i < argc && !text_eq(argv[i], "--"); i++)
		if (text_eq(argv[i], "-h") || text_eq(argv[i], "--help"))
			return argv[i][1];
	return 0;
}

static int dispatch(int argc, const char *const *argv, struct err *e)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	if (!name || text_eq(name, "-h") || text_eq(name, "--help")) {
		overview(stdout);
		return 0;
	}
	if (text_eq(name, "--version")) {
		printf("fumehood %s\n", FUMEHOOD_VERSION);
		return 0;
	}
	bool main_job = name[0] == '-'; /* fumehood [OPTIONS] -- CMD */
	const struct command *command = main_job ? &cmd_check : find(name);
	if (!command)
		return unknown(name, e);
	argc -= !main_job;
	argv += !main_job;
	char help = asks_help(argc, argv);
	if (help) {
		command_help(command, help == 'h');
		return 0;
	}
	return command->run(argc, argv, e);
}

static void print_err(const struct err *e)
{
	cleanup_free char *text = printable(e->text);
	cleanup_free char *hint = printable(e->hint);
	fprintf(stderr, "fumehood: %s\n", text ? text : e->text);
	if (e->hint[0])
		fprintf(stderr, "hint: %s\n", hint ? hint : e->hint);
}

/* A descriptor that is opened later must not become the 0, 1 or 2 of somebody who expects them. */
static void fill_standard_fds(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < 3);
	if (fd >= 0)
		close(fd);
}

/* Whoever called gave us a place that takes nothing more. */
static int cannot_write(struct err *e)
{
	err_sys(e, "write to stdout");
	return err_status(e, STATUS_HOST);
}

int main(int argc, char **argv)
{
	fill_standard_fds();
	fault_arm();
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, and is told as one */
	struct err e = ERR_NULL;
	int status = dispatch(argc, (const char *const *)argv, &e);
	if (fflush(stdout) && status >= 0)
		status = cannot_write(&e);
	if (status >= 0)
		return status;
	print_err(&e);
	return e.status ? e.status : STATUS_INTERNAL;
}
