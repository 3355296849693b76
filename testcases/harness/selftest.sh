#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The runner must refuse each of testcases/planted, for the right reason; and
# all.sh must count what suites say and refuse one that ran nothing.
set -u
cd "$(dirname "$0")/../.."
O=${O:-build}
tmp=$(mktemp -d) || exit 125
trap 'rm -rf "$tmp"' EXIT
fails=0

ok() { # condition's status, name
	if [ "$1" = 0 ]; then
		echo "ok harness/$2"
	else
		echo "not ok harness/$2"
		fails=1
	fi
}

"$O/testcases/runner" --build="$O" --kind=planted >"$tmp/out" 2>&1
[ $? != 0 ]
ok $? 'planted programs fail the runner'
refused() { # program, reason
	awk -v n="not ok planted/$1" -v r="$2" '
		/^#/ { why = why $0 "\n" } $0 == n { hit = index(why, r) > 0 } !/^#/ { why = "" }
		END { exit !hit }' "$tmp/out"
	ok $? "refuses planted/$1"
}
refused unexpected 'unexpected KRT-RACE-WAW error certain both'
refused missing 'expected KRT-RACE-WAW error certain both 1, found 0'
refused miscounted 'expected KRT-RACE-WAW error certain both 2, found 1'
refused misjudged 'expected KRT-RACE-WAW warning certain both 1, found 0'
refused unmentioned 'no KRT-RACE-WAW mentions'
refused unmended 'KRT-RACE-WAW: with the order that it lacks: removes'
refused misread 'head comment cannot be read'
refused failing 'alone: exit code 3, expected 0'
refused miscomputed 'alone: a wrong value'
[ "$fails" = 0 ] || cat "$tmp/out"

# all.sh, with a stand-in for make that runs the suite named.
cat >"$tmp/make" <<'EOF'
#!/bin/sh
for suite; do :; done
case $suite in
lines) printf 'ok a\nnot a line\nok b\n' ;;
sum) printf 'ok a\n5 passed, 0 failed\n' ;;
bad) printf 'ok a\nnot ok b\n' ;;
crash) printf 'ok a\n'; exit 3 ;;
nothing) ;;
esac
EOF
chmod +x "$tmp/make"
total() { MAKE=$tmp/make testcases/harness/all.sh "$@" 2>&1 | tail -n 1; }
[ "$(total lines sum)" = '7 passed, 0 failed' ]
ok $? 'adds suites up'
[ "$(total lines bad)" = '3 passed, 1 failed' ]
ok $? 'counts a failure'
[ "$(total crash)" = '1 passed, 1 failed' ]
ok $? 'counts a suite that ends with an error'
[ "$(total lines nothing)" = '2 passed, 1 failed' ]
ok $? 'counts a suite that ran nothing'
! MAKE=$tmp/make testcases/harness/all.sh bad >/dev/null 2>&1 && MAKE=$tmp/make testcases/harness/all.sh sum >/dev/null 2>&1
ok $? 'answers with its exit code'
exit "$fails"
