"""OP-4: what is in the images, and what is not."""

import json
import subprocess

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.utils import canonicalize_name

from images.build import ROOT, SERVICES, bill_of, image_name
from images.index_access import pips_settings
from images.lock import OWN
from images.tools import command, output
from tests.images.pods import finished, pod_options
from tests.unit.locks import locked_versions

LOCKS = {
    "writer": "writer/requirements.txt",
    "reader": "reader/requirements.txt",
    "embedder": "embedder/requirements-bundled.txt",
}

# What installs or compiles, and the libraries that no service of ours here needs.
PROGRAMS = ("pip", "pip3", "uv", "hatchling", "gcc", "cc", "make", "git", "curl", "wget")
MODULES = ("torch", "sentence_transformers", "transformers", "pip", "hatchling", "pytest", "bench", "tests")

FOUND = f"""
import importlib.util as u, shutil
print([name for name in {PROGRAMS!r} if shutil.which(name)], [name for name in {MODULES!r} if u.find_spec(name)])
"""

# Without a read-only root: the files themselves must not be the service's to change.
WRITABLE = """
import os
skipped = {"/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp"}
for folder, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in skipped]
    for path in [folder, *(os.path.join(folder, name) for name in files)]:
        if not os.path.islink(path) and os.access(path, os.W_OK):
            print(path)
"""

INSTALLED = """
import importlib.metadata as m
print("\\n".join(f"{one.name}=={one.version}" for one in m.distributions()))
"""


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest) -> str:
    """One image after the other."""
    return request.param


def in_image(service: str, code: str) -> str:
    done = finished(service, {}, "python", "-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def configuration(service: str) -> dict:
    return json.loads(output("podman", "image", "inspect", image_name(service)))[0]


def bill(service: str) -> dict:
    return json.loads(bill_of(service).read_text())


def python_packages(service: str) -> dict[str, str]:
    urls = [PackageURL.from_string(one["purl"]) for one in bill(service)["components"]]
    return {url.name: url.version for url in urls if url.type == "pypi"}


def test_configuration(service: str) -> None:
    """OP-4: it runs as a number that is not root, its program is told as a list, and its labels say what it is."""
    made = configuration(service)["Config"]
    assert made["User"] == "65532:65532"
    assert made["Entrypoint"] == ["python", "-m", f"services.{service}"]
    assert made["Labels"]["org.opencontainers.image.title"] == f"palimpsest-{service}"
    assert made["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_nothing_of_the_build_is_left(service: str) -> None:
    """OP-4: neither a compiler nor an installer, neither torch nor tests."""
    assert in_image(service, FOUND) == "[] []\n"


def test_each_has_its_own_service_alone(service: str) -> None:
    """OP-4: and the command line is the writer's."""
    names = ["cli", *(f"services.{name}" for name in SERVICES)]
    code = f"import importlib.util as u; print([name for name in {names!r} if u.find_spec(name)])"
    own = [f"services.{service}"]
    assert in_image(service, code) == f"{['cli', *own] if service == 'writer' else own}\n"


def test_nothing_is_the_service_s_to_change() -> None:
    """OP-4: whoever takes over a service cannot alter its program, even where the root is not read-only."""
    for service in SERVICES:
        assert in_image_without_read_only_root(service, WRITABLE) == "", service


def in_image_without_read_only_root(service: str, code: str) -> str:
    options = [one for one in pod_options(service, {}, {}) if not one.startswith("--read-only")]
    run = command("podman", "run", "--rm", *options, "--entrypoint", '["python", "-c"]', image_name(service), code)
    return subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_nothing_tells_where_it_was_built(service: str) -> None:
    """OP-4: what the index is reached by is in no layer, no variable and no line of the history."""
    told = json.dumps(configuration(service)) + output(
        "podman", "history", "--no-trunc", "--format", "json", image_name(service)
    )
    secret = [value for value in pips_settings().values() if len(value) > 4]
    assert not [value for value in secret if value in told]
    assert "PIP_" not in json.dumps(configuration(service)["Config"])
    paths = ["/etc/pip.conf", "/run/secrets", "/source", "/build", "/wheels"]
    assert in_image(service, f"import os; print([path for path in {paths!r} if os.path.exists(path)])") == "[]\n"


def test_what_is_installed_is_what_was_locked(service: str) -> None:
    """OP-4: every distribution has the version of the lock, and there is no other."""
    (python,) = (one["version"] for one in bill(service)["components"] if one["name"] == "python")
    lock = locked_versions((ROOT / "images" / LOCKS[service]).read_text(), python=python.rpartition(".")[0])
    installed = dict(line.split("==") for line in in_image(service, INSTALLED).splitlines())
    named = {canonicalize_name(name): version for name, version in installed.items()}
    assert {name: version for name, version in named.items() if name not in OWN} == lock
    assert named.keys() >= set(OWN)


def test_bill_of_materials(service: str) -> None:
    """OP-4: it is valid CycloneDX, names what is really there, and no torch."""
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill_of(service).read_text()) is None
    installed = dict(line.split("==") for line in in_image(service, INSTALLED).splitlines())
    packages = python_packages(service)
    assert packages == {canonicalize_name(name): version for name, version in installed.items()}
    assert {"grpcio", "asyncpg", "protobuf"} <= packages.keys()
    assert "torch" not in packages
    assert bill(service)["metadata"]["component"]["properties"][0]["value"] == configuration(service)["Id"]
    assert any(one["name"] == "libc6" for one in bill(service)["components"])
    assert any(one["name"] == "python" for one in bill(service)["components"])


def test_the_model_is_in_the_embedder_alone() -> None:
    """OP-4: built with the image, and readable by whoever runs it."""
    files = "pathlib.Path('/opt/palimpsest').glob('models/*/*')"
    code = f"import pathlib; print(sorted(path.name for path in {files} if path.read_bytes()))"
    assert in_image("embedder", code) == "['int8.onnx', 'tokenizer.json']\n"
    assert in_image("writer", code) == in_image("reader", code) == "[]\n"


def test_modules_are_compiled(service: str) -> None:
    """OP-4: on a read-only root Python could not keep what it compiles, and would do so at each start."""
    code = f"import services.{service}.settings as s, os; print(os.path.exists(s.__cached__))"
    assert in_image(service, code) == "True\n"
