/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is used of CUPTI's activity interface, as CUDA 13.0 has it: names, values
 * and the places of the few members that are read.  Declared here because CUDA
 * headers are no build requirement; testcases/abi holds it against a toolkit's.
 */
#ifndef KRT_CUPTIABI_H
#define KRT_CUPTIABI_H

#include <stddef.h>
#include <stdint.h>

/* cuptiGetVersion: versions whose records are known to look like this. */
#define CUPTI_VERSION_MIN 130000
#define CUPTI_VERSION_MAX 130099

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_MAX_LIMIT_REACHED = 12,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
};

enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_DRIVER = 4,
	CUPTI_CONCURRENT_KERNEL = 10,
	CUPTI_MEMCPY2 = 22, /* between devices */
	CUPTI_EXTERNAL_CORRELATION = 39,
};

#define CUPTI_EXTERNAL_CUSTOM0 3
#define CUPTI_FLUSH_FORCED     1

/* The times of every kind of work lie at the same place. */
struct cupti_work {
	uint32_t kind;
	uint32_t before[3];
	uint64_t start, end; /* 0, 0: could not be taken */
};

/* Where else to look, by kind; size: of the whole record. */
struct cupti_layout {
	uint32_t kind, size, device, correlation;
};
#define CUPTI_LAYOUTS(X)                                                                           \
	/* kind, record, size, deviceId, correlationId */                                          \
	X(CUPTI_CONCURRENT_KERNEL, CUpti_ActivityKernel10, 216, 40, 92)                            \
	X(CUPTI_MEMCPY, CUpti_ActivityMemcpy6, 96, 32, 44)                                         \
	X(CUPTI_MEMSET, CUpti_ActivityMemset4, 88, 32, 44)                                         \
	X(CUPTI_MEMCPY2, CUpti_ActivityMemcpyPtoP4, 96, 32, 60)

struct cupti_external {
	uint32_t kind, external_kind;
	uint64_t external_id;
	uint32_t correlation, rsv;
};

typedef int cupti_get_version(uint32_t *version);
typedef int cupti_get_timestamp(uint64_t *ns);
typedef int cupti_subscribe(void **subscriber, void *callback, void *user);
typedef int cupti_unsubscribe(void *subscriber);
typedef void cupti_buffer_wanted(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_buffer_full(void *ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t used);
typedef int cupti_register_callbacks(cupti_buffer_wanted *wanted, cupti_buffer_full *full);
typedef int cupti_enable(uint32_t kind);
typedef int cupti_flush_all(uint32_t flags);
typedef int cupti_next_record(uint8_t *buffer, size_t used, void **record);
typedef int cupti_push_external(uint32_t kind, uint64_t id);
typedef int cupti_pop_external(uint32_t kind, uint64_t *last);

/* Entry points: field, symbol. */
#define CUPTI_ENTRIES(X)                                                                           \
	X(get_version, cuptiGetVersion)                                                            \
	X(get_timestamp, cuptiGetTimestamp)                                                        \
	X(subscribe, cuptiSubscribe)                                                               \
	X(unsubscribe, cuptiUnsubscribe)                                                           \
	X(register_callbacks, cuptiActivityRegisterCallbacks)                                      \
	X(enable, cuptiActivityEnable)                                                             \
	X(disable, cuptiActivityDisable)                                                           \
	X(flush_all, cuptiActivityFlushAll)                                                        \
	X(next_record, cuptiActivityGetNextRecord)                                                 \
	X(push_external, cuptiActivityPushExternalCorrelationId)                                   \
	X(pop_external, cuptiActivityPopExternalCorrelationId)
typedef cupti_enable cupti_disable;

#endif
