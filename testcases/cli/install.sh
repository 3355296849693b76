#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `make install` and `make deb` leave works where it lies, from an empty
# folder, and `make uninstall` takes all of it away: install.sh BUILD, from the
# root of the tree.  Also the man pages, krtsan.pc and the README's commands.
# One line a test, `ok` or `not ok`; the last line is `N passed, N failed`.
set -u

tree=$PWD
build=$(cd "$1" && pwd) || exit 125
prog=$build/testcases/tree
work=$(mktemp -d) || exit 125
trap 'rm -rf "$work"' EXIT
mkdir "$work/empty" "$work/sessions" && cd "$work/empty" || exit 125
unset KRTSAN_SESSION LD_PRELOAD LD_LIBRARY_PATH PREFIX BINDIR LIBDIR INCLUDEDIR DATADIR MANDIR BASHCOMPDIR PKGCONFIGDIR DOCDIR DESTDIR
unset PKG_CONFIG_PATH PKG_CONFIG_LIBDIR
export KRTSAN_OPTIONS=session_dir=$work/sessions
triplet=$(gcc -print-multiarch)
formats=$("$build/krtsan" help --bash | sed -n '/:format)/{n;p;}' | tr -d ":'" | sed 's/echo//;s/;;//')
passed=0
failed=0

ok() { passed=$((passed + 1)); echo "ok $1"; }
not_ok() { failed=$((failed + 1)); echo "not ok $1"; shift; for l; do echo "  $l"; done; }
# t NAME CODE COMMAND...: its output in out and err; more that must hold: says, prints
t() {
	settle
	name=$1 want=$2 trouble=
	shift 2
	"$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	[ $rc = "$want" ] || trouble="exit code $rc, expected $want: $*"
}
settle() {
	[ -n "${name-}" ] || return 0
	if [ -z "$trouble" ]; then ok "$name"; else not_ok "$name" "$trouble" "$(head -c 600 "$work/err")"; fi
	name=
}
that() { settle; name=$1 trouble=$2; : >"$work/err"; }
says() { grep -q -e "$1" "$work/err" || trouble="$trouble stderr lacks: $1;"; }
prints() { grep -q -e "$1" "$work/out" || trouble="$trouble stdout lacks: $1;"; }
make() { command make --no-print-directory -s -C "$tree" O="$build" "$@" >"$work/make.log" 2>&1 || { cat "$work/make.log"; return 1; }; }

# works LABEL ROOT BINDIR LIBDIR: an installation that lies in ROOT
works() {
	local label=$1 krtsan=$2$3/krtsan lib=$2$4
	t "$label: krtsan run --sim, a race" 66 "$krtsan" run --sim -- "$prog" init race
	says 'KRT-RACE-WAW'; says '1 error'
	t "$label: every format" 66 "$krtsan" run --sim $(for f in $formats; do echo "--report=$f:$work/report.$f"; done) -- "$prog" init race
	for f in $formats; do [ -s "$work/report.$f" ] || trouble="$trouble no $f;"; done
	rm -f "$work"/report.*
	t "$label: krtsan run --sim, none" 0 "$krtsan" run --sim --require=complete -- "$prog" init clean
	t "$label: doctor" 0 "$krtsan" doctor
	prints "^ok *library *$lib/libkrtsan.so$"; prints '^ok *preload'; prints "^ok *simulator *$lib/krtsan/sim$"
	t "$label: the feed of PyTorch" 0 "$krtsan" run --torch -- sh -c 'echo "$PYTHONPATH"'
	prints "^$lib/krtsan/torch$"
	# shellcheck disable=SC2016
	t "$label: the library's absolute path goes behind" 0 env LD_PRELOAD=libm.so.6 "$krtsan" run -- sh -c 'echo "$LD_PRELOAD"'
	prints "^libm.so.6:$lib/libkrtsan.so$"
	# No krtsan in PATH: the library finds its own.
	t "$label: LD_PRELOAD=libkrtsan.so" 66 env PATH=/nowhere LD_LIBRARY_PATH="$lib:$lib/krtsan/sim" LD_PRELOAD=libkrtsan.so "$prog" init race
	says 'KRT-RACE-WAW'; says '1 error'
	t "$label: LD_PRELOAD=libkrtsan-nop.so" 0 env LD_LIBRARY_PATH="$lib:$lib/krtsan/sim" LD_PRELOAD=libkrtsan-nop.so "$prog" init race
	that "$label: nothing is left in the folder" "$(ls -A .; ls -A "$work/sessions")"
}

