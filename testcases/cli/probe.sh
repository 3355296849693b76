#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# krtsan doctor --probe on the simulated driver, which does what the table says: in the
# observed view every row is as the table has it; in the documented one the table claims
# too much, and what is written down is what is documented.  coverage_table.py with
# differences planted in the counts.
#
#   testcases/cli/probe.sh BUILD
set -u
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
passed=0
failed=0
ok() { # name, then a command that must succeed
	local name=$1
	shift
	if "$@" >why 2>&1; then
		passed=$((passed + 1))
		echo "ok probe: $name"
	else
		failed=$((failed + 1))
		echo "not ok probe: $name"
		sed 's/^/  | /' why | head -n 20
	fi
}

# rows of a table in which the measured view is VIEW's; those that no simulated device can show are not asked
cat >rows.py <<'PY'
import sys
view, path = sys.argv[1:]
# beyond the simulated driver: a row of them is as krtsan has it, or has more order than it counts on
APART = {"SET_PAGEABLE", "FREE_MAPPED", "GRAPHICS", "CHECKPOINT", "BATCH_ANY"}
if view == "documented":  # the simulated driver waits in either view
    APART |= {"EVENT_ELAPSED", "CTX_DESTROY", "PRIMARY_RESET"}
lines = [l.split("#")[0].split() for l in open(path) if l.strip() and not l.startswith("#")]
rows = {l[0]: dict(f.split("=") for f in l[1:]) for l in lines if len(l) == 4 and "=" in l[1]}
want = {}
import re
text = re.sub(r"/\*.*?\*/", "", open(sys.argv[0].rsplit("/", 1)[0] + "/semantics.def").read(), flags=re.S)
for m in re.finditer(r"KRT_SEM\(\s*(\w+)((?:[^\"()]|\"[^\"]*\")*)\)", text):
    fields = [f.strip() for f in re.sub(r'"[^"]*"', "", m.group(2)).split(",")]
    order, read, edge = (fields[-8:][i + (view == "observed")] for i in (0, 2, 4))
    edge = "+".join(sorted(e.replace("KRT_EDGE_", "").strip().lower() for e in edge.split("|")))
    want[m.group(1)] = {"edge": edge, "order": order.lower(), "read": read.lower().replace("_", "-")}
bad = 0
assert len(want) > 60 and set(want) == set(rows), set(want) ^ set(rows)
for name in want:
    got = dict(rows[name], edge="+".join(sorted(rows[name]["edge"].split("+"))))
    if got != want[name] and name not in APART:
        bad += 1
        print(name, "is", got, "not", want[name])
sys.exit(bad > 0)
PY
cp "$top/analyzer/semantics.def" .

"$build/krtsan" doctor --probe --sim --write=observed.semantics >observed.txt 2>&1
code=$?
ok "the table is what the simulated driver does" test $code = 0
ok "nothing is claimed that is not given" grep -q ' 0 where the$' observed.txt
ok "the written table is the table" python3 "$dir/rows.py" observed observed.semantics
KRTSAN_OPTIONS=sim_view=documented "$build/krtsan" doctor --probe --sim --write=documented.semantics >documented.txt 2>&1
code=$?
ok "a driver that gives less: exit code 66" test $code = 66
ok "and it is marked" grep -q '^! FREE_DEVICE  *none  *context  *none' documented.txt
ok "the written table is what is documented" python3 "$dir/rows.py" documented documented.semantics
ok "other rows are not marked" sh -c '! grep -q "^! CTX_SYNC" documented.txt'

# --- coverage_table.py ---
table() { python3 "$top/testcases/gpu/coverage_table.py" p ours alone both; }
says() { table >said; [ $? = "$1" ] && grep -q "$2" said || { cat said; return 1; }; }
printf '%s\n' '2 modelled cuMemAlloc_v2 cuMemAlloc' '0 modelled cuMemFree_v2 cuMemFree' \
	'3 modelled cuLaunchKernel cuLaunchKernel' '0 pass cuDeviceGet cuDeviceGet' >ours
printf '%s\n' '2 cuMemAlloc_v2' '3 cuLaunchKernel_ptsz' '9 cuDeviceGet' >alone.1
cp alone.1 both.1
ok "coverage: the same counts" says 0 '2 names, 0 missing, 0 with'
echo '1 cuMemFree_v2' >>both.1
ok "coverage: a call that only the recorder makes" says 0 'cuMemFree .* own$'
echo '1 cuMemFree_v2' >>alone.1
ok "coverage: a call that the trace lacks" says 1 'cuMemFree .* MISSING$'
cp alone.1 both.1; sed -i /cuMemFree/d alone.1 both.1
sed -i 's/^3 cuLaunch/2 cuLaunch/' both.1
ok "coverage: more in the trace" says 0 'cuLaunchKernel .* MORE$'
echo '1 cuNeverHeardOf' >>alone.1
ok "coverage: a call that nobody knows" says 1 'cuNeverHeardOf .* MISSING$'
: >both.1
ok "coverage: nothing counted" says 1 'CUPTI counted nothing'
echo "$passed passed, $failed failed"
exit $((failed > 0))
