/* SPDX-License-Identifier: Apache-2.0 */
/* KRT-WRONG-DEVICE: what belongs to another context or device, or cannot serve this one. */
#include "words.h"

#include <inttypes.h>
#include <stdio.h>

static const char *verb(const struct krt_side *s)
{
	if (s->scan)
		return "is given a pointer into";
	return s->what[0] == 'r' ? "reads" : s->what[0] == 'w' ? "writes" : "uses";
}

static void no_access(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur;
	char bytes[256];

	krt_words_bytes(f, bytes, sizeof(bytes));
	snprintf(w->message, sizeof(w->message),
		 "%s #%" PRIu64 " on %s of %s %s %s, which %s %s: %s has no access to it", c->api,
		 c->seq, c->stream, f->user, verb(c), bytes,
		 f->wrong == KRT_WRONG_MAPPED ? "is open to" : "belongs to", f->owner, f->thing);
	switch (f->wrong) {
	case KRT_WRONG_MAPPED:
		snprintf(
			w->fix, sizeof(w->fix),
			"after cuMemMap give %s the range by cuMemSetAccess, or launch on a device "
			"that has it",
			f->thing);
		break;
	case KRT_WRONG_POOL:
		snprintf(w->fix, sizeof(w->fix),
			 "open the pool to %s by cuMemPoolSetAccess (where cuDeviceCanAccessPeer "
			 "allows it), or copy the bytes over with cuMemcpyPeerAsync",
			 f->thing);
		break;
	default:
		snprintf(w->fix, sizeof(w->fix),
			 "while %s is current call cuCtxEnablePeerAccess for %s (where "
			 "cuDeviceCanAccessPeer allows it), or copy the bytes over with "
			 "cuMemcpyPeerAsync, or launch on the owner's device",
			 f->user, f->owner);
		break;
	}
}

static void refused(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur;
	char bytes[256];

	switch (f->wrong) {
	case KRT_WRONG_MEMORY:
		krt_words_bytes(f, bytes, sizeof(bytes));
		snprintf(w->message, sizeof(w->message),
			 "%s #%" PRIu64
			 " on %s, for %s, failed (%d): it %s %s, which belongs to %s",
			 c->api, c->seq, c->stream, f->user, f->result, verb(c), bytes, f->owner);
		snprintf(w->fix, sizeof(w->fix),
			 "call it with %s current, or cuMemcpyPeerAsync with the owners of both "
			 "sides",
			 f->owner);
		break;
	case KRT_WRONG_FUNCTION:
		snprintf(w->message, sizeof(w->message),
			 "%s #%" PRIu64 " failed (%d): %s was loaded in %s, but %s belongs to %s",
			 c->api, c->seq, f->result, f->thing, f->owner, c->stream, f->user);
		snprintf(w->fix, sizeof(w->fix),
			 "load the module in %s as well and launch that one's function, or use a "
			 "stream of %s; a kernel of cuLibraryLoadData serves every context",
			 f->user, f->owner);
		break;
	default:
		if (c->host)
			snprintf(w->message, sizeof(w->message),
				 "%s #%" PRIu64 " failed (%d): %s was created in %s, and meets %s",
				 c->api, c->seq, f->result, f->thing, f->owner, f->user);
		else
			snprintf(w->message, sizeof(w->message),
				 "%s #%" PRIu64
				 " failed (%d): %s was created in %s, but %s belongs to %s",
				 c->api, c->seq, f->result, f->thing, f->owner, c->stream, f->user);
		snprintf(w->fix, sizeof(w->fix),
			 "create the event while %s is current; any stream may then wait for it",
			 f->user);
		break;
	}
}

void krt_words_device(const struct krt_facts *f, struct krt_words *w)
{
	const struct krt_side *c = &f->cur;

	/* no matter of order: what exists and what is missing of it stay empty */
	switch (f->wrong) {
	case KRT_WRONG_NOT:
	case KRT_WRONG_PEER:
	case KRT_WRONG_POOL:
	case KRT_WRONG_MAPPED:
		no_access(f, w);
		break;
	case KRT_WRONG_MEMORY:
	case KRT_WRONG_FUNCTION:
	case KRT_WRONG_EVENT:
		refused(f, w);
		break;
	case KRT_WRONG_IMAGE:
		snprintf(w->message, sizeof(w->message),
			 "%s #%" PRIu64 " failed (%d) in %s: the image cannot serve it, %s", c->api,
			 c->seq, f->result, f->user, f->thing);
		snprintf(w->fix, sizeof(w->fix),
			 "build for the device's architecture too (-gencode), or add PTX that this "
			 "driver can compile; choose another device or a newer driver otherwise");
		break;
	}
}
