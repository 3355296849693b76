#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
HTML reports opened in headless Chromium: check.py BUILD [PART-OF-A-TEST'S-NAME].

What a reader does is done: findings are chosen with the pointer and the keyboard,
operations on the canvas; what then stands there is compared with the JSON report.
Texts made to break out of the page must stay texts.  Nothing here rests on how long
something takes; what the large report took is printed.
One line a test, `ok` or `not ok`; the last line is `N passed, N failed`.
"""
import json
import os
import subprocess
import sys
import tempfile
import traceback

from driver import Browser

build = os.path.abspath(sys.argv[1])
krtsan = os.path.join(build, "krtsan")
work = tempfile.TemporaryDirectory(prefix="krtsan-html-")
passed = failed = 0
TESTS = []


def test(f):
    TESTS.append(f)
    return f


def path(name):
    return os.path.join(work.name, name)


def run(program, name, *options):
    """Path of the HTML report of a program on the simulated driver, and what its JSON says."""
    out = subprocess.run(
        [
            krtsan,
            "run",
            "--sim",
            "--fail-on=never",
            f"--report=html:{path(name)}.html",
            f"--report=json:{path(name)}.json",
            f"--log-path={path(name)}.log",
            *options,
            "--",
        ]
        + program,
        capture_output=True,
        text=True,
        env={**os.environ, "KRTSAN_OPTIONS": ""},
    )
    assert out.returncode == 0, out.stderr
    with open(f"{path(name)}.json") as f:
        return f"{path(name)}.html", json.load(f)


def rendered(report, name):
    """The same of a report that was changed by hand."""
    with open(f"{path(name)}.json", "w") as f:
        json.dump(report, f)
    subprocess.run(
        [krtsan, "report", f"{path(name)}.json", f"--to=html:{path(name)}.html"], check=True
    )
    return f"{path(name)}.html"


def demo():
    return run([f"{build}/testcases/demo/demo"], "demo", "--show=possible")


def assert_quiet(b, *what):
    log = [m for m in b.log() if "getImageData" not in m]  # advice about what pixels() does
    assert log == [], (log, *what)


def settle(b):
    b.js("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(b, name):
    """How much of the canvas has the colour of this name in the style, or nearly so."""
    return b.js(
        """
        const probe = document.createElement('i'); document.body.append(probe);
        probe.style.color = `var(--${arguments[0]})`;
        const want = getComputedStyle(probe).color.match(/\\d+/g).map(Number); probe.remove();
        const c = document.getElementById('canvas');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let n = 0;
        for (let i = 0; i < d.length; i += 4)
            if (want.reduce((sum, w, k) => sum + Math.abs(d[i + k] - w), 0) < 12) n++;
        return n""",
        name,
    )


def own(report):
    """Findings in the order of the page that are not hidden at first."""
    return [f for f in report["findings"] if f["confidence"] != "possible"]


def user_frame(stack):
    return next(f for f in stack if f["kind"] == "user")


@test
def the_page_holds_the_json_report(b):
    page, report = demo()
    b.open(page)
    there = json.loads(b.js("return document.getElementById('report').textContent"))
    there["tool"]["options"] = report["tool"]["options"]
    assert there == report
    assert_quiet(b)
    s = report["stats"]
    assert f"{s['errors']} error" in b.text("#verdict")[0]
    assert len(b.find("#list li")) == len(own(report)), b.text("#list .rule")


@test
def a_page_made_later_is_the_same(b):
    page, report = demo()
    with open(page) as f:
        first = f.read()
    subprocess.run(
        [krtsan, "report", path("demo.json"), f"--to=html:{path('later.html')}"], check=True
    )
    with open(path("later.html")) as f:
        assert f.read() == first


@test
def a_clicked_finding_shows_both_operations_and_their_order(b):
    page, report = demo()
    b.open(page)
    shown = own(report)
    assert len(shown) > 1
    for i in reversed(range(len(shown))):
        f = shown[i]
        b.click("#list li", i)
        settle(b)
        details = b.text("#details")[0]
        assert f["rule"] in details and f["message"] in details
        assert b.js("return location.hash") == "#" + f["fingerprint"]
        assert b.text("#list li[aria-selected=true] .rule")[0].startswith(f["rule"])
        sides = [f["previous"], f["current"]] if f["previous"] else [f["current"]]
        cards = b.text(".side")
        assert len(cards) == len(sides)
        for o, card in zip(sides, cards):
            at = user_frame(o["stack"])
            assert f"#{o['sequence']}" in card and o["stream"] in card
            assert (
                f"{os.path.basename(at['file'])}:{at['line']}" in card
                and at["function_readable"] in card
            )
        if f["ordering"]["missing"]:
            assert f["ordering"]["missing"] in details
        if f["fix"]:
            assert f["fix"] in b.text(".fix")[0]
        if f["edge"] and f["edge"]["code"]:
            assert b.text(".fix pre") == [f["edge"]["code"]]
            assert (f["edge"]["verified"] == "removes") == (
                "verified: with it" in b.text(".fix")[0]
            )
    assert_quiet(b)


@test
def a_finding_of_one_operation(b):
    page, report = run([f"{build}/testcases/hazard/copy_bounds"], "one")
    f = own(report)[0]
    assert f["previous"] is None
    b.open(page)
    b.click("#list li")
    assert len(b.find(".side.only")) == 1 and f["current"]["operation"] in b.text(".side")[0]
    page, report = run([f"{build}/testcases/hazard/sync_hot"], "hot")
    b.open(page)
    i, f = next((i, f) for i, f in enumerate(own(report)) if f["cost"])
    b.click("#list li", i)
    assert (
        f"times{f['cost']['times']}" in b.text("#details")[0]
        and f["message"] in b.text("#details")[0]
    )
    assert_quiet(b)


@test
def the_bytes_of_the_buffer_are_drawn(b):
    page, report = demo()
    b.open(page)
    shown = own(report)
    i, f = next(
        (i, f)
        for i, f in enumerate(shown)
        if f["buffer"]
        and f["buffer"]["size"]
        and f["previous"]
        and f["previous"]["range"]
        and f["current"]["range"]
    )
    b.click("#list li", i)
    for c, from_, length in (
        ("shared", f["buffer"]["offset"], f["buffer"]["length"]),
        (
            "current",
            int(f["current"]["range"]["base"], 16) - int(f["buffer"]["base"], 16),
            f["current"]["range"]["length"],
        ),
    ):
        x, w = b.js(
            "const r = document.querySelector('.buffer svg rect.' + arguments[0]).attributes; "
            "return [Number(r.x.value), Number(r.width.value)]",
            c,
        )
        assert abs(x - 1000 * from_ / f["buffer"]["size"]) < 4, (c, x)
        assert abs(w - max(1000 * length / f["buffer"]["size"], 2.5)) < 4, (c, w)


@test
def the_missing_order_is_drawn_and_goes_with_the_selection(b):
    page, report = demo()
    b.open(page)
    shown = own(report)
    i = next(i for i, f in enumerate(shown) if f["previous"] and f["ordering"]["missing"])
    b.click("#list li", i)
    settle(b)
    f = shown[i]
    assert pixels(b, "earlier") > 60 and pixels(b, "current") > 60, "both operations are framed"
    red = pixels(b, "error")
    b.click("#banner .brand")
    settle(b)
    assert "Overview" in b.text("#details h2")
    assert pixels(b, "earlier") == 0
    assert pixels(b, "error") + 40 < red, (pixels(b, "error"), red)
    assert b.js(
        "return window.krtsan.spot(arguments[0], arguments[1])", f["pid"], f["current"]["sequence"]
    )


@test
def a_clicked_operation_shows_itself_and_leads_to_its_finding(b):
    page, report = demo()
    b.open(page)
    shown = own(report)
    i = next(i for i, f in enumerate(shown) if f["previous"] and f["ordering"]["missing"])
    f = shown[i]
    b.click("#list li", i)
    settle(b)
    b.at(
        *b.js(
            "return window.krtsan.spot(arguments[0], arguments[1])",
            f["pid"],
            f["previous"]["sequence"],
        )
    )
    settle(b)
    details = b.text("#details")[0]
    assert f"#{f['previous']['sequence']}" in b.text("#details .title")[0]
    assert f["previous"]["stream"].split(" (")[0] in details
    assert f["message"] in details, "what it is part of"
    b.click("#details .card .link")
    assert f["rule"] in b.text("#details h1")


@test
def arrows_lead_from_operation_to_operation(b):
    page, report = run([f"{build}/testcases/clean/fork_join"], "fork")
    b.open(page)
    p = report["timeline"]["processes"][0]
    kinds = report["timeline"]["edge_kinds"]
    e = next(e for e in p["edges"] if kinds[e[2]] == "event")
    rows = p["operations"]
    b.click("#fit")
    settle(b)
    x, y = b.js("return window.krtsan.spot(arguments[0], arguments[1])", p["pid"], rows[e[0]][0])
    b.at(x, y)
    settle(b)
    for _ in range(len(rows)):  # the pointer may have met its neighbour
        if b.text("#details .title")[0].endswith(f"#{rows[e[0]][0]}"):
            break
        b.type("#lanes", ",")
    title = b.text("#details .title")[0]
    assert title.endswith(f"#{rows[e[0]][0]}"), title
    after = [t for t in b.text("#details .card") if t.startswith("Comes before")]
    assert after and f"#{rows[e[1]][0]} " in after[0] and "event" in after[0], after
    assert pixels(b, "accent") > 30
    b.click("#details .edges .link")
    assert b.text("#details .title")[0].endswith(f"#{rows[e[0]][0]}") is False


@test
def the_keyboard_is_enough(b):
    page, report = demo()
    b.open(page)
    shown = own(report)
    b.type("#list", "\ue010")  # End
    assert shown[-1]["rule"] in b.text("#details h1")
    b.type("#list", "\ue013" * (len(shown) + 2))  # ArrowUp
    assert shown[0]["rule"] in b.text("#details h1")
    b.type("#list", "\ue015")  # ArrowDown
    assert shown[1]["message"] in b.text("#details .lead")
    b.type("#lanes", "0")
    settle(b)
    before = b.js("return document.getElementById('canvas').toDataURL()")
    b.type("#lanes", "+++")
    settle(b)
    assert b.js("return document.getElementById('canvas').toDataURL()") != before
    b.type("#lanes", "0")
    settle(b)
    assert b.js("return document.getElementById('canvas').toDataURL()") == before
    x, y = b.js(
        "const r = document.getElementById('canvas').getBoundingClientRect(); "
        "return [r.left + 600, r.top + 60]"
    )
    b.wheel(x, y, -300)
    settle(b)
    assert b.js("return document.getElementById('canvas').toDataURL()") != before


@test
def the_filter_leaves_what_fits(b):
    page, report = demo()
    b.open(page)
    rule = own(report)[-1]["rule"]
    b.type("#filter", rule.lower())
    left = b.text("#list .rule")
    assert left and all(t.startswith(rule) for t in left), left
    b.type("#filter", " nothing-like-this")
    assert "No finding fits" in b.text("#list li")[0]


@test
def the_fix_can_be_copied(b):
    page, report = demo()
    shown = own(report)
    i = next((i for i, f in enumerate(shown) if f["edge"] and f["edge"]["code"]), None)
    if i is None:  # no fix in code: one by hand
        report["findings"][0]["edge"] = {
            "record_after": 1,
            "record_stream": "a",
            "wait_before": 2,
            "wait_stream": "b",
            "api": "driver",
            "code": "cuStreamWaitEvent(b, e, 0);\n",
            "verified": "removes",
            "why": None,
            "also_removes": [],
        }
        page, i = rendered(report, "copied"), 0
    b.open(page)
    b.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    b.click("#list li", i)
    b.click(".fix .copy")
    said = b.js(
        """const b = document.querySelector('.fix .copy');
        return new Promise(done => {
            const look = () => b.textContent === 'Copy' ? setTimeout(look, 5) : done(b.textContent);
            look();
        })"""
    )
    assert said == "Copied", said


HOSTILE = [
    "<img src=x onerror=\"window.broken=1\">",
    "</script><script>window.broken=1</script>",
    "\"><svg onload=window.broken=1>",
    "javascript:window.broken=1",
    "\u2028window.broken=1\u2029",
    "<!--<script>",
    "]]>",
    "' onclick='window.broken=1",
    "\u202egnp.exe",
]


def poison(v, n=0):
    """Every text of a report that is not a word of its schema becomes hostile."""
    keep = {
        "verdict",
        "rule",
        "level",
        "confidence",
        "view",
        "fingerprint",
        "verified",
        "api",
        "id",
        "reason",
        "baseline",
        "kind",
        "kinds",
        "edge_kinds",
        "columns",
        "also_removes",
        "what",
        "mode",
    }
    if isinstance(v, dict):
        return {k: x if k in keep else poison(x, n + 7 * i) for i, (k, x) in enumerate(v.items())}
    if isinstance(v, list):
        return [poison(x, n + i) for i, x in enumerate(v)]
    if isinstance(v, str) and not v.startswith("0x"):
        return v[:3] + HOSTILE[n % len(HOSTILE)]
    return v


@test
def hostile_texts_stay_texts(b):
    _, report = demo()
    bad = poison(report)
    bad["tool"]["name"] = "krtsan"
    page = rendered(bad, "hostile")
    b.open(page)
    for i in range(len(b.find("#list li"))):
        b.click("#list li", i)
        settle(b)
        for x in b.find(".stack .link"):
            b.js("arguments[0].click()", x)
    b.type("#lanes", ".....")
    settle(b)
    assert any(h in b.text("#details")[0] for h in HOSTILE), "they are shown"
    b.click("#banner .brand")
    assert b.js("return window.broken === undefined")
    assert b.js("return document.querySelectorAll('script').length") == 2
    assert (
        b.js(
            "return document.querySelectorAll('img, iframe, object, embed, link, a[href], '"
            " + '[onerror], [onload], [onclick]').length"
        )
        == 0
    )
    assert b.js("return performance.getEntriesByType('resource').length") == 0
    assert_quiet(b)


@test
def the_policy_refuses_what_is_not_ours(b):
    page, _ = demo()
    with open(page) as f:
        text = f.read()
    broken = path("broken.html")
    with open(broken, "w") as f:
        f.write(
            text.replace(
                "</header>",
                "</header><script>window.broken=1</script><style>body{color:red}</style>"
                "<img src='file:///etc/hostname' onerror='window.broken=1'>",
                1,
            )
        )
    b.open(broken)
    assert b.js("return window.broken === undefined")
    assert len(b.log()) >= 3, "refused: script, style, image"
    assert b.text("#verdict")[0], "ours still ran"


@test
def reports_that_are_hard_to_write(b):
    docs = path("documents")
    os.mkdir(docs)
    subprocess.run([f"{build}/schema/documents", docs], check=True)
    names = sorted(n for n in os.listdir(docs) if n.endswith(".html"))
    assert len(names) > 8
    for name in names:
        with open(os.path.join(docs, name[:-5] + ".json")) as f:
            report = json.load(f)
        b.open(os.path.join(docs, name))
        assert_quiet(b, name)
        assert b.js("return document.documentElement.dataset.ready"), name
        rows = b.js("return document.querySelectorAll('#list li:not(.none)').length")
        if report["findings"] or report["suppressed"]:
            assert rows, name
        else:
            assert rows == 0 and b.text("#list .none"), name
        assert (report["verdict"] == "inconclusive") == (
            "Inconclusive" in b.text("#verdict")[0]
        ), name
        for i in range(min(rows, 12)):
            b.js("document.querySelectorAll('#list li')[arguments[0]].click()", i)
        assert_quiet(b, name)
        for r in report["coverage"]["reasons"]:
            assert r["reason"] in b.text("#banner .reasons")[0], name
        if not report["timeline"]:
            assert "no timeline" in b.text("#empty")[0], name


@test
def no_timeline_is_said(b):
    page, _ = run([f"{build}/testcases/demo/demo"], "without", "--timeline=0")
    b.open(page)
    assert "no timeline" in b.text("#empty")[0]
    b.click("#list li", 1)
    assert b.text(".side")
    assert_quiet(b)


@test
def what_was_left_out_is_said(b):
    page, report = run([f"{build}/html/many", "3000", "4"], "bounded", "--timeline=500")
    b.open(page)
    p = report["timeline"]["processes"][0]
    assert p["left_out"] > 2000 and len(p["operations"]) <= 500
    assert f"{p['left_out']:,} left out" in b.text("#said")[0]


@test
def light_and_dark(b):
    page, _ = demo()
    tone = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g)"
    tone += ".map(Number).reduce((a, b) => a + b)"
    b.open(page)
    assert b.js(tone) > 600
    b.cdp(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert b.js(tone) < 150
    settle(b)
    assert pixels(b, "lane") > 10000, "the canvas follows"
    b.cdp("Emulation.setEmulatedMedia", features=[])


@test
def device_times_make_an_axis_of_time(b):
    page, report = run([f"{build}/testcases/clean/fork_join"], "timed", "--timing=cupti")
    assert any(r[10] is not None for r in report["timeline"]["processes"][0]["operations"])
    b.open(page)
    assert b.text("#axis [aria-pressed=true]") == ["Time"]
    before = b.js("return document.getElementById('canvas').toDataURL()")
    b.click("#axis button")
    settle(b)
    assert b.text("#axis [aria-pressed=true]") == ["Order"]
    assert b.js("return document.getElementById('canvas').toDataURL()") != before


@test
def many_streams_scroll_and_the_selection_comes_first(b):
    page, report = run([f"{build}/html/many", "9000", "200"], "streams")
    b.open(page)
    f = own(report)[0]
    b.click("#list li")
    settle(b)
    spots = [
        b.js("return window.krtsan.spot(arguments[0], arguments[1])", f["pid"], f[k]["sequence"])
        for k in ("previous", "current")
    ]
    low, high = b.js(
        "const r = document.getElementById('lanes').getBoundingClientRect(); "
        "return [r.top, r.bottom]"
    )
    assert all(low < y < high for _, y in spots), (spots, low, high)
    before = b.js("return document.getElementById('canvas').toDataURL()")
    b.js("document.getElementById('lanes').scrollTop = 3000")
    settle(b)
    assert b.js("return document.getElementById('lanes').scrollTop") == 3000
    assert b.js("return document.getElementById('canvas').toDataURL()") != before


@test
def a_hundred_thousand_operations(b):
    page, report = run(
        [f"{build}/html/many", "100100", "16"], "many", "--stacks=leaf", "--timeline=200000"
    )
    ops = len(report["timeline"]["processes"][0]["operations"])
    assert ops >= 100000
    b.open(page)
    b.click("#fit")
    settle(b)
    ready, drawn = b.js(
        "return [document.documentElement, document.getElementById('canvas')]"
        ".map(e => Number(e.dataset.ready || e.dataset.drawn))"
    )
    lanes = len(report["timeline"]["processes"][0]["lanes"])
    # work, not time: of what falls into one pixel one is drawn
    assert 0 < drawn <= lanes * 1280, drawn
    frame = b.js(
        """const c = document.getElementById('lanes'), t = performance.now(); let n = 0;
        return new Promise(done => {
            const f = () => {
                if (++n > 30) return done((performance.now() - t) / n);
                c.dispatchEvent(new KeyboardEvent('keydown', {key: n % 2 ? '+' : '-'}));
                requestAnimationFrame(f);
            };
            f();
        })"""
    )
    print(
        f"        {ops:,} operations: drawn {ready:.0f} ms after the page was asked for, "
        f"{frame:.0f} ms a frame, {drawn} shapes"
    )
    assert_quiet(b)


def main():
    global passed, failed
    with Browser() as b:
        for t in TESTS:
            if len(sys.argv) > 2 and sys.argv[2] not in t.__name__:
                continue
            name = "html: " + t.__name__.replace("_", " ")
            b.log()
            try:
                t(b)
                print("ok     ", name, flush=True)
                passed += 1
            except Exception:
                print("not ok ", name, flush=True)
                traceback.print_exc(file=sys.stdout)
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
