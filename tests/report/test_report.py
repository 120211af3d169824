"""`rondo report`: what is collected, what the page says, what it looks like in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import zlib
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from rondo.cli import main
from rondo.commands.coverage import command as coverage
from rondo.commands.report import command
from rondo.oracle.audit import run_audit
from rondo.report.collect import Curve, ReportError, collect, guess_trees, kind_of
from rondo.report.page import _duration, render, write
from rondo.report.plot import MOST_POINTS, VARIABLES, growth_chart, short_number, thinned
from rondo.report.record import read_records
from tests.report.campaign_folder import EVIL, bucket_folder, make_campaign

VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
PHONE = 390


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_campaign(tmp_path)


@pytest.fixture
def page(folder: Path) -> Path:
    out = folder / "report.html"
    write(collect(folder), out)
    return out


def test_the_page_says_what_the_oracle_s_audit_said(page: Path) -> None:
    assert run_audit().summary in page.read_text(encoding="utf-8")


class Balanced(HTMLParser):
    """Fails on a tag that is closed where it was not opened; collects ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [str(named["id"])] if "id" in named else []
        self.links += [str(named["href"])] if "href" in named else []
        self.sources += [str(named["src"])] if "src" in named else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"


# ------------------------------------------------------------------------------------ collecting


def test_everything_that_a_campaign_leaves_is_collected(folder: Path) -> None:
    report = collect(folder)
    assert [f.reproducer.identity.verdict for f in report.findings] == ["stateful", "masked"]
    assert report.totals["executions"] == 16
    assert report.totals["behaviours"] == 7
    assert report.set_aside == {"flaky": 1, "unconfirmed": 0}
    assert report.environment == {"torch": "2.13.0", "python": "3.11"}
    assert report.curves["findings"][0].points[-1] == (60.0, 2.0)
    kinds = {kind.kind: (kind.distinct, kind.sightings) for kind in report.behaviours}
    assert kinds == {
        "guard": (2, 8),
        "compile": (1, 4),
        "outcome after a change": (1, 1),
        "one outcome after another": (2, 2),
        "graph break": (1, 1),
    }
    tree, total = report.trees
    assert (tree.reached, tree.statements, total.tree) == (3, 5, "total")
    assert [f.script.runnable for f in report.findings] == [True, False]
    assert "step 1: list_alias.poke(1)" in report.findings[1].script.text


def test_the_folder_above_will_do_and_one_without_a_campaign_is_told(
    folder: Path, tmp_path: Path
) -> None:
    assert collect(tmp_path, totals=False).folder == folder
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReportError, match="holds no campaign"):
        collect(tmp_path / "empty")
    with pytest.raises(ReportError, match="is not a folder"):
        collect(tmp_path / "missing")


def test_what_is_missing_is_missing_on_the_page_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "flaky").mkdir()
    report = collect(tmp_path)
    html = render(report, tmp_path / "report.html")
    assert "No bug was confirmed." in html
    for word in ("Growth", "Behaviours by kind", "Coverage of the compiler", "Environment"):
        assert word not in html


def test_without_totals_lines_are_counted_by_guessed_trees(folder: Path) -> None:
    for record in (folder / "record").glob("*.jsonl"):
        record.unlink()
    (row,) = collect(folder, totals=False).trees
    assert (row.reached, row.statements, row.percent) == (3, 0, 0.0)
    files = ["/v/site-packages/torch/fx/a.py", "/v/site-packages/torch/fx/sub/b.py", "/x/c.py"]
    assert guess_trees(dict.fromkeys(files)) == ["/v/site-packages/torch/fx", "/x"]


def test_kinds_are_read_off_labels() -> None:
    assert kind_of("inductor: inductor.pattern_matcher_count 3-4") == "inductor"
    assert kind_of("eager: recompile forward: L['x'] == N") == "recompile"
    assert kind_of("eager: after call(batch): hit") == "outcome after a change"
    assert kind_of("12 odd") == "12 odd"


