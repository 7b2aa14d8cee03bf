from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class TextRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TEXT_ROLE_UNSPECIFIED: _ClassVar[TextRole]
    TEXT_ROLE_IDENTIFIER: _ClassVar[TextRole]
    TEXT_ROLE_TOKEN: _ClassVar[TextRole]
    TEXT_ROLE_QUESTION: _ClassVar[TextRole]
TEXT_ROLE_UNSPECIFIED: TextRole
TEXT_ROLE_IDENTIFIER: TextRole
TEXT_ROLE_TOKEN: TextRole
TEXT_ROLE_QUESTION: TextRole
LIMITS_FIELD_NUMBER: _ClassVar[int]
limits: _descriptor.FieldDescriptor
TEXT_ROLE_FIELD_NUMBER: _ClassVar[int]
text_role: _descriptor.FieldDescriptor
CHOICE_REQUIRED_FIELD_NUMBER: _ClassVar[int]
choice_required: _descriptor.FieldDescriptor

class FieldLimits(_message.Message):
    __slots__ = ("required", "min_length", "max_length", "max_bytes", "pattern", "min_items", "max_items", "minimum", "maximum", "json", "unique", "max_key_length", "defined_only")
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    MIN_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    MIN_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_FIELD_NUMBER: _ClassVar[int]
    MAX_KEY_LENGTH_FIELD_NUMBER: _ClassVar[int]
    DEFINED_ONLY_FIELD_NUMBER: _ClassVar[int]
    required: bool
    min_length: int
    max_length: int
    max_bytes: int
    pattern: str
    min_items: int
    max_items: int
    minimum: float
    maximum: float
    json: bool
    unique: bool
    max_key_length: int
    defined_only: bool
    def __init__(self, required: bool = ..., min_length: _Optional[int] = ..., max_length: _Optional[int] = ..., max_bytes: _Optional[int] = ..., pattern: _Optional[str] = ..., min_items: _Optional[int] = ..., max_items: _Optional[int] = ..., minimum: _Optional[float] = ..., maximum: _Optional[float] = ..., json: bool = ..., unique: bool = ..., max_key_length: _Optional[int] = ..., defined_only: bool = ...) -> None: ...
