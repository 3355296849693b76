/* SPDX-License-Identifier: Apache-2.0 */
/* One granule of physical memory, mapped as often as wanted. */
#ifndef VMM_H
#define VMM_H

#include "prog.h"

struct vmm {
	CUmemGenericAllocationHandle handle;
	CUmemAccessDesc access;
	size_t size;
};

static inline struct vmm vmm_new(void)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = prog_device},
	};
	struct vmm m = {
		.access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
	};

	CU(cuMemGetAllocationGranularity(&m.size, &prop, 0));
	CU(cuMemCreate(&m.handle, m.size, &prop, 0));
	return m;
}

static inline void vmm_map_at(const struct vmm *m, CUdeviceptr p)
{
	CU(cuMemMap(p, m->size, 0, m->handle, 0));
	CU(cuMemSetAccess(p, m->size, &m->access, 1));
}

/* At an address range of its own. */
static inline CUdeviceptr vmm_map(const struct vmm *m)
{
	CUdeviceptr p;

	CU(cuMemAddressReserve(&p, m->size, 0, 0, 0));
	vmm_map_at(m, p);
	return p;
}

static inline void vmm_unmap(const struct vmm *m, CUdeviceptr p)
{
	CU(cuMemUnmap(p, m->size));
	CU(cuMemAddressFree(p, m->size));
}

static inline void vmm_end(const struct vmm *m)
{
	CU(cuMemRelease(m->handle));
}

#endif
