/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One page that holds the JSON report and what draws it (html/): no network, no
 * other file.  The JSON writer escapes what could end the element that it stands
 * in; the page's policy admits its own script and style alone, by their hashes.
 */
#include "report.h"

#include <string.h>

#include "html.inc"

#define POLICY                                                                                     \
	"default-src 'none'; script-src '" KRT_HTML_HASH_SCRIPT                                    \
	"'; style-src '" KRT_HTML_HASH_STYLE "'; base-uri 'none'; form-action 'none'"

int krt_write_html(FILE *out, const struct krt_report *r, const struct krt_writer *w)
{
	/* in this order in the page */
	static const char *const part[][2] = {
		{"@CSP@", POLICY},
		{"@STYLE@", KRT_HTML_STYLE},
		{"@REPORT@", NULL},
		{"@SCRIPT@", KRT_HTML_SCRIPT},
	};
	const char *page = KRT_HTML_PAGE;

	for (unsigned i = 0; i < sizeof(part) / sizeof(*part); i++) {
		const char *at = strstr(page, part[i][0]);

		if (!at)
			return -1;
		fwrite(page, 1, (size_t)(at - page), out);
		page = at + strlen(part[i][0]);
		if (part[i][1])
			fputs(part[i][1], out);
		else if (krt_write_json(out, r, w))
			return -1;
	}
	fputs(page, out);
	return ferror(out) ? -1 : 0;
}
