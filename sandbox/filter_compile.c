/*
 * filter_compile: configs/seccomp/cell.json in, a C header with BPF out. Runs
 * on the machine that builds.
 *
 *   filter_compile cell.json filter_program.h
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"

#define PROFILE_LEN_MAX (256 * 1024)
#define LOW_32          UINT64_C(0xffffffff)

static const struct {
	const char *name;
	uint32_t value;
} constants[] = {
#define CONSTANT(name)                  \
	{                               \
#name, (uint32_t)(name) \
	}
	/* what may stand in `is` and `any_of` */
	CONSTANT(CLONE_NEWNS),
	CONSTANT(CLONE_NEWCGROUP),
	CONSTANT(CLONE_NEWUTS),
	CONSTANT(CLONE_NEWIPC),
	CONSTANT(CLONE_NEWUSER),
	CONSTANT(CLONE_NEWPID),
	CONSTANT(CLONE_NEWNET),
	CONSTANT(CLONE_NEWTIME),
	CONSTANT(TIOCSTI),
	CONSTANT(TIOCLINUX),
	CONSTANT(AF_VSOCK),
	CONSTANT(AF_BLUETOOTH),
	CONSTANT(AF_NFC),
	CONSTANT(AF_QIPCRTR),
	CONSTANT(AF_IUCV),
	CONSTANT(AF_ALG),
	{ "PROCESS_1", 1 },
	/* what may stand in `answer` */
	CONSTANT(EPERM),
	CONSTANT(ENOSYS),
	CONSTANT(EAFNOSUPPORT),
#undef CONSTANT
};

static int constant(const struct json_source *src, const cJSON *item, uint32_t *ret, struct err *e)
{
	for (size_t i = 0; i < countof(constants); i++) {
		if (!text_eq(constants[i].name, cJSON_GetStringValue(item)))
			continue;
		*ret = constants[i].value;
		return 0;
	}
	return json_refuse(src, item, e, "this is no constant that filter_compile.c lists");
}

static int call_number(const struct json_source *src, const cJSON *item, int *ret, struct err *e)
{
	const char *name = cJSON_GetStringValue(item);
	int number = name ? seccomp_syscall_resolve_name(name) : __NR_SCMP_ERROR;
	if (name && number == __NR_SCMP_ERROR)
		number = (int)json_number(cJSON_GetObjectItem(src->tree, "numbers"), name,
					  __NR_SCMP_ERROR);
	if (number == __NR_SCMP_ERROR)
		return json_refuse(src, item, e, "unknown system call");
	*ret = number;
	return 0;
}

/* One rule for each value: within a rule libseccomp joins comparisons by "and". */
static int refuse_when(scmp_filter_ctx filter, uint32_t action, int number,
		       const struct json_source *src, const cJSON *when, struct err *e)
{
	const cJSON *bits = cJSON_GetObjectItem(when, "any_of");
	const cJSON *values = bits ? bits : cJSON_GetObjectItem(when, "is");
	const cJSON *value;
	cJSON_ArrayForEach(value, values)
	{
		uint32_t datum = 0;
		int r = constant(src, value, &datum, e);
		if (r < 0)
			return r;
		const struct scmp_arg_cmp compare = {
			.arg = (unsigned int)json_number(when, "arg", 0),
			.op = SCMP_CMP_MASKED_EQ,
			.datum_a = bits ? datum : LOW_32, /* the mask */
			.datum_b = datum,
		};
		r = seccomp_rule_add_array(filter, action, number, 1, &compare);
		if (r < 0)
			return json_refuse(src, value, e, "libseccomp: %s", strerror(-r));
	}
	return 0;
}

static int refuse_row(scmp_filter_ctx filter, const struct json_source *src, const cJSON *row,
		      struct err *e)
{
	uint32_t answer = 0;
	int r = constant(src, cJSON_GetObjectItem(row, "answer"), &answer, e);
	if (r < 0)
		return r;
	const cJSON *when = cJSON_GetObjectItem(row, "when");
	const cJSON *name;
	cJSON_ArrayForEach(name, cJSON_GetObjectItem(row, "names"))
	{
		int number = 0;
		r = call_number(src, name, &number, e);
		if (r < 0)
			return r;
		if (when) {
			r = refuse_when(filter, SCMP_ACT_ERRNO(answer), number, src, when, e);
			if (r < 0)
				return r;
			continue;
		}
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(answer), number, 0);
		if (r < 0)
			return json_refuse(src, name, e, "libseccomp: %s", strerror(-r));
	}
	return 0;
}

