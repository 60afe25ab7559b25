#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/sensors/elf_find.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "environ", "__environ", NULL };
	const struct elf_place untouched = { .address = 1 };
	struct elf_place place = untouched;
	cleanup_close int fd = memfd_create("elf", MFD_CLOEXEC);
	assert(fd >= 0 && fd_write_full(fd, data, size) == 0);
	int r = elf_find(fd, names, &place);
	assert(r == 0 || r == 1); /* what is malformed has no symbol; nothing failed to be read */
	assert(r == 1 || place.address == untouched.address);
	return 0;
}
