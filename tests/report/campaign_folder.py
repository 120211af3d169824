"""A campaign's folder as one campaign and one kill leave it, without running either."""

from __future__ import annotations

import json
from pathlib import Path

from rondo._native.behaviour import hash64
from rondo.findings.reproducer import Reproducer, save
from rondo.oracle.result import Difference, Identity, StepReport
from rondo.report.coverage import write_data
from rondo.report.record import Record
from rondo.search.behaviour import BehaviourLedger

EVIL = "<script>document.title='owned'</script>"

LABELS = (
    ["eager: guard ___check_type_id", "eager: guard ==", "eager: compile forward forward ops=2"] * 4
    + ["eager: after program.eval: recompile", "eager: hit then recompile", "eager: hit then hit"]
    + [f"eager: graph_break: {EVIL}"]
)


def reproducer(name: str, verdict: str = "stateful", *, layer: str = "") -> Reproducer:
    """A finding about the construct `name`."""
    return Reproducer(
        framework="torch",
        data=b"RQ\1",
        decoded={
            "framework": "torch",
            "architecture": "identity",
            "constructs": [name],
            "seed": 0,
            "options": {"backend": "eager", "mode": "default", "dynamic": "true"},
            "steps": ["call(batch=2)", f"{name}.poke(1)", "call(batch=2)"],
        },
        identity=Identity(verdict, "value", "eager", "output", f"{name}.poke"),
        step=2,
        differences=(Difference("output[0]", "value", "f32[2] [1, 2]", "f32[2] [9, 9]", EVIL),),
        steps=(
            StepReport("call(batch=2)", "agree", "aaaaaaaa11111111", "aaaaaaaa11111111"),
            StepReport(f"{name}.poke(1)", ""),
            StepReport("call(batch=2)", verdict, "bbbbbbbb2", "cccccccc3", "bbbbbbbb2"),
        ),
        environment={"torch": "2.13.0", "python": "3.11"},
        minimal=True,
        layer=layer,
    )


def bucket_folder(construct: str) -> str:
    """Return the name of a bucket's folder, such as campaigns give."""
    return f"bucket-{construct.replace('_', '-')}-0a1b2c"


def make_campaign(root: Path) -> Path:
    """Write a campaign below `root`; return its folder of findings."""
    folder = root / "findings"
    for name, verdict, layer in (
        ("closure_cell", "stateful", "dynamo-guards"),
        ("list_alias", "masked", ""),
    ):
        save(
            reproducer(name, verdict, layer=layer),
            folder / bucket_folder(name) / "reproducer.rondo",
        )
    (folder / bucket_folder("closure_cell") / "script.py").write_text(
        "import torch\nprint('BUG: 1')\n"
    )
    (folder / "bucket-damaged").mkdir()
    (folder / "bucket-damaged" / "reproducer.rondo").write_bytes(b"nothing")
    for kind in ("flaky", "unconfirmed"):
        (folder / kind).mkdir()
    (folder / "flaky" / "1.seq").write_bytes(b"RQ\1")

    tree = root / "compiler"
    tree.mkdir()
    (tree / "m.py").write_text("x = 1\nif x:\n    y = 2\nelse:\n    y = 3\n")
    (tree / "unreached.py").write_text("z = 1\n")
    write_data(folder / "coverage" / ".coverage", {str(tree / "m.py"): [1, 2, 3]})

    about = {"framework": "torch", "sampler": "mcmc", "seed": 7, "trees": [str(tree)]}
    record = Record(folder / "record", about=about)
    ledger = BehaviourLedger()
    for number, label in enumerate(LABELS):
        ledger.record({hash64(label): label})
        figures = {"executions": number + 1, "behaviours": len(ledger), "findings": number // 6}
        record.note({"seconds": 4.0 * number, "lines": 100 * number, **figures})
    record.save_ledger(ledger)
    with open(folder / "record" / f"{record.name}.jsonl", "a") as file:
        file.write(json.dumps({"seconds": 99})[:5])  # what a kill leaves
    return folder
