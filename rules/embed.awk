# SPDX-License-Identifier: Apache-2.0
# rules/explain/KRT-RACE-RAW.txt -> #define KRT_EXPLAIN_RACE_RAW "text"
FNR == 1 {
	if (NR > 1)
		print "\t\"\""
	id = FILENAME
	sub(/.*\/KRT-/, "", id)
	sub(/\.txt$/, "", id)
	gsub(/-/, "_", id)
	printf "#define KRT_EXPLAIN_%s \\\n", id
}
{
	gsub(/\\/, "\\\\")
	gsub(/"/, "\\\"")
	printf "\t\"%s\\n\" \\\n", $0
}
END {
	if (NR)
		print "\t\"\""
}
