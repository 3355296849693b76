/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the simulated driver and the simulated CUPTI: what the device did, on
 * the virtual clock, and for which call.
 */
#ifndef SIM_ACTIVITY_H
#define SIM_ACTIVITY_H

#include <stdint.h>

enum sim_activity_kind { SIM_ACT_KERNEL, SIM_ACT_COPY, SIM_ACT_SET };

struct sim_activity {
	enum sim_activity_kind kind;
	uint32_t correlation; /* of the call that enqueued it */
	uint32_t device;
	uint64_t stream, start_ns, end_ns;
};

/*
 * done: an operation has ended; call: the calling thread begins a call that has
 * this number.  Both run under the driver's lock and make no driver call.
 */
void sim_activity_open(void (*done)(const struct sim_activity *),
		       void (*call)(uint32_t correlation));

#endif
