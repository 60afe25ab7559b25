#pragma once
/*
 * landlock: which Landlock the kernel has. 0: none that can be used here.
 */
int landlock_abi(void);
