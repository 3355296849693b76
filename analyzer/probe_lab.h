/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the process that probes: the driver's functions, places where the
 * held kernel runs, memory of each kind.  One thread makes the calls; another
 * sets the flag that the kernel waits for (probe_lab.c).
 */
#ifndef KRT_PROBE_LAB_H
#define KRT_PROBE_LAB_H

#define _GNU_SOURCE
#include "probe.h"
#include "../interposer/cuabi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The newest forms that cuabi.h knows; one that the driver lacks answers NOT_FOUND. */
#define LAB_CALLS(X)                                                                               \
	X(cuArrayCreate) X(cuArrayDestroy) X(cuCheckpointProcessCheckpoint) X(cuCtxCreate_v2)      \
	X(cuCtxDestroy) X(cuCtxDetach) X(cuCtxDisablePeerAccess) X(cuCtxEnablePeerAccess)          \
	X(cuCtxFromGreenCtx) X(cuCtxRecordEvent) X(cuCtxSetCurrent) X(cuCtxSetFlags)               \
	X(cuCtxGetFlags) X(cuCtxSynchronize) X(cuCtxWaitEvent)                                     \
	X(cuDestroyExternalMemory) X(cuDestroyExternalSemaphore) X(cuDeviceGet)                    \
	X(cuDeviceGetAttribute) X(cuDeviceGetCount) X(cuDeviceGetName)                             \
	X(cuDevicePrimaryCtxRelease) X(cuDevicePrimaryCtxReset) X(cuDevicePrimaryCtxRetain)        \
	X(cuDriverGetVersion) X(cuEventCreate) X(cuEventDestroy) X(cuEventElapsedTime)             \
	X(cuEventQuery) X(cuEventRecord) X(cuEventRecordWithFlags) X(cuEventSynchronize)           \
	X(cuExternalMemoryGetMappedBuffer) X(cuFlushGPUDirectRDMAWrites) X(cuGraphAddKernelNode)   \
	X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphExecDestroy) X(cuGraphInstantiateWithFlags)    \
	X(cuGraphLaunch) X(cuGraphUpload) X(cuGreenCtxCreate) X(cuGreenCtxDestroy)                 \
	X(cuGreenCtxStreamCreate) X(cuImportExternalMemory) X(cuImportExternalSemaphore) X(cuInit) \
	X(cuIpcCloseMemHandle) X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle)                          \
	X(cuLaunchCooperativeKernel) X(cuLaunchGridAsync) X(cuLaunchHostFunc) X(cuLaunchKernel)    \
	X(cuLaunchKernelEx) X(cuLibraryLoadData) X(cuLibraryLoadFromFile) X(cuLibraryUnload)       \
	X(cuMemAddressFree) X(cuMemAddressReserve) X(cuMemAlloc) X(cuMemAllocAsync)                \
	X(cuMemAllocFromPoolAsync) X(cuMemAllocHost) X(cuMemAllocManaged) X(cuMemAllocPitch)       \
	X(cuMemCreate) X(cuMemDiscardBatchAsync) X(cuMemExportToShareableHandle) X(cuMemFree)      \
	X(cuMemFreeAsync) X(cuMemFreeHost) X(cuMemGetAllocationGranularity) X(cuMemGetInfo)        \
	X(cuMemHostAlloc) X(cuMemHostRegister) X(cuMemHostUnregister) X(cuMemMap)                  \
	X(cuMemPoolCreate) X(cuMemPoolDestroy) X(cuMemPoolSetAccess) X(cuMemPoolTrimTo)            \
	X(cuMemPrefetchAsync) X(cuMemRelease) X(cuMemSetAccess) X(cuMemUnmap) X(cuMemcpy)          \
	X(cuMemcpy3DBatchAsync) X(cuMemcpy3DPeer) X(cuMemcpy3DPeerAsync) X(cuMemcpyAsync)          \
	X(cuMemcpyBatchAsync) X(cuMemcpyDtoD) X(cuMemcpyDtoDAsync) X(cuMemcpyDtoH)                 \
	X(cuMemcpyDtoHAsync) X(cuMemcpyHtoD) X(cuMemcpyHtoDAsync) X(cuMemcpyPeer)                  \
	X(cuMemcpyPeerAsync) X(cuMemsetD32) X(cuMemsetD8) X(cuMemsetD8Async)                       \
	X(cuFuncLoad) X(cuKernelGetFunction) X(cuLibraryGetKernel) X(cuMipmappedArrayCreate) X(cuMipmappedArrayDestroy) X(cuModuleGetFunction)                \
	X(cuModuleLoad) X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleUnload)                \
	X(cuPointerSetAttribute) X(cuSignalExternalSemaphoresAsync) X(cuStreamAddCallback)         \
	X(cuStreamAttachMemAsync) X(cuStreamBatchMemOp) X(cuStreamCreate) X(cuStreamDestroy)       \
	X(cuStreamQuery) X(cuStreamSynchronize) X(cuStreamWaitEvent) X(cuStreamWaitValue32)        \
	X(cuStreamWaitValue64) X(cuStreamWriteValue32) X(cuStreamWriteValue64)                     \
	X(cuWaitExternalSemaphoresAsync)

