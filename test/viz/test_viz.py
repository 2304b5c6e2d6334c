"""Programs to look at: graphs, differences, loops, memory, profiles, pages."""

import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from relax_mlir import relax, tir, viz
from relax_mlir.compiler.pipeline import lower
from relax_mlir.errors import ExprTypeError, RelaxMLIRError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.analysis.graph import graph_of
from relax_mlir.script import from_source
from relax_mlir.transform import PassContext
from relax_mlir.viz.layout import layered

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 48), "float32"), w: R.Tensor((48, 48), "float32")):
        with R.dataflow():
            a = R.nn.softmax(R.matmul(x, w), axis=-1)
            b = R.split(a, 2, axis=1)
            c = R.concat([b[0], b[1], R.const(k)], axis=0)
            y = R.sum(R.tanh(c), axis=0)
            R.output(y)
        return y
"""
ADD = """
@T.prim_func
def add(a: T.Buffer((64, 32), "float32"), b: T.Buffer((64, 32), "float32")):
    for i, j in T.grid(64, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[vi, vj] + T.float32(1)
"""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def module() -> IRModule:
    return from_source(PROGRAM, extra_vars={"k": np.ones((3, 24), "f4")})


def svg_of(picture: viz.Picture) -> ElementTree.Element:
    return ElementTree.fromstring(picture.body)


def test_a_graph_has_parameters_constants_and_operations_but_no_results(module: IRModule) -> None:
    graph = graph_of(module)
    kinds = [(node.kind, node.label) for node in graph.nodes]
    assert kinds[:4] == [
        ("variable", "x"), ("variable", "w"), ("call", "matmul(0)"), ("call", "softmax(1)"),
    ]  # fmt: skip
    assert ("constant", "(3, 24) f32") in kinds
    assert ("field", "[1](4)") in kinds
    (last,) = [node for node in graph.nodes if node.returned]
    assert last.label.startswith("sum(")
    names = {
        (graph.nodes[e.source].label, graph.nodes[e.target].label, e.label) for e in graph.edges
    }
    assert {("x", "matmul(0)", "arg0"), ("w", "matmul(0)", "arg1")} <= names
    assert ("matmul(0)", "softmax(1)", "arg0") in names
    assert {node.function for node in graph.nodes} == {"main"}


def test_layers_go_down_and_nodes_do_not_overlap() -> None:
    rng = np.random.default_rng(0)
    for count in (0, 1, 2, 17, 60):
        edges = [(int(rng.integers(0, t)), t) for t in range(1, count) for _ in range(2)]
        widths = [float(rng.integers(20, 200)) for _ in range(count)]
        place = layered(widths, edges)
        for source, target in edges:
            assert place.centers[source][1] < place.centers[target][1]
        rows: dict[float, list[int]] = {}
        for i, (x, y) in enumerate(place.centers):
            assert widths[i] / 2 <= x <= place.width - widths[i] / 2
            assert 0 < y < place.height
            rows.setdefault(y, []).append(i)
        for row in rows.values():
            row.sort(key=lambda i: place.centers[i][0])
            for a, b in itertools.pairwise(row):
                gap = place.centers[b][0] - place.centers[a][0]
                assert gap >= (widths[a] + widths[b]) / 2 - 1e-6


def test_a_graph_is_drawn_with_and_without_graphviz(
    module: IRModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = viz.graph(module)
    assert len(svg_of(picture).findall(".//*[@class='node']")) == len(graph_of(module).nodes)
    picture.save(tmp_path / "g.dot")
    assert (tmp_path / "g.dot").read_text() == relax.analysis.to_dot(module)
    if shutil.which("dot"):
        picture.save(tmp_path / "g.png")
        assert (tmp_path / "g.png").read_bytes()[:4] == b"\x89PNG"
    monkeypatch.setenv("PATH", "")
    picture.save(tmp_path / "own.svg")
    ElementTree.parse(tmp_path / "own.svg")
    with pytest.raises(RelaxMLIRError, match=r"drawn by Graphviz, which is not here: .*\.svg"):
        picture.save(tmp_path / "g.pdf")
    with pytest.raises(RelaxMLIRError, match=r"does not end in \.html, \.dot"):
        picture.save(tmp_path / "g.gif")
    assert "<svg" in picture._repr_html_()


def test_several_functions_are_clusters() -> None:
    mod = from_source(PROGRAM.replace("R.const(k)", "b[0]") + PROGRAM[PROGRAM.index("    @R.f"):]
                      .replace("def main", "def other").replace("R.const(k)", "b[1]"))  # fmt: skip
    text = relax.analysis.to_dot(mod)
    assert re.findall(r"subgraph cluster(\d)", text) == ["0", "1"]
    assert 'label="other"' in text


def test_differences_are_coloured(module: IRModule) -> None:
    after = relax.transform.LegalizeOps()(module)
    shown = viz.diff(module, after).body
    assert re.search(r'background:#fdd">-[^<]*R\.nn\.softmax', shown)
    assert re.search(r'background:#dfd">\+[^<]*R\.call_tir', shown)
    assert "background" not in viz.diff(module, module).body
    assert len(viz.diff(module, after, context=0).body) < len(shown)
    with pytest.raises(ExprTypeError, match="expected a program or text, got int"):
        viz.diff(module, 3)


def test_loops_are_a_tree() -> None:
    sch = tir.Schedule(from_source(ADD))
    i, j = sch.get_loops(sch.get_block("B"))
    sch.parallel(i)
    _, inner = sch.split(j, [None, 8])
    sch.vectorize(inner)
    shown = viz.loop_tree(sch).body
    assert re.search(r"i in 64 parallel.*j_0 in 4.*j_1 in 8 vectorized.*<i>B</i>", shown)
    ElementTree.fromstring(shown)
    assert "i in 64" in viz.loop_tree(sch.mod["add"]).body
    with pytest.raises(ExprTypeError, match="expected a schedule or an IRModule"):
        viz.loop_tree("text")


def test_tensors_lie_in_storage_while_they_are_used(module: IRModule) -> None:
    with PassContext(disabled_pass=["OutlineNative"]):
        lowered = lower(module, "VMMemoryLower")
    picture = viz.memory_plan(lowered)
    bars = [each for each in svg_of(picture).iter() if each.get("class") == "bar"]
    assert re.fullmatch(rf"{len(bars)} tensors in \d storages, over \d+ bindings", picture.title)
    tips = [title.text for title in svg_of(picture).iter() if title.tag.endswith("title")]
    assert any(re.fullmatch(r"\(n, 48\) float32, bindings \d+ to \d+", str(tip)) for tip in tips)
    with pytest.raises(ExprTypeError, match="take it after the stage VMMemoryLower"):
        viz.memory_plan(module)


def test_calls_of_a_profile_are_bars(module: IRModule) -> None:
    vm = relax.VirtualMachine(relax.build(module))
    profile = vm.profile("main", np.ones((5, 48), "f4"), np.ones((48, 48), "f4"))
    picture = viz.flame_chart(profile)
    bars = [each for each in svg_of(picture).iter() if each.get("class") == "bar"]
    assert len(bars) == len(profile.calls)


def test_a_page_says_what_is_behind_a_node(module: IRModule, tmp_path: Path) -> None:
    text = viz.report_page(module, "a & b", functions={"f": [("code", "</script>")]})
    assert "<title>a &amp; b</title>" in text
    assert text.count("</script>") == 1
    assert not re.search(r'(?:src|href)="', text)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_searches_zooms_and_shows_details(module: IRModule, tmp_path: Path) -> None:
    page = viz.report_page(module)
    steps = """
    <script>
    const field = document.getElementById("search");
    field.value = "softmax"; field.dispatchEvent(new Event("input"));
    nodes[2].dispatchEvent(new Event("click"));
    const width = box.width;
    svg.dispatchEvent(new WheelEvent("wheel", {deltaY: -1, clientX: 9, clientY: 9}));
    document.title = [document.getElementById("count").textContent, box.width < width,
                      details.textContent].join("|");
    </script>"""
    path = tmp_path / "page.html"
    path.write_text(page.replace("</body>", f"{steps}</body>"))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    done = subprocess.run(
        [*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.S)
    assert title is not None, done.stdout[:500]
    assert title[1].startswith("1 found|true|nodematmul(0)typeR.Tensor((n, 48)")


@pytest.mark.slow
def test_tools_write_pages(tmp_path: Path) -> None:
    source = tmp_path / "program.py"
    source.write_text(
        "from relax_mlir.script import ir as I, relax as R\n"
        + PROGRAM.replace('("n", 48)', "(5, 48)").replace("R.const(k)", "b[0]")
    )
    folder = Path(sys.executable).parent
    compiled, optimized = tmp_path / "compiled.html", tmp_path / "optimized.html"
    for command in (
        ["relax-compile", source, "-o", tmp_path / "p.rxe", "--view", compiled, "--quiet"],
        ["relax-opt", source, "--legalize-ops", f"--view={optimized}", "-o", tmp_path / "p.mlir"],
    ):
        subprocess.run([folder / command[0], *command[1:]], check=True, timeout=120)
    text = compiled.read_text()
    assert '["prim func", "' in text
    assert '["assembly", "' in text
    assert '["measured", "' in text
    assert "tensors in" in text
    assert "before and after" in optimized.read_text()
