# SPDX-License-Identifier: Apache-2.0
# Lines of sha256sum: #define KRT_HTML_HASH_NAME "sha256-..." (base64), as a policy names it.
BEGIN {
	digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
}
{
	id = $2
	sub(/.*\//, "", id)
	sub(/\.[a-z]*$/, "", id)
	# three hexadecimal digits are two of base64; 64 of them and two of padding
	hex = $1 "00"
	text = ""
	for (i = 1; i <= 64; i += 3) {
		v = 0
		for (k = 0; k < 3; k++)
			v = v * 16 + index("0123456789abcdef", substr(hex, i + k, 1)) - 1
		text = text substr(digits, int(v / 64) + 1, 1) substr(digits, v % 64 + 1, 1)
	}
	printf "#define KRT_HTML_HASH_%s \"sha256-%s=\"\n", toupper(id), substr(text, 1, 43)
}
