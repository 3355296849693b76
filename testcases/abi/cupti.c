/* SPDX-License-Identifier: Apache-2.0 */
/* Holds interposer/cuptiabi.h against a toolkit's cupti.h (13.0): built with that toolkit's include folder. */
#include <cupti.h>

#undef CUPTI_LAYOUTS
#include "cuptiabi.h"

#include <stdio.h>

static int bad;

#define SAME(ours, theirs)                                                                         \
	do {                                                                                       \
		if ((unsigned long long)(ours) != (unsigned long long)(theirs)) {                  \
			printf("cupti: %s is %llu, not %llu\n", #theirs,                           \
			       (unsigned long long)(theirs), (unsigned long long)(ours));          \
			bad = 1;                                                                   \
		}                                                                                  \
	} while (0)

int main(void)
{
	SAME(CUPTI_OK, CUPTI_SUCCESS);
	SAME(CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
	SAME(CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	SAME(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
	SAME(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
	SAME(CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
	SAME(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	SAME(CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
	SAME(CUPTI_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
	SAME(CUPTI_EXTERNAL_CUSTOM0, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
	SAME(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
#define X(kind_, record, size_, device_, correlation_)                                             \
	SAME(size_, sizeof(record));                                                               \
	SAME(device_, offsetof(record, deviceId));                                                 \
	SAME(correlation_, offsetof(record, correlationId));                                       \
	SAME(offsetof(struct cupti_work, start), offsetof(record, start));                         \
	SAME(offsetof(struct cupti_work, end), offsetof(record, end));
	CUPTI_LAYOUTS(X)
#undef X
	SAME(sizeof(struct cupti_external), sizeof(CUpti_ActivityExternalCorrelation));
	SAME(offsetof(struct cupti_external, external_kind),
	     offsetof(CUpti_ActivityExternalCorrelation, externalKind));
	SAME(offsetof(struct cupti_external, external_id),
	     offsetof(CUpti_ActivityExternalCorrelation, externalId));
	SAME(offsetof(struct cupti_external, correlation),
	     offsetof(CUpti_ActivityExternalCorrelation, correlationId));
	return bad;
}
