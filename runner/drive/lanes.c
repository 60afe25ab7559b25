#include "runner/drive/lanes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runner/drive/keep.h"
#include "runner/drive/keys.h"
#include "runner/drive/signals.h"
#include "runner/ledger.h"
#include "runner/progress.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/err.h"
#include "sandbox/base/fd.h"

/* A place for an order in a lane, or for one that has left its lane while its cell goes away: of
 * those there are at most as many as there are lanes. */
struct slot {
	struct order_run *run; /* NULL: free */
	const struct order *order;
	unsigned lane;
	bool leaving;
};

struct lanes {
	const struct lanes_setup *setup;
	const struct lanes_source *source;
	struct signals signals;
	struct keys keys;
	struct slot *slots;
	struct pollfd *polls; /* POLLS of our own, and ORDER_POLLS of each slot */
	size_t slots_len;
	size_t running;
	bool ask;         /* the source may have something */
	bool interrupted; /* no other order begins */
};

#define CPU_MAX_LEN      64
#define DESCRIPTORS_BASE 128 /* of ours, and while a cell is made */
#define DESCRIPTORS_EACH 10  /* of an order, and of one that goes away */

/* More are not asked for: the suite would find that it has them, too. */
static unsigned lanes_most(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return 1;
	rlim_t n = files.rlim_cur > DESCRIPTORS_BASE + DESCRIPTORS_EACH
			   ? (files.rlim_cur - DESCRIPTORS_BASE) / DESCRIPTORS_EACH
			   : 1;
	return n < LANES_MAX ? (unsigned)n : LANES_MAX;
}

unsigned lanes_granted(const char *cpu_max)
{
	char *end = NULL;
	unsigned long quota = strtoul(cpu_max, &end, 10);
	if (end == cpu_max || *end != ' ')
		return 0;
	unsigned long period = strtoul(end, NULL, 10);
	if (!period || quota > period * LANES_MAX)
		return 0;
	return (unsigned)((quota + period - 1) / period);
}

/* Of a container, whose own group is the root that it sees. */
static unsigned quota(void)
{
	cleanup_free char *text = NULL;
	int r = fd_load(AT_FDCWD, "/sys/fs/cgroup/cpu.max", CPU_MAX_LEN, &text, NULL, NULL);
	return r ? 0 : lanes_granted(text);
}

unsigned lanes_default(void)
{
	cpu_set_t set;
	int processors = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
	unsigned n = (unsigned)processors;
	unsigned granted = quota();
	if (granted && granted < n)
		n = granted;
	unsigned most = lanes_most();
	return n < most ? n : most;
}

static int check_lanes(unsigned lanes, struct err *e)
{
	assert(lanes);
	if (lanes <= lanes_most())
		return 0;
	err_set(e, EMFILE, "%u lanes are too many: by the descriptors that may be open, %u can be",
		lanes, lanes_most());
	err_hint(e, "ask for fewer with --lanes, or raise the limit with ulimit -n");
	return err_status(e, STATUS_USAGE);
}

enum { SIGNALS, KEYS, POLLS };

/* ---- starting ---- */

static int pass_on(void *with, const cJSON *line, const char *text, size_t len, struct err *e)
{
	struct lanes *l = with;
	const struct lanes_source *source = l->source;
	progress_see(l->setup->progress, line);
	int r = ledger_append(l->setup->ledger, text, len, e);
	if (r || !source->line)
		return r;
	return source->line(source->with, json_text(line, "kind"), line, e);
}

static struct slot *free_slot(const struct lanes *l)
{
	for (size_t i = 0; i < l->slots_len; i++)
		if (!l->slots[i].run)
			return &l->slots[i];
	return NULL;
}

static unsigned free_lane(const struct lanes *l)
{
	for (unsigned lane = 0;; lane++) {
		size_t i = 0;
		while (i < l->slots_len &&
		       !(l->slots[i].run && !l->slots[i].leaving && l->slots[i].lane == lane))
			i++;
		if (i == l->slots_len)
			return lane;
	}
}

