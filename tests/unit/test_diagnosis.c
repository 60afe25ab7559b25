#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/config.h"
#include "runner/diagnosis.h"
#include "runner/drive/prepare.h"
#include "runner/terminal.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/doctor.h"
#include "tests/lib/fault_walk.h"
#include "tests/lib/tap.h"

/* Ubuntu 24.04: the namespace is made, and the first deed in it is refused. */
static struct doctor refused(void)
{
	struct doctor d = { .host = { .major = 6, .minor = 8, .apparmor = 1, .container = "lxc" },
			    .steps_len = 3 };
	d.steps[0] = (struct doctor_step){ .name = "namespaces", .what = "new ones" };
	d.steps[1] = (struct doctor_step){ .name = "capabilities",
					   .what = "work in them",
					   .state = DOCTOR_FAILED,
					   .text = "set the host \033[1mname" };
	d.steps[1].explained = cause_find(&d.host, CAUSE_AT_INSIDE, EPERM, &d.steps[1].cause);
	d.steps[2] = (struct doctor_step){ .name = "cell", .what = "all", .state = DOCTOR_SKIPPED };
	return d;
}

static const char *const caller[] = { "PYTHONPATH=secret", "TOKEN=secret", "KEPT=secret", NULL };
static const char *const command[] = { "pytest", NULL };
static char project[] = "/p";

/* What a terminal would obey is shown; no value of a variable is. */
static void test_text(const struct diagnosis *d)
{
	static const char *const parts[] = {
		", in a container (lxc)",
		"project /p: the working directory\n",
		"  ok       namespaces    new ones\n",
		"  FAILED   capabilities  work in them\n",
		"what failed: set the host \\x1b[1mname\n",
		"cause:       AppArmor lets no unprivileged program work",
		"remedy:      sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
		"  -        cell          all\n",
		"No cell can be made here.\n",
		"  built: PYTHONPATH\n  passed: KEPT\n",
		"  PYTHONPATH: imports would depend on who runs the suite\n  1 more: --verbose",
	};
	const struct terminal terminal = { .width = 80 };
	cleanup_json cJSON *tree = diagnosis_tree(d);
	cleanup_free char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!tap_ok(tree && out && !diagnosis_print(tree, d->config, &terminal, out) && !fclose(out),
		    "it is told"))
		return;
	for (size_t i = 0; i < countof(parts); i++)
		tap_ok(strstr(text, parts[i]) != NULL, "%s", parts[i]);
	tap_ok(!strchr(text, '\033') && !strstr(text, "secret"), "nothing else");
}

static void test_tree(const struct diagnosis *d)
{
	static const struct {
		int status;
		const char *verdict;
	} verdicts[] = { { 0, "full" }, { STATUS_INCOMPLETE, "reduced" }, { STATUS_HOST, "none" } };
	for (size_t i = 0; i < countof(verdicts); i++) {
		struct diagnosis other = *d;
		other.status = verdicts[i].status;
		cleanup_json cJSON *tree = diagnosis_tree(&other);
		tap_ok(text_eq(json_text(tree, "verdict"), verdicts[i].verdict) &&
			       json_number(tree, "exit", -1) == verdicts[i].status,
		       "exit %d is %s", verdicts[i].status, verdicts[i].verdict);
	}
}

static void test_faults(const struct diagnosis *d)
{
	int wrong = 0;
	int n = 1;
	for (; fault_walk_on(n); n++) {
		cleanup_json cJSON *tree = diagnosis_tree(d);
		wrong += fault_walk_hit() && tree;
	}
	tap_ok(wrong == 0 && n > 20, "without memory there is no tree (%d rounds)", n);
}

int main(void)
{
	struct config config = CONFIG_NULL;
	config.project.path = project;
	config.command = command;
	strv_add(&config.pass, "KEPT");
	struct prepared prepared = PREPARED_NULL;
	prepared.spec.argv = command;
	strv_add(&prepared.env, "PYTHONPATH=ours");
	strv_add(&prepared.env, "KEPT=secret");
	const struct doctor doctor = refused();
	const struct diagnosis d = { .config = &config,
				     .doctor = &doctor,
				     .prepared = &prepared,
				     .caller = caller,
				     .status = STATUS_HOST };
	test_text(&d);
	test_tree(&d);
	test_faults(&d);
	strv_done(&config.pass);
	strv_done(&prepared.env);
	return tap_done();
}
