// SPDX-License-Identifier: Apache-2.0
// What is told of a finding, of an operation, and of the run as a whole.

function frame(f, lead) {
	const where = place(f),
		full = f.file ? `${f.file}${f.line ? ":" + f.line : ""}` : f.module || f.pc;
	return el(
		"li",
		{
			class: lead ? "lead-frame" : f.kind === "user" ? "" : "inner",
			title: `${f.function || ""}\n${full}`,
		},
		f.function_readable || "?",
		" ",
		el("span", { class: "at" }, where),
	);
}

// Frames of CUDA and krtsan, and what calls main, are folded.
function stack(frames, lead = site(frames)) {
	if (!frames.length) return el("p", { class: "muted mono" }, "no call stack");
	const list = el("ol", { class: "stack" });
	for (let i = 0; i < frames.length;) {
		let n = i;
		const kind = frames[i].kind;
		if (kind === "internal" || kind === "start")
			while (n < frames.length && frames[n].kind === kind) n++;
		if (n === i) {
			list.append(frame(frames[i], frames[i] === lead));
			i++;
			continue;
		}
		const hidden = frames.slice(i, n);
		const li = el(
			"li",
			{},
			el(
				"button",
				{
					class: "link",
					on: {
						click: () =>
							li.replaceWith(
								...hidden.map((f) =>
									frame(f, false),
								),
							),
					},
				},
				kind === "start"
					? `${some(n - i, "frame")} before it`
					: `${some(n - i, "frame")} of CUDA`,
			),
		);
		list.append(li);
		i = n;
	}
	return list;
}

function facts(rows) {
	return el(
		"dl",
		{},
		rows
			.filter((r) => r && r[1] !== null && r[1] !== undefined && r[1] !== "")
			.map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]),
	);
}

function side(o, which, pid) {
	const at = T && T.find(pid, o.sequence);
	return el(
		"section",
		{ class: `card side ${which}` },
		el("h3", {}, which === "earlier" ? "Earlier operation" : "Operation"),
		el("div", { class: "op" }, o.what ? `${o.what} by ` : "", opName(o)),
		facts([
			["stream", o.stream],
			[
				"number",
				at
					? el(
							"button",
							{
								class: "link",
								on: { click: () => selectOp(at) },
							},
							`#${o.sequence}`,
						)
					: `#${o.sequence}`,
			],
			[
				"bytes",
				o.range
					? `${o.range.base}${o.range.length ? " +" + size(o.range.length) : ", end not known"}`
					: null,
			],
			["in range", o.nvtx_range],
			[
				"known by",
				o.knowledge &&
					(o.declared_at
						? `${o.knowledge}, ${o.declared_at}`
						: o.knowledge),
			],
			[
				"symbol",
				o.kernel && o.kernel !== o.kernel_readable
					? el("code", {}, o.kernel)
					: null,
			],
		]),
		stack(o.stack, known(o)),
	);
}

// One bar: the bytes [from, to) of a buffer, with ranges in it.
function bar(g, y, from, to, parts, W) {
	const x = (v) => ((Math.min(Math.max(v, from), to) - from) / (to - from)) * W;
	g.append(
		svg("rect", {
			x: 0,
			y,
			width: W,
			height: 26,
			rx: 3,
			fill: "var(--sunk)",
			stroke: "var(--line)",
		}),
	);
	for (const p of parts) {
		const a = x(p.from),
			b = Math.max(x(p.to), a + 2.5);
		g.append(
			svg("rect", {
				x: Math.min(a, W - 2.5),
				y: y + p.y,
				width: Math.min(b, W) - Math.min(a, W - 2.5),
				height: p.h,
				fill: `var(--${p.c})`,
				rx: 1.5,
				class: p.c,
			}),
		);
	}
}