static int start(struct lanes *l, struct slot *slot, const struct order *order, struct err *e)
{
	unsigned lane = free_lane(l);
	const struct order_ask ask = { .order = order,
				       .setup = l->setup->order,
				       .roster = l->setup->roster,
				       .lane = lane,
				       .ledger = l->setup->ledger,
				       .progress = l->setup->progress,
				       .line = pass_on,
				       .with = l };
	struct order_run *run = NULL;
	int r = order_start(&ask, &run, e);
	if (r)
		return err_in(e, "order %s", order->name);
	*slot = (struct slot){ .run = run, .order = order, .lane = lane };
	l->running++;
	return 0;
}

/* The display tells how much is left. */
static void expect(struct lanes *l)
{
	struct progress_left left = { 0 };
	if (l->source->left)
		l->source->left(l->source->with, &left);
	progress_expect(l->setup->progress, &left, l->setup->lanes);
}

/* As many as there is room for. 1: something goes on, or can once a cell has gone away. */
static int fill(struct lanes *l, struct err *e)
{
	while (l->ask && !l->interrupted && l->running < l->setup->lanes) {
		struct slot *slot = free_slot(l);
		if (!slot)
			return 1;
		const struct order *order = NULL;
		int r = l->source->next(l->source->with, &order, e);
		if (r < 0)
			return r;
		l->ask = r > 0;
		r = r > 0 ? start(l, slot, order, e) : 0;
		if (r)
			return r;
		expect(l);
	}
	return l->running > 0;
}

/* ---- ending ---- */

static const int heard[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1 };

/* The order's ledger is whole: while something is brought out, ctrl-C may end us. */
static int leave(struct lanes *l, struct slot *slot, struct order_result *ret, struct err *e)
{
	bool keeps = l->setup->order->keeps && l->setup->order->keeps->len;
	if (keeps) {
		keys_pause(&l->keys);
		signals_done(&l->signals);
	}
	int r = order_leave(slot->run, ret, e);
	if (r)
		return err_in(e, "order %s", slot->order->name);
	if (!keeps)
		return 0;
	keys_resume(&l->keys);
	return signals_open(heard, countof(heard), &l->signals, e);
}

static int end(struct lanes *l, struct slot *slot, struct err *e)
{
	struct order_result result;
	int r = leave(l, slot, &result, e);
	if (r)
		return r;
	slot->leaving = true;
	l->running--;
	l->ask = true;
	return l->source->ended(l->source->with, slot->order, &result, e);
}

static int step(struct lanes *l, struct slot *slot, const struct pollfd *polls, struct err *e)
{
	int r = order_step(slot->run, polls, e);
	if (r < 0)
		return err_in(e, "order %s", slot->order->name);
	if (r && !slot->leaving)
		return end(l, slot, e);
	if (r)
		order_free(take_ptr(&slot->run));
	return 0;
}

/* ---- signals ---- */

static int each_running(struct lanes *l, int (*act)(struct order_run *run, int signal, struct err *e),
			int signal, struct err *e)
{
	int r = 0;
	for (size_t i = 0; i < l->slots_len && !r; i++) {
		const struct slot *slot = &l->slots[i];
		if (!slot->run || slot->leaving)
			continue;
		r = act(slot->run, signal, e);
		if (r)
			err_in(e, "order %s", slot->order->name);
	}
	return r;
}

static int interrupt(struct order_run *run, int signal, struct err *e)
{
	(void)signal;
	return order_interrupt(run, e);
}

static int pause_all(struct lanes *l, struct err *e)
{
	int r = each_running(l, order_signal, SIGSTOP, e);
	keys_pause(&l->keys);
	if (!r)
		raise(SIGSTOP);
	keys_resume(&l->keys);
	return r ? r : each_running(l, order_signal, SIGCONT, e);
}

