from palimpsest.v1 import item_error_pb2 as _item_error_pb2
from palimpsest.v1 import limits_pb2 as _limits_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InputType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INPUT_TYPE_UNSPECIFIED: _ClassVar[InputType]
    INPUT_TYPE_QUERY: _ClassVar[InputType]
    INPUT_TYPE_PASSAGE: _ClassVar[InputType]
INPUT_TYPE_UNSPECIFIED: InputType
INPUT_TYPE_QUERY: InputType
INPUT_TYPE_PASSAGE: InputType

class ModelFingerprint(_message.Message):
    __slots__ = ("id", "model", "revision", "query_prefix", "passage_prefix", "pooling", "dimension", "normalized")
    ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    QUERY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    PASSAGE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    POOLING_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    NORMALIZED_FIELD_NUMBER: _ClassVar[int]
    id: str
    model: str
    revision: str
    query_prefix: str
    passage_prefix: str
    pooling: str
    dimension: int
    normalized: bool
    def __init__(self, id: _Optional[str] = ..., model: _Optional[str] = ..., revision: _Optional[str] = ..., query_prefix: _Optional[str] = ..., passage_prefix: _Optional[str] = ..., pooling: _Optional[str] = ..., dimension: _Optional[int] = ..., normalized: bool = ...) -> None: ...

class Vector(_message.Message):
    __slots__ = ("halfs",)
    HALFS_FIELD_NUMBER: _ClassVar[int]
    halfs: bytes
    def __init__(self, halfs: _Optional[bytes] = ...) -> None: ...

class EmbedRequest(_message.Message):
    __slots__ = ("texts", "input_type", "expected_fingerprint")
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    INPUT_TYPE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    input_type: InputType
    expected_fingerprint: str
    def __init__(self, texts: _Optional[_Iterable[str]] = ..., input_type: _Optional[_Union[InputType, str]] = ..., expected_fingerprint: _Optional[str] = ...) -> None: ...

class EmbedResult(_message.Message):
    __slots__ = ("vector", "error", "token_count", "windowed")
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    WINDOWED_FIELD_NUMBER: _ClassVar[int]
    vector: Vector
    error: _item_error_pb2.ItemError
    token_count: int
    windowed: bool
    def __init__(self, vector: _Optional[_Union[Vector, _Mapping]] = ..., error: _Optional[_Union[_item_error_pb2.ItemError, _Mapping]] = ..., token_count: _Optional[int] = ..., windowed: bool = ...) -> None: ...

class EmbedResponse(_message.Message):
    __slots__ = ("results", "fingerprint")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[EmbedResult]
    fingerprint: ModelFingerprint
    def __init__(self, results: _Optional[_Iterable[_Union[EmbedResult, _Mapping]]] = ..., fingerprint: _Optional[_Union[ModelFingerprint, _Mapping]] = ...) -> None: ...

class StreamEmbedRequest(_message.Message):
    __slots__ = ("item_id", "text", "input_type")
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    INPUT_TYPE_FIELD_NUMBER: _ClassVar[int]
    item_id: int
    text: str
    input_type: InputType
    def __init__(self, item_id: _Optional[int] = ..., text: _Optional[str] = ..., input_type: _Optional[_Union[InputType, str]] = ...) -> None: ...

class StreamEmbedResponse(_message.Message):
    __slots__ = ("item_id", "result", "fingerprint")
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    item_id: int
    result: EmbedResult
    fingerprint: ModelFingerprint
    def __init__(self, item_id: _Optional[int] = ..., result: _Optional[_Union[EmbedResult, _Mapping]] = ..., fingerprint: _Optional[_Union[ModelFingerprint, _Mapping]] = ...) -> None: ...

class GetModelRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetModelResponse(_message.Message):
    __slots__ = ("fingerprint", "max_tokens", "backend", "device", "dtype", "reranker")
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    RERANKER_FIELD_NUMBER: _ClassVar[int]
    fingerprint: ModelFingerprint
    max_tokens: int
    backend: str
    device: str
    dtype: str
    reranker: str
    def __init__(self, fingerprint: _Optional[_Union[ModelFingerprint, _Mapping]] = ..., max_tokens: _Optional[int] = ..., backend: _Optional[str] = ..., device: _Optional[str] = ..., dtype: _Optional[str] = ..., reranker: _Optional[str] = ...) -> None: ...

class RerankRequest(_message.Message):
    __slots__ = ("query", "documents")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    query: str
    documents: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, query: _Optional[str] = ..., documents: _Optional[_Iterable[str]] = ...) -> None: ...

class RerankResponse(_message.Message):
    __slots__ = ("scores", "model")
    SCORES_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    scores: _containers.RepeatedScalarFieldContainer[float]
    model: str
    def __init__(self, scores: _Optional[_Iterable[float]] = ..., model: _Optional[str] = ...) -> None: ...
