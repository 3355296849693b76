#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The npm packages of package-lock.json, where they are missing or others.
set -eu

cd "$(dirname "$0")"
if cmp -s package-lock.json node_modules/.lock; then
	exit 0
fi
# nodejs may bring npm along; where it does not, Debian has it apart
command -v npm >/dev/null || ../harness/deps.sh nodejs npm
npm ci
cp package-lock.json node_modules/.lock
