#include "probe/sensors/elf_find.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"

#define TABLE_LEN_MAX (64U * 1024 * 1024) /* bytes of one table */
#define PAGE_MASK     (~UINT64_C(0xfff))

/* What a file that is not as it should be is answered with, until elf_find() says 0. */
#define MALFORMED (-ENOEXEC)

struct elf {
	int fd;
	ElfW(Ehdr) head;
	ElfW(Shdr) * sections;
};

static void elf_done(struct elf *elf)
{
	free(elf->sections);
}

static int read_at(int fd, uint64_t offset, void *to, size_t len)
{
	for (size_t done = 0; done < len;) {
		if (offset + done > INT64_MAX)
			return MALFORMED;
		ssize_t n = pread(fd, (char *)to + done, len - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return MALFORMED;
		done += (size_t)n;
	}
	return 0;
}

/* A table with one NUL behind it. */
static int load(int fd, uint64_t offset, uint64_t len, void *ret)
{
	if (len > TABLE_LEN_MAX)
		return MALFORMED;
	cleanup_free char *table = calloc(1, len + 1);
	if (!table)
		return -ENOMEM;
	int r = read_at(fd, offset, table, len);
	if (r)
		return r;
	*(void **)ret = take_ptr(&table);
	return 0;
}

static int read_head(struct elf *elf)
{
	const ElfW(Ehdr) *head = &elf->head;
	int r = read_at(elf->fd, 0, &elf->head, sizeof(elf->head));
	if (r)
		return r;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    (head->e_type != ET_EXEC && head->e_type != ET_DYN) ||
	    head->e_shentsize != sizeof(*elf->sections) || head->e_phentsize != sizeof(ElfW(Phdr)))
		return MALFORMED;
	return load(elf->fd, head->e_shoff, (uint64_t)head->e_shnum * head->e_shentsize,
		    &elf->sections);
}

static bool is_wanted(const ElfW(Sym) * symbol, const char *strings, uint64_t strings_len,
		      const char *const *names)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_size != sizeof(void *) ||
	    ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || symbol->st_name >= strings_len)
		return false;
	for (const char *const *name = names; *name; name++)
		if (text_eq(*name, strings + symbol->st_name))
			return true;
	return false;
}

static int find_in_table(const struct elf *elf, const ElfW(Shdr) * table, const char *const *names,
			 uint64_t *ret)
{
	if (table->sh_link >= elf->head.e_shnum)
		return MALFORMED;
	const ElfW(Shdr) *names_table = &elf->sections[table->sh_link];
	cleanup_free char *strings = NULL;
	cleanup_free ElfW(Sym) *symbols = NULL;
	int r = load(elf->fd, names_table->sh_offset, names_table->sh_size, &strings);
	if (!r)
		r = load(elf->fd, table->sh_offset, table->sh_size, &symbols);
	if (r)
		return r;
	for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
		if (!is_wanted(&symbols[i], strings, names_table->sh_size, names))
			continue;
		*ret = symbols[i].st_value;
		return 1;
	}
	return 0;
}

static int find_symbol(const struct elf *elf, const char *const *names, uint64_t *ret)
{
	static const ElfW(Word) types[] = { SHT_DYNSYM, SHT_SYMTAB };
	for (size_t t = 0; t < countof(types); t++)
		for (size_t i = 0; i < elf->head.e_shnum; i++) {
			if (elf->sections[i].sh_type != types[t])
				continue;
			int r = find_in_table(elf, &elf->sections[i], names, ret);
			if (r)
				return r;
		}
	return 0;
}

static int read_base(const struct elf *elf, struct elf_place *ret)
{
	cleanup_free ElfW(Phdr) *segments = NULL;
	int r = load(elf->fd, elf->head.e_phoff,
		     (uint64_t)elf->head.e_phnum * elf->head.e_phentsize, &segments);
	if (r)
		return r;
	for (size_t i = 0; i < elf->head.e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD)
			continue;
		ret->base = segments[i].p_vaddr & PAGE_MASK;
		ret->offset = segments[i].p_offset & PAGE_MASK;
		return 1;
	}
	return MALFORMED;
}

int elf_find(int fd, const char *const *names, struct elf_place *ret)
{
	cleanup(elf_done) struct elf elf = { .fd = fd };
	struct elf_place place = { 0 };
	int r = read_head(&elf);
	if (!r)
		r = find_symbol(&elf, names, &place.address);
	if (r > 0)
		r = read_base(&elf, &place);
	if (r > 0) {
		place.fixed = elf.head.e_type == ET_EXEC;
		*ret = place;
	}
	return r == MALFORMED ? 0 : r;
}
