# SPDX-License-Identifier: Apache-2.0
# prefix=KRT_EXPLAIN_: rules/explain/KRT-RACE-RAW.txt -> #define KRT_EXPLAIN_RACE_RAW "text"
FNR == 1 {
	if (NR > 1)
		print "\t\"\""
	id = FILENAME
	sub(/.*\//, "", id)
	sub(/^KRT-/, "", id)
	sub(/\.[a-z]*$/, "", id)
	gsub(/-/, "_", id)
	printf "#define %s%s \\\n", prefix, toupper(id)
}
{
	gsub(/\\/, "\\\\\\\\")
	gsub(/"/, "\\\"")
	printf "\t\"%s\\n\" \\\n", $0
}
END {
	if (NR)
		print "\t\"\""
}
