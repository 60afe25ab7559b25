#pragma once
/*
 * survivors: who is alive in a cell beside its warden.
 */
struct cell_event;

/* Fills survivors and survivors_len from the cell's /proc, an open folder. Zombies do not count. */
void survivors_list(int proc, struct cell_event *ret);
