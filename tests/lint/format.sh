#!/bin/bash
# Every source file is as clang-format leaves it.
set -euo pipefail
cd "$(dirname "$0")/../.."
find sandbox probe runner tests -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run -Werror
