#include "runner/judge/codes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/text.h"

const char *check_says_name(enum check_says says)
{
	static const char *const names[] = {
		[CHECK_BLOCK] = "block", [CHECK_FAILED] = "failed", [CHECK_WARN] = "warn",
		[CHECK_INFO] = "info",   [CHECK_NEVER] = "never",   [CHECK_EVIDENCE] = "evidence",
	};
	return names[says];
}

const struct repair_row repairs[REPAIR_N] = {
	[REPAIR_FIXTURE] = {
		"narrow the fixture",
		"Give each test its own value: function scope instead of module or session scope, a "
		"copy instead of the shared object, monkeypatch instead of an assignment. What is "
		"expensive may stay shared, as long as nothing in it can change.",
	},
	[REPAIR_FOLDER] = {
		"own state directory",
		"Derive every path from the test: tmp_path, or a folder named after the id. A constant "
		"like /tmp/app-test is shared by all tests, and by all runs on the machine.",
	},
	[REPAIR_CLOCK] = {
		"inject the clock",
		"Hand the code a clock that the test moves, and random numbers with a seed of its own. "
		"Then nothing has to sleep, and no assertion depends on how busy the machine is.",
	},
	[REPAIR_ALLOCATE] = {
		"allocate dynamically",
		"Let the system choose: bind port 0 and read which it is, make temporary names, start "
		"the helper process in a fixture that ends it and waits for it.",
	},
	[REPAIR_ROLL_BACK] = {
		"roll back",
		"Undo in the teardown what the test does, also when it fails: a fixture with yield, a "
		"transaction around the test, monkeypatch.setenv and monkeypatch.chdir.",
	},
};

