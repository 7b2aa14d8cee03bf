"""The commands on facts over time, packs, duplicates and a memory's health, against a real system."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_cli import Running, folder, observation, up


@pytest.fixture(scope="module")
def system() -> Iterator[Running]:
    """One system for all tests; each uses a namespace of its own."""
    with folder() as place, up(place / "data") as running:
        yield running


def fact(subject: str, predicate: str, target: str, **fields: Any) -> dict[str, Any]:
    return {
        "fact": {
            "subject": {"key": subject},
            "predicate": predicate,
            "object": {"entity": {"key": target}},
            **fields,
        }
    }


def entity(key: str, title: str) -> dict[str, Any]:
    return {"entity": {"entity": {"key": key}, "title": title}}


def recorded(system: Running, namespace: str, *assertions: dict[str, Any]) -> None:
    assert system.palimpsest("record", "-n", namespace, stdin=observation(1, assertions=assertions)).code == 0


def facts(system: Running, namespace: str, *options: str) -> list[dict[str, Any]]:
    return system.palimpsest("facts", "-n", namespace, "--json", *options).lines


def test_facts_over_time(system: Running) -> None:
    """FA-10, FA-11: what held then, as a timeline; a fact's history; nothing held is exit code 3."""
    year = {"valid_from": "2024-01-01T00:00:00Z", "valid_to": "2025-01-01T00:00:00Z"}
    first = fact("person:anna", "LIVES_IN", "city:kazan", **year)
    second = fact("person:anna", "LIVES_IN", "city:perm", valid_from="2025-01-01T00:00:00Z")
    recorded(system, "time", first, second)

    then = system.palimpsest("as-of", "2024-06-01T00:00:00Z", "person:anna", "-n", "time")
    assert then.code == 0
    scale, held, other = then.out.splitlines()
    assert scale.startswith("2024-01-01")
    assert ("#" in held, "kazan" in held) == (True, True)
    assert ("|" in other, "perm" in other) == (True, True)
    [holding] = system.palimpsest("as-of", "2024-06-01T00:00:00Z", "-n", "time", "--json").lines
    assert holding["object"]["entity"]["key"] == "city:kazan"
    assert system.palimpsest("as-of", "2023-06-01T00:00:00Z", "person:anna", "-n", "time").code == 3
    before = system.palimpsest("as-of", "2024-06-01T00:00:00Z", "-n", "time", "--known-at", "2024-06-01T00:00:00Z")
    assert before.code == 3

    history = system.palimpsest("history", holding["fact_id"], "-n", "time")
    assert history.code == 0
    assert "asserted" in history.out
    assert system.palimpsest("history", "fact-" + "0" * 24, "-n", "time").code == 1


def test_correcting_and_retracting(system: Running) -> None:
    """FA-6, FA-12: the wrong value is gone at every moment, the right one there; a retracted fact has ended."""
    recorded(system, "wrong", fact("person:anna", "LIVES_IN", "city:omsk", valid_from="2024-01-01T00:00:00Z"))
    [wrong] = facts(system, "wrong")

    corrected = system.palimpsest(
        "correct", wrong["fact_id"], "-n", "wrong", "--entity", "city:tomsk", "--valid-from", "2024-02-01T00:00:00Z",
        "--reason", "mixed up",
    )  # fmt: skip
    assert corrected.code == 0, corrected.err
    [right] = facts(system, "wrong")
    assert (right["object"]["entity"]["key"], right["valid_from"]) == ("city:tomsk", "2024-02-01T00:00:00Z")
    assert system.palimpsest("as-of", "2024-01-15T00:00:00Z", "-n", "wrong").code == 3

    ended = system.palimpsest("retract", right["fact_id"], "-n", "wrong", "--valid-to", "2025-01-01T00:00:00Z")
    assert ended.code == 0, ended.err
    assert system.palimpsest("facts", "-n", "wrong").code == 3
    assert system.palimpsest("as-of", "2024-06-01T00:00:00Z", "-n", "wrong").code == 0
    assert system.palimpsest("correct", wrong["fact_id"][:-1], "-n", "wrong", "--only-wrong").code == 2


