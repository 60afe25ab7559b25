#include "runner/judge/rules.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/json.h"
#include "sandbox/base/text.h"
#include "tests/lib/tap.h"

static const struct {
	const char *domain, *what, *key;
	const char *code, *clause;
} rules[] = {
	{ "files", "created", "/tmp/a", "FH101", "created /tmp/a" },
	{ "files", "content", "/tmp/a b", "FH102", "changed '/tmp/a b'" },
	{ "files", "type", "/tmp/a", "FH102", "replaced /tmp/a" },
	{ "files", "touched", "/tmp/a", "FH106", "wrote /tmp/a" },
	{ "files", "deleted", "/tmp/a", "FH103", "deleted /tmp/a" },
	{ "files", "mode", "/tmp/a", "FH104", "changed mode of /tmp/a" },
	{ "files", "owner", "/tmp/a", "FH104", "changed owner of /tmp/a" },
	{ "files", "xattrs", "/tmp/a", "FH104", "changed attributes of /tmp/a" },
	{ "files", "links", "/tmp/a", "FH104", "changed links of /tmp/a" },
	{ "files", "target", "/tmp/a", "FH104", "changed link /tmp/a" },
	{ "env", "removed", "PATH", "FH111", "removed variable PATH" },
	{ "process", "changed", "cwd", "FH121", "changed cwd" },
	{ "process", "changed", "umask", "FH122", "changed umask" },
	{ "process", "changed", "SIGRTMIN+1", "FH123", "changed SIGRTMIN+1" },
	{ "process", "changed", "rlimit CORE", "FH124", "changed 'rlimit CORE'" },
	{ "process", "changed", "nice", "FH124", "changed nice" },
	{ "descriptors", "opened", "pipe", "FH131", "opened descriptor of pipe" },
	{ "processes", "started", "sleep", "FH141", "started process sleep" },
	{ "threads", "started", "python3", "FH142", "started thread python3" },
	{ "ipc", "created", "shm:0x2a", "FH151", "created SysV IPC shm:0x2a" },
	{ "ipc", "removed", "mq:/jobs", "FH152", "removed POSIX queue mq:/jobs" },
	{ "files", "created", "/dev/shm/sem.a", "FH152", "created POSIX semaphore /dev/shm/sem.a" },
	{ "files", "created", "/dev/shm/a", "FH152", "created POSIX shared memory /dev/shm/a" },
	{ "files", "created", "/dev/shm/a/b", "FH101", "created /dev/shm/a/b" },
	{ "files", "content", "/dev/shm/a", "FH102", "changed /dev/shm/a" },
	{ "custom", "changed", "rows", "FH181", "changed probe rows" },
	{ "network", "opened", "udp:127.0.0.1:53", "FH161",
	  "opened listening socket udp:127.0.0.1:53" },
	{ "network", "opened", "unix:@a", "FH162", "opened abstract socket unix:@a" },
	{ "moon", "rose", "x\x1b", "FH191", "rose $'x\\x1b'" },
};

static const struct {
	const char *domain, *before, *after, *detail;
} details[] = {
	{ "files", NULL, "{\"type\":\"file\",\"mode\":\"0644\",\"size\":12}", "file, 12 bytes" },
	{ "files", NULL, "{\"type\":\"file\",\"size\":1}", "file, 1 byte" },
	{ "files", NULL, "{\"type\":\"dir\",\"mode\":\"0755\"}", "dir" },
	{ "files", NULL, "{\"type\":\"link\",\"target\":\"/a\\u001b\"}", "link, to /a\\x1b" },
	{ "files", "{\"type\":\"file\",\"size\":9}", NULL, "file, 9 bytes" },
	{ "files", "{\"type\":\"file\",\"size\":9}", "{\"type\":\"dir\"}", "file -> dir, 9 bytes" },
	{ "files", "{\"size\":9,\"mode\":\"0644\"}", "{\"size\":10,\"mode\":\"0600\"}",
	  "9 -> 10 bytes, mode 0644 -> 0600" },
	{ "files", "{\"size\":9,\"digest\":\"a\"}", "{\"size\":9,\"digest\":\"b\"}", "other content" },
	{ "files", "{\"mode\":\"0644\"}", "{\"mode\":\"0644\",\"uid\":7}", "uid 7" },
	{ "files", "{\"type\":\"file\"}", "{\"type\":\"file\",\"links\":2}", "2 names" },
	{ "env", NULL, "{\"len\":3,\"digest\":\"a\"}", "3 bytes" },
	{ "env", "{\"len\":3,\"digest\":\"a\"}", "{\"len\":3,\"digest\":\"b\"}", "other content" },
	{ "env", NULL, "{\"len\":1,\"value\":\"x\"}", "1 byte, value x" },
	{ "process", "{\"path\":\"/a\",\"deleted\":false}", "{\"path\":\"/a\",\"deleted\":true}",
	  "not deleted -> deleted" },
	{ "process", "{\"soft\":1,\"hard\":\"unlimited\"}", "{\"soft\":1,\"hard\":2}",
	  "hard unlimited -> 2" },
	{ "descriptors", NULL, "{\"fd\":7,\"target\":\"/x\",\"mode\":\"rw\"}", "number 7, rw" },
	{ "processes", NULL, "{\"state\":\"alive\",\"daemonised\":true}", "alive, daemonised" },
	{ "processes", NULL, "{\"state\":\"alive\",\"daemonised\":false}", "alive" },
	{ "threads", NULL, "{\"tid\":7}", "" },
	{ "ipc", NULL, "{\"id\":1,\"mode\":\"0600\",\"semaphores\":1}", "1 semaphore" },
	{ "ipc", "{\"size\":1,\"messages\":1}", "{\"size\":3,\"messages\":2}",
	  "1 -> 3 bytes, 1 -> 2 messages" },
	{ "network", NULL, "{\"address\":\"::\",\"port\":80,\"ephemeral\":false}", "port 80" },
	{ "files", NULL, NULL, "" },
};

int main(void)
{
	for (size_t i = 0; i < countof(rules); i++) {
		const struct rule *rule = rule_of(rules[i].domain, rules[i].what, rules[i].key);
		cleanup_free char *clause = rule_clause(rules[i].domain, rules[i].what, rules[i].key);
		tap_ok(text_eq(rule->code, rules[i].code) && text_eq(clause, rules[i].clause),
		       "%s %s", rule->code, clause);
	}
	for (size_t i = 0; i < countof(details); i++) {
		cleanup_json cJSON *before =
			details[i].before ? cJSON_Parse(details[i].before) : NULL;
		cleanup_json cJSON *after = details[i].after ? cJSON_Parse(details[i].after) : NULL;
		cleanup_free char *detail = rule_detail(details[i].domain, before, after);
		tap_ok(text_eq(detail, details[i].detail), "%s: %s", details[i].domain, detail);
	}
	return tap_done();
}
