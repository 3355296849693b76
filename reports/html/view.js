// SPDX-License-Identifier: Apache-2.0
// The timeline on its canvas: what is in sight is drawn, of what falls into one pixel one.

const SLOT = 0.8; // of a step of the order: arrows need room between operations
const GUTTER = 216,
	RULER = 22,
	LANE = 25,
	SLICE = 17,
	GROUP = 18;

function makeView() {
	const canvas = $("canvas"),
		box = $("lanes"),
		map = $("map"),
		tip = $("tip");
	const layouts = {};
	let L,
		order,
		color = {},
		from = 0,
		span = 1,
		width = 0,
		height = 0,
		asked = false;
	const kinds = R.timeline.kinds;

	const x = (v) => GUTTER + ((v - from) / span) * (width - GUTTER);
	const v = (px) => from + ((px - GUTTER) / (width - GUTTER)) * span;

	function colors() {
		const css = getComputedStyle(document.documentElement);
		const get = (n) => css.getPropertyValue("--" + n).trim();
		color = { kinds: kinds.map((k) => get("k-" + k) || get("k-other")) };
		for (const n of [
			"panel",
			"ink",
			"muted",
			"faint",
			"line",
			"lane",
			"lane-line",
			"edge",
			"error",
			"warning",
			"note",
			"accent",
			"accent-soft",
			"sunk",
			"earlier",
			"current",
		])
			color[n] = get(n);
		color.sans = get("sans");
	}

	// The lanes of the selection come first where not all have room.
	function arrange() {
		const need = L.lanes.length * LANE + RULER,
			pinned = new Set();
		if (need > height) {
			for (const s of marked())
				for (const l of L.lanes)
					if (l.p === s.p && l.k === s.lane) pinned.add(l);
		}
		order = [...pinned, ...L.lanes.filter((l) => !pinned.has(l))];
		let y = RULER,
			group = null;
		for (const l of order) {
			const g = pinned.has(l) ? "selection" : l.group;
			if (g !== group) {
				y += GROUP;
				group = g;
			}
			l.y = y;
			l.head = g;
			y += LANE;
		}
		$("tall").style.height = `${y + 8}px`;
	}

	// Operations of the selection: of a finding both, each on its stream or the host.
	function marked() {
		const f = all[state.finding],
			list = [];
		const add = (at, c) =>
			at &&
			list.push({
				p: at.p,
				i: at.i,
				c,
				lane:
					at.p.rows[at.i][STREAM] === null
						? at.p.rows[at.i][THREAD]
						: at.p.rows[at.i][STREAM],
			});
		if (f && f.previous) add(T.find(f.pid, f.previous.sequence), "earlier");
		if (f && f.current) add(T.find(f.pid, f.current.sequence), "current");
		if (state.op) add(state.op, "accent");
		return list;
	}

	function itemOf(lane, i) {
		let low = 0,
			high = lane.idx.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (lane.idx[mid] < i) low = mid + 1;
			else high = mid;
		}
		return low < lane.idx.length && lane.idx[low] === i ? low : -1;
	}
	function laneOf(p, k) {
		return L.lanes.find((l) => l.p === p && l.k === k);
	}
	// An end of an arrow: an operation on its stream, or its call.
	function spot(p, i, host) {
		const r = p.rows[i],
			lane = laneOf(p, host || r[STREAM] === null ? r[THREAD] : r[STREAM]);
		const n = lane ? itemOf(lane, i) : -1;
		return n < 0
			? null
			: {
					x0: x(lane.x0[n]),
					x1: Math.max(x(lane.x1[n]), x(lane.x0[n]) + 2),
					y: lane.y + LANE / 2 - box.scrollTop,
					lane,
				};
	}

	function ask() {
		if (!asked) requestAnimationFrame(draw);
		asked = true;
	}

	// The first at or behind value
	function seek(a, value, low) {
		let high = a.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (a[mid] < value) low = mid + 1;
			else high = mid;
		}
		return low;
	}

	// Of what falls into one pixel, work is shown rather than what orders it.
	const work = new Set(
		["kernel", "copy", "set", "graph", "host-function"].map((k) => kinds.indexOf(k)),
	);
	function foremost(lane, n, end) {
		for (let k = n; k < lane.x0.length && k < n + 12 && x(lane.x0[k]) < end; k++) {
			const kind = lane.p.rows[lane.idx[k]][KIND];
			if (work.has(kind)) return kind;
		}
		return lane.p.rows[lane.idx[n]][KIND];
	}
	// What a slice is called where there is little room.
	const brief = new Set(["record", "wait", "sync"].map((k) => kinds.indexOf(k)));
	const short = (p, i) =>
		brief.has(p.rows[i][KIND])
			? kinds[p.rows[i][KIND]]
			: p.rows[i][KERNEL] !== null
				? p.label(i)
				: p
						.label(i)
						.replace(
							/^cu(?=[A-Z])(Memcpy(?!Async)(?=[A-Z])|Mem(?=[A-Z]|set))?/,
							"",
						)
						.replace(/Async$/, "");

	let drawn = 0;
	function drawLane(c, lane, y) {
		const { x0, x1, idx, placed, p } = lane,
			rows = p.rows,
			top = y + (LANE - SLICE) / 2,
			left = GUTTER,
			scale = (width - GUTTER) / span;
		c.fillStyle = color["lane-line"];
		c.fillRect(GUTTER, y + LANE - 1, width - GUTTER, 1);
		let n = seek(x1, from, 0),
			text = [];
		while (n < x0.length && x0[n] <= from + span) {
			const a = Math.max(x(x0[n]), left),
				b = x(x1[n]),
				i = idx[n],
				r = rows[i];
			const w = Math.max(Math.min(b, width) - a - (b - a > 4 ? 1 : 0), 1.2);
			drawn++;
			c.fillStyle = color.kinds[w < 2 ? foremost(lane, n, a + 1) : r[KIND]];
			if (r[FLAGS] & 1 || (placed[n] && lane.measured)) {
				// did not run here; when is not known
				if (w < 3) {
					c.globalAlpha = 0.5;
					c.fillRect(a, top, w, SLICE);
					c.globalAlpha = 1;
				} else {
					c.strokeStyle = c.fillStyle;
					c.strokeRect(a + 0.5, top + 0.5, w - 1, SLICE - 1);
				}
			} else if (placed[n]) {
				// its end is open
				c.globalAlpha = 0.72;
				c.fillRect(a, top, w, SLICE);
				c.globalAlpha = 1;
			} else {
				c.fillRect(a, top, w, SLICE);
			}
			if (w > 30) text.push([i, a, w, r]);
			if (w >= 2) {
				n++;
				continue;
			}
			n = Math.max(n + 1, seek(x1, from + (Math.floor(a) + 1 - left) / scale, n)); // what reaches the next pixel
		}
		c.font = `11px ${color.sans}`;
		c.textBaseline = "middle";
		for (const [i, a, w, r] of text) {
			c.fillStyle = r[FLAGS] & 1 ? color.ink : "#fff";
			c.save();
			c.beginPath();
			c.rect(a, top, w - 3, SLICE);
			c.clip();
			c.fillText(short(p, i), a + 5, top + SLICE / 2 + 0.5);
			c.restore();
		}
	}

	function arrow(c, a, b, style) {
		const back = b.x0 < a.x1 - 1,
			xa = back ? a.x0 + 1 : a.x1,
			xb = b.x0,
			bend = Math.max(back ? 26 : 9, Math.min(70, Math.abs(xb - xa) / 2));
		c.strokeStyle = c.fillStyle = style.color;
		c.lineWidth = style.width || 1;
		c.setLineDash(style.dash || []);
		c.globalAlpha = style.alpha || 1;
		c.beginPath();
		c.moveTo(xa, a.y);
		if (Math.abs(xb - xa) < 8) c.lineTo(xb - 4, b.y);
		else c.bezierCurveTo(xa + bend, a.y, xb - bend, b.y, xb - 4, b.y);
		c.stroke();
		c.setLineDash([]);
		c.beginPath();
		c.moveTo(xb, b.y);
		c.lineTo(xb - 6, b.y - 3.5);
		c.lineTo(xb - 6, b.y + 3.5);
		c.fill();
		c.globalAlpha = 1;
		if (style.text) {
			c.font = `600 11px ${color.sans}`;
			const w = c.measureText(style.text).width,
				mx = Math.min(
					Math.max((xa + xb) / 2, GUTTER + w / 2 + 6),
					width - w / 2 - 20,
				);
			const my =
				Math.abs(xb - xa) > w + 60
					? (a.y + b.y) / 2
					: Math.max(a.y, b.y) + SLICE / 2 + 12; // beneath short ones
			c.fillStyle = color.panel;
			c.globalAlpha = 0.92;
			c.fillRect(mx - w / 2 - 5, my - 8, w + 10, 16);
			c.globalAlpha = 1;
			c.fillStyle = style.color;
			c.fillText(style.text, mx - w / 2, my + 0.5);
		}
	}

	const toHost = (e) => {
		const k = R.timeline.edge_kinds[e[2]];
		return k === "sync" || k === "callback";
	};
	function edge(c, p, e, style) {
		const a = spot(p, e[0], false),
			b = spot(p, e[1], toHost(e));
		if (b && L.byTime && toHost(e))
			b.x0 = Math.min(Math.max(b.x0, a ? a.x1 + 8 : 0), b.x1 + 1); // it returns when that is over
		if (
			a &&
			b &&
			(a.x1 > GUTTER - 400 || b.x1 > GUTTER - 400) &&
			(a.x0 < width + 400 || b.x0 < width + 400)
		)
			arrow(c, a, b, { ...style, dash: e[3] ? [2, 3] : [] });
	}

	// All that is in sight, as long as they can be told apart; those of the selection in any case.
	function drawEdges(c) {
		const chosen = state.op ? [state.op] : [];
		for (const p of T.procs) {
			let low = 0,
				high = p.rows.length;
			if (L.byTime) {
				const inSight = L.lanes
					.filter((l) => l.p === p)
					.map((l) => [
						seek(l.x1, from, 0),
						seek(l.x0, from + span, 0),
						l,
					]);
				low = Math.min(
					...inSight.map(([a, b, l]) =>
						a < b ? l.idx[a] : Infinity,
					),
				);
				high = Math.max(
					...inSight.map(([a, b, l]) =>
						a < b ? l.idx[b - 1] + 1 : 0,
					),
				);
			} else {
				low = Math.max(0, Math.floor(from));
				high = Math.min(p.rows.length, Math.ceil(from + span));
			}
			const a = p.first(low),
				b = p.first(high);
			if (b - a <= 260)
				for (let k = a; k < b; k++)
					edge(c, p, p.edges[k], { color: color.edge, alpha: 0.5 });
		}
		for (const { p, i } of chosen) {
			for (const e of p.into(i))
				edge(c, p, e, { color: color.accent, width: 1.8 });
			for (const e of p.out(i).slice(0, 200))
				edge(c, p, e, { color: color.accent, width: 1.8 });
		}
	}

	function missingEdge() {
		const f = all[state.finding];
		if (!f || !f.current || !f.previous || !(f.edge || f.ordering.missing)) return null;
		const a = T.find(f.pid, f.edge ? f.edge.record_after : f.previous.sequence),
			b = T.find(f.pid, f.edge ? f.edge.wait_before : f.current.sequence);
		return a && b && a.i !== b.i ? [a, b, f] : null;
	}

	function drawMarks(c) {
		const top = (LANE - SLICE) / 2;
		for (const m of marked()) {
			const s = spot(m.p, m.i, false);
			if (!s || s.x1 < GUTTER || s.x0 > width) continue;
			c.strokeStyle = color[m.c];
			c.lineWidth = 2.5;
			const a = Math.max(s.x0 - 1.5, GUTTER),
				b = Math.max(s.x1 + 1, a + 4);
			c.strokeRect(a, s.lane.y - box.scrollTop + top - 2, b - a, SLICE + 4);
			c.lineWidth = 1;
		}
		const lost = missingEdge();
		if (!lost) return;
		const [from1, to1] = lost,
			a = spot(from1.p, from1.i, false),
			b = spot(to1.p, to1.i, false);
		if (a && b)
			arrow(c, a, b, {
				color: color.error,
				width: 2,
				dash: [6, 4],
				text: "no order",
			});
	}

	// Operations that findings name, over what binning may have left out.
	function drawFindings(c) {
		for (const l of order) {
			const y = l.y - box.scrollTop;
			if (y + LANE < RULER || y > height) continue;
			for (const [i, fs] of l.p.members) {
				const r = l.p.rows[i];
				if ((r[STREAM] === null ? r[THREAD] : r[STREAM]) !== l.k) continue;
				const n = itemOf(l, i);
				if (n < 0) continue;
				const a = x(l.x0[n]),
					b = Math.max(x(l.x1[n]), a + 3);
				if (b < GUTTER || a > width) continue;
				const worst = fs.some((f) => all[f].level === "error")
					? "error"
					: fs.some((f) => all[f].level === "warning")
						? "warning"
						: "note";
				c.fillStyle = color[worst];
				c.fillRect(
					Math.max(a, GUTTER),
					y + (LANE - SLICE) / 2 + SLICE - 3,
					Math.max(Math.min(b, width) - Math.max(a, GUTTER) - 1, 3),
					3,
				);
			}
		}
	}

	function step(rough) {
		const p = Math.pow(10, Math.floor(Math.log10(rough))),
			m = rough / p;
		return (m > 5 ? 10 : m > 2 ? 5 : m > 1 ? 2 : 1) * p;
	}
	function drawRuler(c) {
		c.fillStyle = color.panel;
		c.fillRect(0, 0, width, RULER);
		c.fillStyle = color.line;
		c.fillRect(0, RULER - 1, width, 1);
		c.font = `11px ${color.sans}`;
		c.textBaseline = "middle";
		let s = step(span / Math.max((width - GUTTER) / 110, 1));
		if (!L.byTime) s = Math.max(1, Math.round(s));
		for (let t = Math.ceil(from / s) * s; t <= from + span; t += s) {
			const px = x(t);
			c.fillStyle = color["lane-line"];
			c.fillRect(px, RULER, 1, height);
			c.fillStyle = color.muted;
			let label = L.byTime
				? time(t)
				: T.procs.length === 1 && T.procs[0].rows[t]
					? `#${T.procs[0].rows[t][SEQ]}`
					: count(t);
			if (!L.byTime && T.procs.length === 1 && !T.procs[0].rows[t]) label = "";
			c.fillText(label, px + 4, RULER / 2);
		}
		c.fillStyle = color.panel;
		c.fillRect(0, 0, GUTTER, RULER - 1);
		c.fillStyle = color.faint;
		c.fillText(
			!L.byTime
				? "order of the calls"
				: T.measured
					? "time since the program began"
					: "time of calls, of the device unknown",
			12,
			RULER / 2,
		);
	}

	function drawGutter(c) {
		c.fillStyle = color.panel;
		c.fillRect(0, RULER, GUTTER, height);
		c.fillStyle = color.line;
		c.fillRect(GUTTER - 1, 0, 1, height);
		c.save();
		c.beginPath();
		c.rect(0, RULER, width, height);
		c.clip();
		let group = null;
		for (const l of order) {
			const y = l.y - box.scrollTop;
			if (l.head !== group) {
				group = l.head;
				if (y > 0 && y < height + GROUP) {
					c.fillStyle = color.sunk;
					c.fillRect(0, y - GROUP, GUTTER - 1, GROUP);
					c.fillStyle = color.muted;
					c.font = `600 11px ${color.sans}`;
					c.fillText(group, 12, y - GROUP / 2);
				}
			}
			if (y + LANE < RULER || y > height) continue;
			c.fillStyle = color.ink;
			c.font = `12px ${color.sans}`;
			c.save();
			c.beginPath();
			c.rect(0, y, GUTTER - 10, LANE);
			c.clip();
			c.fillText(l.name, 12, y + LANE / 2);
			c.restore();
		}
		c.restore();
	}

	function draw() {
		const ratio = window.devicePixelRatio || 1,
			w = box.clientWidth,
			h = box.clientHeight;
		asked = false;
		if (w !== width || h !== height || canvas.width !== Math.round(w * ratio)) {
			width = w;
			height = h;
			canvas.width = Math.round(w * ratio);
			canvas.height = Math.round(h * ratio);
			canvas.style.width = `${w}px`;
			canvas.style.height = `${h}px`;
			arrange();
		}
		const c = canvas.getContext("2d");
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.fillStyle = color.lane;
		c.fillRect(0, 0, width, height);
		drawn = 0;
		drawRuler(c);
		c.save();
		c.beginPath();
		c.rect(GUTTER, RULER, width - GUTTER, height - RULER);
		c.clip();
		let group = null;
		for (const l of order) {
			const y = l.y - box.scrollTop;
			if (l.head !== group) {
				group = l.head;
				c.fillStyle = color.sunk;
				c.fillRect(GUTTER, y - GROUP, width, GROUP);
			}
			if (y + LANE > RULER && y < height) drawLane(c, l, y);
		}
		drawEdges(c);
		drawFindings(c);
		drawMarks(c);
		c.restore();
		drawGutter(c);
		drawMap(ratio);
		canvas.dataset.drawn = drawn;
	}

	// Everything, small: how full, where findings lie, what is in sight.
	let density = null;
	function drawMap(ratio) {
		const c = map.getContext("2d"),
			h = 26;
		if (map.width !== Math.round(width * ratio)) {
			map.width = Math.round(width * ratio);
			map.height = Math.round(h * ratio);
			density = null;
		}
		const inner = Math.max(Math.floor(width - GUTTER), 1);
		if (!density) {
			density = new Float32Array(inner);
			for (const l of L.lanes)
				for (let n = 0; n < l.x0.length; n++)
					density[
						Math.min(
							inner - 1,
							Math.floor((l.x0[n] / L.end) * inner),
						)
					]++;
			let m = 1;
			for (const d of density) m = Math.max(m, d);
			for (let k = 0; k < inner; k++) density[k] = Math.sqrt(density[k] / m);
		}
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.fillStyle = color.panel;
		c.fillRect(0, 0, width, h);
		c.fillStyle = color.line;
		for (let k = 0; k < inner; k++)
			if (density[k])
				c.fillRect(
					GUTTER + k,
					h - 1 - density[k] * (h - 9),
					1,
					density[k] * (h - 9),
				);
		for (const l of L.lanes)
			for (const [i, fs] of l.p.members) {
				const n = itemOf(l, i);
				if (n < 0) continue;
				c.fillStyle =
					color[
						fs.some((f) => all[f].level === "error")
							? "error"
							: fs.some((f) => all[f].level === "warning")
								? "warning"
								: "note"
					];
				c.fillRect(GUTTER + (l.x0[n] / L.end) * inner - 1, 1, 2.5, 6);
			}
		const a = Math.max(GUTTER + (from / L.end) * inner, GUTTER),
			b = Math.min(GUTTER + ((from + span) / L.end) * inner, width);
		c.fillStyle = color.accent;
		c.globalAlpha = 0.13;
		c.fillRect(a, 0, Math.max(b - a, 3), h);
		c.globalAlpha = 1;
		c.fillRect(a, 0, 1.5, h);
		c.fillRect(Math.max(b - 1.5, a + 1.5), 0, 1.5, h);
		c.font = `11px ${color.sans}`;
		c.textBaseline = "middle";
		c.fillStyle = color.faint;
		c.fillText(
			some(T.ops, "operation") + (T.left ? `, ${count(T.left)} left out` : ""),
			12,
			h / 2,
		);
	}

	function clamp() {
		const least = L.byTime ? 20 : 4;
		span = Math.min(Math.max(span, least), Math.max(L.end * 1.02, least));
		from = Math.min(
			Math.max(from, -span * 0.02),
			Math.max(L.end * 1.01 - span, -span * 0.02),
		);
	}
	function zoom(by, px) {
		const at = v(px === undefined ? GUTTER + (width - GUTTER) / 2 : px);
		span *= by;
		clamp();
		from = at - (px === undefined ? 0.5 : (px - GUTTER) / (width - GUTTER)) * span;
		clamp();
		ask();
	}
	function pan(px) {
		from += (px / (width - GUTTER)) * span;
		clamp();
		ask();
	}
	function fit() {
		from = 0;
		span = L.end * 1.01;
		clamp();
		ask();
	}

	// Both operations of the finding, or the operation, with some room around.
	function aim() {
		const list = marked();
		let a = Infinity,
			b = -Infinity,
			y0 = Infinity,
			y1 = -Infinity;
		arrange();
		for (const m of list) {
			const lane = laneOf(m.p, m.lane),
				n = lane ? itemOf(lane, m.i) : -1;
			if (n < 0) continue;
			a = Math.min(a, lane.x0[n]);
			b = Math.max(b, lane.x1[n]);
			y0 = Math.min(y0, lane.y);
			y1 = Math.max(y1, lane.y + LANE);
		}
		if (a < b || (a === b && isFinite(a))) {
			const room = L.byTime
				? Math.max((b - a) * 0.4, L.end / 5000, 50)
				: Math.max((b - a) * 0.3, 7);
			from = a - room;
			span = b - a + 2 * room;
			clamp();
			if (y0 - box.scrollTop < RULER + GROUP || y1 - box.scrollTop > height)
				box.scrollTop = Math.max(0, (y0 + y1) / 2 - height / 2);
		}
		ask();
	}
	// Scrolls to an operation where it is out of sight.
	function show(at) {
		const r = at.p.rows[at.i],
			lane = laneOf(at.p, r[STREAM] === null ? r[THREAD] : r[STREAM]),
			n = lane ? itemOf(lane, at.i) : -1;
		if (n >= 0) {
			const a = lane.x0[n],
				b = lane.x1[n];
			if (b < from || a > from + span || x(b) - x(a) < 3) {
				span = Math.min(span, L.byTime ? Math.max((b - a) * 30, 1000) : 60);
				from = (a + b) / 2 - span / 2;
				clamp();
			}
			if (
				lane.y - box.scrollTop < RULER ||
				lane.y + LANE - box.scrollTop > height
			)
				box.scrollTop = Math.max(0, lane.y - height / 2);
		}
		ask();
	}

	function hit(px, py) {
		if (px < GUTTER || py < RULER) return null;
		const y = py + box.scrollTop,
			lane = order.find((l) => y >= l.y && y < l.y + LANE);
		if (!lane) return null;
		const at = v(px),
			slack = (3 / (width - GUTTER)) * span;
		let n = seek(lane.x1, at - slack, 0),
			best = -1;
		for (let k = n; k < lane.x0.length && k < n + 40 && lane.x0[k] <= at + slack; k++) {
			if (best < 0 || lane.p.members.has(lane.idx[k])) best = k;
			if (lane.x0[k] <= at && at < lane.x1[k]) {
				best = k;
				break;
			}
		}
		return best < 0 ? null : { p: lane.p, i: lane.idx[best], lane, n: best };
	}

	function hint(ev, at) {
		if (!at) {
			tip.hidden = true;
			canvas.style.cursor = "";
			return;
		}
		const r = at.p.rows[at.i],
			device = r[STREAM] !== null && !at.lane.host;
		canvas.style.cursor = "pointer";
		tip.replaceChildren(
			el("b", {}, at.p.label(at.i)),
			el("div", {}, `#${r[SEQ]}, ${at.lane.name}`),
			el(
				"div",
				{},
				[
					r[BYTES] ? size(r[BYTES]) : "",
					device
						? r[DSTART] !== null
							? time(r[DTOOK]) + " on the device"
							: "device time not known"
						: r[START] !== null
							? `call of ${time(r[TOOK])}`
							: "",
					r[RANGE] !== null ? `in ${at.p.names[r[RANGE]]}` : "",
				]
					.filter(Boolean)
					.join(", "),
			),
		);
		tip.hidden = false;
		tip.style.left = `${Math.min(ev.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
		tip.style.top = `${Math.max(ev.clientY - tip.offsetHeight - 10, 4)}px`;
	}

	let drag = null;
	canvas.addEventListener("pointerdown", (ev) => {
		drag = { x: ev.offsetX, y: ev.clientY, from, top: box.scrollTop, moved: false };
		canvas.setPointerCapture(ev.pointerId);
	});
	canvas.addEventListener("pointermove", (ev) => {
		if (!drag) return hint(ev, hit(ev.offsetX, ev.offsetY));
		if (Math.abs(ev.offsetX - drag.x) + Math.abs(ev.clientY - drag.y) > 4) {
			drag.moved = true;
			canvas.classList.add("drag");
			tip.hidden = true;
		}
		if (!drag.moved) return;
		from = drag.from - ((ev.offsetX - drag.x) / (width - GUTTER)) * span;
		box.scrollTop = drag.top - (ev.clientY - drag.y);
		clamp();
		ask();
	});
	const release = (ev) => {
		const clicked =
			drag && !drag.moved && ev.type === "pointerup"
				? hit(ev.offsetX, ev.offsetY)
				: null;
		drag = null;
		canvas.classList.remove("drag");
		if (clicked) selectOp({ p: clicked.p, i: clicked.i });
	};
	canvas.addEventListener("pointerup", release);
	canvas.addEventListener("pointercancel", release);
	canvas.addEventListener("pointerleave", (ev) => hint(ev, null));
	canvas.addEventListener(
		"wheel",
		(ev) => {
			if (ev.offsetX < GUTTER && !ev.ctrlKey) return; // the lanes scroll
			ev.preventDefault();
			if (ev.shiftKey || Math.abs(ev.deltaX) > Math.abs(ev.deltaY))
				pan(ev.deltaX || ev.deltaY);
			else
				zoom(
					Math.pow(1.0016, ev.deltaY * (ev.deltaMode ? 30 : 1)),
					ev.offsetX,
				);
		},
		{ passive: false },
	);
	box.addEventListener("scroll", ask);
	const jump = (ev) => {
		from = ((ev.offsetX - GUTTER) / (width - GUTTER)) * L.end - span / 2;
		clamp();
		ask();
	};
	map.addEventListener("pointerdown", (ev) => {
		map.setPointerCapture(ev.pointerId);
		jump(ev);
	});
	map.addEventListener("pointermove", (ev) => {
		if (ev.buttons) jump(ev);
	});

	// Along a lane; without a selection the first operation in sight.
	function along(by) {
		const at = state.op || marked()[1] || marked()[0];
		const r = at && at.p.rows[at.i],
			lane = at
				? laneOf(at.p, r[STREAM] === null ? r[THREAD] : r[STREAM])
				: order[0];
		if (!lane) return;
		const n = at ? itemOf(lane, at.i) + by : seek(lane.x1, from, 0);
		if (n >= 0 && n < lane.idx.length) selectOp({ p: lane.p, i: lane.idx[n] });
	}
	box.addEventListener("keydown", (ev) => {
		const act = {
			ArrowLeft: () => pan(-120),
			ArrowRight: () => pan(120),
			"+": () => zoom(0.6),
			"=": () => zoom(0.6),
			"-": () => zoom(1 / 0.6),
			0: fit,
			f: aim,
			",": () => along(-1),
			".": () => along(1),
			Home: () => {
				from = 0;
				clamp();
				ask();
			},
			End: () => {
				from = L.end;
				clamp();
				ask();
			},
		}[ev.key];
		if (!act || ev.ctrlKey || ev.metaKey || ev.altKey) return;
		act();
		ev.preventDefault();
	});
	$("in").addEventListener("click", () => zoom(0.5));
	$("out").addEventListener("click", () => zoom(2));
	$("fit").addEventListener("click", fit);
	$("aim").addEventListener("click", aim);

	function use(byTime) {
		const was = L;
		L = layouts[byTime] || (layouts[byTime] = layout(byTime));
		density = null;
		for (const b of $("axis").children)
			b.setAttribute(
				"aria-pressed",
				String((b.dataset.axis === "time") === byTime),
			);
		$("said").textContent = T.left ? `${count(T.left)} left out (timeline=)` : "";
		arrange();
		if (was && marked().length) aim();
		else {
			from = 0;
			span = L.end * 1.01;
			if (!byTime && span > 400) span = 400;
			clamp();
		}
		ask();
	}
	$("axis").replaceChildren(
		...[
			["order", "Order"],
			["time", "Time"],
		].map(([k, text]) => {
			const b = el(
				"button",
				{
					"data-axis": k,
					title:
						k === "order"
							? "one step for each call"
							: "host times, and device times where they were measured",
					on: { click: () => use(k === "time") },
				},
				text,
			);
			b.disabled = k === "time" && !T.timed;
			return b;
		}),
	);
	const present = new Set();
	for (const p of T.procs) for (const r of p.rows) present.add(r[KIND]);
	const swatch = (c, text, cls) => {
		const s = el("span", { class: cls || "" }, text);
		s.style.setProperty("--c", `var(--${c})`);
		return s;
	};
	$("legend").replaceChildren(
		...kinds
			.map((k, n) =>
				present.has(n) && k !== "other"
					? swatch("k-" + k, k.replace("-", " "))
					: null,
			)
			.filter(Boolean),
		swatch("edge", "comes before", "line"),
		swatch("error", "missing", "line dashed"),
	);
	colors();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		colors();
		ask();
	});
	new ResizeObserver(ask).observe(box);
	height = box.clientHeight;
	width = box.clientWidth;
	use(T.timed && T.measured > 0);
	draw();
	return { aim, show, ask, spot };
}
