#!/usr/bin/env python3
"""The graph programs of host/examples against known answers.

Always: graphs made here, answers worked out by simple Python.  Where a folder shared/ lies beside
the project: the validation graphs of LDBC Graphalytics in shared/data/graphalytics.
"""
import collections
import csv
import heapq
import io
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

PURE_RUN = os.environ["PURE_RUN"]
SRC = pathlib.Path(os.environ["SRC"]).resolve()
EXAMPLES = SRC / "host" / "examples"
DATA = SRC.parent / "shared" / "data" / "graphalytics"
UNREACHED = 9223372036854775807
passed = failed = skipped = 0


def ask(program, vertices, edges, *call, lists=("vertices", "edges"), header=1):
    """Rows of a call: vertices [id], edges [(from, to)] or [(from, to, weight)]."""
    with tempfile.TemporaryDirectory() as folder:
        v, e = os.path.join(folder, "v.tsv"), os.path.join(folder, "e.txt")
        with open(v, "w") as f:
            f.write("id\n" + "".join(f"{x}\n" for x in vertices))
        with open(e, "w") as f:
            f.write("# from to\n" + "".join(" ".join(map(str, x)) + "\n" for x in edges))
        command = [PURE_RUN, "--format", "csv", str(EXAMPLES / program)]
        for name in lists:
            command += ["--load", f"{name}={v if name == 'vertices' else e}"]
        command += map(str, call)
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            raise AssertionError(f"exit {run.returncode}: {run.stderr.strip()}")
        return list(csv.reader(io.StringIO(run.stdout)))[header:]


def same_distances(got, want):
    return len(got) == len(want) and all(
        k in got and (got[k] == w or abs(got[k] - w) <= 1e-4) for k, w in want.items())


def same_partition(got, want):
    if got.keys() != want.keys():
        return False
    there, back = {}, {}
    return all(there.setdefault(got[k], want[k]) == want[k] and
               back.setdefault(want[k], got[k]) == got[k] for k in want)


def check_bfs(vertices, edges, want):
    rows = ask("bfs.pure", vertices, edges, "distances", 1)
    assert {int(a): int(b) for a, b in rows} == want, "distances differ"
    reached = {k: d for k, d in want.items() if d != UNREACHED}
    rows = ask("bfs.pure", vertices, edges, "bfs", 1)
    assert {int(a): int(b) for a, b in rows} == reached, "bfs differs"


def check_sssp(vertices, edges, want):
    rows = ask("sssp.pure", vertices, edges, "distances", 1)
    assert same_distances({int(a): float(b) for a, b in rows}, want), "distances differ"


def check_wcc(vertices, edges, want):
    rows = ask("wcc.pure", vertices, edges, "wcc")
    assert same_partition({int(a): int(b) for a, b in rows}, want), "components differ"


def check_bfs_direction(vertices, edges, want):
    rows = ask("bfs_direction.pure", vertices, edges, "bfs", 1, max(vertices) + 1,
               lists=("edges", "in_edges"))
    reached = {k: d for k, d in want.items() if d != UNREACHED}
    assert {int(a): int(b) for a, b in rows} == reached, "direction-optimising bfs differs"


def check_pagerank(vertices, edges, want):
    rows = ask("pagerank.pure", vertices, edges, "pagerank", 12, 0.85, lists=("edges",))
    got = {int(a): float(b) for a, b in rows}
    assert got.keys() == want.keys(), "pagerank has other nodes"
    assert all(abs(got[k] - want[k]) <= 1e-12 for k in want), "ranks differ"


def check_triangles(vertices, edges, want):
    rows = ask("triangles.pure", vertices, edges, "triangles", lists=("edges",),
               header=0)
    assert rows == [[str(want)]], f"triangles: {rows}, not {want}"


def attempt(name, check, *arguments):
    global passed, failed
    try:
        check(*arguments)
        passed += 1
    except AssertionError as reason:
        failed += 1
        print(f"FAIL {name}: {reason}")


def plain_bfs(vertices, edges):
    out = collections.defaultdict(list)
    for a, b, *_ in edges:
        out[a].append(b)
    depth = dict.fromkeys(vertices, UNREACHED)
    depth[1] = 0
    queue = [1]
    for v in queue:
        for w in out[v]:
            if depth[w] == UNREACHED:
                depth[w] = depth[v] + 1
                queue.append(w)
    return depth


def plain_sssp(vertices, edges):
    out = collections.defaultdict(list)
    for a, b, weight in edges:
        out[a].append((b, weight))
    dist = dict.fromkeys(vertices, math.inf)
    heap = [(0.0, 1)]
    while heap:
        d, v = heapq.heappop(heap)
        if dist[v] == math.inf:
            dist[v] = d
            for w, weight in out[v]:
                if dist[w] == math.inf:
                    heapq.heappush(heap, (d + weight, w))
    return dist