static int refuse_all(scmp_filter_ctx filter, const struct json_source *src, const char *lifted,
		      struct err *e)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0) /* a binary tree: a handful of comparisons, not one a row */
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r < 0)
		return err_set(e, -r, "libseccomp: %s", strerror(-r));
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItem(src->tree, "refuse"))
	{
		if (lifted && text_eq(json_text(row, "lifted_by"), lifted))
			continue;
		r = refuse_row(filter, src, row, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_rows(const struct json_source *src, const char *list, const char *const *keys,
		      size_t keys_len, struct err *e)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, cJSON_GetObjectItem(src->tree, list))
	{
		int r = json_known_keys(src, row, keys, keys_len, e);
		if (r < 0)
			return r;
		if (!json_text(row, "reason"))
			return json_refuse(src, row, e, "this row gives no reason");
		const cJSON *name;
		cJSON_ArrayForEach(name, cJSON_GetObjectItem(row, "names"))
		{
			int number = 0;
			r = call_number(src, name, &number, e);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* What is refused by mistake is met by a test; what a mistake leaves open is met by nobody. */
static int check(const struct json_source *src, struct err *e)
{
	static const char *const top[] = { "version", "newest", "foreign",
					   "numbers", "refuse", "allow" };
	static const char *const refuse[] = { "names", "answer", "when", "lifted_by", "reason" };
	static const char *const allow[] = { "names", "reason" };
	int r = json_known_keys(src, src->tree, top, countof(top), e);
	if (r == 0)
		r = check_rows(src, "refuse", refuse, countof(refuse), e);
	if (r == 0)
		r = check_rows(src, "allow", allow, countof(allow), e);
	if (r < 0)
		return r;

	const cJSON *foreign = cJSON_GetObjectItem(src->tree, "foreign");
	if (!text_eq(json_text(foreign, "answer"), "kill"))
		return json_refuse(src, foreign, e,
				   "a foreign call can only be answered by \"kill\"");
	const cJSON *newest = cJSON_GetObjectItem(src->tree, "newest");
	if (json_number(newest, "number", 0) < 1)
		return json_refuse(src, newest, e, "the newest call needs a number");
	return 0;
}

/* libseccomp's program, behind a test that it cannot express. -1 is how a tracer skips a call. */
static int export(scmp_filter_ctx filter, uint32_t newest, struct buf *ret, struct err *e)
{
	const struct sock_filter head[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, newest, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	cleanup_close int fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "memfd_create");
	int r = seccomp_export_bpf(filter, fd);
	if (r < 0)
		return err_set(e, -r, "export: %s", strerror(-r));
	size_t len = (size_t)lseek(fd, 0, SEEK_CUR);
	if (buf_add(ret, head, sizeof(head)) < 0 || buf_reserve(ret, len) < 0)
		return err_set(e, ENOMEM, "no memory");
	lseek(fd, 0, SEEK_SET);
	if (fd_read_full(fd, ret->at + ret->len, len) != (ssize_t)len)
		return err_sys(e, "read the program");
	ret->len += len;
	return 0;
}

static void write_program(FILE *out, const char *name, const struct buf *program)
{
	const struct sock_filter *at = (const struct sock_filter *)(const void *)program->at;
	fprintf(out, "static const struct sock_filter program_%s[] = {\n", name);
	for (size_t i = 0; i < program->len / sizeof(*at); i++)
		fprintf(out, "\t{ 0x%02x, %u, %u, 0x%08x },\n", at[i].code, at[i].jt, at[i].jf,
			at[i].k);
	fprintf(out, "};\n");
}

static int compile(const struct json_source *src, const char *name, const char *lifted, FILE *out,
		   struct err *e)
{
	const cJSON *newest = cJSON_GetObjectItem(src->tree, "newest");
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return err_set(e, ENOMEM, "seccomp_init");
	cleanup(buf_done) struct buf program = BUF_NULL;
	int r = refuse_all(filter, src, lifted, e);
	if (r == 0)
		r = export(filter, (uint32_t)json_number(newest, "number", 0), &program, e);
	seccomp_release(filter);
	if (r == 0)
		write_program(out, name, &program);
	return r;
}

static int compile_file(const char *path, FILE *out, struct err *e)
{
	cleanup_free char *text = NULL;
	size_t len;
	int r = fd_load(AT_FDCWD, path, PROFILE_LEN_MAX, &text, &len, e);
	if (r < 0)
		return r;
	cleanup_json cJSON *tree = NULL;
	r = json_parse(path, text, len, &tree, e);
	if (r < 0)
		return r;
	const struct json_source src = { .name = path, .text = text, .tree = tree };
	r = check(&src, e);
	if (r < 0)
		return r;
	fprintf(out, "/* Made by filter_compile of configs/seccomp/cell.json. */\n"
		     "#include <linux/filter.h>\n");
	r = compile(&src, "default", NULL, out, e);
	return r < 0 ? r : compile(&src, "nested", "allow-nested", out, e);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: filter_compile PROFILE HEADER\n");
		return STATUS_USAGE;
	}
	FILE *out = fopen(argv[2], "we");
	if (!out) {
		perror(argv[2]);
		return STATUS_INTERNAL;
	}
	struct err e = ERR_NULL;
	int r = compile_file(argv[1], out, &e);
	if (fclose(out) != 0 && r == 0)
		r = err_sys(&e, "write %s", argv[2]);
	if (r < 0)
		fprintf(stderr, "filter_compile: %s\n", e.text);
	return r < 0 ? STATUS_DATA : 0;
}