function bytesOf(f) {
	const b = f.buffer,
		start = BigInt(b.base);
	const ranges = [
		[f.previous, "earlier"],
		[f.current, "current"],
	]
		.filter(([o]) => o && o.range)
		.map(([o, c]) => {
			const from = Number(BigInt(o.range.base) - start);
			return { c, from, to: o.range.length ? from + o.range.length : b.size };
		});
	const shared =
		b.length || b.size
			? {
					c: "shared",
					from: b.offset,
					to: b.length ? b.offset + b.length : b.size,
				}
			: null;
	const total = Math.max(b.size, shared ? shared.to : 0, 1);
	const W = 1000,
		g = svg("svg", { viewBox: `0 0 ${W} 44`, role: "img" });
	g.append(
		svg(
			"title",
			{},
			`bytes ${hex(b.offset)} to ${shared ? hex(shared.to) : "?"} of ${size(b.size)}`,
		),
	);
	const parts = (list) =>
		list
			.filter((p) => p.to > 0 && p.from < total)
			.map((p) => ({
				...p,
				y: p.c === "earlier" ? 3 : p.c === "current" ? 18 : 10,
				h: p.c === "shared" ? 6 : 5,
			}));
	const list = parts(ranges.concat(shared ? [shared] : []));
	bar(g, 0, 0, total, list, W);
	g.append(
		svg("text", { x: 0, y: 40 }, "+0x0"),
		svg("text", { x: W, y: 40, "text-anchor": "end" }, `+${hex(total)}`),
	);
	const low = Math.max(0, Math.min(...list.map((p) => p.from))),
		high = Math.min(total, Math.max(...list.map((p) => p.to)));
	if (list.length && high > low && (high - low) * 12 < total) {
		// too small to be seen: once more, larger
		const room = Math.max((high - low) * 0.15, 1),
			a = Math.max(0, low - room),
			z = Math.min(total, high + room);
		const x = (v) => (v / total) * W;
		g.setAttribute("viewBox", `0 0 ${W} 110`);
		g.append(
			svg("path", {
				d: `M${x(a)} 26 L0 66 M${x(z)} 26 L${W} 66`,
				stroke: "var(--line)",
				fill: "none",
			}),
		);
		const inner = svg("g", {});
		bar(inner, 66, a, z, list, W);
		g.append(
			inner,
			svg("text", { x: 0, y: 106 }, `+${hex(Math.floor(a))}`),
			svg(
				"text",
				{ x: W, y: 106, "text-anchor": "end" },
				`+${hex(Math.ceil(z))}`,
			),
		);
	}
	return g;
}

function key(c, text) {
	const e = el("span", { class: "key" }, text);
	e.style.setProperty("--c", `var(--${c})`);
	return e;
}

function buffer(f) {
	const b = f.buffer;
	if (!b) return null;
	const shared = b.length
		? `${size(b.length)} at +${hex(b.offset)}`
		: b.size
			? `from +${hex(b.offset)}, end not known`
			: null;
	const legend = el(
		"div",
		{ id: "bytes-key" },
		f.previous && f.previous.range && key("earlier", "earlier"),
		f.current && f.current.range && key("current", "this one"),
		key("shared", "shared"),
	);
	return el(
		"section",
		{ class: "card buffer" },
		el("h3", {}, "Buffer"),
		el(
			"div",
			{ class: "row" },
			el("b", {}, b.name ? `"${b.name}"` : `${b.kind} memory`),
			b.name && el("span", { class: "muted" }, b.kind),
			b.size ? el("span", { class: "muted" }, size(b.size)) : null,
			el("span", { class: "muted mono" }, b.base),
			el("span", { class: "grow" }),
			legend,
		),
		b.size ? bytesOf(f) : null,
		facts([["shared", shared]]),
		["allocated", "freed"].map(
			(k) =>
				b[k] &&
				el(
					"div",
					{ class: "life" },
					el(
						"p",
						{ class: "muted" },
						`${k} by ${plain(b[k].operation)} #${b[k].sequence}`,
					),
					stack(b[k].stack),
				),
		),
	);
}

function copyButton(text) {
	const b = el(
		"button",
		{
			class: "copy",
			on: {
				click: async () => {
					let good = true;
					try {
						await navigator.clipboard.writeText(text);
					} catch (e) {
						const area = el("textarea", {});
						area.value = text;
						document.body.append(area);
						area.select();
						good = document.execCommand("copy");
						area.remove();
					}
					b.textContent = good ? "Copied" : "Select it and copy";
					setTimeout(() => {
						b.textContent = "Copy";
					}, 1600);
				},
			},
		},
		"Copy",
	);
	return b;
}

const verified = {
	removes: ["good", "verified: with it this finding is gone"],
	keeps: ["warning", "tried: the finding stays"],
	cycle: ["warning", "tried: the wait would come before what it waits for"],
	"not-tried": ["plain", "not verified"],
};

