"""Runs ghz with a profile, and reads what it reports.

ghz ends with 0 even if every call failed, and its percentiles count OK answers only, in nanoseconds: everything is
taken from the list of calls in its report, and judged by gates.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from load.deployment import Deployment
from load.observations import Json
from load.tools import built_ghz

PROFILES = Path(__file__).parent / "profiles"
OK = "OK"
_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class Call:
    """A call that ended."""

    ended_at: float
    """Seconds since 1970."""
    latency_s: float
    status: str
    """gRPC's code as ghz writes it, e.g. `OK`, `ResourceExhausted`."""


@dataclass(frozen=True)
class Report:
    """What a run of ghz saw."""

    profile: str
    method: str
    """`palimpsest.v1.Service/Method`."""
    seconds: float
    calls: Sequence[Call]
    errors: dict[str, int] = field(default_factory=dict)
    """Messages of errors, with how often each came."""

    @property
    def statuses(self) -> Counter[str]:
        """How many calls ended how."""
        return Counter(call.status for call in self.calls)

    @property
    def ok_seconds(self) -> list[float]:
        """Latencies of the calls that were answered with OK."""
        return [call.latency_s for call in self.calls if call.status == OK]

    @property
    def ok_per_second(self) -> float:
        """Calls answered with OK in a second."""
        return len(self.ok_seconds) / self.seconds if self.seconds else 0.0


class Ghz:
    """ghz on a deployment. Files of its own go to `folder`."""

    def __init__(self, deployment: Deployment, protoset: Path, folder: Path) -> None:
        self._program = built_ghz()
        self._deployment = deployment
        self._protoset = protoset
        self._folder = folder
        self._runs = 0

    def run(self, profile: str, requests: Sequence[Json], **overrides: Any) -> Report:
        """Runs a profile to its end. `overrides` take the place of lines of its configuration."""
        return self.begin(profile, requests, **overrides).report()

    def begin(self, profile: str, requests: Sequence[Json], **overrides: Any) -> "Run":
        """Starts a profile; several run beside each other."""
        self._runs += 1
        stem = self._folder / f"{self._runs:03}-{profile}"
        configuration = settings_of(profile) | overrides
        data, config, output = (stem.with_suffix(f".{kind}.json") for kind in ("data", "config", "report"))
        data.write_text(json.dumps(requests, ensure_ascii=False))
        config.write_text(json.dumps(configuration, indent=2))
        service = configuration["call"].split(".")[-1].partition("Service/")[0].lower()
        command = [
            str(self._program), "--config", str(config), "--protoset", str(self._protoset), "--data-file", str(data),
            "--format", "json", "--output", str(output), *self._credentials(), self._deployment.target(service),
        ]  # fmt: skip
        return Run(profile, configuration["call"], subprocess.Popen(command, stderr=subprocess.PIPE), output)

    def _credentials(self) -> list[str]:
        credentials, found = self._deployment.credentials, list[str]()
        if credentials.ca is None:
            found.append("--insecure")
        named = {"--cacert": credentials.ca, "--cert": credentials.certificate, "--key": credentials.key}
        for option, path in named.items():
            found += [option, str(path)] if path else []
        if credentials.token:
            # A file: everybody may read the arguments of a process.
            file = self._folder / "metadata.json"
            file.touch(mode=0o600)
            file.write_text(json.dumps(dict(credentials.metadata)))
            found += ["--metadata-file", str(file)]
        return found


@dataclass(frozen=True)
class Run:
    """ghz under way."""

    profile: str
    method: str
    process: "subprocess.Popen[bytes]"
    output: Path

    def report(self) -> Report:
        """What it saw, once it has ended. Raises SystemExit where ghz itself could not run."""
        _, errors = self.process.communicate()
        if self.process.returncode or not self.output.exists():
            raise SystemExit(f"ghz could not run {self.profile}: {errors.decode(errors='replace').strip()}")
        return parsed(self.profile, self.method, json.loads(self.output.read_text()))


def settings_of(profile: str) -> Json:
    """The configuration of a profile."""
    found: Json = json.loads((PROFILES / f"{profile}.json").read_text())
    return found


def parsed(profile: str, method: str, report: Json) -> Report:
    """What a report of ghz in the format `json` says. Raises SystemExit where it keeps some of the calls to itself."""
    calls = [
        Call(_seconds(each["timestamp"]), each["latency"] / _NANOSECONDS, each["status"])
        for each in report.get("details") or ()
    ]
    if len(calls) != report["count"]:
        raise SystemExit(f"ghz counted {report['count']} calls of {profile} and told of {len(calls)}")
    return Report(profile, method, report["total"] / _NANOSECONDS, calls, report.get("errorDistribution") or {})


def _seconds(timestamp: str) -> float:
    """Seconds since 1970 of RFC 3339 with up to nine digits of a second, of which Python reads six."""
    head, _, rest = timestamp.partition(".")
    digits = rest[: next((place for place, sign in enumerate(rest) if not sign.isdigit()), len(rest))]
    zone = rest[len(digits) :]
    return datetime.fromisoformat(f"{head}.{digits[:6]:0<6}{zone}" if rest else head).timestamp()