const struct code codes[] = {
	/* leaks */
	{ "FH101", "file created", CHECK_WARN, REPAIR_FOLDER,
	  "A test left a file, folder or link where there was none. A later test that finds it may "
	  "pass or fail because of it.",
	  NULL },
	{ "FH102", "file changed", CHECK_WARN, REPAIR_FOLDER,
	  "A test left other content in a file than it found. Later tests read what it wrote.", NULL },
	{ "FH103", "file deleted", CHECK_WARN, REPAIR_FOLDER,
	  "A test removed a file that another test had made. Whoever needs it fails from then on.",
	  NULL },
	{ "FH104", "file attributes changed", CHECK_WARN, REPAIR_ROLL_BACK,
	  "A test left a file with another mode, owner, extended attribute, link count or link "
	  "target than it found.",
	  NULL },
	{ "FH105", "damage", CHECK_BLOCK, REPAIR_FOLDER,
	  "A test deleted or changed what stood there before the tests began. Outside of a cell this "
	  "would have been your files: a test that empties the temporary folder passes, and empties it.",
	  "Folders that tests may change belong into state_dirs of fumehood.json." },
	{ "FH106", "write outside of the state folders", CHECK_INFO, REPAIR_FOLDER,
	  "A test wrote there, if only for a while. With --contain this fails the run.",
	  "Folders that tests may write to belong into state_dirs of fumehood.json." },
	{ "FH111", "variable", CHECK_WARN, REPAIR_ROLL_BACK,
	  "A test left the environment with a variable set, changed or removed. Every later test and "
	  "every process they start inherits it.",
	  NULL },
	{ "FH121", "working directory", CHECK_WARN, REPAIR_ROLL_BACK,
	  "A test left the process in another working directory, or in one that is deleted. Relative "
	  "paths of later tests lead elsewhere, or nowhere.",
	  NULL },
	{ "FH122", "umask", CHECK_WARN, REPAIR_ROLL_BACK,
	  "A test left another umask: files of later tests get other modes.", NULL },
	{ "FH123", "signals", CHECK_WARN, REPAIR_ROLL_BACK,
	  "A test left a signal handler, an ignored signal or a blocked one. Later tests that wait for "
	  "it, or that start processes, behave otherwise.",
	  NULL },
	{ "FH124", "limits", CHECK_WARN, REPAIR_ROLL_BACK,
	  "A test left other resource limits, priority or personality. Limits that were lowered cannot "
	  "be raised again by later tests.",
	  NULL },
	{ "FH131", "descriptor", CHECK_WARN, REPAIR_FIXTURE,
	  "A test left a descriptor open. They add up until a later test cannot open one, and what is "
	  "written through it may arrive while another test runs.",
	  "Close it, or open it in a with statement." },
	{ "FH141", "process", CHECK_WARN, REPAIR_ALLOCATE,
	  "A process that a test started was alive when the test had ended. It can write, hold ports "
	  "and use the processor while others run.",
	  NULL },
	{ "FH142", "thread", CHECK_WARN, REPAIR_ALLOCATE,
	  "A thread that a test started was alive when the test had ended. What it does then happens "
	  "to whichever test is running.",
	  "Join it in the teardown." },
	{ "FH151", "SysV IPC", CHECK_WARN, REPAIR_ALLOCATE,
	  "A test left a shared memory segment, a set of semaphores or a message queue. They outlive "
	  "the process, and are found again by their key.",
	  NULL },
	{ "FH152", "POSIX IPC", CHECK_WARN, REPAIR_ALLOCATE,
	  "A test left a POSIX message queue, semaphore or shared memory object. They outlive the "
	  "process, and are found again by their name.",
	  NULL },
	{ "FH161", "listening socket", CHECK_WARN, REPAIR_ALLOCATE,
	  "A test left a port open. A later test that wants the same port fails, or talks to the wrong "
	  "server.",
	  NULL },
	{ "FH162", "abstract socket", CHECK_WARN, REPAIR_ALLOCATE,
	  "A test left an abstract socket: its name is taken for as long as a descriptor is open.",
	  NULL },
	{ "FH171", "fixture mutated", CHECK_BLOCK, REPAIR_FIXTURE,
	  "A test changed in place an object that a fixture hands out to others, too. The next test "
	  "gets the changed one.",
	  NULL },
	{ "FH172", "module state", CHECK_WARN, REPAIR_FIXTURE,
	  "A test left a global, a class attribute, a default argument or a cache of a module changed.",
	  NULL },
	{ "FH173", "interpreter state", CHECK_WARN, REPAIR_ROLL_BACK,
	  "A test left state of the interpreter changed that all code shares: the import path, hooks, "
	  "filters of warnings, the locale.",
	  NULL },
	{ "FH181", "custom probe", CHECK_WARN, REPAIR_ROLL_BACK,
	  "The output of a command that you named under custom was another after the test than before "
	  "it: a count of rows, a schema.",
	  NULL },
	{ "FH191", "unattributed", CHECK_WARN, REPAIR_NONE,
	  "Something changed, and no boundary between two tests saw it happen: a write through a mapping "
	  "that stayed open, or one before the first and after the last test.",
	  "Look at what runs outside of tests: plugins, session hooks, processes that live on." },
	/* order */
	{ "FH201", "victim", CHECK_BLOCK, REPAIR_ROLL_BACK,
	  "The test passes alone and fails after others: something they leave behind breaks it. It is "
	  "no flake, for the same order fails again. The finding names the smallest set that does it.",
	  "Repair the polluter, not the assertion of the victim; then replay the finding." },
	{ "FH202", "brittle", CHECK_WARN, REPAIR_FIXTURE,
	  "The test fails alone and passes in the canonical order: it secretly needs what another test "
	  "leaves behind. It goes red when that test is renamed, skipped or run elsewhere.",
	  "Set up in the test, or in a fixture that it asks for, what the state-setter happened to leave." },
	{ "FH203", "order_sensitive", CHECK_BLOCK, REPAIR_ROLL_BACK,
	  "The test passes in some orders and fails in others, repeatedly. How it fares alone is not "
	  "known.",
	  "Run it alone to learn whether others break it or it needs them." },
	{ "FH204", "nondeterministic", CHECK_FAILED, REPAIR_CLOCK,
	  "The same order gave two outcomes, or the one order in which it failed was not seen to fail "
	  "again. Order is not the cause that is known: clock, network, scheduling or chance may be.",
	  "This alone is what a quarantine is for, with an owner and a date." },
	{ "FH205", "absent", CHECK_BLOCK, REPAIR_NONE,
	  "The test was to run in an order, and did not. Nothing is known of it there: it counts as not "
	  "passed until the absence is explained by a crash, a time-out or a module that could not be "
	  "collected.",
	  "Compare what the orders collected; look at the log of the one in which it is missing. Ids have "
	  "to be the same in each run: parameters made of time, chance, addresses, sets or the listing of "
	  "a folder are not." },
	{ "FH206", "repeat_sensitive", CHECK_WARN, REPAIR_ROLL_BACK,
	  "The test passes, and fails when it runs again right behind: it is its own victim.", NULL },
	{ "FH207", "leaks_across_workers", CHECK_BLOCK, REPAIR_FOLDER,
	  "The test passes in every order of one process, and fails when workers run beside each other: "
	  "they share a file, a port, a database.",
	  "Keep each worker's state apart; a retry hides it." },
	{ "FH208", "never hermetic", CHECK_BLOCK, REPAIR_FIXTURE,
	  "The test fails alone and in the canonical order, and passes in some others. There is no "
	  "polluter to look for: it never stood on its own.",
	  "Until it does, quarantine it with an owner and a date." },
	{ "FH209", "stable_fail", CHECK_FAILED, REPAIR_NONE,
	  "The test passed in no order. That is a regression or a broken test, and nothing about order.",
	  "Repair the code, or the test." },
	{ "FH210", "external service suspected", CHECK_FAILED, REPAIR_CLOCK,
	  "With the network on, the outcome flipped or the test took unusually long, and a rerun did "
	  "not agree. A service outside is measured here, not the order.",
	  "Run without the network, with a stand-in for the service." },
	/* policy */
	{ "FH301", "protected file changed", CHECK_BLOCK, REPAIR_NONE,
	  "The patch changes a file that is protected: it edits what it is to be judged by.",
	  "Have a person commit such a change by itself." },
	{ "FH302", "the gate's own settings changed", CHECK_BLOCK, REPAIR_NONE,
	  "The patch changes the configuration, policy, ignore rules or quarantine. They are read from "
	  "the base, so the edit had no effect on this verdict.",
	  "Have a person commit such a change by itself." },
	{ "FH303", "test removed", CHECK_BLOCK, REPAIR_NONE,
	  "A test of the base is not in the patch. A failing test that is deleted counts like a repair "
	  "everywhere but here.",
	  NULL },
	{ "FH304", "test weakened, renamed, skipped or never run", CHECK_BLOCK, REPAIR_NONE,
	  "A test of the base is there under another name, or no longer tests what it did.", NULL },
	{ "FH305", "regression", CHECK_BLOCK, REPAIR_NONE,
	  "A test that passed on the base fails in every order with the patch.", "Repair the code." },
	{ "FH306", "new coupling", CHECK_BLOCK, REPAIR_ROLL_BACK,
	  "A test that passed in every order on the base depends on order with the patch.", NULL },
	{ "FH307", "new leak", CHECK_WARN, REPAIR_ROLL_BACK,
	  "With the patch a test leaves something behind that it did not leave on the base.", NULL },
	{ "FH308", "quarantine expired", CHECK_BLOCK, REPAIR_NONE,
	  "An entry of the quarantine is past its date. It fails like the test it hid.",
	  "Repair the test, or measure again and renew the entry by hand." },
	{ "FH309", "quarantine invalid", CHECK_BLOCK, REPAIR_NONE,
	  "An entry of the quarantine lacks what it must have, or has a class that may not be there.",
	  NULL },
	{ "FH310", "test added outside of may_add", CHECK_BLOCK, REPAIR_NONE,
	  "The patch adds a test where patches may not.", NULL },
	/* environment */
	{ "FH401", "environment_sensitive", CHECK_WARN, REPAIR_CLOCK,
	  "The outcome changes with the hash seed, the time zone, the locale or the umask, or between "
	  "host and cell, while the order stays the same.",
	  "Set in the test what it depends on." },
	{ "FH402", "isolation reduced", CHECK_FAILED, REPAIR_NONE,
	  "A part of the isolation could not be had here. What the result says of that part is not "
	  "proved.",
	  "See fumehood doctor for the cause; --accept-reduced takes it knowingly." },
	{ "FH403", "different environments", CHECK_BLOCK, REPAIR_NONE,
	  "Base and head ran in different environments: two environments were compared, not two trees.",
	  NULL },
	{ "FH404", "plugin from outside of the project", CHECK_WARN, REPAIR_NONE,
	  "A plugin was loaded that the project does not name, and may change outcomes.", NULL },
};
const size_t codes_len = countof(codes);

#define CODE_LEN 5 /* of "FH201" */

const struct code *code_find(const char *name)
{
	size_t len = strcspn(name, "-");
	for (size_t i = 0; i < codes_len; i++)
		if (len == CODE_LEN && strncasecmp(name, codes[i].code, len) == 0)
			return &codes[i];
	return NULL;
}

const char *code_nearest(const char *name)
{
	const char *names[countof(codes)];
	for (size_t i = 0; i < countof(codes); i++)
		names[i] = codes[i].code;
	return text_nearest(name, names, countof(codes));
}
