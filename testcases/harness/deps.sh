#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages among the arguments that are missing.  Touches
# nothing and needs no rights when all are there.
set -eu

missing=
for p; do
	case $(dpkg-query -W -f '${Status}' "$p" 2>/dev/null || :) in
	*"ok installed") ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || { echo "deps: nothing missing"; exit 0; }

sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || { echo "deps: not root and no sudo; missing:$missing" >&2; exit 1; }
	sudo=sudo
fi
echo "deps: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# The lists may be there already; a machine without any needs them first.
# shellcheck disable=SC2086
$sudo apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 || {
	$sudo apt-get update -q
	$sudo apt-get install -y --no-install-recommends $missing
}
