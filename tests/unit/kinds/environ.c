/* A program whose environment a sensor has to find, linked in different ways: it adds a variable
 * each time it is told to go on. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Named, so that a program that is no PIE gets its own copy of it. */
extern char **environ;

int main(void)
{
	char byte;
	char name[32];
	for (int n = 1; environ && write(1, "", 1) == 1 && read(0, &byte, 1) == 1; n++) {
		snprintf(name, sizeof(name), "STEP_%d", n);
		setenv(name, "value", 1);
	}
	return 0;
}
