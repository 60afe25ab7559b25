#pragma once
/*
 * project: which tree a run is about, and what goes with it.
 *
 * The nearest folder upward with a fumehood.json, else the top of the git
 * checkout, else the working directory. `/`, the home directory and what lies
 * above it are refused: an overlay over them would hold everything.
 */
#include <sys/types.h>

struct err;

#define PROJECT_CONFIG "fumehood.json"

struct project {
	char *path;    /* real path */
	char *cwd;     /* real path; where the command starts */
	char *config;  /* path of its fumehood.json; NULL: there is none */
	char *git_dir; /* real path of a git dir outside path; NULL: none, or inside */
};
#define PROJECT_NULL ((struct project){ 0 })

/* `asked`: the folder of --project, which is taken as it is; NULL: look upward from the working
 * directory. A working directory outside of an asked project gives way to the project. `home`: real
 * path; NULL: there is none. */
int project_find(const char *asked, const char *home, struct project *ret, struct err *e);
void project_done(struct project *p);

/* Real path of uid's home: $HOME, else the one in the passwd database. *ret NULL: it has none, or
 * it is `/` or does not exist. */
int home_find(uid_t uid, char **ret, struct err *e);
