#include "sandbox/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/base/barrier.h"
#include "sandbox/base/err.h"
#include "sandbox/cell_spec.h"

/* The system calls themselves, not libcap: its sets come from malloc, and the pages that touches
 * in a fresh fork make it 91 us against 58 (measured). What remains is the bounding set, which the
 * kernel lets go of one capability at a time. */

int caps_wanted(const struct cell_spec *spec, struct caps *ret, struct err *e)
{
	struct stat st;
	bool foreign = spec->uid == 0 && spec->project && stat(spec->project, &st) == 0 && st.st_uid;
	*ret = (struct caps){ 0 };
	if (spec->caps == CELL_CAPS_SETID && foreign) {
		err_set(e, EINVAL, "project %s belongs to user %u, who is nobody with --caps setid",
			spec->project, st.st_uid);
		err_hint(e, "give root a checkout of its own");
		return err_status(e, STATUS_USAGE);
	}
	if (spec->caps == CELL_CAPS_SETID)
		ret->held = UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID;
	else if (spec->caps == CELL_CAPS_NEEDED && foreign)
		*ret = (struct caps){ .held = UINT64_C(1) << CAP_DAC_OVERRIDE |
					      UINT64_C(1) << CAP_CHOWN | UINT64_C(1) << CAP_FOWNER,
				      .uid = st.st_uid,
				      .gid = st.st_gid };
	return 0;
}

/* What an exec as uid 0 gets is the bounding set, so this is what makes the rest last. */
static int drop_bounding(uint64_t keep, struct err *e)
{
	for (unsigned int cap = 0; cap < 64; cap++) {
		if (keep >> cap & 1)
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL) /* past the last one this kernel knows */
			return 0;
		return err_sys(e, "drop capability %u from the bounding set", cap);
	}
	return 0;
}

int caps_hold(uint64_t keep, struct err *e)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32) },
	};
	if (syscall(SYS_capset, &header, sets) < 0)
		return err_sys(e, "give up capabilities");
	return 0;
}

static int clear_ambient(struct err *e)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_sys(e, "clear the ambient capabilities");
	return 0;
}

int caps_drop(uint64_t keep, struct err *e)
{
	if (!barrier("caps"))
		return 0;
	int r = clear_ambient(e);
	if (!r)
		r = drop_bounding(keep, e);
	return r < 0 ? r : caps_hold(keep, e);
}

int caps_forget(struct err *e)
{
	int r = clear_ambient(e);
	if (r < 0)
		return r;
	drop_bounding(0, NULL);
	return caps_hold(0, e);
}
