#!/bin/bash
# as_user: run a command as the ordinary user of the tests ($FUMEHOOD_TEST_USER, fhuser), as a login
# would: its own home, no variable that points into the caller's.
# Usage: as_user.sh COMMAND...
set -euo pipefail

if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP the tests already run as an ordinary user"
	exit 0
fi
user=${FUMEHOOD_TEST_USER:-fhuser}
home=$(getent passwd "$user" | cut -d: -f6)
if [ -z "$home" ]; then
	echo "Bail out! there is no user $user: script/test makes it"
	exit 1
fi
exec env -u XDG_RUNTIME_DIR -u XDG_STATE_HOME -u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u TMPDIR \
	HOME="$home" USER="$user" LOGNAME="$user" SHELL=/bin/bash PATH=/usr/bin:/bin \
	PYTHONDONTWRITEBYTECODE=1 \
	setpriv --reuid "$user" --regid "$user" --init-groups "$@"
