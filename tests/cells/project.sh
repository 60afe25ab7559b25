#!/bin/bash
# A project as a copy, and a project under a layer of changes.
# shellcheck disable=SC2016 # scripts in single quotes are the cell's shell's to expand
# shellcheck source=tests/cells/lib.sh
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p sub/deep bin closed
echo old >kept
ln kept sub/twin
ln -s kept link
ln -s /nowhere dangling
printf '#!/bin/sh\necho ran\n' >bin/run && chmod 755 bin/run
truncate -s 64M holes && echo end >>holes
setfattr -n user.note -v here kept
echo x >closed/x && chmod 500 closed
touch -d '2001-02-03 04:05:06' sub/deep
before=$(find . -printf '%p %y %m %s %i %T@ %l\n' | sort)

# what an overlay cannot
cell -- /usr/bin/python3 -c 'import os; os.rename("sub", "other")'
is "under an overlay a folder of the project cannot be renamed" "$(grep -c 'cross-device' "$work/errors")" 1
cell --copy -- /usr/bin/python3 -c 'import os; os.rename("sub", "other"); print(*sorted(os.listdir()))'
is "in a copy it can" "$said" "bin closed dangling holes kept link other"
inside 'echo more >>kept; cat sub/twin; stat -c %h kept' --copy
is "hard links are kept when written to" "$said" $'old\nmore\n2'
inside 'readlink link dangling; bin/run; stat -c %a closed; stat -c %y sub/deep; stat -c "%b %s" holes; tail -c4 holes' --copy
is "links, modes, times, holes" "$said" $'kept\n/nowhere\nran\n500\n2001-02-03 04:05:06.000000000 +0000\n8 67108868\nend'
cell --copy -- /usr/bin/python3 -c 'import os; print(os.getxattr("kept", "user.note"))'
is "extended attributes" "$said" "b'here'"
inside 'rm -rf kept sub holes; echo x >bin/run; mkdir new; ls' --copy
is "it can be written" "$said" $'bin\nclosed\ndangling\nlink\nnew'
is "... and that it stays in the cell is verified" "$(field overlay)" '"verified"'
is "the project is as it was, to the inode and time" "$(find . -printf '%p %y %m %s %i %T@ %l\n' | sort)" "$before"
is "the copy is a place of the scratch" "$(grep -o "\"$PWD\":\"[a-z]*" <<<"$result")" "\"$PWD\":\"upper"
cell --copy --scratch-dir "$work" -- /usr/bin/python3 -c 'import os; os.rename("sub", "other"); print(*sorted(os.listdir()))'
is "a copy on disk" "$said" "bin closed dangling holes kept link other"
is "... does not stay there" "$(ls "$work")" "$(printf 'errors\nproject\nresult')"
head -c 1000000 /dev/urandom >big
cell --copy --scratch-bytes 500000 -- /bin/true
is "a scratch that is too small for it is an error" "$status $(grep -c 'copy the project: copy big: No space left on device' "$work/errors")" "64 1"
ok "... and what can be done" grep -q 'hint: the scratch holds the copy, too' "$work/errors"
rm big
before=$(find . -printf '%p %y %m %s %i %T@ %l\n' | sort)

# under a layer
mkdir -p "$work/layer/sub" "$work/layer/node_modules/.bin"
echo made >"$work/layer/node_modules/made"
ln -s ../made "$work/layer/node_modules/.bin/made"
echo new >"$work/layer/kept"
mknod "$work/layer/sub/twin" c 0 0
layer=(--layer "$work/layer")
inside 'cat kept node_modules/.bin/made; ls sub; ls' "${layer[@]}"
is "a layer lies on the project" "$said" $'new\nmade\ndeep\nbin\nclosed\ndangling\nholes\nkept\nlink\nnode_modules\nsub'
is "... which is verified" "$(field overlay)" '"verified"'
inside 'rm -r node_modules kept; echo x >sub/twin; ls; cat sub/twin' "${layer[@]}"
is "... and can be written over" "$said" $'bin\nclosed\ndangling\nholes\nlink\nsub\nx'
is "... which stays in the cell" "$(cat "$work/layer/kept" "$work/layer/node_modules/made"; ls "$work/layer/sub")" $'new\nmade\ntwin'
inside 'cat kept node_modules/.bin/made; ls sub; ls' "${layer[@]}" --copy
is "a copy of both" "$said" $'new\nmade\ndeep\nbin\nclosed\ndangling\nholes\nkept\nlink\nnode_modules\nsub'
inside 'ls sub; cat kept' "${layer[@]}" --scratch-dir "$work"
is "with a scratch on disk" "$said" $'deep\nnew'
rm "$work/layer/sub/twin"
: >"$work/layer/sub/twin"
setfattr -n user.overlay.whiteout -v y "$work/layer/sub/twin"
setfattr -n user.overlay.opaque -v x "$work/layer/sub"
inside 'ls sub' "${layer[@]}"
is "what is gone, as a file with a mark" "$said" deep
setfattr -n user.overlay.opaque -v y "$work/layer/sub"
rm "$work/layer/sub/twin"
inside 'ls sub' "${layer[@]}"
is "a folder that hides what was in it" "$said" ""
is "the project is as it was again" "$(find . -printf '%p %y %m %s %i %T@ %l\n' | sort)" "$before"
chmod 700 closed
finish
