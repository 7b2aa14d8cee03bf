"""OP-4: what can be said of the Dockerfiles without building them."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from images.lock import LOCKS, OWN
from k8s.checks.environment import SETTINGS, known_names
from tests.unit.locks import locked_versions, requirements

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CLIENT = tomllib.loads((ROOT / "protos/pyproject.toml").read_text())["project"]
PORTS = {"writer": 7431, "reader": 7432, "embedder": 7433}


@pytest.fixture(params=PORTS)
def service(request: pytest.FixtureRequest) -> str:
    return request.param


def instructions(service: str) -> list[tuple[str, str]]:
    """Each instruction with what follows it, on one line."""
    text = (ROOT / "images" / service / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    pairs = [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]
    return [(name, " ".join(rest.split())) for name, rest in pairs]


def final_stage(service: str) -> list[tuple[str, str]]:
    """What makes the image itself."""
    every = instructions(service)
    last = max(index for index, (name, _) in enumerate(every) if name == "FROM")
    return every[last:]


def values(found: list[tuple[str, str]], wanted: str) -> list[str]:
    return [value for name, value in found if name == wanted]


def variables(service: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for value in values(final_stage(service), "ENV") for pair in value.split())


def test_base_is_an_argument_with_a_version(service: str) -> None:
    """OP-4: the base can be another; by default it is one of a version, never the latest."""
    before = [pair for pair in instructions(service) if pair[0] in ("ARG", "FROM")]
    (name, image), (second, build) = (value.split("=", 1) for _, value in before[:2])
    assert (name, second, build) == ("BASE_IMAGE", "BUILD_IMAGE", "${BASE_IMAGE}")
    assert re.fullmatch(r"python:3\.(1[1-9])\.\d+-slim-[a-z]+", image)
    assert [value for kind, value in before if kind == "FROM"] == ["${BUILD_IMAGE} AS build", "${BASE_IMAGE}"]
    assert "latest" not in (ROOT / "images" / service / "Dockerfile").read_text()


def test_bases_are_the_same() -> None:
    """OP-4: all images are built on one base, so nodes keep it once."""
    assert len({values(instructions(service), "ARG")[0] for service in PORTS}) == 1


def test_final_stage_is_copied_and_run_as_a_number(service: str) -> None:
    """OP-4: no program of the build runs in it; its user is no root; its program gets the signals itself."""
    stage = final_stage(service)
    assert values(stage, "RUN") == []
    assert values(stage, "USER") == ["65532:65532"]
    assert [json.loads(value) for value in values(stage, "ENTRYPOINT")] == [["python", "-m", f"services.{service}"]]
    assert all(value.startswith("--from=build ") for value in values(stage, "COPY"))
    assert (ROOT / "services" / service / "__main__.py").is_file()


def test_what_is_copied_exists_and_is_in_the_context(service: str) -> None:
    """OP-4: each source is a file of the tree, and no line of .dockerignore leaves it out."""
    build = [value.split() for value in values(instructions(service), "COPY") if not value.startswith("--from")]
    sources = [source.replace("${EXTRA}", "bundled") for *found, _ in build for source in found]
    assert f"services/{service}" in sources
    allowed = [
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    ]
    for source in sources:
        assert (ROOT / source).exists(), source
        assert source.split("/")[0] in allowed, source


def test_no_image_has_another_s_service(service: str) -> None:
    """OP-4: a service's image is its own: the others are not copied."""
    copied = " ".join(values(instructions(service), "COPY"))
    assert set(re.findall(r"services/(\w+) ", copied)) == {service}


def test_variables_exist(service: str) -> None:
    """OP-4: what the image sets of ours is a setting that the service reads, with the port that is exposed."""
    known = {name for each in SETTINGS[f"palimpsest-{service}"] for name in known_names(each)}
    ours = {name for name in variables(service) if name.startswith("PALIMPSEST_")}
    assert ours <= known
    assert variables(service)["PALIMPSEST_PORT"] == str(PORTS[service])
    assert values(final_stage(service), "EXPOSE") == [str(PORTS[service])]


def test_version_is_the_project_s(service: str) -> None:
    """OP-4: the label tells the version that is built."""
    assert f"VERSION={PROJECT['version']}" in values(final_stage(service), "ARG")


@pytest.mark.parametrize("file", LOCKS)
def test_lock_is_what_the_project_asks_for(file: str) -> None:
    """OP-4: all that the extras of an image ask for is locked, in a version that is allowed; else lock again."""
    versions = locked_versions((ROOT / file).read_text(), python="3.11")
    for wanted in asked(LOCKS[file]):
        if canonicalize_name(wanted.name) not in OWN:
            assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)], prereleases=True), wanted


def asked(wanted: tuple[str, ...]) -> set[Requirement]:
    """What a lock was asked for, with what the extras of this project stand for."""
    found: set[Requirement] = set()
    for text in wanted:
        if text == "./protos":
            found |= set(map(Requirement, CLIENT["dependencies"]))
        elif text.startswith("."):
            extras = text.removeprefix(".").strip("[]").split(",")
            found |= set(map(Requirement, PROJECT["dependencies"])).union(*map(of_extra, extras))
        else:
            found.add(Requirement(text))
    return found


def of_extra(extra: str) -> set[Requirement]:
    every = set(map(Requirement, PROJECT["optional-dependencies"][extra]))
    inner = {name for one in every if one.name in OWN for name in one.extras}
    return every.union(*map(of_extra, inner))


@pytest.mark.parametrize("file", LOCKS)
def test_lock_has_checksums_and_no_host(file: str) -> None:
    """OP-4: a file that was changed on its way is refused, and nothing says from where it was fetched."""
    text = (ROOT / file).read_text()
    assert len(list(requirements(text))) == len(re.findall(r"(?m)^[a-z0-9-]+==", text))
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) > len(list(requirements(text)))
    assert "://" not in text


@pytest.mark.parametrize("file", [file for file in LOCKS if "sentence-transformers" not in file])
def test_no_lock_but_one_has_torch(file: str) -> None:
    """OP-4: torch comes with the argument that asks for it, and never else."""
    assert (
        not {"torch", "transformers", "sentence-transformers"}
        & locked_versions((ROOT / file).read_text(), python="3.11").keys()
    )