struct lab_driver {
#define X(f) __typeof__(f) *f;
	LAB_CALLS(X)
#undef X
	/* cuabi.h does not declare these; structures are the driver's own affair */
	CUresult (*cuDeviceGetDevResource)(CUdevice dev, void *resource, int type);
	CUresult (*cuDevResourceGenerateDesc)(CUdevResourceDesc *desc, void *resources, unsigned n);
	CUresult (*cuCtxSetLimit)(int limit, size_t value);
	CUresult (*cuCheckpointProcessLock)(int pid, void *args);
	CUresult (*cuCheckpointProcessRestore)(int pid, void *args);
	CUresult (*cuCheckpointProcessUnlock)(int pid, void *args);
};

/* A context with what runs in it. */
struct lab_site {
	CUcontext ctx;
	CUdevice dev;
	CUmodule module;
	CUfunction hold, mark;
	CUstream own, free, block, look; /* all but block are non-blocking */
};

enum lab_where { LAB_OWN, LAB_BLOCK, LAB_FREE, LAB_CTX2, LAB_DEV2, LAB_GONE };

enum lab_mem { LAB_PAGEABLE, LAB_PINNED, LAB_MANAGED, LAB_DEVICE, LAB_POOLED, LAB_NR_MEMS };

#define LAB_BYTES (4u << 20)
#define LAB_OLD	  0x11 /* of a destination before, of a source at the call, of one changed later */
#define LAB_GOOD  0x22
#define LAB_LATE  0x33

/* Pinned, and mapped for each context. */
struct lab_flags {
	_Atomic uint32_t go, done; /* epochs: the kernel ends when go reaches its own */
	_Atomic uint32_t mark;	   /* an effect of the call */
	_Atomic uint32_t word;	   /* that a stream waits for */
	_Atomic uint64_t word64;
};

struct lab;

struct lab_probe {
	enum krt_sem_id row;
	enum krt_probe_kind kind;
	enum krt_probe_own own;
	/* 0, or a CUresult and why in l->why */
	int (*make)(struct lab *l); /* what the call needs; may be NULL */
	int (*act)(struct lab *l);  /* the call */
	void (*drop)(struct lab *l);
	int (*seen)(struct lab *l); /* does its effect show? NULL: there is none to see */
	uint8_t dst, src;	    /* of copies and sets, enum lab_mem */
	bool copies, sets;
	uint32_t bytes;
	int arg;
};

struct lab {
	struct lab_driver cu;
	struct lab_site main, second, device2, doomed;
	int devices;
	struct lab_flags *flags;
	uint32_t epoch;
	CUevent held; /* recorded behind the kernel */
	CUdeviceptr mem[LAB_NR_MEMS][2];
	const struct lab_probe *p;
	const char *library;
	bool simulated; /* its device works only while somebody waits */
	char *at;	/* what it is doing, KRT_PROBE_AT; the parent reads it */
	uint64_t longest; /* ns that the kernel will be held */
	char why[160];

	/* what make() made, of whichever the call needs */
	CUdeviceptr dst, src;
	CUstream stream; /* of the call: own or the legacy one */
	CUdeviceptr addr, addr2;
	void *host, *object, *object2;
	CUevent event;
	size_t size;
	CUmemGenericAllocationHandle phys;
	int fd, pid, to, from; /* a file; the peer and its pipes */
	bool poll_done;
};

extern const struct lab_probe lab_probes[];

int lab_fail(struct lab *l, const char *call, int r);
#define LAB(call)                                                                                  \
	do {                                                                                       \
		int lab_r_ = (int)l->cu.call;                                                      \
		if (lab_r_)                                                                        \
			return lab_fail(l, #call, lab_r_);                                         \
	} while (0)

int lab_site_make(struct lab *l, struct lab_site *s, CUcontext ctx, CUdevice dev);
void lab_site_drop(struct lab *l, struct lab_site *s);
/* Where a copy between contexts has its source: of another device with argument 2. */
struct lab_site *lab_peer_site(struct lab *l);
int lab_mem(struct lab *l, enum lab_mem kind, unsigned which, CUdeviceptr *addr);
bool lab_on_host(enum lab_mem kind);
/* The last byte of a buffer, without disturbing other streams; -1: it cannot be read. */
int lab_byte(struct lab *l, CUdeviceptr addr, enum lab_mem kind, size_t at);
const char *lab_ptx(void);
/* Starts the peer: `krtsan doctor --peer=WHAT`. */
int lab_peer_start(struct lab *l, const char *what);
void lab_peer_end(struct lab *l);
int lab_driver_load(struct lab_driver *cu, const char *library, char *path, size_t len);

#endif
