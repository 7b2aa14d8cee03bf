"""What callers may do, as the operator writes it: the grants file, and the claim of a token that says the same.

    {"callers": [{
        "subject": "planner",
        "tokens": [{"sha256": "<64 hex digits>", "expires_at": "2027-01-01T00:00:00Z"}],
        "grants": [{"namespaces": ["team-a", "shared/*"], "permissions": ["read", "write"]}],
        "labels": ["workspace:core", "role:lead"],
        "agent_id": "planner-7",
        "clearances": ["pii"],
        "sees_all": false
    }]}

A caller holds `principal:<subject>` without being given it. Several tokens of one caller let one be replaced by another
while both are accepted. Only hashes are kept, so the file tells nobody how to call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from palimpsest.canonical import nfc
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from shared.authentication.caller import Caller, Grant

_Subject: TypeAlias = Annotated[str, Field(max_length=245, pattern=r"^[^\x00-\x1f\x7f]+$"), AfterValidator(nfc)]
_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x20\x7f]+$")]
_Label: TypeAlias = Annotated[
    str,
    Field(max_length=256, pattern=r"^(principal|workspace|role):[^\x00-\x1f\x7f]+$"),
    AfterValidator(nfc),
]


class GrantsError(ValueError):
    """Grants are malformed; the message names the field, and repeats no value."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class GrantEntry(_Strict):
    """What may be done where."""

    namespaces: list[_Name] = Field(min_length=1)
    permissions: list[Literal["read", "write", "admin"]] = Field(min_length=1)


class Profile(_Strict):
    """What a caller may do and see, whoever it is: what a claim says."""

    grants: list[GrantEntry] = Field(default_factory=list)
    labels: list[_Label] = Field(default_factory=list)
    agent_id: str = Field(default="", max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")
    clearances: list[Literal["pii"]] = Field(default_factory=list)
    sees_all: bool = False

    def caller(self, subject: str) -> Caller:
        """The caller of this profile."""
        return Caller(
            subject=subject,
            grants=tuple(Grant(tuple(each.namespaces), frozenset(each.permissions)) for each in self.grants),
            labels=frozenset({*self.labels, f"principal:{subject}"}),
            sees_all=self.sees_all,
            clearances=frozenset(self.clearances),
            agent_id=self.agent_id,
        )


class TokenEntry(_Strict):
    """A token that is accepted, by its hash."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    expires_at: AwareDatetime | None = None


class CallerEntry(Profile):
    """A caller of the grants file."""

    subject: _Subject
    tokens: list[TokenEntry] = Field(default_factory=list)


class _File(_Strict):
    callers: list[CallerEntry]


@dataclass(frozen=True)
class KnownToken:
    """Whose a token is, and until when."""

    caller: Caller
    expires_at: datetime | None


@dataclass(frozen=True)
class Grants:
    """A grants file that is well formed."""

    by_subject: Mapping[str, Caller]
    by_token: Mapping[bytes, KnownToken]
    """By the SHA-256 of the token."""

    @classmethod
    def parse(cls, raw: bytes) -> "Grants":
        """Reads a grants file. Raises GrantsError."""
        try:
            entries = _File.model_validate_json(raw).callers
        except ValidationError as error:
            raise GrantsError(_words(error)) from None
        by_subject: dict[str, Caller] = {}
        by_token: dict[bytes, KnownToken] = {}
        for place, entry in enumerate(entries):
            if entry.subject in by_subject:
                raise GrantsError(f"callers[{place}].subject: is that of another caller, too")
            caller = by_subject[entry.subject] = entry.caller(entry.subject)
            for number, token in enumerate(entry.tokens):
                digest = bytes.fromhex(token.sha256)
                if digest in by_token:
                    raise GrantsError(f"callers[{place}].tokens[{number}].sha256: is that of another token, too")
                by_token[digest] = KnownToken(caller, token.expires_at)
        return cls(by_subject, by_token)


def claimed_caller(subject: str, claim: Any) -> Caller:
    """The caller that a token's claim describes. Raises GrantsError."""
    try:
        return Profile.model_validate(claim).caller(subject)
    except ValidationError as error:
        raise GrantsError(_words(error)) from None


def _words(error: ValidationError) -> str:
    """Where the first fault is, and what is wrong; how many more there are."""
    faults = error.errors(include_input=False, include_url=False, include_context=False)
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{_path(faults[0]['loc'])}: {faults[0]['msg']}{more}"


def _path(location: Sequence[int | str]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return path.removeprefix(".") or "the file"
