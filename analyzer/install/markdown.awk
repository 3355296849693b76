# SPDX-License-Identifier: Apache-2.0
# The markdown of interposer/TRACE.md as man source: headings, paragraphs, lists of
# one level, tables of two or three columns, `code`, **strong**.
function escape(s) {
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	gsub(/\\\|/, "|", s)
	return s
}
function spans(s, mark, from, to,    n, piece, i, out) {
	n = split(s, piece, mark)
	out = piece[1]
	for (i = 2; i <= n; i++)
		out = out (i % 2 == 0 ? from : to) piece[i]
	return out
}
function inline(s) {
	s = escape(s)
	s = spans(s, "`", "\\fB", "\\fR")
	s = spans(s, "\\*\\*", "\\fB", "\\fR")
	return s
}
# A line of running text; one that begins like a request of roff gets a cover.
function line(s) {
	s = inline(s)
	if (s ~ /^[.']/)
		s = "\\&" s
	gsub(/[.] +/, ".\n", s)
	gsub(/\n[']/, "\n\\\\\\&'", s)
	print s
}
# `begun`: what stands above is no paragraph that .PP would end.
FNR == 1 && /^# / {
	begun = 1
	next
}
/^#+ / {
	sub(/^#+ */, "")
	print ".SH " toupper(escape($0))
	begun = 1
	next
}
/^\|[-| ]*\|$/ { next }
/^\|/ {
	n = split($0, cell, / *\| */)
	blank = begun = 0
	if (!table++)
		next # the row of headings
	printf ".TP\n\\fB%s\\fR", inline(cell[2])
	if (n > 4)
		printf " (%s)", inline(cell[3])
	print ""
	line(cell[n - 1])
	next
}
/^\* / {
	sub(/^\* */, "")
	print ".IP \\(bu 2"
	line($0)
	blank = begun = table = 0
	next
}
/^$/ {
	blank = 1
	table = 0
	next
}
{
	if (blank && !begun)
		print ".PP"
	blank = begun = 0
	sub(/^ +/, "")
	line($0)
}