# ---------------------------------------------------------------------------------------- the page


def test_the_page_is_one_sound_file_without_network(page: Path) -> None:
    html = page.read_text()
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert parser.sources == []
    assert all(link.removeprefix("#") in parser.ids for link in parser.links)
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    assert "url(" not in html
    assert page.stat().st_mode & 0o044 == 0o044, "others may read it"


def test_texts_of_a_reproducer_are_text_on_the_page(page: Path) -> None:
    html = page.read_text()
    assert EVIL not in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html


def test_arms_stand_side_by_side_and_the_differing_one_is_marked(page: Path) -> None:
    html = page.read_text()
    assert '<td data-arm="retained" class="digest differs">cccccccc</td>' in html
    assert '<td data-arm="eager" class="digest">bbbbbbbb</td>' in html
    assert html.count('<tr class="exposing">') == 2
    assert "layer: dynamo-guards" in html
    assert "not located" in html
    assert "3 steps, none of which can go" in html
    assert "dynamic=true" in html
    assert "print(&#39;BUG: 1&#39;)" in html
    assert "Set aside, and no findings: 1 flaky." in html


def test_known_bugs_are_linked_if_the_link_is_one(folder: Path) -> None:
    def page(url: str) -> str:
        rows = {bucket_folder("closure_cell"): {"url": url, "status": "known"}}
        text = json.dumps({"format": "rondo-known", "version": 1, "buckets": rows})
        (folder / "known.json").write_text(text)
        return render(collect(folder, totals=False), folder / "report.html")

    assert '<a href="https://example.org/1" rel="noreferrer">' in page("https://example.org/1")
    assert "<dt>Known</dt>" in page("https://example.org/1")
    assert 'href="javascript' not in page("javascript:alert(1)")
    (folder / "known.json").write_text("damaged")
    assert "<dt>Known</dt>" not in render(collect(folder, totals=False), folder / "report.html")


def test_coverage_pages_are_linked_once_they_are_there(folder: Path) -> None:
    out = folder / "report.html"
    assert "rondo coverage html" in render(collect(folder, totals=False), out)
    (folder / "coverage" / "html").mkdir()
    (folder / "coverage" / "html" / "index.html").write_text("pages")
    html = render(collect(folder, totals=False), out)
    assert 'href="coverage/html/index.html"' in html
    assert 'href="../findings/coverage/html/index.html"' in render(
        collect(folder, totals=False), folder.parent / "elsewhere" / "report.html"
    )


def test_the_command_writes_it_and_tells_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(folder), "--no-totals"])
    assert done.exit_code == 0, done.output
    assert done.output == f"2 findings; open {folder / 'report.html'}\n"
    done = CliRunner().invoke(main, ["report", str(tmp_path / "missing")])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1


# ------------------------------------------------------------------------------------------- plots


def path_of(svg: str, variable: str) -> list[tuple[float, float]]:
    """The corners of the line that is drawn in a colour of the style sheet."""
    lines = re.findall(r'<path d="(M[^"]+)"[^>]*stroke: ' + re.escape(variable), svg)
    corners = [re.findall(r"[ML] ([\d.]+) ([\d.]+)", line) for line in lines]
    return [(float(x), float(y)) for x, y in max(corners, key=len)]


def test_a_curve_is_a_staircase_from_its_first_to_its_last_value() -> None:
    curve = Curve("mcmc", [(0.0, 0.0), (50.0, 5.0), (100.0, 10.0)])
    svg = str(growth_chart([curve], label="<findings>"))
    corners = path_of(svg, "var(--accent)")
    assert len(corners) == 5, "two steps"
    for (x, y), (next_x, next_y) in pairwise(corners):
        assert (x == next_x) != (y == next_y), "to the right or upwards"
        assert next_y <= y, "growth goes up"
    assert 'aria-label="&lt;findings&gt; over time: mcmc 10 after 100 s"' in svg


