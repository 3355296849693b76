#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Stands in for the compiler where sources are only to be looked at:
# CC='testcases/lint/look.sh clang'.  The compiler checks the C files of the command
# with all its flags; what the command would make is made, and empty.
set -eu
cc=$1
shift
case " $* " in
*" -E "* | *" -print-"*) exec "$cc" "$@" ;; # asked for its answer
esac
out= sources= prev= flags=
for a; do
	case $prev in
	-o) out=$a ;;
	esac
	case $a in
	*.c) sources=1 ;;
	esac
	prev=$a
done
# shellcheck disable=SC2086
if [ -n "$sources" ]; then
	n=$#
	while [ "$n" -gt 0 ]; do # without the parts of a link
		a=$1
		shift
		n=$((n - 1))
		case $a in
		*.o | *.a | *.so | *.so.[0-9]* | -l* | -L* | -Wl,* | -shared | -static | -pie | -rdynamic | -static-lib* | *.S) continue ;;
		-Xlinker) shift; n=$((n - 1)); continue ;;
		-o) shift; n=$((n - 1)); continue ;;
		-c) continue ;;
		esac
		set -- "$@" "$a"
	done
	"$cc" "$@" -fsyntax-only
fi
[ -z "$out" ] || : >"$out"