def test_marking_obsolete(system: Running) -> None:
    """FA-9: by id, or by the whole text of one statement; what only resembles it is not marked; reversibly."""
    recorded(system, "old", fact("person:anna", "WORKS_ON", "project:alpha"))
    [known] = facts(system, "old")

    assert system.palimpsest("obsolete", "anna works on", "-n", "old").code == 1
    assert len(facts(system, "old")) == 1
    marked = system.palimpsest("obsolete", "ANNA works on alpha", "-n", "old", "--reason", "done")
    assert marked.code == 0, marked.err
    assert known["fact_id"] in marked.out
    assert facts(system, "old") == []
    assert "already" in system.palimpsest("obsolete", known["fact_id"], "-n", "old").out
    assert system.palimpsest("obsolete", known["fact_id"], "-n", "old", "--undo").code == 0
    assert len(facts(system, "old")) == 1


def test_an_ambiguous_text_marks_nothing(system: Running) -> None:
    """FA-9: the candidates are listed instead."""
    years = ({"valid_from": f"202{year}-01-01T00:00:00Z"} for year in (3, 4))
    recorded(system, "many", *(fact("person:anna", "WORKS_ON", "project:alpha", **year) for year in years))

    refused = system.palimpsest("obsolete", "anna works on alpha", "-n", "many")

    assert refused.code == 1
    assert "AMBIGUOUS_MATCH" in refused.err
    assert all(one["fact_id"] in refused.err for one in facts(system, "many"))
    assert len(facts(system, "many")) == 2


def test_packs(system: Running, tmp_path: Path) -> None:
    """DP-1, DP-2: registered, shown in the form that is registered, enabled; a version is immutable."""
    pack = {"pack": "tracker", "version": 1, "kinds": [{"kind": "issue"}], "description": "Tickets"}
    (tmp_path / "pack.json").write_text(json.dumps(pack))

    assert "registered" in system.palimpsest("packs", "register", str(tmp_path / "pack.json"), "-n", "packs").out
    assert "known before" in system.palimpsest("packs", "register", "-", "-n", "packs", stdin=json.dumps(pack)).out
    changed = json.dumps(pack | {"description": "Others"})
    refused = system.palimpsest("packs", "register", "-", "-n", "packs", stdin=changed)
    assert refused.code == 1
    assert "PACK_VERSION_CONFLICT" in refused.err
    shown = system.palimpsest("packs", "show", "tracker", "-n", "packs")
    assert "known before" in system.palimpsest("packs", "register", "-", "-n", "packs", stdin=shown.out).out
    enabled = system.palimpsest("packs", "enable", "tracker", "-n", "packs")
    assert enabled.code == 0, enabled.err
    [line] = [one for one in system.palimpsest("packs", "list", "-n", "packs").out.splitlines() if "tracker" in one]
    assert line.startswith("*")
    wrong = system.palimpsest("packs", "register", "-", "-n", "packs", stdin='{"pack": "x", "kind": []}')
    assert wrong.code == 2
    assert "kind: there is no such field" in wrong.err


def test_curation_and_duplicates(system: Running) -> None:
    """CU-1, EN-1a: a pass proposes; a person decides, and may take it back."""
    pair = (entity("team:red", "Красная команда"), entity("team:rot", "красная  команда"))
    recorded(system, "twins", *pair, fact("team:rot", "OWNS", "service:billing"))

    part = system.palimpsest("curate", "-n", "twins", "--max-items", "1")
    assert "not whole yet" in part.err
    whole = system.palimpsest("curate", "-n", "twins", "--json")
    assert whole.code == 0
    assert whole.lines[0]["done"] is True
    [proposal] = system.palimpsest("duplicates", "list", "-n", "twins", "--json").lines
    assert (proposal["first_key"], proposal["second_key"]) == ("team:red", "team:rot")
    health = system.palimpsest("health", "-n", "twins", "--json")
    assert health.lines[0]["duplicate_proposals"] == "1"

    confirmed = system.palimpsest("duplicates", "confirm", proposal["proposal_id"], "-n", "twins")
    assert "confirmed" in confirmed.out
    assert [one["subject_key"] for one in facts(system, "twins", "team:red")] == ["team:rot"]
    assert system.palimpsest("duplicates", "refuse", proposal["proposal_id"], "-n", "twins").code == 1
    assert system.palimpsest("duplicates", "undo", proposal["proposal_id"], "-n", "twins").code == 0
    assert system.palimpsest("facts", "team:red", "-n", "twins").code == 3
    assert system.palimpsest("duplicates", "list", "-n", "twins").code == 3


