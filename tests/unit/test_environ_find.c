#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/fingerprint.h"
#include "probe/sensors/elf_find.h"
#include "probe/sensors/environ_find.h"
#include "probe/sensors/sensors.h"
#include "sandbox/base/cleanup.h"
#include "tests/lib/deltas.h"
#include "tests/lib/tap.h"

/* Programs of each kind of linking; ENVIRON_KINDS is the folder of ours. */
static const struct {
	const char *name;
	const char *argv[4];
	const char *blind; /* NULL: it is seen */
} kinds[] = {
	{ "a position-independent program", { ENVIRON_KINDS "/environ_pie" }, NULL },
	{ "a program at a fixed address, with a copy relocation",
	  { ENVIRON_KINDS "/environ_fixed" },
	  NULL },
	{ "a static program", { ENVIRON_KINDS "/environ_static" }, NULL },
	{ "a static position-independent program", { ENVIRON_KINDS "/environ_static_pie" }, NULL },
	{ "a static program without symbols",
	  { ENVIRON_KINDS "/environ_stripped" },
	  "the program neither shows where its environ is nor maps a C library" },
	{ "the system's python3",
	  { "/usr/bin/python3", "-c",
	    "import os\n"
	    "n = 0\n"
	    "while os.write(1, b'x') and os.read(0, 1):\n"
	    "    n += 1\n"
	    "    os.environ[f'STEP_{n}'] = 'value'\n" },
	  NULL },
};

static pid_t run(const char *const *argv, int *ret_sock)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		abort();
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 0);
		dup2(ends[1], 1);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	*ret_sock = ends[0];
	return pid;
}

/* What a look sees after the program has gone on to its next stop. */
static char *look(struct fingerprint *f, int sock, int by)
{
	cleanup(delta_list_done) struct delta_list deltas = DELTA_LIST_NULL;
	char byte = 0;
	if ((by > 0 && write(sock, &byte, 1) != 1) || read(sock, &byte, 1) != 1 ||
	    fingerprint_look(f, by ? by : DELTA_STOOD, &deltas, NULL, NULL))
		return NULL;
	return deltas_text(&deltas, false);
}

/* Files of the fuzz target's corpus, and what is to be found in them. */
static const struct {
	const char *name;
	int r;
	struct elf_place place;
} files[] = {
	{ "found", 1, { .address = 0x4040, .base = 0x2000, .offset = 0x1000 } },
	{ "alias", 1, { .address = 0x4040, .base = 0x2000, .offset = 0x1000 } },
	{ "fixed_symtab", 1, { .address = 0x4040, .fixed = true, .base = 0x2000, .offset = 0x1000 } },
	{ "undefined", 0, { 0 } },
	{ "local", 0, { 0 } },
	{ "wrong_size", 0, { 0 } },
	{ "other_name", 0, { 0 } },
	{ "name_outside", 0, { 0 } },
	{ "no_segment", 0, { 0 } },
	{ "cut", 0, { 0 } },
	{ "empty", 0, { 0 } },
};

static void test_files(void)
{
	static const char *const names[] = { "environ", "__environ", NULL };
	for (size_t i = 0; i < countof(files); i++) {
		char path[512];
		struct elf_place place = { 0 };
		snprintf(path, sizeof(path), "%s/%s", ELF_CORPUS, files[i].name);
		cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
		int r = elf_find(fd, names, &place);
		const struct elf_place *expect = &files[i].place;
		tap_ok(r == files[i].r && place.address == expect->address &&
			       place.fixed == expect->fixed && place.base == expect->base &&
			       place.offset == expect->offset,
		       "an ELF file with the symbol %s: %d, %llx", files[i].name, r,
		       (unsigned long long)place.address);
	}
	struct elf_place place;
	tap_ok(elf_find(-1, names, &place) == -EBADF, "what cannot be read is an error");
}

static void test_kinds(void)
{
	static const struct sensor *const sensors[] = { &sensor_env, NULL };
	cleanup_close int root = open("/", O_PATH | O_CLOEXEC);
	cleanup_close int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < countof(kinds); i++) {
		struct fingerprint *f = NULL;
		int sock;
		pid_t pid = run(kinds[i].argv, &sock);
		struct vantage v = { .root = root, .proc = proc, .pid = pid, .inner = pid };
		if (fingerprint_new(&v, sensors, &f, NULL))
			abort();
		cleanup_free char *first = look(f, sock, 0);
		cleanup_free char *second = look(f, sock, 1);
		cleanup_free char *third = look(f, sock, 2);
		const char *blind = fingerprint_blind(f, "env");
		bool seen = text_eq(second, "leak added STEP_1\n") &&
			    text_eq(third, "leak added STEP_2\n");
		bool unseen = text_eq(second, "") && text_eq(third, "");
		tap_ok(text_eq(first, "") && text_eq(blind, kinds[i].blind) &&
			       (kinds[i].blind ? unseen : seen),
		       "%s: %s%s", kinds[i].name, second ? second : "it did not run",
		       blind ? blind : "");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(sock);
		fingerprint_free(f);
	}
}

int main(void)
{
	test_files();
	test_kinds();
	return tap_done();
}
