// SPDX-License-Identifier: Apache-2.0
// The list of findings: its filter, its levels, what is selected.

const all = R.findings.concat(R.suppressed);
const pids = R.processes.length;
const state = { finding: -1, op: null, filter: "", hide: new Set(), shown: [] };
const isGone = (i) => i >= R.findings.length;

// The innermost frame of the user's code, else of a library: what the text report leads with.
function site(stack) {
	return (
		stack.find((f) => f.kind === "user") ||
		stack.find((f) => f.kind === "library") ||
		null
	);
}
// What an operation is known by: of two through one function the frames in which they differ.
function known(o) {
	return o.stack[o.site] || site(o.stack);
}
function place(f) {
	if (!f) return "";
	if (f.file) return `${base(f.file)}${f.line ? ":" + f.line : ""}`;
	return f.module ? `${base(f.module)}+${f.offset}` : f.pc;
}
const opName = (o) => (o.kernel_readable ? `kernel ${o.kernel_readable}` : plain(o.operation));
const levelOf = (f) =>
	f.suppression ? "suppressed" : f.confidence === "possible" ? "possible" : f.level;
const titles = new Map(R.rules.map((r) => [r.id, r.title]));
const byPrint = new Map(all.map((f, i) => [f.fingerprint, i]));

const words = all.map((f) =>
	[
		f.rule,
		f.message,
		f.fix,
		f.fingerprint,
		f.buffer && f.buffer.name,
		f.current &&
			[f.current, f.previous]
				.filter(Boolean)
				.map((o) => [
					o.operation,
					o.kernel,
					o.kernel_readable,
					o.stream,
					o.nvtx_range,
					"#" + o.sequence,
					o.stack.map((s) => [s.function, s.file]),
				]),
	]
		.flat(5)
		.filter(Boolean)
		.join("\n")
		.toLowerCase(),
);

function listed() {
	const want = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
	return all
		.map((f, i) => i)
		.filter(
			(i) =>
				!state.hide.has(levelOf(all[i])) &&
				want.every((w) => words[i].includes(w)),
		);
}

function item(i) {
	const f = all[i],
		at = f.current ? known(f.current) : null;
	return el(
		"li",
		{
			role: "option",
			id: `f${i}`,
			class: `${f.level}${isGone(i) || f.baseline === "known" ? " gone" : ""}`,
			"aria-selected": String(i === state.finding),
			on: { click: () => selectFinding(i) },
		},
		el(
			"div",
			{ class: "rule" },
			f.rule,
			f.baseline === "new" && el("span", { class: "badge error" }, "new"),
			el(
				"span",
				{ class: "times" },
				isGone(i)
					? "suppressed"
					: f.confidence !== "certain"
						? f.confidence
						: "",
				f.count > 1 ? ` ×${count(f.count)}` : "",
			),
		),
		el("div", { class: "text" }, f.message),
		at &&
			el(
				"div",
				{ class: "where" },
				place(at),
				at.function_readable ? ` in ${at.function_readable}` : "",
			),
	);
}

function fillList() {
	const list = $("list");
	state.shown = listed();
	list.replaceChildren(...state.shown.map(item));
	if (!state.shown.length)
		list.append(
			el(
				"li",
				{ class: "none" },
				all.length
					? "No finding fits the filter."
					: R.verdict === "clean"
						? "Nothing was found, and the analysis was complete."
						: "Nothing was found. The analysis was not complete: see the reasons above.",
			),
		);
	$("shown").textContent = all.length
		? `${count(state.shown.length)} of ${some(all.length, "finding")}` +
			(R.stats.possible_total >
			all.filter((f) => f.confidence === "possible").length
				? `; ${count(R.stats.possible_total)} possible ones in all`
				: "")
		: "";
	markSelected();
}

function markSelected() {
	const list = $("list");
	for (const li of list.querySelectorAll("[aria-selected=true]"))
		li.setAttribute("aria-selected", "false");
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
	const seen = ["error", "warning", "note", "possible", "suppressed"]
		.map((l) => [l, all.filter((f) => levelOf(f) === l).length])
		.filter((x) => x[1]);
	if (seen.some((x) => x[0] !== "possible" && x[0] !== "suppressed"))
		for (const l of ["possible", "suppressed"]) state.hide.add(l);
	$("levels").replaceChildren(
		...seen.map(([l, n]) =>
			el(
				"button",
				{
					"aria-pressed": String(!state.hide.has(l)),
					on: {
						click: (ev) => {
							if (state.hide.has(l)) state.hide.delete(l);
							else state.hide.add(l);
							ev.currentTarget.setAttribute(
								"aria-pressed",
								String(!state.hide.has(l)),
							);
							fillList();
						},
					},
				},
				`${l} ${count(n)}`,
			),
		),
	);
	$("levels").hidden = seen.length < 2;
}
