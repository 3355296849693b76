// SPDX-License-Identifier: Apache-2.0
// The page of an HTML report draws the JSON report that lies beside it.  All of its text
// is untrusted: it becomes text nodes and values of attributes, never markup.
// One script is made of these files, in the order of part.mk.
const began = performance.now();
const R = JSON.parse(document.getElementById("report").textContent);
const $ = (id) => document.getElementById(id);

// --- small things ----------------------------------------------------------------

function el(tag, props, ...kids) {
	const e = document.createElement(tag);
	for (const k in props || {}) {
		if (k === "class") e.className = props[k];
		else if (k === "on")
			for (const ev in props.on) e.addEventListener(ev, props.on[ev]);
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
	while (n >= 1024 && u < units.length - 1) {
		n /= 1024;
		u++;
	}
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
