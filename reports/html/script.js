// SPDX-License-Identifier: Apache-2.0
// The page of an HTML report: draws the JSON report that lies beside it.
// All text of a report is untrusted: it becomes text nodes and attributes of
// fixed names, never markup.
"use strict";
(() => {
const began = performance.now();
const R = JSON.parse(document.getElementById("report").textContent);
const $ = (id) => document.getElementById(id);

// --- small things ----------------------------------------------------------------

function el(tag, props, ...kids) {
	const e = document.createElement(tag);
	for (const k in props || {}) {
		if (k === "class") e.className = props[k];
		else if (k === "on") for (const ev in props.on) e.addEventListener(ev, props.on[ev]);
		else if (props[k] !== null && props[k] !== undefined) e.setAttribute(k, props[k]);
	}
	for (const kid of kids.flat(2))
		if (kid !== null && kid !== undefined && kid !== false) e.append(kid);
	return e;
}
const SVG = "http://www.w3.org/2000/svg";
function svg(tag, props, text) {
	const e = document.createElementNS(SVG, tag);
	for (const k in props) e.setAttribute(k, props[k]);
	if (text !== undefined) e.textContent = text;
	return e;
}
const count = (n) => n.toLocaleString("en-US");
const some = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
function size(n) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let u = 0;
	while (n >= 1024 && u < units.length - 1) { n /= 1024; u++; }
	return `${u && n < 100 ? n.toFixed(1).replace(/\.0$/, "") : Math.round(n)} ${units[u]}`;
}
function time(ns) {
	if (ns < 1000) return `${Math.round(ns)} ns`;
	if (ns < 1e6) return `${(ns / 1e3).toFixed(ns < 1e5 ? 2 : 1)} µs`;
	if (ns < 1e9) return `${(ns / 1e6).toFixed(ns < 1e8 ? 2 : 1)} ms`;
	return `${(ns / 1e9).toFixed(3)} s`;
}
const hex = (n) => "0x" + n.toString(16);
const base = (path) => path.replace(/^.*\//, "");
const plain = (name) => name.replace(/_v\d+$|_pt[ds]s$|_ptsz$/, "");

// --- findings --------------------------------------------------------------------

const all = R.findings.concat(R.suppressed);
const pids = R.processes.length;
const state = { finding: -1, op: null, filter: "", hide: new Set(), shown: [] };
const isGone = (i) => i >= R.findings.length;

// The innermost frame of the user's code, else of a library: what the text report leads with.
function site(stack) {
	return stack.find((f) => f.kind === "user") || stack.find((f) => f.kind === "library") || null;
}
function place(f) {
	if (!f) return "";
	if (f.file) return `${base(f.file)}${f.line ? ":" + f.line : ""}`;
	return f.module ? `${base(f.module)}+${f.offset}` : f.pc;
}
const opName = (o) => o.kernel_readable ? `kernel ${o.kernel_readable}` : plain(o.operation);
const levelOf = (f) => f.suppression ? "suppressed" : f.confidence === "possible" ? "possible" : f.level;
const titles = new Map(R.rules.map((r) => [r.id, r.title]));
const byPrint = new Map(all.map((f, i) => [f.fingerprint, i]));

const words = all.map((f) => [f.rule, f.message, f.fix, f.fingerprint, f.buffer && f.buffer.name,
	f.current && [f.current, f.previous].filter(Boolean).map((o) =>
		[o.operation, o.kernel, o.kernel_readable, o.stream, o.nvtx_range, "#" + o.sequence,
			o.stack.map((s) => [s.function, s.file])])].flat(5).filter(Boolean).join("\n").toLowerCase());

function listed() {
	const want = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
	return all.map((f, i) => i).filter((i) => !state.hide.has(levelOf(all[i])) &&
		want.every((w) => words[i].includes(w)));
}

function item(i) {
	const f = all[i], at = f.current ? site(f.current.stack) : null;
	return el("li", { role: "option", id: `f${i}`, class: `${f.level}${isGone(i) || f.baseline === "known" ? " gone" : ""}`,
		"aria-selected": String(i === state.finding), on: { click: () => selectFinding(i) } },
		el("div", { class: "rule" }, f.rule, f.baseline === "new" && el("span", { class: "badge error" }, "new"),
			el("span", { class: "times" }, isGone(i) ? "suppressed" : f.confidence !== "certain" ? f.confidence : "",
				f.count > 1 ? ` ×${count(f.count)}` : "")),
		el("div", { class: "text" }, f.message),
		at && el("div", { class: "where" }, place(at), at.function_readable ? ` in ${at.function_readable}` : ""));
}

function fillList() {
	const list = $("list");
	state.shown = listed();
	list.replaceChildren(...state.shown.map(item));
	if (!state.shown.length)
		list.append(el("li", { class: "none" }, all.length ? "No finding fits the filter." : R.verdict === "clean"
			? "Nothing was found, and the analysis was complete."
			: "Nothing was found. The analysis was not complete: see the reasons above."));
	$("shown").textContent = all.length ? `${count(state.shown.length)} of ${some(all.length, "finding")}` +
		(R.stats.possible_total > all.filter((f) => f.confidence === "possible").length
			? `; ${count(R.stats.possible_total)} possible ones in all` : "") : "";
	markSelected();
}

function markSelected() {
	const list = $("list");
	for (const li of list.querySelectorAll("[aria-selected=true]")) li.setAttribute("aria-selected", "false");
	const li = $(`f${state.finding}`);
	if (li) {
		li.setAttribute("aria-selected", "true");
		list.setAttribute("aria-activedescendant", li.id);
		li.scrollIntoView({ block: "nearest" });
	} else {
		list.removeAttribute("aria-activedescendant");
	}
}

function levels() {
	const seen = ["error", "warning", "note", "possible", "suppressed"].map((l) => [l, all.filter((f) => levelOf(f) === l).length]).filter((x) => x[1]);
	if (seen.some((x) => x[0] !== "possible" && x[0] !== "suppressed"))
		for (const l of ["possible", "suppressed"]) state.hide.add(l);
	$("levels").replaceChildren(...seen.map(([l, n]) => el("button", { "aria-pressed": String(!state.hide.has(l)), on: {
		click: (ev) => {
			if (state.hide.has(l)) state.hide.delete(l);
			else state.hide.add(l);
			ev.currentTarget.setAttribute("aria-pressed", String(!state.hide.has(l)));
			fillList();
		} } }, `${l} ${count(n)}`)));
	$("levels").hidden = seen.length < 2;
}

// --- details ---------------------------------------------------------------------

function frame(f, lead) {
	const where = place(f), full = f.file ? `${f.file}${f.line ? ":" + f.line : ""}` : f.module || f.pc;
	return el("li", { class: lead ? "lead-frame" : f.kind === "user" ? "" : "inner", title: `${f.function || ""}\n${full}` },
		f.function_readable || "?", " ", el("span", { class: "at" }, where));
}

// Frames of CUDA and krtsan, and what calls main, are folded.
function stack(frames) {
	if (!frames.length) return el("p", { class: "muted mono" }, "no call stack");
	const list = el("ol", { class: "stack" }), lead = site(frames);
	for (let i = 0; i < frames.length;) {
		let n = i;
		const kind = frames[i].kind;
		if (kind === "internal" || kind === "start") while (n < frames.length && frames[n].kind === kind) n++;
		if (n === i) {
			list.append(frame(frames[i], frames[i] === lead));
			i++;
			continue;
		}
		const hidden = frames.slice(i, n);
		const li = el("li", {}, el("button", { class: "link", on: { click: () => li.replaceWith(...hidden.map((f) => frame(f, false))) } },
			kind === "start" ? `${some(n - i, "frame")} before it` : `${some(n - i, "frame")} of CUDA`));
		list.append(li);
		i = n;
	}
	return list;
}

function facts(rows) {
	return el("dl", {}, rows.filter((r) => r && r[1] !== null && r[1] !== undefined && r[1] !== "")
		.map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
}

function side(o, which, pid) {
	const at = T && T.find(pid, o.sequence);
	return el("section", { class: `card side ${which}` },
		el("h3", {}, which === "earlier" ? "Earlier operation" : "Operation"),
		el("div", { class: "op" }, o.what ? `${o.what} by ` : "", opName(o)),
		facts([["stream", o.stream],
			["number", at ? el("button", { class: "link", on: { click: () => selectOp(at) } }, `#${o.sequence}`) : `#${o.sequence}`],
			["bytes", o.range ? `${o.range.base}${o.range.length ? " +" + size(o.range.length) : ", end not known"}` : null],
			["in range", o.nvtx_range], ["known by", o.knowledge],
			["symbol", o.kernel && o.kernel !== o.kernel_readable ? el("code", {}, o.kernel) : null]]),
		stack(o.stack));
}

// One bar: the bytes [from, to) of a buffer, with ranges in it.
function bar(g, y, from, to, parts, W) {
	const x = (v) => (Math.min(Math.max(v, from), to) - from) / (to - from) * W;
	g.append(svg("rect", { x: 0, y, width: W, height: 26, rx: 3, fill: "var(--sunk)", stroke: "var(--line)" }));
	for (const p of parts) {
		const a = x(p.from), b = Math.max(x(p.to), a + 2.5);
		g.append(svg("rect", { x: Math.min(a, W - 2.5), y: y + p.y, width: Math.min(b, W) - Math.min(a, W - 2.5), height: p.h, fill: `var(--${p.c})`, rx: 1.5, class: p.c }));
	}
}

function bytesOf(f) {
	const b = f.buffer, start = BigInt(b.base);
	const ranges = [[f.previous, "earlier"], [f.current, "current"]].filter(([o]) => o && o.range).map(([o, c]) => {
		const from = Number(BigInt(o.range.base) - start);
		return { c, from, to: o.range.length ? from + o.range.length : b.size };
	});
	const shared = b.length || b.size ? { c: "shared", from: b.offset, to: b.length ? b.offset + b.length : b.size } : null;
	const total = Math.max(b.size, shared ? shared.to : 0, 1);
	const W = 1000, g = svg("svg", { viewBox: `0 0 ${W} 44`, role: "img" });
	g.append(svg("title", {}, `bytes ${hex(b.offset)} to ${shared ? hex(shared.to) : "?"} of ${size(b.size)}`));
	const parts = (list) => list.filter((p) => p.to > 0 && p.from < total).map((p) =>
		({ ...p, y: p.c === "earlier" ? 3 : p.c === "current" ? 18 : 10, h: p.c === "shared" ? 6 : 5 }));
	const list = parts(ranges.concat(shared ? [shared] : []));
	bar(g, 0, 0, total, list, W);
	g.append(svg("text", { x: 0, y: 40 }, "+0x0"), svg("text", { x: W, y: 40, "text-anchor": "end" }, `+${hex(total)}`));
	const low = Math.max(0, Math.min(...list.map((p) => p.from))), high = Math.min(total, Math.max(...list.map((p) => p.to)));
	if (list.length && high > low && (high - low) * 12 < total) { // too small to be seen: once more, larger
		const room = Math.max((high - low) * .15, 1), a = Math.max(0, low - room), z = Math.min(total, high + room);
		const x = (v) => v / total * W;
		g.setAttribute("viewBox", `0 0 ${W} 110`);
		g.append(svg("path", { d: `M${x(a)} 26 L0 66 M${x(z)} 26 L${W} 66`, stroke: "var(--line)", fill: "none" }));
		const inner = svg("g", {});
		bar(inner, 66, a, z, list, W);
		g.append(inner, svg("text", { x: 0, y: 106 }, `+${hex(Math.floor(a))}`), svg("text", { x: W, y: 106, "text-anchor": "end" }, `+${hex(Math.ceil(z))}`));
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
	const shared = b.length ? `${size(b.length)} at +${hex(b.offset)}` : b.size ? `from +${hex(b.offset)}, end not known` : null;
	const legend = el("div", { id: "bytes-key" }, f.previous && f.previous.range && key("earlier", "earlier"), f.current && f.current.range && key("current", "this one"), key("shared", "shared"));
	return el("section", { class: "card buffer" }, el("h3", {}, "Buffer"),
		el("div", { class: "row" }, el("b", {}, b.name ? `"${b.name}"` : `${b.kind} memory`), b.name && el("span", { class: "muted" }, b.kind),
			b.size ? el("span", { class: "muted" }, size(b.size)) : null, el("span", { class: "muted mono" }, b.base), el("span", { class: "grow" }), legend),
		b.size ? bytesOf(f) : null,
		facts([["shared", shared]]),
		["allocated", "freed"].map((k) => b[k] && el("div", { class: "life" },
			el("p", { class: "muted" }, `${k} by ${plain(b[k].operation)} #${b[k].sequence}`), stack(b[k].stack))));
}

function copyButton(text) {
	const b = el("button", { class: "copy", on: { click: async () => {
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
		setTimeout(() => { b.textContent = "Copy"; }, 1600);
	} } }, "Copy");
	return b;
}

const verified = {
	"removes": ["good", "verified: with it this finding is gone"],
	"keeps": ["warning", "tried: the finding stays"],
	"cycle": ["warning", "tried: the wait would come before what it waits for"],
	"not-tried": ["plain", "not verified"],
};

function fix(f) {
	const e = f.edge;
	if (!f.fix && !e) return null;
	const [tone, text] = e && verified[e.verified] || ["plain", ""];
	return el("section", { class: "card fix" }, el("h3", {}, "Fix"), f.fix && el("p", {}, f.fix),
		e && e.code && [el("pre", { class: "code" }, el("code", {}, e.code))],
		e && el("div", { class: "row", style: null }, e.code && copyButton(e.code), text && el("span", { class: `badge ${tone}` }, text),
			e.why && el("span", { class: "muted" }, e.why)),
		e && e.also_removes.length > 0 && el("p", { class: "muted" }, "also removes: ", e.also_removes.map((p, i) => [i ? ", " : "",
			byPrint.has(p) ? el("button", { class: "link", on: { click: () => selectFinding(byPrint.get(p)) } }, all[byPrint.get(p)].rule) : p])));
}

function order(f) {
	const o = f.ordering;
	if (!o.exists && !o.missing) return null;
	return el("section", { class: "card" }, el("h3", {}, "Order"), el("div", { class: "order" },
		el("span", { class: "muted" }, "exists"), el("span", {}, o.exists || "none between these two"),
		o.missing && [el("span", { class: "muted" }, "missing"), el("span", { class: "lack" }, o.missing)]));
}

function cost(c) {
	if (!c) return null;
	const t = (v) => v === null ? "not known" : time(v);
	return el("section", { class: "card" }, el("h3", {}, "Cost"), facts([["times", count(c.times)], ["rounds of the loop", count(c.rounds)],
		["submission", t(c.submit_ns)], ["queueing", t(c.queue_ns)], ["device service", t(c.service_ns)], ["synchronisation", t(c.blocked_ns)]]));
}

function showFinding(i) {
	const f = all[i], old = f.previous, p = R.processes.find((x) => x.pid === f.pid);
	$("details").replaceChildren(
		el("div", { class: `title ${f.level}` }, el("span", { class: "badge" }, f.level), el("h1", {}, f.rule),
			el("span", { class: "badge plain" }, f.confidence), f.view === "documented" && el("span", { class: "badge plain", title: "drivers wait here; NVIDIA does not promise it" }, "documented view only"),
			f.baseline && el("span", { class: "badge plain" }, f.baseline), f.count > 1 && el("span", { class: "badge plain" }, `×${count(f.count)}`),
			el("span", { class: "muted" }, titles.get(f.rule) || "")),
		el("p", { class: "lead" }, f.message),
		f.suppression ? el("p", { class: "card" }, `suppressed by ${f.suppression.line}`, f.suppression.reason ? `: ${f.suppression.reason}` : "") : "",
		el("div", { class: "pair" }, old ? side(old, "earlier", f.pid) : "", f.current ? side(f.current, "current", f.pid) : ""),
		...[order(f), fix(f), buffer(f), cost(f.cost)].filter(Boolean),
		el("p", { class: "muted" }, `id ${f.fingerprint}`, pids > 1 && p ? `, process ${f.pid} ${base(p.exe || "")}` : "", `; krtsan explain ${f.rule} tells more`));
	for (const s of $("details").querySelectorAll(".pair")) if (s.children.length === 1) s.firstChild.classList.add("only");
	$("details").scrollTop = 0;
}

function counters(c) {
	const skip = new Set(["complete", "reasons", "kernels", "timing", "python"]);
	const rows = Object.entries(c).filter(([k, v]) => !skip.has(k) && typeof v === "number" && v);
	return el("div", { class: "columns" }, rows.map(([k, v]) => el("div", {}, el("span", {}, k.replaceAll("_", " ")), el("span", {}, count(v)))));
}

function showOverview() {
	const c = R.coverage, launches = Object.entries(c.kernels).filter(([, n]) => n);
	$("details").replaceChildren(
		el("h2", {}, "Overview"),
		el("p", { class: "lead muted" }, all.length ? "Choose a finding to see both operations, their stacks, the bytes and the order that is missing; or an operation of the timeline." : "Choose an operation of the timeline to see what it was."),
		el("section", { class: "card" }, el("h3", {}, "What was seen"), counters(c)),
		launches.length ? el("section", { class: "card" }, el("h3", {}, "What launches read and write, by what tells it"),
			el("table", {}, launches.map(([k, n]) => el("tr", {}, el("th", {}, k), el("td", { class: "n" }, count(n)))))) : "",
		el("section", { class: "card" }, el("h3", {}, "Processes"), el("table", {}, R.processes.map((p) => el("tr", {}, el("td", { class: "n" }, String(p.pid)),
			el("td", { class: "mono" }, p.exe || ""), el("td", {}, p.exit_code === null ? "ended without a code" : `exit code ${p.exit_code}`),
			el("td", {}, p.coverage.complete ? "complete" : "not complete"), el("td", {}, some(p.coverage.calls, "call")))))),
		R.tool.options ? el("p", { class: "muted" }, "options: ", el("code", {}, R.tool.options)) : "",
		c.timing ? el("p", { class: "muted" }, `device times: ${c.timing}`) : "");
}

function opLink(p, i) {
	return el("button", { class: "link", on: { click: () => selectOp({ p, i }) } }, `#${p.rows[i][SEQ]} ${p.label(i)}`);
}

function showOp({ p, i }) {
	const r = p.rows[i], lane = p.lanes[r[STREAM]], mine = p.of(i);
	const into = p.into(i), out = p.out(i);
	const edges = (list, k) => el("ul", { class: "edges" }, list.map((e) => el("li", {}, opLink(p, e[k]), el("span", { class: "muted" }, ` ${R.timeline.edge_kinds[e[2]]}${e[3] ? ", as drivers do" : ""}`))));
	const flags = [[1, "captured into a graph: it did not run here"], [2, "the call returned when it was complete"], [4, "drivers return when it is complete; that is not documented"], [32, "the call returned when all before it was complete"], [16, "the call failed"]];
	$("details").replaceChildren(
		el("div", { class: "title" }, el("h1", {}, p.label(i)), el("span", { class: "badge plain" }, R.timeline.kinds[r[KIND]]), el("span", { class: "muted" }, `#${r[SEQ]}`)),
		el("section", { class: "card" }, el("h3", {}, "Operation"), facts([["call", p.names[r[API]]], ["kernel", r[KERNEL] === null ? null : p.names[r[KERNEL]]],
			["stream", lane ? lane.name : "the host alone"], ["thread", p.lanes[r[THREAD]].name], ["in range", r[RANGE] === null ? null : p.names[r[RANGE]]],
			["bytes", r[BYTES] ? size(r[BYTES]) : null],
			["call made", r[START] === null ? "not timed" : `at ${time(r[START])}, took ${time(r[TOOK])}`],
			["on the device", lane ? r[DSTART] === null ? "when is not known (timing=cupti measures it): drawn in order" : `at ${time(r[DSTART])} for ${time(r[DTOOK])}` : null],
			...flags.filter(([f]) => r[FLAGS] & f).map(([, t]) => ["note", t])])),
		mine.length ? el("section", { class: "card" }, el("h3", {}, "Part of"), el("ul", { class: "edges" }, mine.map((f) => el("li", { class: all[f].level }, el("span", { class: "badge" }, all[f].level), " ",
			el("button", { class: "link", on: { click: () => selectFinding(f) } }, all[f].rule), " ", el("span", { class: "muted" }, all[f].message))))) : "",
		into.length ? el("section", { class: "card" }, el("h3", {}, "Comes after"), edges(into, 0)) : "",
		out.length ? el("section", { class: "card" }, el("h3", {}, "Comes before"), edges(out, 1)) : "");
	$("details").scrollTop = 0;
}

// --- the banner ------------------------------------------------------------------

function banner() {
	const s = R.stats, c = R.coverage, parts = [];
	for (const [n, what] of [[s.errors, "error"], [s.warnings, "warning"], [s.notes, "note"]]) if (n) parts.push(some(n, what));
	const head = R.verdict === "findings" ? parts.join(", ") : R.verdict === "clean" ? (parts.length ? `Clean, ${parts.join(", ")}` : "Clean") : `Inconclusive${parts.length ? ", " + parts.join(", ") : ""}`;
	const main = R.processes.find((p) => p.used_cuda) || R.processes[0];
	$("banner").className = R.verdict + (R.verdict === "findings" && !s.errors ? " mild" : "");
	const fact = (n, what) => n ? el("span", {}, el("b", {}, count(n)), ` ${what}`) : null;
	$("banner").replaceChildren(...[
		el("button", { class: "brand", title: "Overview", on: { click: () => { state.finding = -1; state.op = null; showOverview(); markSelected(); if (view) view.ask(); } } }, "krtsan"), el("h1", { id: "verdict" }, head),
		el("span", { class: "muted" }, c.complete ? "analysis complete" : "analysis not complete",
			R.suppressed.length ? `, ${count(R.suppressed.length)} suppressed` : ""),
		el("div", { class: "facts" }, main && main.exe ? el("span", { class: "mono", title: main.exe }, base(main.exe)) : null,
			pids > 1 ? el("span", {}, `${count(pids)} processes`) : null, fact(c.calls, "calls"), fact(c.launches, "launches"), fact(c.copies + c.sets, "copies and sets"), fact(c.graph_launches, "graph launches")),
		c.reasons.length ? el("ul", { class: "reasons" }, c.reasons.map((r) => el("li", {}, r.reason, r.detail ? `: ${r.detail}` : ""))) : null].filter(Boolean));
	document.title = `krtsan: ${head}${main && main.exe ? " in " + base(main.exe) : ""}`;
}

// --- selection -------------------------------------------------------------------

function selectFinding(i, quiet) {
	state.finding = i;
	state.op = null;
	showFinding(i);
	if (!state.shown.includes(i)) { // reached by a link: whatever hides it goes
		state.hide.clear();
		for (const b of $("levels").children) b.setAttribute("aria-pressed", "true");
		$("filter").value = state.filter = "";
		fillList();
	}
	markSelected();
	if (!quiet) history.replaceState(null, "", "#" + all[i].fingerprint);
	if (view) view.aim();
}

function selectOp(at) {
	state.op = at;
	showOp(at);
	if (view) view.show(at);
}

function keysOfList(ev) {
	const at = state.shown.indexOf(state.finding), n = state.shown.length;
	const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? n - 1 : at - 1, Home: 0, End: n - 1, PageDown: at + 10, PageUp: at - 10 }[ev.key];
	if (ev.key === "Enter") {
		$("details").focus();
	} else if (to !== undefined && n) {
		selectFinding(state.shown[Math.min(Math.max(to, 0), n - 1)]);
		ev.preventDefault();
	}
}

// --- the timeline's data ---------------------------------------------------------

const [SEQ, THREAD, STREAM, KIND, API, KERNEL, RANGE, BYTES, START, TOOK, DSTART, DTOOK, FLAGS] = [...Array(13).keys()];

// Numbers of one process's operations, found and followed.
function processOf(p) {
	const rows = p.operations, edges = p.edges;
	const members = new Map(), outgoing = new Map();
	let indexed = false;
	for (const [f, a, b] of p.findings)
		for (const i of [a, b]) if (i !== null) members.set(i, (members.get(i) || []).concat(f));
	const first = (to) => { // edges are sorted by where they lead to
		let low = 0, high = edges.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (edges[mid][1] < to) low = mid + 1;
			else high = mid;
		}
		return low;
	};
	const me = {
		pid: p.pid, rows, edges, lanes: p.lanes, names: p.names, offset: p.offset_ns, first, members,
		left: p.left_out,
		label: (i) => rows[i][KERNEL] !== null ? p.names[rows[i][KERNEL]] : plain(p.names[rows[i][API]]),
		of: (i) => members.get(i) || [],
		find: (seq) => {
			let low = 0, high = rows.length;
			while (low < high) {
				const mid = (low + high) >> 1;
				if (rows[mid][SEQ] < seq) low = mid + 1;
				else high = mid;
			}
			return low < rows.length && rows[low][SEQ] === seq ? low : -1;
		},
		into: (i) => {
			const list = [];
			for (let k = first(i); k < edges.length && edges[k][1] === i; k++) list.push(edges[k]);
			return list;
		},
		out: (i) => {
			if (!indexed) for (const e of edges) {
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
	let ops = 0, measured = 0, timed = true;
	for (const p of procs) {
		ops += p.rows.length;
		for (const r of p.rows) {
			if (r[START] === null) timed = false;
			if (r[DSTART] !== null) measured++;
		}
	}
	return { procs, ops, measured, timed: timed && ops > 0, left: procs.reduce((n, p) => n + p.left, 0),
		find: (pid, seq) => {
			const p = byPid.get(pid), i = p ? p.find(seq) : -1;
			return i < 0 ? null : { p, i };
		} };
}

// Lanes with what lies on them from left to right, by order or by time.
function layout(byTime) {
	const lanes = [];
	let end = 1;
	for (const p of T.procs) {
		const seen = new Map();
		for (const l of p.lanes) seen.set(l.name, (seen.get(l.name) || 0) + 1);
		const mine = p.lanes.map((l, k) => ({ p, k, host: l.kind === "host", idx: [], x0: [], x1: [], placed: [],
			name: l.name + (seen.get(l.name) > 1 && l.handle ? ` (${l.handle})` : ""),
			group: (T.procs.length > 1 ? `process ${p.pid}, ` : "") + (l.kind === "host" ? "host" : `device ${l.device}${l.context > 1 ? `, context ${l.context}` : ""}`) }));
		const rows = p.rows, edges = p.edges, posStream = new Float64Array(rows.length), posHost = new Float64Array(rows.length);
		let at = 0;
		const put = (lane, i, from, to, placed) => {
			const n = lane.x1.length;
			if (n && from < lane.x1[n - 1]) { from = lane.x1[n - 1]; to = Math.max(to, from); }
			lane.idx.push(i); lane.x0.push(from); lane.x1.push(to); lane.placed.push(placed);
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
				if (from < i) after = Math.max(after, rows[from][STREAM] === null ? posHost[from] : posStream[from]);
			}
			if (!(r[FLAGS] & 8)) posHost[i] = put(mine[r[THREAD]], i, call, call + r[TOOK], false);
			if (r[STREAM] === null) continue;
			const l = mine[r[STREAM]];
			if (r[DSTART] !== null) posStream[i] = put(l, i, p.offset + r[DSTART], p.offset + r[DSTART] + r[DTOOK], false);
			else posStream[i] = put(l, i, after, l.measured ? after : Math.max(after, Math.min(call + r[TOOK], p.offset + next[i])), true);
		}
		lanes.push(...mine.filter((l) => l.idx.length).sort((a, b) => b.host - a.host || (p.lanes[a.k].device - p.lanes[b.k].device) || (p.lanes[a.k].context - p.lanes[b.k].context) || a.k - b.k));
	}
	for (const l of lanes) {
		l.at = new Map();
		l.idx = Int32Array.from(l.idx); l.x0 = Float64Array.from(l.x0); l.x1 = Float64Array.from(l.x1);
	}
	return { lanes, end, byTime };
}

// --- the timeline's view ---------------------------------------------------------

const SLOT = .8; // of a step of the order: arrows need room between operations
const GUTTER = 216, RULER = 22, LANE = 25, SLICE = 17, GROUP = 18;

function makeView() {
	const canvas = $("canvas"), box = $("lanes"), map = $("map"), tip = $("tip");
	const layouts = {};
	let L, order, color = {}, from = 0, span = 1, width = 0, height = 0, asked = false, hover = null, ys = [], tall = 0;
	const kinds = R.timeline.kinds;

	const x = (v) => GUTTER + (v - from) / span * (width - GUTTER);
	const v = (px) => from + (px - GUTTER) / (width - GUTTER) * span;

	function colors() {
		const css = getComputedStyle(document.documentElement);
		const get = (n) => css.getPropertyValue("--" + n).trim();
		color = { kinds: kinds.map((k) => get("k-" + k) || get("k-other")) };
		for (const n of ["panel", "ink", "muted", "faint", "line", "lane", "lane-line", "edge", "error", "warning", "note", "accent", "accent-soft", "sunk", "earlier", "current"]) color[n] = get(n);
		color.sans = get("sans");
	}

	// The lanes of the selection come first where not all have room.
	function arrange() {
		const need = L.lanes.length * LANE + RULER, pinned = new Set();
		if (need > height) {
			for (const s of marked()) for (const l of L.lanes) if (l.p === s.p && l.k === s.lane) pinned.add(l);
		}
		order = [...pinned, ...L.lanes.filter((l) => !pinned.has(l))];
		ys = [];
		let y = RULER, group = null;
		for (const l of order) {
			const g = pinned.has(l) ? "selection" : l.group;
			if (g !== group) { y += GROUP; group = g; }
			l.y = y; l.head = g;
			ys.push(y);
			y += LANE;
		}
		tall = y + 8;
		$("tall").style.height = `${tall}px`;
	}

	// Operations of the selection: of a finding both, each on its stream or the host.
	function marked() {
		const f = all[state.finding], list = [];
		const add = (at, c) => at && list.push({ p: at.p, i: at.i, c, lane: at.p.rows[at.i][STREAM] === null ? at.p.rows[at.i][THREAD] : at.p.rows[at.i][STREAM] });
		if (f && f.previous) add(T.find(f.pid, f.previous.sequence), "earlier");
		if (f && f.current) add(T.find(f.pid, f.current.sequence), "current");
		if (state.op) add(state.op, "accent");
		return list;
	}

	function itemOf(lane, i) {
		let low = 0, high = lane.idx.length;
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
		const r = p.rows[i], lane = laneOf(p, host || r[STREAM] === null ? r[THREAD] : r[STREAM]);
		const n = lane ? itemOf(lane, i) : -1;
		return n < 0 ? null : { x0: x(lane.x0[n]), x1: Math.max(x(lane.x1[n]), x(lane.x0[n]) + 2), y: lane.y + LANE / 2 - box.scrollTop, lane };
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
	const work = new Set(["kernel", "copy", "set", "graph", "host-function"].map((k) => kinds.indexOf(k)));
	function foremost(lane, n, end) {
		for (let k = n; k < lane.x0.length && k < n + 12 && x(lane.x0[k]) < end; k++) {
			const kind = lane.p.rows[lane.idx[k]][KIND];
			if (work.has(kind)) return kind;
		}
		return lane.p.rows[lane.idx[n]][KIND];
	}
	// What a slice is called where there is little room.
	const brief = new Set(["record", "wait", "sync"].map((k) => kinds.indexOf(k)));
	const short = (p, i) => brief.has(p.rows[i][KIND]) ? kinds[p.rows[i][KIND]] : p.label(i).replace(/^cu(?=[A-Z])/, "").replace(/Async$/, "");

	let drawn = 0;
	function drawLane(c, lane, y) {
		const { x0, x1, idx, placed, p } = lane, rows = p.rows, top = y + (LANE - SLICE) / 2, left = GUTTER, scale = (width - GUTTER) / span;
		c.fillStyle = color["lane-line"];
		c.fillRect(GUTTER, y + LANE - 1, width - GUTTER, 1);
		let n = seek(x1, from, 0), text = [];
		while (n < x0.length && x0[n] <= from + span) {
			const a = Math.max(x(x0[n]), left), b = x(x1[n]), i = idx[n], r = rows[i];
			const w = Math.max(Math.min(b, width) - a - (b - a > 4 ? 1 : 0), 1.2);
			drawn++;
			c.fillStyle = color.kinds[w < 2 ? foremost(lane, n, a + 1) : r[KIND]];
			if (r[FLAGS] & 1 || (placed[n] && lane.measured)) { // did not run here; when is not known
				if (w < 3) { c.globalAlpha = .5; c.fillRect(a, top, w, SLICE); c.globalAlpha = 1; }
				else { c.strokeStyle = c.fillStyle; c.strokeRect(a + .5, top + .5, w - 1, SLICE - 1); }
			} else if (placed[n]) { // its end is open
				c.globalAlpha = .72; c.fillRect(a, top, w, SLICE); c.globalAlpha = 1;
			} else {
				c.fillRect(a, top, w, SLICE);
			}
			if (w > 30) text.push([i, a, w, r]);
			if (w >= 2) { n++; continue; }
			n = Math.max(n + 1, seek(x1, from + (Math.floor(a) + 1 - left) / scale, n)); // what reaches the next pixel
		}
		c.font = `11px ${color.sans}`;
		c.textBaseline = "middle";
		for (const [i, a, w, r] of text) {
			c.fillStyle = r[FLAGS] & 1 ? color.ink : "#fff";
			c.save();
			c.beginPath(); c.rect(a, top, w - 3, SLICE); c.clip();
			c.fillText(short(p, i), a + 5, top + SLICE / 2 + .5);
			c.restore();
		}
	}

	function arrow(c, a, b, style) {
		const back = b.x0 < a.x1 - 1, xa = back ? a.x0 + 1 : a.x1, xb = b.x0, bend = Math.max(back ? 26 : 9, Math.min(70, Math.abs(xb - xa) / 2));
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
		c.moveTo(xb, b.y); c.lineTo(xb - 6, b.y - 3.5); c.lineTo(xb - 6, b.y + 3.5);
		c.fill();
		c.globalAlpha = 1;
		if (style.text) {
			c.font = `600 11px ${color.sans}`;
			const w = c.measureText(style.text).width, mx = Math.min(Math.max((xa + xb) / 2, GUTTER + w / 2 + 6), width - w / 2 - 20);
			const my = Math.abs(xb - xa) > w + 60 ? (a.y + b.y) / 2 : Math.max(a.y, b.y) + SLICE / 2 + 12; // beneath short ones
			c.fillStyle = color.panel;
			c.globalAlpha = .92; c.fillRect(mx - w / 2 - 5, my - 8, w + 10, 16); c.globalAlpha = 1;
			c.fillStyle = style.color;
			c.fillText(style.text, mx - w / 2, my + .5);
		}
	}

	const toHost = (e) => { const k = R.timeline.edge_kinds[e[2]]; return k === "sync" || k === "callback"; };
	function edge(c, p, e, style) {
		const a = spot(p, e[0], false), b = spot(p, e[1], toHost(e));
		if (b && L.byTime && toHost(e)) b.x0 = Math.min(Math.max(b.x0, a ? a.x1 + 8 : 0), b.x1 + 1); // it returns when that is over
		if (a && b && (a.x1 > GUTTER - 400 || b.x1 > GUTTER - 400) && (a.x0 < width + 400 || b.x0 < width + 400))
			arrow(c, a, b, { ...style, dash: e[3] ? [2, 3] : [] });
	}

	// All that is in sight, as long as they can be told apart; those of the selection in any case.
	function drawEdges(c) {
		const chosen = state.op ? [state.op] : [];
		for (const p of T.procs) {
			let low = 0, high = p.rows.length;
			if (L.byTime) {
				const inSight = L.lanes.filter((l) => l.p === p).map((l) => [seek(l.x1, from, 0), seek(l.x0, from + span, 0), l]);
				low = Math.min(...inSight.map(([a, b, l]) => a < b ? l.idx[a] : Infinity));
				high = Math.max(...inSight.map(([a, b, l]) => a < b ? l.idx[b - 1] + 1 : 0));
			} else {
				low = Math.max(0, Math.floor(from)); high = Math.min(p.rows.length, Math.ceil(from + span));
			}
			const a = p.first(low), b = p.first(high);
			if (b - a <= 260) for (let k = a; k < b; k++) edge(c, p, p.edges[k], { color: color.edge, alpha: .5 });
		}
		for (const { p, i } of chosen) {
			for (const e of p.into(i)) edge(c, p, e, { color: color.accent, width: 1.8 });
			for (const e of p.out(i).slice(0, 200)) edge(c, p, e, { color: color.accent, width: 1.8 });
		}
	}

	function missingEdge() {
		const f = all[state.finding];
		if (!f || !f.current || !f.previous || !(f.edge || f.ordering.missing)) return null;
		const a = T.find(f.pid, f.edge ? f.edge.record_after : f.previous.sequence), b = T.find(f.pid, f.edge ? f.edge.wait_before : f.current.sequence);
		return a && b && a.i !== b.i ? [a, b, f] : null;
	}

	function drawMarks(c) {
		const top = (LANE - SLICE) / 2;
		for (const m of marked()) {
			const s = spot(m.p, m.i, false);
			if (!s || s.x1 < GUTTER || s.x0 > width) continue;
			c.strokeStyle = color[m.c];
			c.lineWidth = 2.5;
			const a = Math.max(s.x0 - 1.5, GUTTER), b = Math.max(s.x1 + 1, a + 4);
			c.strokeRect(a, s.lane.y - box.scrollTop + top - 2, b - a, SLICE + 4);
			c.lineWidth = 1;
		}
		const lost = missingEdge();
		if (!lost) return;
		const [from1, to1] = lost, a = spot(from1.p, from1.i, false), b = spot(to1.p, to1.i, false);
		if (a && b) arrow(c, a, b, { color: color.error, width: 2, dash: [6, 4], text: "no order" });
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
				const a = x(l.x0[n]), b = Math.max(x(l.x1[n]), a + 3);
				if (b < GUTTER || a > width) continue;
				const worst = fs.some((f) => all[f].level === "error") ? "error" : fs.some((f) => all[f].level === "warning") ? "warning" : "note";
				c.fillStyle = color[worst];
				c.fillRect(Math.max(a, GUTTER), y + (LANE - SLICE) / 2 + SLICE - 3, Math.max(Math.min(b, width) - Math.max(a, GUTTER) - 1, 3), 3);
			}
		}
	}

	function step(rough) {
		const p = Math.pow(10, Math.floor(Math.log10(rough))), m = rough / p;
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
			let label = L.byTime ? time(t) : T.procs.length === 1 && T.procs[0].rows[t] ? `#${T.procs[0].rows[t][SEQ]}` : count(t);
			if (!L.byTime && T.procs.length === 1 && !T.procs[0].rows[t]) label = "";
			c.fillText(label, px + 4, RULER / 2);
		}
		c.fillStyle = color.panel;
		c.fillRect(0, 0, GUTTER, RULER - 1);
		c.fillStyle = color.faint;
		c.fillText(L.byTime ? "time since the program began" : "order of the calls", 12, RULER / 2);
	}

	function drawGutter(c) {
		c.fillStyle = color.panel;
		c.fillRect(0, RULER, GUTTER, height);
		c.fillStyle = color.line;
		c.fillRect(GUTTER - 1, 0, 1, height);
		c.save();
		c.beginPath(); c.rect(0, RULER, width, height); c.clip();
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
			c.beginPath(); c.rect(0, y, GUTTER - 10, LANE); c.clip();
			c.fillText(l.name, 12, y + LANE / 2);
			c.restore();
		}
		c.restore();
	}

	function draw() {
		const ratio = window.devicePixelRatio || 1, w = box.clientWidth, h = box.clientHeight;
		asked = false;
		if (w !== width || h !== height || canvas.width !== Math.round(w * ratio)) {
			width = w; height = h;
			canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
			canvas.style.width = `${w}px`; canvas.style.height = `${h}px`;
			arrange();
		}
		const c = canvas.getContext("2d");
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.fillStyle = color.lane;
		c.fillRect(0, 0, width, height);
		drawn = 0;
		drawRuler(c);
		c.save();
		c.beginPath(); c.rect(GUTTER, RULER, width - GUTTER, height - RULER); c.clip();
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
		const c = map.getContext("2d"), h = 26;
		if (map.width !== Math.round(width * ratio)) { map.width = Math.round(width * ratio); map.height = Math.round(h * ratio); density = null; }
		const inner = Math.max(Math.floor(width - GUTTER), 1);
		if (!density) {
			density = new Float32Array(inner);
			for (const l of L.lanes) for (let n = 0; n < l.x0.length; n++) density[Math.min(inner - 1, Math.floor(l.x0[n] / L.end * inner))]++;
			let m = 1;
			for (const d of density) m = Math.max(m, d);
			for (let k = 0; k < inner; k++) density[k] = Math.sqrt(density[k] / m);
		}
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.fillStyle = color.panel;
		c.fillRect(0, 0, width, h);
		c.fillStyle = color.line;
		for (let k = 0; k < inner; k++) if (density[k]) c.fillRect(GUTTER + k, h - 1 - density[k] * (h - 9), 1, density[k] * (h - 9));
		for (const l of L.lanes) for (const [i, fs] of l.p.members) {
			const n = itemOf(l, i);
			if (n < 0) continue;
			c.fillStyle = color[fs.some((f) => all[f].level === "error") ? "error" : fs.some((f) => all[f].level === "warning") ? "warning" : "note"];
			c.fillRect(GUTTER + l.x0[n] / L.end * inner - 1, 1, 2.5, 6);
		}
		const a = Math.max(GUTTER + from / L.end * inner, GUTTER), b = Math.min(GUTTER + (from + span) / L.end * inner, width);
		c.fillStyle = color.accent;
		c.globalAlpha = .13; c.fillRect(a, 0, Math.max(b - a, 3), h); c.globalAlpha = 1;
		c.fillRect(a, 0, 1.5, h); c.fillRect(Math.max(b - 1.5, a + 1.5), 0, 1.5, h);
		c.font = `11px ${color.sans}`;
		c.textBaseline = "middle";
		c.fillStyle = color.faint;
		c.fillText(some(T.ops, "operation") + (T.left ? `, ${count(T.left)} left out` : ""), 12, h / 2);
	}

	function clamp() {
		const least = L.byTime ? 20 : 4;
		span = Math.min(Math.max(span, least), Math.max(L.end * 1.02, least));
		from = Math.min(Math.max(from, -span * .02), Math.max(L.end * 1.01 - span, -span * .02));
	}
	function zoom(by, px) {
		const at = v(px === undefined ? GUTTER + (width - GUTTER) / 2 : px);
		span *= by;
		clamp();
		from = at - (px === undefined ? .5 : (px - GUTTER) / (width - GUTTER)) * span;
		clamp();
		ask();
	}
	function pan(px) {
		from += px / (width - GUTTER) * span;
		clamp();
		ask();
	}
	function fit() {
		from = 0; span = L.end * 1.01;
		clamp();
		ask();
	}

	// Both operations of the finding, or the operation, with some room around.
	function aim() {
		const list = marked();
		let a = Infinity, b = -Infinity, y0 = Infinity, y1 = -Infinity;
		arrange();
		for (const m of list) {
			const lane = laneOf(m.p, m.lane), n = lane ? itemOf(lane, m.i) : -1;
			if (n < 0) continue;
			a = Math.min(a, lane.x0[n]); b = Math.max(b, lane.x1[n]);
			y0 = Math.min(y0, lane.y); y1 = Math.max(y1, lane.y + LANE);
		}
		if (a < b || a === b && isFinite(a)) {
			const room = L.byTime ? Math.max((b - a) * .4, L.end / 5000, 50) : Math.max((b - a) * .3, 7);
			from = a - room; span = b - a + 2 * room;
			clamp();
			if (y0 - box.scrollTop < RULER + GROUP || y1 - box.scrollTop > height) box.scrollTop = Math.max(0, (y0 + y1) / 2 - height / 2);
		}
		ask();
	}
	// Scrolls to an operation where it is out of sight.
	function show(at) {
		const r = at.p.rows[at.i], lane = laneOf(at.p, r[STREAM] === null ? r[THREAD] : r[STREAM]), n = lane ? itemOf(lane, at.i) : -1;
		if (n >= 0) {
			const a = lane.x0[n], b = lane.x1[n];
			if (b < from || a > from + span || x(b) - x(a) < 3) {
				span = Math.min(span, L.byTime ? Math.max((b - a) * 30, 1000) : 60);
				from = (a + b) / 2 - span / 2;
				clamp();
			}
			if (lane.y - box.scrollTop < RULER || lane.y + LANE - box.scrollTop > height) box.scrollTop = Math.max(0, lane.y - height / 2);
		}
		ask();
	}

	function hit(px, py) {
		if (px < GUTTER || py < RULER) return null;
		const y = py + box.scrollTop, lane = order.find((l) => y >= l.y && y < l.y + LANE);
		if (!lane) return null;
		const at = v(px), slack = 3 / (width - GUTTER) * span;
		let n = seek(lane.x1, at - slack, 0), best = -1;
		for (let k = n; k < lane.x0.length && k < n + 40 && lane.x0[k] <= at + slack; k++) {
			if (best < 0 || lane.p.members.has(lane.idx[k])) best = k;
			if (lane.x0[k] <= at && at < lane.x1[k]) { best = k; break; }
		}
		return best < 0 ? null : { p: lane.p, i: lane.idx[best], lane, n: best };
	}

	function hint(ev, at) {
		if (!at) { tip.hidden = true; canvas.style.cursor = ""; return; }
		const r = at.p.rows[at.i], device = r[STREAM] !== null && !at.lane.host;
		canvas.style.cursor = "pointer";
		tip.replaceChildren(el("b", {}, at.p.label(at.i)), el("div", {}, `#${r[SEQ]}, ${at.lane.name}`),
			el("div", {}, [r[BYTES] ? size(r[BYTES]) : "", device ? r[DSTART] !== null ? time(r[DTOOK]) + " on the device" : "device time not known" : r[START] !== null ? `call of ${time(r[TOOK])}` : "",
				r[RANGE] !== null ? `in ${at.p.names[r[RANGE]]}` : ""].filter(Boolean).join(", ")));
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
		if (Math.abs(ev.offsetX - drag.x) + Math.abs(ev.clientY - drag.y) > 4) { drag.moved = true; canvas.classList.add("drag"); tip.hidden = true; }
		if (!drag.moved) return;
		from = drag.from - (ev.offsetX - drag.x) / (width - GUTTER) * span;
		box.scrollTop = drag.top - (ev.clientY - drag.y);
		clamp();
		ask();
	});
	const release = (ev) => {
		const clicked = drag && !drag.moved && ev.type === "pointerup" ? hit(ev.offsetX, ev.offsetY) : null;
		drag = null;
		canvas.classList.remove("drag");
		if (clicked) selectOp({ p: clicked.p, i: clicked.i });
	};
	canvas.addEventListener("pointerup", release);
	canvas.addEventListener("pointercancel", release);
	canvas.addEventListener("pointerleave", (ev) => hint(ev, null));
	canvas.addEventListener("wheel", (ev) => {
		if (ev.offsetX < GUTTER && !ev.ctrlKey) return; // the lanes scroll
		ev.preventDefault();
		if (ev.shiftKey || Math.abs(ev.deltaX) > Math.abs(ev.deltaY)) pan(ev.deltaX || ev.deltaY);
		else zoom(Math.pow(1.0016, ev.deltaY * (ev.deltaMode ? 30 : 1)), ev.offsetX);
	}, { passive: false });
	box.addEventListener("scroll", ask);
	const jump = (ev) => {
		from = (ev.offsetX - GUTTER) / (width - GUTTER) * L.end - span / 2;
		clamp();
		ask();
	};
	map.addEventListener("pointerdown", (ev) => { map.setPointerCapture(ev.pointerId); jump(ev); });
	map.addEventListener("pointermove", (ev) => { if (ev.buttons) jump(ev); });

	// Along a lane; without a selection the first operation in sight.
	function along(by) {
		const at = state.op || (marked()[1] || marked()[0]);
		const r = at && at.p.rows[at.i], lane = at ? laneOf(at.p, r[STREAM] === null ? r[THREAD] : r[STREAM]) : order[0];
		if (!lane) return;
		const n = at ? itemOf(lane, at.i) + by : seek(lane.x1, from, 0);
		if (n >= 0 && n < lane.idx.length) selectOp({ p: lane.p, i: lane.idx[n] });
	}
	box.addEventListener("keydown", (ev) => {
		const act = { ArrowLeft: () => pan(-120), ArrowRight: () => pan(120), "+": () => zoom(.6), "=": () => zoom(.6), "-": () => zoom(1 / .6), 0: fit, f: aim, ",": () => along(-1), ".": () => along(1),
			Home: () => { from = 0; clamp(); ask(); }, End: () => { from = L.end; clamp(); ask(); } }[ev.key];
		if (!act || ev.ctrlKey || ev.metaKey || ev.altKey) return;
		act();
		ev.preventDefault();
	});
	$("in").addEventListener("click", () => zoom(.5));
	$("out").addEventListener("click", () => zoom(2));
	$("fit").addEventListener("click", fit);
	$("aim").addEventListener("click", aim);

	function use(byTime) {
		const was = L;
		L = layouts[byTime] || (layouts[byTime] = layout(byTime));
		density = null;
		for (const b of $("axis").children) b.setAttribute("aria-pressed", String((b.dataset.axis === "time") === byTime));
		$("said").textContent = [T.left ? `${count(T.left)} left out (timeline=)` : "",
			byTime && !T.measured ? "when the device worked is not known: streams are drawn where calls were made" : ""].filter(Boolean).join("; ");
		arrange();
		if (was && marked().length) aim();
		else { from = 0; span = L.end * 1.01; if (!byTime && span > 400) span = 400; clamp(); }
		ask();
	}
	$("axis").replaceChildren(...[["order", "Order"], ["time", "Time"]].map(([k, text]) => {
		const b = el("button", { "data-axis": k, title: k === "order" ? "one step for each call" : "host times, and device times where they were measured", on: { click: () => use(k === "time") } }, text);
		b.disabled = k === "time" && !T.timed;
		return b;
	}));
	const present = new Set();
	for (const p of T.procs) for (const r of p.rows) present.add(r[KIND]);
	const swatch = (c, text, cls) => { const s = el("span", { class: cls || "" }, text); s.style.setProperty("--c", `var(--${c})`); return s; };
	$("legend").replaceChildren(...kinds.map((k, n) => present.has(n) && k !== "other" ? swatch("k-" + k, k.replace("-", " ")) : null).filter(Boolean),
		swatch("edge", "comes before", "line"), swatch("error", "missing", "line dashed"));
	colors();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colors(); ask(); });
	new ResizeObserver(ask).observe(box);
	height = box.clientHeight; width = box.clientWidth;
	use(T.timed && T.measured > 0);
	draw();
	return { aim, show, ask, spot };
}

