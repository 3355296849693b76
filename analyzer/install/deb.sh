#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Packs an installation for Debian: deb.sh FOLDER VERSION ARCHITECTURE PACKAGE.
# FOLDER/root is what `make install` made of it; what the package says of itself
# goes into FOLDER/debian.  Needs dpkg-dev and binutils, nothing from the network.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd) version=$2 arch=$3 package=$4
root=$folder/root
debian=$folder/debian
doc=$root/usr/share/doc/krtsan
when=$(date -u -R -d "@$SOURCE_DATE_EPOCH")
who="${DEBFULLNAME:-krtsan} <${DEBEMAIL:-krtsan@packages.invalid}>"
rm -rf "$root/DEBIAN" "$debian"
mkdir -p "$root/DEBIAN" "$debian"

find "$root/usr/bin" "$root/usr/lib" -type f \( -perm -100 -o -name '*.so*' \) -exec strip --strip-unneeded \
	--remove-section=.comment --remove-section=.note {} +
find "$root/usr/share/man" -name '*.[1-9]' -exec gzip -9nf {} +
rm -f "$doc/LICENSE" # Debian's copyright has it
cp "$here/copyright" "$doc/copyright"
printf 'krtsan (%s) unstable; urgency=medium\n\n  * krtsan %s; what is new: see its repository.\n\n -- %s  %s\n' \
	"$version" "$version" "$who" "$when" | gzip -9n >"$doc/changelog.gz"
mkdir -p "$root/usr/share/lintian/overrides"
cp "$here/lintian-overrides" "$root/usr/share/lintian/overrides/krtsan"

# dpkg-shlibdeps reads the first of them, in the folder it runs in.
printf 'Source: krtsan\n\nPackage: krtsan\nArchitecture: %s\n' "$arch" >"$debian/control"
depends=$(cd "$folder" && find root/usr/bin root/usr/lib -type f \( -perm -100 -o -name '*.so*' \) \
	-exec dpkg-shlibdeps -O -xkrtsan {} + 2>"$debian/shlibdeps.log" | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { cat "$debian/shlibdeps.log" >&2; exit 1; }

{
	printf 'Package: krtsan\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$version" "$arch" "$who"
	printf 'Installed-Size: %s\n' "$(du -k -s --apparent-size --exclude=DEBIAN "$root" | cut -f1)"
	printf 'Depends: %s\n' "$depends"
	cat "$here/control"
} >"$root/DEBIAN/control"
# LD_PRELOAD=libkrtsan.so finds the library by name at once.
printf 'activate-noawait ldconfig\n' >"$root/DEBIAN/triggers"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"

find "$root" -type d -exec chmod 755 {} +
find "$root/DEBIAN" -type f -exec chmod 644 {} +
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