def plain_wcc(vertices, edges):
    both = collections.defaultdict(list)
    for a, b, *_ in edges:
        both[a].append(b)
        both[b].append(a)
    label = {}
    for v in sorted(vertices):
        if v in label:
            continue
        label[v] = v
        stack = [v]
        while stack:
            for w in both[stack.pop()]:
                if w not in label:
                    label[w] = v
                    stack.append(w)
    return label


def plain_pagerank(edges, rounds=12, damping=0.85):
    nodes = sorted({v for pair in edges for v in pair})
    out = collections.defaultdict(list)
    for a, b in edges:
        out[a].append(b)
    rank = dict.fromkeys(nodes, 1 / len(nodes)) if nodes else {}
    for _ in range(rounds if nodes else 0):
        loose = sum(rank[v] for v in nodes if not out[v])
        new = dict.fromkeys(nodes, (1 - damping) / len(nodes) + damping * loose / len(nodes))
        for v in nodes:
            for w in out[v]:
                new[w] += damping * rank[v] / len(out[v])
        rank = new
    return rank


def plain_triangles(edges):
    near = collections.defaultdict(set)
    for a, b in edges:
        if a != b:
            near[a].add(b)
            near[b].add(a)
    return sum(1 for a in near for b in near[a] if a < b for c in near[b] if b < c and c in near[a])


def made_graphs():
    """(name, vertices, edges with weights): sparse and dense, small and large numbers."""
    for seed in range(12):
        rng = random.Random(seed)
        n = [1, 2, 5, 10, 40, 200, 1000, 3000][seed % 8]
        stride = [1, 1, 3, 1000003, 10**12][seed % 5]
        ids = [1] + [2 + i * stride for i in range(1, n)]
        m = rng.choice([n // 2, n, 3 * n])
        pairs = {(rng.choice(ids), rng.choice(ids)) for _ in range(m)}
        edges = [(a, b, round(rng.random() * 9 + 0.01, 3)) for a, b in sorted(pairs)]
        rng.shuffle(edges)
        yield f"made graph {seed}", ids, edges


def read_rows(path):
    return [line.split() for line in path.read_text().split("\n") if line.strip()]


def neighbour_lists(path):
    vertices, edges = {}, []
    for row in read_rows(path):
        row = [int(x) for x in row]
        vertices.update(dict.fromkeys(row))
        edges += [(row[0], w) for w in row[1:]]
    return list(vertices), edges


def known_graphs():
    v = [int(r[0]) for r in read_rows(DATA / "example-directed.v")]
    e = [(int(a), int(b), float(w)) for a, b, w in read_rows(DATA / "example-directed.e")]
    plain = [(a, b) for a, b, _ in e]
    ints = lambda p: {int(a): int(b) for a, b in read_rows(p)}
    reals = lambda p: {int(a): float(b) for a, b in read_rows(p)}
    attempt("example BFS", check_bfs, v, plain, ints(DATA / "example-directed-BFS"))
    attempt("example WCC", check_wcc, v, plain, ints(DATA / "example-directed-WCC"))
    attempt("example SSSP", check_sssp, v, e, reals(DATA / "example-directed-SSSP"))
    attempt("bfs/dir", check_bfs, *neighbour_lists(DATA / "bfs" / "dir-input"),
            ints(DATA / "bfs" / "dir-output"))
    attempt("wcc/dir", check_wcc, *neighbour_lists(DATA / "wcc" / "dir-input"),
            ints(DATA / "wcc" / "dir-output"))
    v = [int(r[0]) for r in read_rows(DATA / "sssp" / "dir-input.v")]
    e = [(int(a), int(b), float(w)) for a, b, w in read_rows(DATA / "sssp" / "dir-input.e")]
    attempt("sssp/dir", check_sssp, v, e, reals(DATA / "sssp" / "dir-output"))


for name, vertices, edges in made_graphs():
    plain = [(a, b) for a, b, _ in edges]
    attempt(name + " BFS", check_bfs, vertices, plain, plain_bfs(vertices, plain))
    attempt(name + " WCC", check_wcc, vertices, plain, plain_wcc(vertices, plain))
    attempt(name + " SSSP", check_sssp, vertices, edges, plain_sssp(vertices, edges))
    if max(vertices) < 10000:
        attempt(name + " BFS, both directions", check_bfs_direction, vertices, plain,
                plain_bfs(vertices, plain))
    attempt(name + " PageRank", check_pagerank, vertices, plain, plain_pagerank(plain))
    attempt(name + " triangles", check_triangles, vertices, plain, plain_triangles(plain))
if DATA.is_dir():
    known_graphs()
else:
    skipped += 6
    print("skipped: no shared/data/graphalytics beside the project; made graphs only")
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed != 0)