# --- layouts --------------------------------------------------------------------------
root=$work/usr-root
t 'install: /usr' 0 make install DESTDIR="$root" PREFIX=/usr
for f in bin/krtsan include/krtsan.h include/krtsan/cuabi.h "lib/$triplet/libkrtsan.so" "lib/$triplet/libkrtsan-nop.so" \
	"lib/$triplet/krtsan/sim/libcuda.so.1" "lib/$triplet/krtsan/torch/sitecustomize.py" "lib/$triplet/pkgconfig/krtsan.pc" \
	share/man/man1/krtsan.1 share/man/man7/krtsan-options.7 share/man/man5/krtsan-trace.5 \
	share/bash-completion/completions/krtsan share/krtsan/schema/krtsan-report-1.json; do
	[ -f "$root/usr/$f" ] || trouble="$trouble no /usr/$f;"
done
works '/usr' "$root" /usr/bin "/usr/lib/$triplet"
that 'soname' "$(readelf -d "$root/usr/lib/$triplet/libkrtsan.so" | grep -q 'soname: \[libkrtsan.so\]' || echo differs)"
# As the loader's cache has it: by its bare name.
echo "$root/usr/lib/$triplet" >"$work/ld.so.conf"
/sbin/ldconfig -X -C "$work/ld.so.cache" -f "$work/ld.so.conf" 2>"$work/ldconfig.err"
that 'ldconfig takes the library' "$(/sbin/ldconfig -p -C "$work/ld.so.cache" | grep -q "libkrtsan.so .* => $root" || cat "$work/ldconfig.err" - </dev/null)"
/sbin/ldconfig -p -C "$work/ld.so.cache" | grep -q 'libcuda' && that 'ldconfig takes the simulated driver' 'it must not'
mv "$root" "$work/moved"
works 'moved' "$work/moved" /usr/bin "/usr/lib/$triplet"
mv "$work/moved" "$root"
t 'uninstall: /usr' 0 make uninstall DESTDIR="$root" PREFIX=/usr
that 'uninstall leaves nothing' "$(find "$root" ! -type d; find "$root" -name '*krtsan*')"

t 'install: /usr/local' 0 make install DESTDIR="$work/local"
works '/usr/local' "$work/local" /usr/local/bin /usr/local/lib
t 'install: again over it' 0 make install DESTDIR="$work/local"

set -- DESTDIR="$work/a far root" PREFIX=/opt/k LIBDIR=/srv/libs/k MANDIR=/srv/man BASHCOMPDIR=/etc/bash_completion.d
t 'install: LIBDIR far from PREFIX' 0 make install "$@"
that 'MANDIR and BASHCOMPDIR' "$(for f in srv/man/man1/krtsan.1 etc/bash_completion.d/krtsan; do
	[ -f "$work/a far root/$f" ] || echo "no $f"; done)"
mv "$work/a far root" "$work/far" # a colon or a blank in its path LD_PRELOAD cannot take
works 'LIBDIR far from PREFIX' "$work/far" /opt/k/bin /srv/libs/k
mv "$work/far" "$work/a far root"
t 'uninstall: LIBDIR far from PREFIX' 0 make uninstall "$@"
that 'uninstall leaves nothing far away' "$(find "$work/a far root" ! -type d; find "$work/a far root" -name '*krtsan*')"

t 'install: no DESTDIR' 0 make install PREFIX="$work/direct" LDCONFIG="touch $work/ldconfig.ran"
that 'ldconfig runs for root alone' "$([ "$(id -u)" = 0 ] && want=yes || want=no
	[ -e "$work/ldconfig.ran" ] && got=yes || got=no; [ $want = $got ] || echo "ran: $got")"
works 'no DESTDIR' '' "$work/direct/bin" "$work/direct/lib"

# --- the header and a program, by krtsan.pc ---------------------------------------------
cat >"$work/app.c" <<'EOS'
#include <krtsan.h>
#include <krtsan/cuabi.h>
#include <stdio.h>
int main(void)
{
	CUcontext ctx;
	CUdeviceptr d;
	CUdevice dev;
	CUstream s[2];

	if (cuInit(0) || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&ctx, dev) || cuCtxSetCurrent(ctx) ||
	    cuMemAlloc(&d, 4096) || cuStreamCreate(&s[0], CU_STREAM_NON_BLOCKING) || cuStreamCreate(&s[1], CU_STREAM_NON_BLOCKING))
		return 1;
	krtsan_name((void *)d, 4096, "a named buffer");
	return cuMemsetD8Async(d, 1, 4096, s[0]) || cuMemsetD8Async(d, 2, 4096, s[1]) || cuCtxSynchronize();
}
EOS
pc() { PKG_CONFIG_PATH=$work/direct/lib/pkgconfig pkg-config "$@" krtsan; }
cp "$work/app.c" "$work/app.cc"
# shellcheck disable=SC2046
for cc in 'gcc app.c' 'g++ app.cc'; do
	set -- $cc
	t "krtsan.pc: $1" 0 "$1" -Wall -Wextra -Werror -g $(pc --cflags) "$work/$2" -o "$work/app" -L"$(pc --variable=simdir)" -lcuda $(pc --libs)
	t "krtsan.pc: the program of $1 alone" 0 env LD_LIBRARY_PATH="$(pc --variable=simdir)" "$work/app"
	t "krtsan.pc: the program of $1 under krtsan" 66 "$work/direct/bin/krtsan" run --sim -- "$work/app"
	says 'KRT-RACE-WAW'; says 'a named buffer'; says "$2:"
