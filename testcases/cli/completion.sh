#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The bash completion, asked as bash asks it: completion.sh BUILD.  In a shell
# without bash-completion and, where it is installed, in one with it.
# One line a test, `ok` or `not ok`; the last line is `N passed, N failed`.
set -u

build=$(cd "$1" && pwd) || exit 125
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 125
mkdir run.krt folder && touch r.json 'a file.json' && printf '#!/bin/sh\n' >program && chmod +x program
# shellcheck source=/dev/null
. "$build/man/krtsan.bash"
passed=0
failed=0

# What bash makes of the line up to the cursor, broken at COMP_WORDBREAKS as it does.
ask() {
	local rest
	COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=() COMPREPLY=()
	rest=$COMP_LINE
	while [[ -n $rest ]]; do
		if [[ $rest =~ ^[[:space:]]+(.*)$ ]]; then
			rest=${BASH_REMATCH[1]}
		elif [[ $rest =~ ^([:=]+)(.*)$ && $COMP_WORDBREAKS == *=* ]]; then
			COMP_WORDS+=("${BASH_REMATCH[1]}") rest=${BASH_REMATCH[2]}
		elif [[ $COMP_WORDBREAKS == *=* ]]; then
			[[ $rest =~ ^([^[:space:]:=]+)(.*)$ ]]
			COMP_WORDS+=("${BASH_REMATCH[1]}") rest=${BASH_REMATCH[2]}
		else
			[[ $rest =~ ^([^[:space:]]+)(.*)$ ]]
			COMP_WORDS+=("${BASH_REMATCH[1]}") rest=${BASH_REMATCH[2]}
		fi
	done
	[[ $COMP_LINE == *[[:space:]] ]] && COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_krtsan
}
reply() { printf '%s\n' "${COMPREPLY[@]}"; }
verdict() {
	if [ -z "$2" ]; then passed=$((passed + 1)) && echo "ok $1"; else
		failed=$((failed + 1)) && printf 'not ok %s\n  %s\n' "$1" "$2"; fi
}
# is LINE WORD...: exactly these, in any order
is() {
	local line=$1 got want
	shift
	ask "$line"
	got=$(reply | sort | tr '\n' '|') want=$(printf '%s\n' "$@" | sort | tr '\n' '|')
	verdict "'$line'" "$([ "$got" = "$want" ] || echo "answers $got, expected $want")"
}
# has LINE WORD...: these among others
has() {
	local line=$1 missing=
	shift
	ask "$line"
	for w; do reply | grep -qxF -e "$w" || missing="$missing $w"; done
	verdict "'$line'" "${missing:+lacks$missing, has $(reply | head -c 200 | tr '\n' ' ')}"
}
commands=$("$build/krtsan" help | sed -n 's/^  \([a-z-]*\)  *[^ ].*/\1/p' | grep -v '^krtsan$')

# shellcheck disable=SC2086
has 'krtsan ' $commands help --help
is 'krtsan ana' analyze
is 'krtsan help doc' doctor
for c in $commands; do
	# shellcheck disable=SC2046
	has "krtsan $c -" $("$build/krtsan" "$c" --help | sed -n '/own use/d; s/^  \(--*[a-z-]*=\{0,1\}\).*/\1/p')
done
is 'krtsan run --si' --sim $("$build/krtsan" run --help | sed -n 's/^  \(--si[a-z-]*=\).*/\1/p')
is 'krtsan analyze --sim' # an option of recording
is 'krtsan run --fail-on=' error warning note never
is 'krtsan run --fail-on=w' warning
is 'krtsan run --fail-on ' error warning note never
is 'krtsan run --sim --fail-on n' note never
is 'krtsan run --lib-ptx=' 0 1
is 'krtsan run --hot-min='
has 'krtsan run --report=' text: json:
is 'krtsan run --report=js' json:
is 'krtsan run --report=json:r' r.json run.krt
is 'krtsan run --report json:r.' r.json
is 'krtsan run --kernels=fol' folder
is 'krtsan explain KRT-RACE-' KRT-RACE-RAW KRT-RACE-WAR KRT-RACE-WAW
# shellcheck disable=SC2046
is 'krtsan explain ' $("$build/krtsan" explain | awk '{print $1}')
is 'krtsan explain KRT-RACE-RAW KRT-UAF' KRT-UAF-STREAM
is 'krtsan analyze run' run.krt
is 'krtsan analyze --show=possible run' run.krt
is 'krtsan analyze --show possible run' run.krt
is 'krtsan explain-kernel --list run' run.krt
is 'krtsan analyze run.krt --show=p' possible
is 'krtsan doctor r'
is 'krtsan options --show=likely r'
is 'krtsan record -o ru' run.krt
is 'krtsan ci --output=fol' folder
is 'krtsan report --to=json:r.' r.json
is 'krtsan report r' r.json run.krt
has 'krtsan ci -- tru' true
has 'krtsan run -- tru' true
has 'krtsan run --sim tru' true
has 'krtsan run --sim --show=likely -- tru' true
is 'krtsan run -- cat r.' r.json
is 'krtsan run --sim cat r.' r.json
is 'krtsan run --torch cat r.' r.json
is 'krtsan run --torch=w' watch
is 'krtsan run -- prog --fail-on=' # the program's own flag
is 'krtsan run --nosuch='
is 'krtsan nosuch r.' r.json
ask 'krtsan analyze a'
verdict 'a file with a blank is one word' "$([ "${#COMPREPLY[@]}" = 1 ] && [ "${COMPREPLY[0]}" = 'a file.json' ] || reply)"
# bash-completion's: completes the command that begins at a word.
_command_offset() { COMPREPLY=("${COMP_WORDS[@]:$1:2}"); }
is 'krtsan run -- gdb -q x' gdb -q
is 'krtsan run --show=likely --report=json:r gdb a=b:c==d x' gdb a
COMP_WORDBREAKS=$' \t\n'
is 'krtsan run --show=likely --report=json:r gdb a=b:c==d x' gdb a=b:c==d
is 'krtsan run --fail-on=w' --fail-on=warning
is 'krtsan run --report=json:r.' --report=json:r.json
verdict 'nothing but functions is left in the shell' "$(comm -13 <(bash -c 'compgen -v' | sort) \
	<(bash -c '. "$1"; compgen -v' - "$build/man/krtsan.bash" | sort) | grep -vx -e _ -e PIPESTATUS)"
verdict 'bash takes it with -eu' "$(bash -euc '. "$1"' - "$build/man/krtsan.bash" 2>&1)"

printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
