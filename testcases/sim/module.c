/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: none yet.
 */
#include "sim.h"

void module_ctx_gone(struct ctx *c)
{
	(void)c;
}
