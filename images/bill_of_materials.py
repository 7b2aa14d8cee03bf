"""What an image is made of, as CycloneDX: its Debian packages, its Python and the distributions in it.

Read from the files of the image, without running anything of it. Libraries that a wheel carries inside are part of
that wheel.
"""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import HeaderParser
from importlib.metadata import Distribution, distributions
from pathlib import Path

from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, License, LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from images.tools import output

SCHEMA = SchemaVersion.V1_6
_ENVIRONMENT = "opt/palimpsest"


class InvalidBill(Exception):
    """The bill of materials is not what its schema says."""


def write_bill(image: str, name: str, file: Path) -> None:
    """Writes the bill of an image of the local store. Raises InvalidBill, CalledProcessError."""
    with _mounted(image) as root:
        text = bill_of_materials(root, name, output("podman", "image", "inspect", "--format", "{{.Id}}", image))
    file.write_text(text)


def bill_of_materials(root: Path, name: str, image_id: str) -> str:
    """The JSON of a bill for the file tree of an image. Raises InvalidBill."""
    bom = Bom()
    bom.metadata.component = Component(
        name=name, type=ComponentType.CONTAINER, bom_ref=name, properties=[Property(name="image:id", value=image_id)]
    )
    parts = [*_debian_packages(root), _python(root), *_distributions(root)]
    for part in parts:
        bom.components.add(part)
    bom.register_dependency(bom.metadata.component, parts)
    text = make_outputter(bom, OutputFormat.JSON, SCHEMA).output_as_string(indent=2)
    if (error := JsonStrictValidator(SCHEMA).validate_str(text)) is not None:
        raise InvalidBill(str(error))
    return text


def _distributions(root: Path) -> Iterator[Component]:
    (packages,) = (root / _ENVIRONMENT / "lib").glob("python3*/site-packages")
    for one in distributions(path=[str(packages)]):
        # As the index spells it.
        name = re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower()
        yield _component(PackageURL("pypi", name=name, version=one.version), _licence(one))


def _licence(one: Distribution) -> License | None:
    """As the distribution names it: in its newer field, its older one, or by a classifier."""
    fields = one.metadata
    if "License-Expression" in fields:
        return LicenseExpression(fields["License-Expression"])
    named = fields["License"].strip() if "License" in fields else ""
    # Some have the whole text in that field, and a tool writes UNKNOWN for nothing.
    if named and "\n" not in named and named != "UNKNOWN":
        return DisjunctiveLicense(name=named)
    classified = [text for text in fields.get_all("Classifier", []) if text.startswith("License :: ")]
    return DisjunctiveLicense(name=classified[0].rpartition(" :: ")[2]) if classified else None


def _python(root: Path) -> Component:
    settings = (root / _ENVIRONMENT / "pyvenv.cfg").read_text()
    version = dict(line.split(" = ", 1) for line in settings.splitlines() if " = " in line)["version"]
    return _component(PackageURL("generic", name="python", version=version))


def _debian_packages(root: Path) -> Iterator[Component]:
    for paragraph in (root / "var/lib/dpkg/status").read_text().strip().split("\n\n"):
        package = HeaderParser().parsestr(paragraph)
        if package["Status"] == "install ok installed":
            url = PackageURL(
                "deb",
                namespace="debian",
                name=package["Package"],
                version=package["Version"],
                qualifiers={"arch": package["Architecture"]},
            )
            yield _component(url)


def _component(url: PackageURL, licence: License | None = None) -> Component:
    return Component(
        name=url.name,
        version=url.version,
        type=ComponentType.LIBRARY,
        purl=url,
        bom_ref=url.to_string(),
        licenses=[licence] if licence else None,
    )


@contextmanager
def _mounted(image: str) -> Iterator[Path]:
    root = output("podman", "image", "mount", image)
    try:
        yield Path(root)
    finally:
        try:
            output("podman", "image", "unmount", image)
        except subprocess.CalledProcessError as error:
            print(f"{image} stays mounted: {error}")
