"""SH-5: the contract is linted, formatted, and checked for changes that break its users."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.baseline import baseline, export, git
from tests.contract.contract import PROTOS, ROOT

BUF = Path(sys.executable).parent / "buf"


def buf(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BUF, *arguments], capture_output=True, text=True, timeout=120)


def passed(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether buf found nothing; what it found otherwise is printed."""
    print(done.stdout, done.stderr)
    return done.returncode == 0


def copied(out: Path) -> Path:
    """The contract without what is built from it."""
    folder = out / "changed"
    shutil.copytree(PROTOS, folder, ignore=shutil.ignore_patterns("*.py", "*.pyi", "build", "__pycache__"))
    return folder


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def test_contract_is_linted() -> None:
    """SH-5: buf's standard rules, comments among them."""
    assert passed(buf("lint", PROTOS))


def test_contract_is_formatted() -> None:
    """SH-5: one format."""
    assert passed(buf("format", PROTOS, "--diff", "--exit-code"))


def test_lint_and_format_find_faults(tmp_path: Path) -> None:
    """SH-5: the checks can fail."""
    folder = copied(tmp_path)
    replace(folder / "palimpsest/v1/reference.proto", "enum Origin {", "enum   origin {")
    assert not passed(buf("lint", folder))
    assert not passed(buf("format", folder, "--diff", "--exit-code"))


def test_contract_breaks_nobody(tmp_path: Path) -> None:
    """SH-5: nothing that was promised with the last tag, or on the main branch, is taken back."""
    promised = baseline(ROOT)
    if promised is None:
        pytest.skip("this clone holds no earlier contract; fetch the tags or more of the history")
    assert passed(buf("breaking", PROTOS, "--against", export(ROOT, promised, tmp_path)))


@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        ("reference.proto", "  string uri = 1 [(limits).max_bytes = 4096];\n", "", "field"),
        ("reference.proto", "  string branch = 3 [", "  bytes branch = 3 [", "type"),
        ("reference.proto", "  ORIGIN_VAULT = 1;", "  ORIGIN_FOLDER = 1;", "name"),
        ("writer_service.proto", "  rpc AppendAudit(AppendAuditRequest) returns (AppendAuditResponse);\n", "", "RPC"),
    ],
)
def test_breaking_changes_are_found(tmp_path: Path, file: str, old: str, new: str, finding: str) -> None:
    """SH-5: a deleted field, another type, a renamed value and a deleted RPC each fail the check."""
    folder = copied(tmp_path)
    replace(folder / "palimpsest/v1" / file, old, new)
    done = buf("breaking", folder, "--against", PROTOS)
    assert not passed(done)
    assert finding in done.stdout


def test_an_added_field_breaks_nobody(tmp_path: Path) -> None:
    """SH-5: the contract can grow."""
    folder = copied(tmp_path)
    added = "  string uri = 1 [(limits).max_bytes = 4096];\n"
    replace(folder / "palimpsest/v1/reference.proto", added, f"{added}  // New.\n  string new = 99;\n")
    assert passed(buf("breaking", folder, "--against", PROTOS))


def made(folder: Path, *commits: str) -> Path:
    """A repository with a commit for each text of its `protos/a.proto`."""
    (folder / "protos").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for text in commits:
        (folder / "protos" / "a.proto").write_text(text)
        commit(folder, text)
    return folder


def commit(folder: Path, message: str) -> None:
    git(folder, "add", ".")
    author = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    assert git(folder, *author, "commit", "--quiet", "--allow-empty", "-m", message) is not None


def revision(folder: Path, name: str) -> str | None:
    return git(folder, "rev-parse", f"{name}^{{commit}}")


class TestBaseline:
    """SH-5: what the contract is compared with, in every kind of clone."""

    def test_last_tag(self, tmp_path: Path) -> None:
        repository = made(tmp_path, "one", "two", "three")
        git(repository, "tag", "v1", "HEAD~1")
        assert baseline(repository) == revision(repository, "v1")

    def test_tag_before_a_release_commit(self, tmp_path: Path) -> None:
        repository = made(tmp_path, "one", "two", "three")
        git(repository, "tag", "v1", "HEAD~2")
        git(repository, "tag", "v2", "HEAD")
        assert baseline(repository) == revision(repository, "v1")

    def test_changes_after_a_release_commit(self, tmp_path: Path) -> None:
        repository = made(tmp_path, "one", "two")
        git(repository, "tag", "v2", "HEAD")
        (repository / "protos" / "a.proto").write_text("changed")
        assert baseline(repository) == revision(repository, "v2")

    def test_main_without_tags(self, tmp_path: Path) -> None:
        repository = made(tmp_path, "one", "two")
        assert baseline(repository) == revision(repository, "HEAD^")
        (repository / "protos" / "a.proto").write_text("changed")
        assert baseline(repository) == revision(repository, "HEAD")

    def test_branch_off_main(self, tmp_path: Path) -> None:
        repository = made(tmp_path, "one", "two")
        git(repository, "switch", "--quiet", "--create", "topic")
        commit(repository, "three")
        assert baseline(repository) == revision(repository, "main")

    def test_shallow_clone_without_tags(self, tmp_path: Path) -> None:
        origin = made(tmp_path / "origin", "one", "two")
        clone = tmp_path / "clone"
        git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin}", str(clone))
        assert (clone / "protos" / "a.proto").read_text() == "two"
        assert baseline(clone) is None

    def test_shallow_clone_with_changes(self, tmp_path: Path) -> None:
        origin = made(tmp_path / "origin", "one", "two")
        clone = tmp_path / "clone"
        git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin}", str(clone))
        (clone / "protos" / "a.proto").write_text("changed")
        assert baseline(clone) == revision(clone, "HEAD")

    def test_detached_checkout_without_main(self, tmp_path: Path) -> None:
        repository = made(tmp_path, "one", "two")
        git(repository, "switch", "--quiet", "--detach")
        git(repository, "branch", "-D", "main")
        assert baseline(repository) == revision(repository, "HEAD^")

    def test_single_commit(self, tmp_path: Path) -> None:
        assert baseline(made(tmp_path, "one")) is None

    def test_no_repository(self, tmp_path: Path) -> None:
        assert baseline(tmp_path) is None

    def test_export(self, tmp_path: Path) -> None:
        repository = made(tmp_path / "repository", "one", "two")
        (tmp_path / "out").mkdir()
        folder = export(repository, "HEAD^", tmp_path / "out")
        assert (folder / "a.proto").read_text() == "one"
