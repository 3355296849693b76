# SPDX-License-Identifier: Apache-2.0
# The examples of `krtsan explain`, out of the programs that the tests run:
# testcases/explain/KRT-RACE-RAW.c -> #define KRT_BAD_RACE_RAW "text", and
# KRT_GOOD_RACE_RAW as it is with FIXED.  Between `example` and `end` a program has
# no other conditions than FIXED, not nested.  Reads `expand`ed text of one
# program; file: its name.
function put(which, line)
{
	gsub(/\\/, "\\\\\\\\", line)
	gsub(/"/, "\\\"", line)
	text[which] = text[which] sprintf("\t\"%s\\n\" \\\n", line)
}
function show(file,    id)
{
	id = file
	sub(/.*\/KRT-/, "", id)
	sub(/\.c$/, "", id)
	gsub(/-/, "_", id)
	for (which = 0; which < 2; which++)
		printf "#define KRT_%s_%s \\\n%s\t\"\"\n", which ? "GOOD" : "BAD", toupper(id), text[which]
}
/^ *\/\* end \*\/$/ { inside = 0 }
inside && /^#ifdef FIXED$/  { only = "1"; next }
inside && /^#ifndef FIXED$/ { only = "0"; next }
inside && /^#else$/         { only = 1 - only; next }
inside && /^#endif$/        { only = ""; next }
inside {
	sub(/^        /, "    ")
	if (only != "1")
		put(0, $0)
	if (only != "0")
		put(1, $0)
}
/^ *\/\* example \*\/$/ { inside = 1 }
END { show(file) }
