#!/bin/bash
# Every source file of a build is clean in clang-tidy. Usage: tidy.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
/usr/bin/python3 - "$build" <<'PY' | sort -u |
import json, os, sys
for entry in json.load(open(os.path.join(sys.argv[1], "compile_commands.json"))):
    path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
    if path.endswith(".c"):
        print(os.path.relpath(path))
PY
	xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option
