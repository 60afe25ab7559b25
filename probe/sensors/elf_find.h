#pragma once
/*
 * elf_find: where a program or library of this machine keeps a variable.
 *
 * Reads the section headers of a file that may be hostile: sizes are bounded,
 * offsets are only ever read at, nothing in it is believed twice.
 */
#include <stdbool.h>
#include <stdint.h>

struct elf_place {
	uint64_t address; /* as the file has it */
	bool fixed;       /* it is loaded exactly there; else the whole file moves */
	/* Of the first loaded segment: where the mapping of `offset` begins, less `base`, is how far
	 * the file moved. Both in whole pages. */
	uint64_t base;
	uint64_t offset;
};

/* Look for the first of the NULL-terminated names that the file itself holds (a copy relocation
 * counts, a mere reference does not), in the dynamic symbols first. 1: found. 0: not there, or no
 * ELF file of this machine's word size. Negative errno: it could not be read. */
int elf_find(int fd, const char *const *names, struct elf_place *ret);