def test_a_chart_fits_into_a_page() -> None:
    """No names that another chart has too, no style for the whole page, no colour of its own."""
    charts = [
        str(growth_chart([Curve("", [(0.0, 0.0), (9.0, 900.0)])], label=label))
        for label in ("behaviours", "findings")
    ]
    names = [set(re.findall(r' id="([^"]+)"', chart)) for chart in charts]
    assert not names[0] & names[1]
    for chart in charts:
        assert chart.startswith("<svg ")
        assert chart.endswith("</svg>")
        assert "<style" not in chart
        assert "<metadata" not in chart
        assert set(re.findall(r"(?:fill|stroke): (#\w+)", chart)) <= {"#000000"}, "unused ones"
        assert not any(colour in chart for colour in VARIABLES)
    assert charts[0] == str(
        growth_chart([Curve("", [(0.0, 0.0), (9.0, 900.0)])], label="behaviours")
    ), "the same campaign gives the same page"


def test_what_is_compared_has_colours_and_a_legend() -> None:
    points = [(0.0, 0.0), (50.0, 5.0)]
    curves = [Curve(name, points) for name in ("mcmc", "random", "mcmc")]
    svg = str(growth_chart(curves, label="behaviours"))
    legend = re.findall(r"<text[^>]*>(mcmc|random)</text>", svg)
    assert sorted(legend) == ["mcmc", "random"]
    assert path_of(svg, "var(--accent)")
    assert path_of(svg, "var(--line1)")
    assert "var(--line2)" not in svg
    alone = str(growth_chart(curves[:1], label="behaviours"))
    assert not re.findall(r"<text[^>]*>mcmc</text>", alone)


def test_an_empty_or_flat_curve_is_drawn_too() -> None:
    for points in ([], [(0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0)]):
        assert str(growth_chart([Curve("x", points)], label="x")).endswith("</svg>")


def test_samplers_in_one_folder_are_told_apart(folder: Path) -> None:
    first = next((folder / "record").glob("*.jsonl"))
    about = {"about": {"sampler": "random", "member": "other"}}
    moments = [{"seconds": n, "executions": n, "behaviours": n, "findings": 0} for n in (1, 2)]
    lines = [json.dumps(line) for line in (about, *moments)]
    (folder / "record" / "2-2.jsonl").write_text("\n".join(lines) + "\n")
    own = json.loads(first.read_text().splitlines()[0])["about"]["sampler"]
    names = [curve.name for curve in collect(folder, totals=False).curves["behaviours"]]
    assert sorted(names) == sorted([own, "random"])


def test_numbers_and_thinning() -> None:
    assert [short_number(v) for v in (0, 7, 950, 1200, 34000, 5.6e6)] == [
        *("0", "7", "950", "1.2k", "34k", "5.6M")
    ]
    long = [(float(n), float(n)) for n in range(5000)]
    short = thinned(long)
    assert short[0] == long[0]
    assert short[-1] == long[-1]
    assert len(short) <= MOST_POINTS + 1


# --------------------------------------------------------------------------------------- a browser


def chromium(page: Path, *arguments: str) -> str:
    """Open `page` in a headless Chromium; return what it printed."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *(f"--user-data-dir={page.parent / 'profile'}", "--virtual-time-budget=2000"),
            *arguments,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pixels(png: Path) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of an 8-bit PNG, unfiltered far enough to tell colours apart."""
    data = png.read_bytes()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    channels = {2: 3, 6: 4}[kind]
    assert depth == 8
    packed, position = b"", 8
    while position < len(data):
        (size,) = struct.unpack(">I", data[position : position + 4])
        if data[position + 4 : position + 8] == b"IDAT":
            packed += data[position + 8 : position + 8 + size]
        position += 12 + size
    raw = zlib.decompress(packed)
    stride = width * channels + 1
    first = raw[1 : 1 + channels]  # the filter of a first pixel always leaves it as it is
    return width, height, [first, raw[:stride]]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.slow