function fix(f) {
	const e = f.edge;
	if (!f.fix && !e) return null;
	const [tone, text] = (e && verified[e.verified]) || ["plain", ""];
	return el(
		"section",
		{ class: "card fix" },
		el("h3", {}, "Fix"),
		f.fix && el("p", {}, f.fix),
		e && e.code && [el("pre", { class: "code" }, el("code", {}, e.code))],
		e &&
			el(
				"div",
				{ class: "row", style: null },
				e.code && copyButton(e.code),
				text && el("span", { class: `badge ${tone}` }, text),
				e.why && el("span", { class: "muted" }, e.why),
			),
		e &&
			e.also_removes.length > 0 &&
			el(
				"p",
				{ class: "muted" },
				"also removes: ",
				e.also_removes.map((p, i) => [
					i ? ", " : "",
					byPrint.has(p)
						? el(
								"button",
								{
									class: "link",
									on: {
										click: () =>
											selectFinding(
												byPrint.get(
													p,
												),
											),
									},
								},
								all[byPrint.get(p)].rule,
							)
						: p,
				]),
			),
	);
}

function order(f) {
	const o = f.ordering;
	if (!o.exists && !o.missing) return null;
	return el(
		"section",
		{ class: "card" },
		el("h3", {}, "Order"),
		el(
			"div",
			{ class: "order" },
			el("span", { class: "muted" }, "exists"),
			el("span", {}, o.exists || "none between these two"),
			o.missing && [
				el("span", { class: "muted" }, "missing"),
				el("span", { class: "lack" }, o.missing),
			],
		),
	);
}

function cost(c) {
	if (!c) return null;
	const t = (v) => (v === null ? "not known" : time(v));
	return el(
		"section",
		{ class: "card" },
		el("h3", {}, "Cost"),
		facts([
			["times", count(c.times)],
			["rounds of the loop", count(c.rounds)],
			["submission", t(c.submit_ns)],
			["queueing", t(c.queue_ns)],
			["device service", t(c.service_ns)],
			["synchronisation", t(c.blocked_ns)],
		]),
	);
}

function showFinding(i) {
	const f = all[i],
		old = f.previous,
		p = R.processes.find((x) => x.pid === f.pid);
	$("details").replaceChildren(
		el(
			"div",
			{ class: `title ${f.level}` },
			el("span", { class: "badge" }, f.level),
			el("h1", {}, f.rule),
			el("span", { class: "badge plain" }, f.confidence),
			f.view === "documented" &&
				el(
					"span",
					{
						class: "badge plain",
						title: "drivers wait here; NVIDIA does not promise it",
					},
					"documented view only",
				),
			f.baseline && el("span", { class: "badge plain" }, f.baseline),
			f.count > 1 && el("span", { class: "badge plain" }, `×${count(f.count)}`),
			el("span", { class: "muted" }, titles.get(f.rule) || ""),
		),
		el("p", { class: "lead" }, f.message),
		f.suppression
			? el(
					"p",
					{ class: "card" },
					`suppressed by ${f.suppression.line}`,
					f.suppression.reason ? `: ${f.suppression.reason}` : "",
				)
			: "",
		el(
			"div",
			{ class: "pair" },
			old && side(old, "earlier", f.pid),
			f.current && side(f.current, "current", f.pid),
		),
		...[order(f), fix(f), buffer(f), cost(f.cost)].filter(Boolean),
		el(
			"p",
			{ class: "muted" },
			`id ${f.fingerprint}`,
			pids > 1 && p ? `, process ${f.pid} ${base(p.exe || "")}` : "",
			`; krtsan explain ${f.rule} tells more`,
		),
	);
	for (const s of $("details").querySelectorAll(".pair"))
		if (s.children.length === 1) s.firstChild.classList.add("only");
	$("details").scrollTop = 0;
}

function counters(c) {
	const skip = new Set(["complete", "reasons", "kernels", "host", "timing", "python"]);
	const rows = Object.entries(c).filter(
		([k, v]) => !skip.has(k) && typeof v === "number" && v,
	);
	return el(
		"div",
		{ class: "columns" },
		rows.map(([k, v]) =>
			el(
				"div",
				{},
				el("span", {}, k.replaceAll("_", " ")),
				el("span", {}, count(v)),
			),
		),
	);
}

