#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe/adapter.h"
#include "runner/command.h"
#include "runner/diagnosis.h"
#include "runner/drive/prepare.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/doctor.h"

/* Where the caller stands in a home or in `/`, which can be no project. */
#define OTHER_PROJECT "/usr"

static int status_of(const struct doctor *doctor)
{
	if (!doctor->made)
		return STATUS_HOST;
	for (size_t i = 0; i < ISOLATION_N; i++)
		if (doctor->isolation.state[i] == ISOLATION_REDUCED)
			return STATUS_INCOMPLETE;
	return 0;
}

static int tell(const struct diagnosis *d, struct err *e)
{
	cleanup_json cJSON *tree = diagnosis_tree(d);
	if (!tree)
		return err_set(e, ENOMEM, "tell what was found: no memory");
	const struct terminal terminal = terminal_of(STDOUT_FILENO, d->config->color, getenv);
	cleanup_free char *json = d->config->json ? cJSON_Print(tree) : NULL;
	if (d->config->json ? !json || puts(json) < 0
			    : diagnosis_print(tree, d->config, &terminal, stdout))
		return err_set(e, ENOMEM, "tell what was found: no memory");
	return d->status;
}

static int examine(const struct config *c, struct prepared *p, bool elsewhere, struct err *e)
{
	cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_sys(e, "open /dev/null");
	p->spec.stdin_fd = p->spec.stdout_fd = p->spec.stderr_fd = null;
	struct doctor doctor;
	doctor_examine(&p->spec, &doctor);
	const struct diagnosis diagnosis = { .config = c,
					     .doctor = &doctor,
					     .prepared = p,
					     .caller = (const char *const *)environ,
					     .elsewhere = elsewhere,
					     .status = status_of(&doctor) };
	return tell(&diagnosis, e);
}

static int load(struct config *c, int argc, const char *const *argv, struct prepared *ret,
		struct err *e)
{
	int r = config_load(c, CONFIG_DOCTOR, argc, argv, e);
	return r ? r : prepare(c, adapters[0], (const char *const *)environ, ret, e);
}

/* 1: the caller stands where no project can be, and asked for nothing that needs one. */
static int run_at(int argc, const char *const *argv, bool elsewhere, struct err *e)
{
	cleanup(config_done) struct config c = CONFIG_NULL;
	cleanup(prepared_done) struct prepared prepared = PREPARED_NULL;
	int r = load(&c, argc, argv, &prepared, e);
	if (!r)
		return examine(&c, &prepared, elsewhere, e);
	bool asked = elsewhere || c.project_asked || (c.command && c.command[0]);
	return asked || e->status != STATUS_USAGE ? r : 1;
}

/* The host is examined wherever the caller stands: over another tree, where it can be no project. */
static int run(int argc, const char *const *argv, struct err *e)
{
	int r = run_at(argc, argv, false, e);
	if (r != 1)
		return r;
	cleanup_free const char **more = calloc((size_t)argc + 3, sizeof(*more));
	if (!more)
		return err_set(e, ENOMEM, "no memory");
	more[0] = argv[0];
	more[1] = "--project";
	more[2] = OTHER_PROJECT;
	for (int i = 1; i < argc; i++)
		more[i + 2] = argv[i];
	*e = ERR_NULL;
	return run_at(argc + 2, more, true, e);
}

const struct command cmd_doctor = {
	.name = "doctor",
	.args = "[OPTIONS] [-- CMD...]",
	.help = "say whether this host can make a cell, and what stands in the way",
	.options = CONFIG_DOCTOR,
	.more = "A cell is made step by step. What fails is told with its cause and the remedy. With a\n"
		"command, what it would see of your home, and which variables it would get.\n\n"
		"Exit status: 0 a full cell can be made, 3 one with parts reduced, 69 none,\n"
		"64 usage, 65 a bad input file, 70 a fault of ours.\n\n"
		"Examples:\n"
		"  fumehood doctor\n"
		"  fumehood doctor -- pytest\n",
	.run = run,
};
