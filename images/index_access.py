"""How this machine's pip reaches its index, for a build that must do the same and keep nothing of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

# Where the Dockerfiles mount the two secrets.
_CA_INSIDE = "/run/secrets/ca"

_HANDED_ON = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries")
_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


def secrets(folder: Path) -> list[str]:
    """Options of buildah and docker that hand on pip's settings and whom it trusts, by way of `folder`."""
    configured = pips_settings()
    authorities = next(filter(None, (configured.pop("cert", ""), *map(os.environ.get, _CA_VARIABLES))), None)
    lines = ["[global]", *(f"{name} = {value}" for name, value in sorted(configured.items()))]
    options = []
    if authorities and Path(authorities).is_file():
        shutil.copy(authorities, folder / "ca.pem")
        options += ["--secret", f"id=ca,src={folder / 'ca.pem'}"]
        lines.append(f"cert = {_CA_INSIDE}")
    file = folder / "pip.conf"
    file.touch(mode=0o600)
    file.write_text("\n".join(lines) + "\n")
    return [*options, "--secret", f"id=pip,src={file}"]


def pips_settings() -> dict[str, str]:
    """What pip is told on this machine, by files and variables, as far as it means anything elsewhere."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    found: dict[str, str] = {}
    # A variable is listed last, and goes before a file.
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        option, value = name.rpartition(".")[2], value.strip("'\"")
        elsewhere = option == "find-links" and urlsplit(value).scheme in ("http", "https")
        if elsewhere or option in (*_HANDED_ON, "cert"):
            found[option] = value
    return found
