/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture: no stream ever captures yet; what asks is told so.
 */
#include "sim.h"

bool cap_take(struct op *op, struct strm *st)
{
	(void)op, (void)st;
	return false;
}

CUresult cap_record(struct ev *e, struct strm *st, unsigned flags, bool *done)
{
	(void)e, (void)st, (void)flags;
	*done = false;
	return CUDA_SUCCESS;
}

CUresult cap_wait(struct ev *e, struct strm *st, unsigned flags, bool *done)
{
	(void)e, (void)st, (void)flags;
	*done = false;
	return CUDA_SUCCESS;
}

CUresult cap_check(struct ctx *c)
{
	(void)c;
	return CUDA_SUCCESS;
}

void cap_invalidate(struct strm *st)
{
	(void)st;
}

void cap_stream_gone(struct strm *st)
{
	(void)st;
}

static CUresult info(bool pt, CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *g, size_t *n)
{
	struct strm *st;
	CUresult r;

	ENTER_QUIET();
	r = sim_get_stream(h, pt, &st);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (!status)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	if (id)
		*id = 0;
	if (g)
		*g = NULL;
	if (n)
		*n = 0;
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamIsCapturing, _ptsz, (CUstream s, CUstreamCaptureStatus *st), info(pt, s, st, NULL, NULL, NULL))
BOTH(cuStreamGetCaptureInfo, _ptsz, (CUstream s, CUstreamCaptureStatus *st, cuuint64_t *id), info(pt, s, st, id, NULL, NULL))
BOTH(cuStreamGetCaptureInfo_v2, _ptsz,
     (CUstream s, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph *g, const CUgraphNode **d, size_t *n),
     ((d ? (void)(*d = NULL) : (void)0), info(pt, s, st, id, g, n)))
BOTH(cuStreamGetCaptureInfo_v3, _ptsz,
     (CUstream s, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph *g, const CUgraphNode **d,
      const CUgraphEdgeData **e, size_t *n),
     ((d ? (void)(*d = NULL) : (void)0), (e ? (void)(*e = NULL) : (void)0), info(pt, s, st, id, g, n)))

API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))
{
	static __thread CUstreamCaptureMode mine;
	CUstreamCaptureMode old = mine;

	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	mine = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
