#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The kernels against their truth: check.sh BUILD.
#
# First the PTX that lies here.  Where nvcc is present, the sources are compiled
# anew (one variant each): the truth must hold for that as well, and where it is
# the release that made the PTX here, the text must be the same.
set -u

build=$1
here=$(dirname "$0")
fails=0
say() {
	if [ "$1" = 0 ]; then
		echo "ok $2"
	else
		fails=$((fails + 1))
		echo "not ok $2"
	fi
}

# Less what depends on where it was compiled.
text() { grep -v '^//' "$1" | sed 's/_[0-9a-f]\{8\}\(_[0-9]*_[a-z_]*_cu_\)[0-9a-f]\{8\}/\1/g'; }
release() { sed -n 's,^// Cuda compilation tools\, ,,p' "$1"; }

out=$("$build/kernels/oracle" "$here/truth.txt" "$here") && rc=0 || rc=1
say $rc "kernels: $out"

# A truth that is not one must be seen.
sed 's/read x 0 \.\. 4\*m$/read x 0 .. 4*m - 4/' "$here/truth.txt" >"$build/kernels/wrong.txt"
"$build/kernels/oracle" --truth-only "$build/kernels/wrong.txt" "$here" copy_guard >/dev/null && rc=1 || rc=0
say $rc "kernels: a wrong truth is seen"
case $out in
*'; roles:'*)
	for lie in 1 2; do
		"$build/kernels/oracle" --lie=$lie "$here/truth.txt" "$here" copy_guard >/dev/null && rc=1 || rc=0
		say $rc "kernels: a wrong analysis is seen ($lie)"
	done
	out=$("$build/kernels/oracle" --random=400 "$here/truth.txt" "$here") && rc=0 || rc=1
	say $rc "kernels, drawn at random: $out"
	;;
esac

fresh=$build/kernels/fresh
"$here/compile.sh" --first "$fresh" && rc=0 || rc=$?
if [ $rc = 77 ]; then
	echo "  (no nvcc: the sources were not compiled)"
else
	say $rc "kernels: compiled"
	for f in "$here"/*.ptx; do # written by hand
		name=$(basename "$f")
		[ -e "$here/${name%%.*}.cu" ] || cp "$f" "$fresh"
	done
	out=$("$build/kernels/oracle" "$here/truth.txt" "$fresh") && rc=0 || rc=1
	say $rc "kernels, compiled anew: $out"
	for f in "$fresh"/*.ptx; do
		old=$here/$(basename "$f")
		[ "$(release "$f")" = "$(release "$old")" ] || continue
		[ "$(text "$f")" = "$(text "$old")" ] && continue
		say 1 "$(basename "$old") is not what its source gives: run compile.sh ."
	done
fi
[ $fails = 0 ]
