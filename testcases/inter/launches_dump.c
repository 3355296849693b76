/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launches of a trace, as testcases/gpu/launches.py wants them: launches_dump FOLDER.
 *
 *	K ID NAME OFFSET:SIZE,...			a kernel and its parameters
 *	L ID RANGE GX,GY,GZ,BX,BY,BZ LENGTH OFF=WORD ...	a launch: words that are not 0, hexadecimal
 *
 * RANGE is the NVTX range of the thread; of a thread that never had one (autograd's) the
 * latest of any thread, with _bwd behind it; - is none.
 */
#include "engine_int.h"
#include "reader.h"
#include "../interposer/cuabi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 4096 };

struct state {
	struct krt_engine *e;
	uint32_t range[LANES], latest;
	bool ranged[LANES];
	bool told[1 << 16]; /* kernels, by id */
};

static const char *text_of(const struct state *s, uint32_t id)
{
	const char *text = krt_string_get(&s->e->obj, id);

	return text && *text ? text : "-";
}

static void kernel(struct state *s, const struct krt_kernel_info *k)
{
	if (k->id >= sizeof(s->told) / sizeof(*s->told) || s->told[k->id])
		return;
	s->told[k->id] = true;
	printf("K %u %s ", k->id, k->name);
	for (uint32_t i = 0; i < k->nparams; i++)
		printf("%s%u:%u", i ? "," : "", k->param[i].offset, k->param[i].size);
	printf("\n");
}

static void launch(struct state *s, const struct krt_call *c)
{
	struct krt_kernel_params p = krt_launch_params(s->e, c);
	const struct krt_kernel_info *k = krt_kernel_get(&s->e->obj, p.kernel);
	uint64_t g[6] = {c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2]};
	uint32_t range = c->lane < LANES ? s->range[c->lane] : 0;
	bool own = c->lane >= LANES || s->ranged[c->lane];
	CUlaunchConfig cfg;

	if (!k || !p.known || !c->ok || k->nparams == KRT_PARAMS_UNKNOWN)
		return;
	if (c->op == KRT_OP_LAUNCH_EX && c->launch.len >= sizeof(cfg)) {
		memcpy(&cfg, c->launch.data, sizeof(cfg));
		g[0] = cfg.gridDimX;
		g[1] = cfg.gridDimY;
		g[2] = cfg.gridDimZ;
		g[3] = cfg.blockDimX;
		g[4] = cfg.blockDimY;
		g[5] = cfg.blockDimZ;
	}
	kernel(s, k);
	printf("L %u %s%s %lu,%lu,%lu,%lu,%lu,%lu %u", k->id,
	       own ? text_of(s, range) : text_of(s, s->latest), own ? "" : "_bwd", g[0], g[1], g[2],
	       g[3], g[4], g[5], p.len);
	for (uint32_t at = 0; at < p.len; at += 8) {
		uint64_t v = 0;

		memcpy(&v, p.bytes + at, p.len - at < 8 ? p.len - at : 8);
		if (v)
			printf(" %x=%lx", at, v);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	static struct state s;
	const struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000};
	char err[256] = "";
	struct krt_reader *r = argc == 2 ? krt_reader_open(argv[1], false, err, sizeof(err)) : NULL;
	const struct krt_rec *rec;
	unsigned lane;
	size_t len;

	if (!r || krt_reader_scan(r) < 1 || !(s.e = krt_engine_new(&cfg))) {
		fprintf(stderr, "launches_dump: %s\n", *err ? err : "no process");
		return 1;
	}
	while (krt_proc_next(krt_reader_process(r, 0), &rec, &len, &lane) == 1) {
		const struct krt_rec_mark *m = (const void *)rec;
		struct krt_call c;

		if (rec->kind == KRT_REC_MARK && m->mark == KRT_MARK_RANGE && lane < LANES) {
			s.range[lane] = (uint32_t)m->value;
			s.ranged[lane] = true;
			s.latest = m->value ? (uint32_t)m->value : s.latest;
		}
		krt_engine_feed(s.e, rec, len, lane);
		if (rec->kind == KRT_REC_CALL && krt_decode(rec, len, lane, &c) &&
		    (c.op == KRT_OP_LAUNCH || c.op == KRT_OP_LAUNCH_EX))
			launch(&s, &c);
	}
	if (krt_proc_error(krt_reader_process(r, 0)))
		fprintf(stderr, "launches_dump: %s\n", krt_proc_error(krt_reader_process(r, 0)));
	krt_engine_destroy(s.e);
	krt_reader_close(r);
	return 0;
}
