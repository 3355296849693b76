// SPDX-License-Identifier: Apache-2.0
// The timeline's data: operations found and followed, and where they lie on their lanes.

const [SEQ, THREAD, STREAM, KIND, API, KERNEL, RANGE, BYTES, START, TOOK, DSTART, DTOOK, FLAGS] = [
	...Array(13).keys(),
];

// Numbers of one process's operations, found and followed.
function processOf(p) {
	const rows = p.operations,
		edges = p.edges;
	const members = new Map(),
		outgoing = new Map();
	let indexed = false;
	for (const [f, a, b] of p.findings)
		for (const i of [a, b])
			if (i !== null) members.set(i, (members.get(i) || []).concat(f));
	const first = (to) => {
		// edges are sorted by where they lead to
		let low = 0,
			high = edges.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (edges[mid][1] < to) low = mid + 1;
			else high = mid;
		}
		return low;
	};
	const me = {
		pid: p.pid,
		rows,
		edges,
		lanes: p.lanes,
		names: p.names,
		offset: p.offset_ns,
		first,
		members,
		left: p.left_out,
		label: (i) =>
			rows[i][KERNEL] !== null
				? p.names[rows[i][KERNEL]]
				: plain(p.names[rows[i][API]]),
		of: (i) => members.get(i) || [],
		find: (seq) => {
			let low = 0,
				high = rows.length;
			while (low < high) {
				const mid = (low + high) >> 1;
				if (rows[mid][SEQ] < seq) low = mid + 1;
				else high = mid;
			}
			return low < rows.length && rows[low][SEQ] === seq ? low : -1;
		},
		into: (i) => {
			const list = [];
			for (let k = first(i); k < edges.length && edges[k][1] === i; k++)
				list.push(edges[k]);
			return list;
		},
		out: (i) => {
			if (!indexed)
				for (const e of edges) {
					const l = outgoing.get(e[0]);
					if (l) l.push(e);
					else outgoing.set(e[0], [e]);
				}
			indexed = true;
			return outgoing.get(i) || [];
		},
	};
	return me;
}

function timelineOf(t) {
	const procs = t.processes.map(processOf);
	const byPid = new Map(procs.map((p) => [p.pid, p]));
	let ops = 0,
		measured = 0,
		timed = true;
	for (const p of procs) {
		ops += p.rows.length;
		for (const r of p.rows) {
			if (r[START] === null) timed = false;
			if (r[DSTART] !== null) measured++;
		}
	}
	return {
		procs,
		ops,
		measured,
		timed: timed && ops > 0,
		left: procs.reduce((n, p) => n + p.left, 0),
		find: (pid, seq) => {
			const p = byPid.get(pid),
				i = p ? p.find(seq) : -1;
			return i < 0 ? null : { p, i };
		},
	};
}

// Lanes with what lies on them from left to right, by order or by time.
function layout(byTime) {
	const lanes = [];
	let end = 1;
	for (const p of T.procs) {
		const seen = new Map();
		for (const l of p.lanes) seen.set(l.name, (seen.get(l.name) || 0) + 1);
		const mine = p.lanes.map((l, k) => ({
			p,
			k,
			host: l.kind === "host",
			idx: [],
			x0: [],
			x1: [],
			placed: [],
			name: l.name + (seen.get(l.name) > 1 && l.handle ? ` (${l.handle})` : ""),
			group:
				(T.procs.length > 1 ? `process ${p.pid}, ` : "") +
				(l.kind === "host"
					? "host"
					: `device ${l.device}${l.context > 1 ? `, context ${l.context}` : ""}`),
		}));
		const rows = p.rows,
			edges = p.edges,
			posStream = new Float64Array(rows.length),
			posHost = new Float64Array(rows.length);
		let at = 0;
		const put = (lane, i, from, to, placed) => {
			const n = lane.x1.length;
			if (n && from < lane.x1[n - 1]) {
				from = lane.x1[n - 1];
				to = Math.max(to, from);
			}
			lane.idx.push(i);
			lane.x0.push(from);
			lane.x1.push(to);
			lane.placed.push(placed);
			if (to > end) end = to;
			return from;
		};
		const next = new Float64Array(rows.length);
		if (byTime) {
			const last = new Map();
			for (let i = rows.length; i--;) {
				const s = rows[i][STREAM];
				if (s === null) continue;
				next[i] = last.has(s) ? last.get(s) : Infinity;
				last.set(s, rows[i][START]);
				if (rows[i][DSTART] !== null) mine[s].measured = true;
			}
		}
		for (let i = 0; i < rows.length; i++) {
			const r = rows[i];
			if (!byTime) {
				if (!(r[FLAGS] & 8)) put(mine[r[THREAD]], i, i, i + SLOT, false);
				if (r[STREAM] !== null) put(mine[r[STREAM]], i, i, i + SLOT, false);
				continue;
			}
			const call = p.offset + r[START];
			let after = call;
			for (; at < edges.length && edges[at][1] === i; at++) {
				const from = edges[at][0];
				if (from < i)
					after = Math.max(
						after,
						rows[from][STREAM] === null
							? posHost[from]
							: posStream[from],
					);
			}
			if (!(r[FLAGS] & 8))
				posHost[i] = put(mine[r[THREAD]], i, call, call + r[TOOK], false);
			if (r[STREAM] === null) continue;
			const l = mine[r[STREAM]];
			if (r[DSTART] !== null)
				posStream[i] = put(
					l,
					i,
					p.offset + r[DSTART],
					p.offset + r[DSTART] + r[DTOOK],
					false,
				);
			else
				posStream[i] = put(
					l,
					i,
					after,
					l.measured
						? after
						: Math.max(
								after,
								Math.min(
									call + r[TOOK],
									p.offset + next[i],
								),
							),
					true,
				);
		}
		lanes.push(
			...mine
				.filter((l) => l.idx.length)
				.sort(
					(a, b) =>
						b.host - a.host ||
						p.lanes[a.k].device - p.lanes[b.k].device ||
						p.lanes[a.k].context - p.lanes[b.k].context ||
						a.k - b.k,
				),
		);
	}
	for (const l of lanes) {
		l.idx = Int32Array.from(l.idx);
		l.x0 = Float64Array.from(l.x0);
		l.x1 = Float64Array.from(l.x1);
	}
	return { lanes, end, byTime };
}