static int take_signal(struct lanes *l, struct err *e)
{
	switch (signals_take(&l->signals)) {
	case 0:
		return 0;
	case SIGCONT: /* the shell may have had the terminal meanwhile */
		keys_pause(&l->keys);
		keys_resume(&l->keys);
		return 0;
	case SIGUSR1:
		progress_tell_lanes(l->setup->progress);
		return 0;
	case SIGQUIT: /* at once, but for the terminal */
		keys_pause(&l->keys);
		signals_done(&l->signals);
		raise(SIGQUIT);
		return err_set(e, EINTR, "quit");
	case SIGTSTP:
		return pause_all(l, e);
	default:
		l->interrupted = true;
		return each_running(l, interrupt, 0, e);
	}
}

/* ---- the loop ---- */

static int until_ms(const struct lanes *l)
{
	int64_t due = INT64_MAX;
	for (size_t i = 0; i < l->slots_len; i++) {
		int64_t its = l->slots[i].run ? order_due_ms(l->slots[i].run) : INT64_MAX;
		due = its < due ? its : due;
	}
	int64_t left = due == INT64_MAX ? INT_MAX : due - clock_ms();
	int wait = progress_due_ms(l->setup->progress);
	if (wait >= 0 && wait < left)
		return wait;
	return due == INT64_MAX ? -1 : left > 0 ? (int)left : 0;
}

/* Waits until something comes; a slot that is free has nothing to wait for. */
static int wait_for_any(struct lanes *l, struct err *e)
{
	l->polls[SIGNALS] = (struct pollfd){ l->signals.fd, POLLIN, 0 };
	l->polls[KEYS] = keys_poll(&l->keys);
	for (size_t i = 0; i < l->slots_len; i++) {
		struct pollfd *polls = &l->polls[POLLS + i * ORDER_POLLS];
		if (l->slots[i].run)
			order_polls(l->slots[i].run, polls);
		for (size_t k = 0; k < ORDER_POLLS && !l->slots[i].run; k++)
			polls[k] = (struct pollfd){ -1, 0, 0 };
	}
	int n = poll(l->polls, (nfds_t)(POLLS + l->slots_len * ORDER_POLLS), until_ms(l));
	if (n < 0 && errno != EINTR)
		return err_sys(e, "wait for the cells");
	return n > 0;
}

static int turn(struct lanes *l, struct err *e)
{
	int r = wait_for_any(l, e);
	progress_tick(l->setup->progress);
	if (r <= 0)
		return r;
	if (l->polls[KEYS].revents && keys_pressed(&l->keys))
		progress_tell_lanes(l->setup->progress);
	r = l->polls[SIGNALS].revents ? take_signal(l, e) : 0;
	for (size_t i = 0; i < l->slots_len && !r; i++)
		if (l->slots[i].run)
			r = step(l, &l->slots[i], &l->polls[POLLS + i * ORDER_POLLS], e);
	return r;
}

static int run_all(struct lanes *l, struct err *e)
{
	int r = signals_open(heard, countof(heard), &l->signals, e);
	keys_begin(&l->keys, !r && l->setup->progress->out ? STDIN_FILENO : -1);
	while (!r && (r = fill(l, e)) > 0)
		r = turn(l, e);
	return r;
}

int lanes_run(const struct lanes_setup *setup, const struct lanes_source *source,
	      struct lanes_result *ret, struct err *e)
{
	int r = check_lanes(setup->lanes, e);
	if (r)
		return r;
	size_t n = (size_t)setup->lanes * 2;
	struct lanes l = { .setup = setup,
			   .source = source,
			   .signals = SIGNALS_NULL,
			   .keys = KEYS_NULL,
			   .slots = calloc(n, sizeof(struct slot)),
			   .polls = calloc(POLLS + n * ORDER_POLLS, sizeof(struct pollfd)),
			   .slots_len = n,
			   .ask = true };
	r = l.slots && l.polls ? run_all(&l, e) : err_set(e, ENOMEM, "run orders: no memory");
	for (size_t i = 0; l.slots && i < n; i++)
		order_free(l.slots[i].run);
	keys_pause(&l.keys);
	signals_done(&l.signals);
	free(l.slots);
	free(l.polls);
	if (!r)
		*ret = (struct lanes_result){ .interrupted = l.interrupted };
	return r;
}
