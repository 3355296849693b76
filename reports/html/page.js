// SPDX-License-Identifier: Apache-2.0
// The banner, the selection, and how the page begins.

// --- the banner ------------------------------------------------------------------

function banner() {
	const s = R.stats,
		c = R.coverage,
		parts = [];
	for (const [n, what] of [
		[s.errors, "error"],
		[s.warnings, "warning"],
		[s.notes, "note"],
	])
		if (n) parts.push(some(n, what));
	const head =
		R.verdict === "findings"
			? parts.join(", ")
			: R.verdict === "clean"
				? parts.length
					? `Clean, ${parts.join(", ")}`
					: "Clean"
				: `Inconclusive${parts.length ? ", " + parts.join(", ") : ""}`;
	const main = R.processes.find((p) => p.used_cuda) || R.processes[0];
	$("banner").className = R.verdict + (R.verdict === "findings" && !s.errors ? " mild" : "");
	const fact = (n, what) => (n ? el("span", {}, el("b", {}, count(n)), ` ${what}`) : null);
	$("banner").replaceChildren(
		...[
			el(
				"button",
				{
					class: "brand",
					title: "Overview",
					on: {
						click: () => {
							state.finding = -1;
							state.op = null;
							showOverview();
							markSelected();
							if (view) view.ask();
						},
					},
				},
				"krtsan",
			),
			el("h1", { id: "verdict" }, head),
			el(
				"span",
				{ class: "muted" },
				c.complete ? "analysis complete" : "analysis not complete",
				R.suppressed.length
					? `, ${count(R.suppressed.length)} suppressed`
					: "",
			),
			el(
				"div",
				{ class: "facts" },
				main && main.exe
					? el(
							"span",
							{ class: "mono", title: main.exe },
							base(main.exe),
						)
					: null,
				pids > 1 ? el("span", {}, `${count(pids)} processes`) : null,
				fact(c.calls, "calls"),
				fact(c.launches, "launches"),
				fact(c.copies + c.sets, "copies and sets"),
				fact(c.graph_launches, "graph launches"),
			),
			c.reasons.length
				? el(
						"ul",
						{ class: "reasons" },
						c.reasons.map((r) =>
							el(
								"li",
								{},
								r.reason,
								r.detail ? `: ${r.detail}` : "",
							),
						),
					)
				: null,
		].filter(Boolean),
	);
	document.title = `krtsan: ${head}${main && main.exe ? " in " + base(main.exe) : ""}`;
}

// --- selection -------------------------------------------------------------------

function selectFinding(i, quiet) {
	state.finding = i;
	state.op = null;
	showFinding(i);
	if (!state.shown.includes(i)) {
		// reached by a link: whatever hides it goes
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
	const at = state.shown.indexOf(state.finding),
		n = state.shown.length;
	const to = {
		ArrowDown: at + 1,
		ArrowUp: at < 0 ? n - 1 : at - 1,
		Home: 0,
		End: n - 1,
		PageDown: at + 10,
		PageUp: at - 10,
	}[ev.key];
	if (ev.key === "Enter") {
		$("details").focus();
	} else if (to !== undefined && n) {
		selectFinding(state.shown[Math.min(Math.max(to, 0), n - 1)]);
		ev.preventDefault();
	}
}

const T = R.timeline ? timelineOf(R.timeline) : null;
let view = null;

banner();
levels();
fillList();
showOverview();
$("filter").addEventListener("input", (ev) => {
	state.filter = ev.target.value;
	fillList();
});
$("list").addEventListener("keydown", keysOfList);
if (T && T.ops) {
	view = makeView();
} else {
	for (const id of ["axis", "legend", "said", "map", "lanes", "zoom"]) $(id).hidden = true;
	$("empty").hidden = false;
	$("empty").textContent = T
		? "No operation was recorded."
		: "This report holds no timeline (timeline=0, or written by an older version).";
	document.body.style.setProperty("--timeline", "72px");
	$("split").classList.add("still");
}

// The height of the timeline
{
	const set = (px) => {
		document.body.style.setProperty(
			"--timeline",
			`${Math.min(Math.max(px, 110), innerHeight - 260)}px`,
		);
		if (view) view.ask();
	};
	let on = false;
	$("split").addEventListener("pointerdown", (ev) => {
		on = true;
		ev.target.setPointerCapture(ev.pointerId);
	});
	$("split").addEventListener("pointermove", (ev) => {
		if (on) set(innerHeight - ev.clientY);
	});
	$("split").addEventListener("pointerup", () => {
		on = false;
	});
	$("split").addEventListener("keydown", (ev) => {
		const by = { ArrowUp: 30, ArrowDown: -30 }[ev.key];
		if (by) {
			set($("timeline").clientHeight + by);
			ev.preventDefault();
		}
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
window.krtsan = {
	spot: (pid, sequence) => {
		const at = T && T.find(pid, sequence),
			s = at && view.spot(at.p, at.i, false),
			box = $("canvas").getBoundingClientRect();
		return s ? [box.left + (s.x0 + s.x1) / 2, box.top + s.y] : null;
	},
};
document.documentElement.dataset.ready = Math.round(performance.now());
document.documentElement.dataset.took = Math.round(performance.now() - began);
