#!/bin/bash
# Every shell script is clean in shellcheck.
set -euo pipefail
cd "$(dirname "$0")/../.."
grep -rlIE --exclude-dir='build*' --exclude-dir=.git '^#!.*\b(ba)?sh\b' . |
	xargs shellcheck --external-sources --source-path=SCRIPTDIR