// --- the page --------------------------------------------------------------------

const T = R.timeline ? timelineOf(R.timeline) : null;
let view = null;

banner();
levels();
fillList();
showOverview();
$("filter").addEventListener("input", (ev) => { state.filter = ev.target.value; fillList(); });
$("list").addEventListener("keydown", keysOfList);
if (T && T.ops) {
	view = makeView();
} else {
	for (const id of ["axis", "legend", "said", "map", "lanes", "in", "out", "fit", "aim"]) $(id).hidden = true;
	$("empty").hidden = false;
	$("empty").textContent = T ? "No operation was recorded." : "This report holds no timeline (timeline=0, or written by an older version).";
	document.body.style.setProperty("--timeline", "72px");
	$("split").hidden = true;
}

// The height of the timeline
{
	const set = (px) => {
		document.body.style.setProperty("--timeline", `${Math.min(Math.max(px, 110), innerHeight - 260)}px`);
		if (view) view.ask();
	};
	let on = false;
	$("split").addEventListener("pointerdown", (ev) => { on = true; ev.target.setPointerCapture(ev.pointerId); });
	$("split").addEventListener("pointermove", (ev) => { if (on) set(innerHeight - ev.clientY); });
	$("split").addEventListener("pointerup", () => { on = false; });
	$("split").addEventListener("keydown", (ev) => {
		const by = { ArrowUp: 30, ArrowDown: -30 }[ev.key];
		if (by) { set($("timeline").clientHeight + by); ev.preventDefault(); }
	});
}

const wanted = byPrint.get(location.hash.slice(1));
if (wanted !== undefined) selectFinding(wanted, true);
else if (state.shown.length) selectFinding(state.shown[0], true);
addEventListener("hashchange", () => {
	const i = byPrint.get(location.hash.slice(1));
	if (i !== undefined && i !== state.finding) selectFinding(i, true);
});
// For programs that drive the page: where an operation is drawn, in the window.
window.krtsan = { spot: (pid, sequence) => {
	const at = T && T.find(pid, sequence), s = at && view.spot(at.p, at.i, false), box = $("canvas").getBoundingClientRect();
	return s ? [box.left + (s.x0 + s.x1) / 2, box.top + s.y] : null;
} };
document.documentElement.dataset.ready = Math.round(performance.now());
document.documentElement.dataset.took = Math.round(performance.now() - began);
})();