def test_health(system: Running) -> None:
    """CU-2: what was refused is told by its reason."""
    assert system.palimpsest("record", "-n", "ill", stdin=observation(1, kind="NOT A KIND")).code == 1

    report = system.palimpsest("health", "-n", "ill")

    assert report.code == 0
    [line] = [one for one in report.out.splitlines() if "refused input" in one]
    assert "INVALID_FIELD 1" in line


def test_reconciling_a_snapshot(system: Running) -> None:
    """DO-6: a dry run changes nothing; what the next state lacks is closed; a wrong line sends nothing."""

    def item(number: int, title: str) -> dict[str, Any]:
        relation = {"relation": "OWNED_BY", "object": {"entity": {"key": "team:red"}}}
        return {"entity": {"entity": {"key": f"issue:{number}"}, "title": title}, "relations": [relation]}

    def reconcile(snapshot: str, taken_at: str, *items: dict[str, Any] | str, options: tuple[str, ...] = ()) -> Any:
        lines = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in items)
        head = ("--source", "jira", "--scope", "OPS", "--snapshot", snapshot, "--taken-at", taken_at)
        return system.palimpsest("reconcile", "-", "-n", "states", *head, *options, stdin=lines)

    january = "2026-01-01T00:00:00Z"
    dry = reconcile("1", january, item(1, "One"), item(2, "Two"), options=("--dry-run",))
    assert "Would be: 2 added" in dry.out, dry.err
    assert facts(system, "states") == []
    assert "Reconciled: 2 added" in reconcile("1", january, item(1, "One"), item(2, "Two")).out

    wrong = reconcile("2", "2026-02-01T00:00:00Z", item(1, "One"), "{")
    assert wrong.code == 2
    assert "line 2: not JSON" in wrong.err
    assert len(facts(system, "states")) == 2
    second = reconcile("2", "2026-02-01T00:00:00Z", item(1, "One"))
    assert "1 removed, 1 unchanged" in second.out
    assert [one["subject_key"] for one in facts(system, "states")] == ["issue:1"]


ALICE = {"type": "person", "id": "alice"}


def turn(message_id: str, text: str, **fields: Any) -> str:
    said = {"message_id": message_id, "text": text, "sent_at": "2026-08-01T09:00:00Z", **fields}
    return json.dumps(said, ensure_ascii=False)


def test_a_conversation_is_captured(system: Running) -> None:
    """CP-1, CP-3: allowed authors become evidence, secrets go; the same again is known; refusals have their lines."""
    assert system.palimpsest("authors", "list", "-n", "talk").code == 3
    allowed = system.palimpsest("authors", "allow", "person:alice", "person:bob", "-n", "talk")
    assert "person:alice, person:bob" in allowed.out
    assert system.palimpsest("authors", "forbid", "person:bob", "-n", "talk").code == 0
    assert system.palimpsest("authors", "list", "-n", "talk").out.split() == ["person:alice"]

    lines = "\n".join(
        [turn("1", "the deploy is on Friday, password: hunter2hunter2", author=ALICE), turn("2", "", author=ALICE)]
    )
    done = system.palimpsest("capture", "-n", "talk", "--conversation", "room", stdin=lines)
    assert done.code == 4
    assert "1 stored, 0 known before" in done.out
    assert "1 secrets taken out" in done.out
    assert "line 2: " in done.err
    again = system.palimpsest("capture", "-n", "talk", "--conversation", "room", "--json", stdin=lines.split("\n")[0])
    assert (again.code, again.lines[0]["duplicate"]) == (0, True)
    found = system.palimpsest("search", "-n", "talk", "when is the deploy", "--json")
    assert "hunter2" not in found.out
    assert "Friday" in found.out


def test_the_queue_at_the_command_line(system: Running) -> None:
    """CP-5: empty where no extractor is configured."""
    assert "0 messages wait" in system.palimpsest("extraction", "status", "-n", "talk").out
    [queue] = system.palimpsest("extraction", "status", "-n", "talk", "--json").lines
    assert queue.get("depth", 0) in (0, "0")
    assert "0 messages wait again" in system.palimpsest("extraction", "retry", "-n", "talk").out
