"""The typed part of a memory record: its attributes, and its lines of text."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from services.writer.projection.context import Context
from services.writer.projection.messages import MemoryRecord, Preference, Reflection, Rule, RuleScope, Skill
from services.writer.projection.record_text import Labelled
from services.writer.projection.refusal import Refused
from shared.domain_packs.key_forms import bare_id


@dataclass(frozen=True, slots=True)
class RecordBody:
    """What the types of records differ in. `tags` go to the passage's meta, by which rules are filtered (EN-7)."""

    kind: str
    attributes: dict[str, Any]
    labelled: Sequence[Labelled]
    mentions: Sequence[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    is_temporary: bool = False


def body_of(record: MemoryRecord, context: Context) -> RecordBody:
    """Returns the typed part of a record. Raises `Refused` where none is set, or it contradicts itself."""
    match record.WhichOneof("body"):
        case "skill":
            return _skill(record.skill)
        case "reflection":
            return _reflection(record.reflection)
        case "preference":
            return _preference(record.preference, context)
        case "rule":
            return _rule(record.rule)
    raise Refused("record.body", "must be a skill, a reflection, a preference or a rule")


def _skill(skill: Skill) -> RecordBody:
    labelled: dict[str, str | list[str]] = {
        "goal": skill.goal,
        "applies_when": list(skill.applies_when),
        "steps": list(skill.steps),
        "constraints": list(skill.constraints),
        "tools": list(skill.tools),
        "expected_outcome": list(skill.expected_outcome),
        "failure_modes": list(skill.failure_modes),
        "priority": str(skill.priority) if skill.priority else "",
    }
    return RecordBody("skill", {**labelled, "priority": skill.priority}, _labels(labelled))


def _reflection(reflection: Reflection) -> RecordBody:
    attributes: dict[str, str | list[str]] = {
        "trigger": reflection.trigger,
        "evidence": list(reflection.evidence),
        "lesson": reflection.lesson,
        "applicability": reflection.applicability,
    }
    return RecordBody("reflection", dict(attributes), _labels(attributes))


def _preference(preference: Preference, context: Context) -> RecordBody:
    holder = context.key_of(preference.holder, "record.preference.holder")
    attributes: dict[str, str | list[str]] = {"topic": preference.topic, "value": preference.value}
    labelled = _labels({"holder": bare_id(holder), **attributes})
    return RecordBody("preference", {"holder": holder, **attributes}, labelled, mentions=[holder])


def _rule(rule: Rule) -> RecordBody:
    _check_holder(rule)
    scope = _RULE_SCOPES[rule.scope]
    tags = {"rule_scope": json.dumps(scope), "rule_holder": json.dumps(rule.holder, ensure_ascii=False)}
    attributes: dict[str, str | list[str]] = {"text": rule.text, "scope": scope, "holder": rule.holder}
    labelled = _labels({"rule": rule.text, "scope": scope.lower(), "holder": rule.holder})
    temporary = rule.scope == RuleScope.RULE_SCOPE_TEMPORARY
    return RecordBody("rule", dict(attributes), labelled, tags=tags, is_temporary=temporary)


def _check_holder(rule: Rule) -> None:
    if rule.scope not in _RULE_SCOPES:
        raise Refused("record.rule.scope", "must be GLOBAL, ROLE, AGENT or TEMPORARY")
    if rule.scope in _HELD and not rule.holder:
        raise Refused("record.rule.holder", "must name the role or agent of a ROLE or AGENT rule")
    if rule.scope == RuleScope.RULE_SCOPE_GLOBAL and rule.holder:
        raise Refused("record.rule.holder", "must be empty for a GLOBAL rule")


def _labels(values: Mapping[str, str | list[str]]) -> list[Labelled]:
    return [(name.capitalize().replace("_", " "), value) for name, value in values.items()]


_RULE_SCOPES: Mapping[int, str] = {
    RuleScope.RULE_SCOPE_GLOBAL: "GLOBAL",
    RuleScope.RULE_SCOPE_ROLE: "ROLE",
    RuleScope.RULE_SCOPE_AGENT: "AGENT",
    RuleScope.RULE_SCOPE_TEMPORARY: "TEMPORARY",
}
_HELD = frozenset({RuleScope.RULE_SCOPE_ROLE, RuleScope.RULE_SCOPE_AGENT})
