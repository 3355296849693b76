/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatch path of hazard/dispatch_path with every protection in place.
 * EXPECT: none
 */
#include "../hazard/dispatch_path.c"