function showOverview() {
	const c = R.coverage,
		launches = Object.entries(c.kernels).filter(([, n]) => n);
	$("details").replaceChildren(
		el("h2", {}, "Overview"),
		el(
			"p",
			{ class: "lead muted" },
			[
				all.length
					? "Choose a finding to see both operations, their stacks, the bytes and the order that is missing."
					: "",
				T && T.ops
					? "Choose an operation of the timeline to see what comes before it and after."
					: "",
			].join(" "),
		),
		c.calls
			? el(
					"section",
					{ class: "card" },
					el("h3", {}, "What was seen"),
					counters(c),
				)
			: "",
		launches.length
			? el(
					"section",
					{ class: "card" },
					el(
						"h3",
						{},
						"What launches read and write, by what tells it",
					),
					el(
						"table",
						{},
						launches.map(([k, n]) =>
							el(
								"tr",
								{},
								el("th", {}, k),
								el("td", { class: "n" }, count(n)),
							),
						),
					),
				)
			: "",
		pids
			? el(
					"section",
					{ class: "card" },
					el("h3", {}, "Processes"),
					el(
						"table",
						{},
						R.processes.map((p) =>
							el(
								"tr",
								{},
								el(
									"td",
									{ class: "n" },
									String(p.pid),
								),
								el(
									"td",
									{ class: "mono" },
									p.exe || "",
								),
								el(
									"td",
									{},
									p.exit_code === null
										? "ended without a code"
										: `exit code ${p.exit_code}`,
								),
								el(
									"td",
									{},
									p.coverage.complete
										? "complete"
										: "not complete",
								),
								el(
									"td",
									{},
									some(
										p.coverage.calls,
										"call",
									),
								),
							),
						),
					),
				)
			: "",
		R.tool.options
			? el("p", { class: "muted" }, "options: ", el("code", {}, R.tool.options))
			: "",
		R.tool.semantics
			? el("p", { class: "muted" }, `what calls wait for: ${R.tool.semantics}`)
			: "",
		c.timing ? el("p", { class: "muted" }, `device times: ${c.timing}`) : "",
	);
}

function opLink(p, i) {
	return el(
		"button",
		{ class: "link", on: { click: () => selectOp({ p, i }) } },
		`#${p.rows[i][SEQ]} ${p.label(i)}`,
	);
}

function showOp({ p, i }) {
	const r = p.rows[i],
		lane = p.lanes[r[STREAM]],
		mine = p.of(i);
	const into = p.into(i),
		out = p.out(i);
	const edges = (list, k) =>
		el(
			"ul",
			{ class: "edges" },
			list.map((e) =>
				el(
					"li",
					{},
					opLink(p, e[k]),
					el(
						"span",
						{ class: "muted" },
						` ${R.timeline.edge_kinds[e[2]]}${e[3] ? ", as drivers do" : ""}`,
					),
				),
			),
		);
	const flags = [
		[1, "captured into a graph: it did not run here"],
		[2, "the call returned when it was complete"],
		[4, "drivers return when it is complete; that is not documented"],
		[32, "the call returned when all before it was complete"],
		[16, "the call failed"],
	];
	$("details").replaceChildren(
		el(
			"div",
			{ class: "title" },
			el("h1", {}, p.label(i)),
			el("span", { class: "badge plain" }, R.timeline.kinds[r[KIND]]),
			el("span", { class: "muted" }, `#${r[SEQ]}`),
		),
		el(
			"section",
			{ class: "card" },
			el("h3", {}, "Operation"),
			facts([
				["call", p.names[r[API]]],
				["kernel", r[KERNEL] === null ? null : p.names[r[KERNEL]]],
				["stream", lane ? lane.name : "the host alone"],
				["thread", p.lanes[r[THREAD]].name],
				["in range", r[RANGE] === null ? null : p.names[r[RANGE]]],
				["bytes", r[BYTES] ? size(r[BYTES]) : null],
				[
					"call made",
					r[START] === null
						? "not timed"
						: `at ${time(r[START])}, took ${time(r[TOOK])}`,
				],
				[
					"on the device",
					lane
						? r[DSTART] === null
							? "when is not known (timing=cupti measures it): drawn in order"
							: `at ${time(r[DSTART])} for ${time(r[DTOOK])}`
						: null,
				],
				...flags.filter(([f]) => r[FLAGS] & f).map(([, t]) => ["note", t]),
			]),
		),
		mine.length
			? el(
					"section",
					{ class: "card" },
					el("h3", {}, "Part of"),
					el(
						"ul",
						{ class: "edges" },
						mine.map((f) =>
							el(
								"li",
								{ class: all[f].level },
								el(
									"span",
									{ class: "badge" },
									all[f].level,
								),
								" ",
								el(
									"button",
									{
										class: "link",
										on: {
											click: () =>
												selectFinding(
													f,
												),
										},
									},
									all[f].rule,
								),
								" ",
								el(
									"span",
									{ class: "muted" },
									all[f].message,
								),
							),
						),
					),
				)
			: "",
		into.length
			? el(
					"section",
					{ class: "card" },
					el("h3", {}, "Comes after"),
					edges(into, 0),
				)
			: "",
		out.length
			? el(
					"section",
					{ class: "card" },
					el("h3", {}, "Comes before"),
					edges(out, 1),
				)
			: "",
	);
	$("details").scrollTop = 0;
}
