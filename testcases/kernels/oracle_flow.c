/* SPDX-License-Identifier: Apache-2.0 */
/* What the analysis says of a kernel against the truth and against what a launch did. */
#include "oracle.h"
#include <stdio.h>

struct oracle_flow *oracle_flow_new(struct ptx_module *m, const char *kernel)
{
	(void)m;
	(void)kernel;
	return NULL;
}

void oracle_flow_free(struct oracle_flow *f)
{
	(void)f;
}

void oracle_flow_roles(struct oracle_flow *f, const struct oracle_launch *o, bool norun,
		       struct totals *t)
{
	(void)f;
	(void)o;
	(void)norun;
	(void)t;
}

void oracle_flow_ranges(struct oracle_flow *f, const struct oracle_launch *o, struct totals *t)
{
	(void)f;
	(void)o;
	(void)t;
}

void oracle_flow_summary(const struct totals *t)
{
	(void)t;
}
