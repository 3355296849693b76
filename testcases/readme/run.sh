#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The README's first steps, as a newcomer types them: every command of that section,
# in order and in one shell, in a folder that looks like the top of the tree.  A
# command ends with 0 unless `# exit code N` stands behind it.  The text that the
# section shows has to be what the first run prints, and its change has to fit.
#   run.sh BUILD [--update]     --update: writes the shown text anew
# One line a command, `ok` or `not ok`; the last line is `N passed, N failed`.
set -u

build=$(cd "$1" && pwd) || exit 125
tree=$(cd "$(dirname "$0")/../.." && pwd) || exit 125
update=${2-}
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT
mkdir "$work/top" "$work/home"
ln -s "$tree"/* "$work/top/"
rm -f "$work/top/build" && ln -s "$build" "$work/top/build"
cd "$work/top" || exit 125
unset KRTSAN_SESSION LD_PRELOAD KRTSAN_OPTIONS O MAKEFLAGS MFLAGS MAKELEVEL
HOME=$work/home
export HOME NO_COLOR=1
passed=0
failed=0

result() { # name, trouble
	if [ -z "$2" ]; then
		passed=$((passed + 1))
		echo "ok $1"
	else
		failed=$((failed + 1))
		echo "not ok $1: $2"
	fi
}
# What differs from run to run.
same() { sed -E -e 's/^==[0-9]+==/==4711==/' -e 's/0x[0-9a-f]{8,}/0x55d1c0de/g' -e 's/ +$//' "$@"; }

sed -n '/^## First steps/,/^## Install/p' "$tree/README.md" >steps
for kind in sh text diff; do
	awk -v kind="$kind" '$0 == "```" kind { n++; inside = 1; next } /^```/ { inside = 0 } inside' steps >"steps.$kind"
done
awk '/^```diff/ { print "@edit" } /^```sh/ { inside = 1; next } /^```/ { inside = 0 } inside' steps >commands

# The lines of the change follow each other in the program.
edit() {
	python3 - <<'PY'
lines = open("steps.diff").read().split("\n")[1:-1]
old = "\n".join(l[1:] for l in lines if l[0] != "+")
new = "\n".join(l[1:] for l in lines)
text = open("testcases/demo/first.c").read()
assert text.count(old) == 1, "the change does not fit"
open("mended.c", "w").write(text.replace(old, new))
PY
}

while IFS= read -r line; do
	[ -n "$line" ] || continue
	if [ "$line" = @edit ]; then
		edit 2>err
		result "the change" "$([ $? = 0 ] || tail -n 1 err)"
		continue
	fi
	want=$(echo "$line" | sed -n 's/.*# exit code \([0-9]*\).*/\1/p')
	eval "$line" >out 2>err </dev/null
	code=$?
	result "${line%%  *#*}" "$([ $code = "${want:-0}" ] || { echo "exit code $code"; tail -n 3 err; })"
	case $line in *--report=json:first.json*) cp err first.text ;; esac
done <commands

same first.text | sed '/SUMMARY/q' >first.same
if [ -n "$update" ]; then
	awk 'FNR == NR { text = text $0 "\n"; next }
	     /^```text/ && !done { print; printf "%s", text; skip = done = 1; next }
	     /^```/ { skip = 0 } !skip' first.same "$tree/README.md" >new && cp new "$tree/README.md"
	cp first.same steps.text
fi
same steps.text >shown
result "the finding that the section shows" "$(cmp -s shown first.same || diff shown first.same)"
for f in krtsan.json krtsan.sarif krtsan-junit.xml krtsan.html; do
	result "krtsan-report/$f" "$([ -s krtsan-report/$f ] || echo missing)"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
