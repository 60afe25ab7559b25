/*
 * replay: linked with a fuzz target instead of the fuzzer, it runs the target
 * on each file of a corpus folder, under any compiler.
 * Usage: fuzz_NAME CORPUS_FOLDER
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"
#include "tests/lib/tap.h"

#define INPUT_LEN_MAX (1024 * 1024) /* bytes in one file of a corpus */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(int dir_fd, const char *name)
{
	cleanup_free char *bytes = NULL;
	size_t len;
	struct err e = ERR_NULL;
	int r = fd_load(dir_fd, name, INPUT_LEN_MAX, &bytes, &len, &e);
	if (r == 0)
		r = LLVMFuzzerTestOneInput((const uint8_t *)bytes, len);
	tap_ok(r == 0, "%s %s", name, e.text);
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 64;
	cleanup_close int dir_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries;
	int n = scandir(argv[1], &entries, is_file, alphasort);
	if (dir_fd < 0 || n < 0) {
		printf("Bail out! open %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	for (int i = 0; i < n; i++) {
		replay(dir_fd, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	tap_ok(n > 0, "the corpus is not empty");
	return tap_done();
}