def test_in_a_browser_it_fits_a_phone_and_follows_the_dark(page: Path, tmp_path: Path) -> None:
    probe = tmp_path / "probe.html"
    measure = (
        "<script>addEventListener('load', () => { const d = document.documentElement;"
        "document.body.innerHTML = '<pre id=measured>' + JSON.stringify({"
        "wide: d.scrollWidth, seen: d.clientWidth, charts: document.querySelectorAll('svg').length,"
        "high: Math.min(...[...document.querySelectorAll('svg')].map(s => s.clientHeight)),"
        "title: document.title}) + '</pre>'; });</script>"
    )
    probe.write_text(page.read_text().replace("</body>", measure + "</body>"))
    printed = chromium(probe, f"--window-size={PHONE},800", "--dump-dom")
    found = re.search(r'<pre id="measured">(.*?)</pre>', printed)
    assert found is not None, printed[-500:]
    measured = json.loads(found.group(1).replace("&amp;", "&"))
    assert measured["wide"] <= measured["seen"], "nothing sticks out to the right"
    assert measured["charts"] == 4
    assert measured["high"] > 100
    assert measured["title"] == "Campaign on torch"
    corners = []
    for name, flags in (("light", ()), ("dark", ("--blink-settings=preferredColorScheme=0",))):
        png = tmp_path / f"{name}.png"
        chromium(page, f"--window-size={PHONE},900", f"--screenshot={png}", *flags)
        width, _, rows = pixels(png)
        assert width >= PHONE
        corners.append(sum(rows[0][:3]))
    assert corners[0] > 700 > 200 > corners[1], "a light page and a dark one"


def test_the_terminal_gets_the_same_figures_by_tree_and_by_kind(folder: Path) -> None:
    done = CliRunner().invoke(coverage, ["report", str(folder), "--json"])
    figures = json.loads(done.output)
    report = collect(folder)
    assert figures["lines"] == {row.tree: [row.reached, row.statements] for row in report.trees}
    assert figures["behaviours"]["guard"][0] == next(
        kind.distinct for kind in report.behaviours if kind.kind == "guard"
    )
    printed = CliRunner().invoke(coverage, ["report", str(folder)]).output
    total = sum(kind.distinct for kind in report.behaviours)
    assert printed.splitlines()[-1].split() == ["total", str(total), "behaviours"]
    assert len(printed.splitlines()) == len(report.trees) + len(report.behaviours) + 1


@pytest.mark.parametrize(
    ("seconds", "shown"), [(59.6, "60 s"), (119, "119 s"), (900, "15 min"), (28800, "8 h")]
)
def test_times_are_told_in_one_unit(seconds: float, shown: str) -> None:
    assert _duration(seconds) == shown


def test_findings_are_listed_above_their_cards(page: Path) -> None:
    html = page.read_text()
    contents = html[html.index('<ol class="contents">') : html.index("</ol>")]
    names = re.findall(r'<article id="([^"]+)">', html)
    assert re.findall(r'href="#([^"]+)"', contents) == names
    assert len(names) > 1
    assert "stateful, eager, dynamo-guards" in contents


def test_a_campaign_that_was_continued_is_counted_once(tmp_path: Path) -> None:
    """Killed at 8 s, and continued from its checkpoint at 6 s."""
    for began, moments in ((1, (0, 4, 8)), (2, (6, 12))):
        lines = [{"about": {"member": "1"}}]
        lines += [{"seconds": each, "executions": 10 * each} for each in moments]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{began}-7.jsonl").write_text(text)
    (tmp_path / "3-7.jsonl").write_text('{"about": {"member": "2"}}\n{"seconds": 5}\n')
    first, other = read_records(tmp_path)
    assert [each["seconds"] for each in first.moments] == [0, 4, 6, 12]
    assert [each["seconds"] for each in other.moments] == [5]