done
that 'krtsan.pc: version' "$([ "$(pc --modversion)" = "$("$build/krtsan" version | cut -d' ' -f2)" ] || pc --modversion)"

# --- man pages --------------------------------------------------------------------------
for page in krtsan.1 krtsan-options.7 krtsan-trace.5; do
	f=$work/local/usr/local/share/man/man${page##*.}/$page
	that "man: $page without warnings" "$(LC_ALL=C.UTF-8 man -l --warnings "$f" 2>&1 >"$work/${page%.*}.txt" | head -n 5)"
	that "mandoc: $page without warnings" "$(mandoc -Tlint -W warning "$f" | head -n 5)"
	that "man: $page has no mark left" "$(grep -n -e '@[a-zA-Z-]*@' "$f" | head -n 3)"
done
page() { LC_ALL=C.UTF-8 MANWIDTH=200 man -l --no-hyphenation --no-justification -P cat "$1" 2>/dev/null | sed 's/.\x08//g'; }
page "$work/local/usr/local/share/man/man1/krtsan.1" >"$work/krtsan.txt"
page "$work/local/usr/local/share/man/man7/krtsan-options.7" >"$work/options.txt"
missing=
for c in $("$build/krtsan" help | sed -n 's/^  \([a-z-]*\)  *[^ ].*/\1/p' | grep -v '^krtsan$'); do
	grep -q "^ *krtsan $c\( \|\$\)" "$work/krtsan.txt" || missing="$missing $c"
	for flag in $("$build/krtsan" "$c" --help | sed -n '/^Options/q; s/^  \(--*[a-z-]*\).*own use.*//; s/^  \(--*[a-z-]*\).*/\1/p'); do
		grep -q -e "^ *$flag\b" "$work/krtsan.txt" || missing="$missing $c:$flag"
	done
done
that 'man: every command with its flags' "$missing"
that 'man: every option' "$("$build/krtsan" options | sed -n 's/^\([a-z_]*\)=.*/\1/p' | while read -r o; do
	grep -q "^ *$o=" "$work/options.txt" || echo "$o"; done)"
that 'man: every rule' "$("$build/krtsan" explain | awk '{print $1}' | while read -r r; do
	grep -q "^ *$r (" "$work/krtsan.txt" || echo "$r"; done)"
that 'man: every part of TRACE.md' "$(sed -n 's/^## //p' "$tree/interposer/TRACE.md" | while read -r s; do
	grep -qi "^$s" "$work/krtsan-trace.txt" || echo "$s"; done)"

# --- what the README says, line by line -----------------------------------------------------
mkdir "$work/bin" "$work/home" "$work/system"
cat >"$work/bin/sudo" <<'EOS'
#!/bin/sh
# make for a folder, apt by unpacking
case $1 in
make) exec "$@" DESTDIR="$SYSTEM/make" ;;
apt) exec dpkg-deb -x "$3" "$SYSTEM/apt" ;;
*) exit 1 ;;
esac
EOS
chmod +x "$work/bin/sudo"
sed -n '/^## Install/,/^## Reading/s/^    \(make\|sudo\) /\1 /p' "$tree/README.md" >"$work/readme"
that 'README: three ways to install' "$([ "$(wc -l <"$work/readme")" = 3 ] || cat "$work/readme")"
settle
while read -r line; do
	t "README: ${line%%  *#*}" 0 env SYSTEM="$work/system" HOME="$work/home" PATH="$work/bin:$PATH" O="$build" \
		sh -c "cd '$tree' && $(echo "$line" | sed "s|\./build/|$build/|")"
done <"$work/readme"
for k in "$work/system/apt/usr" "$work/system/make/usr/local" "$work/home/.local"; do
	t "README: works in ${k#"$work"}" 66 "$k/bin/krtsan" run --sim -- "$prog" init race; says KRT-RACE-WAW
done

# --- the Debian package ------------------------------------------------------------------
if command -v dpkg-deb >/dev/null; then
	t 'make deb' 0 make deb
	set -- "$build"/krtsan_*.deb
	that 'deb: one package' "$([ $# = 1 ] || echo "$*")"
	that 'deb: version' "$([ "$(dpkg-deb -f "$1" Version)" = "$("$build/krtsan" version | cut -d' ' -f2)" ] || dpkg-deb -f "$1" Version)"
	dpkg-deb -x "$1" "$work/deb" && works 'deb' "$work/deb" /usr/bin "/usr/lib/$triplet"
	that 'deb: needs libc alone' "$(dpkg-deb -f "$1" Depends | tr , '\n' | grep -v '^ *libc6 ')"
	that 'lintian' "$(lintian --allow-root --tag-display-limit 0 "$1" 2>&1)"
fi

settle
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
