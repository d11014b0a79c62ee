"""The errors of the backend: of tutti, and of torch.distributed."""

from __future__ import annotations

import contextlib
from typing import Iterator

import torch.distributed as dist

from .. import errors
from ..errors import Error

_Base: type[Exception] = getattr(dist, "DistBackendError", RuntimeError)


class DistError(Error, _Base):  # type: ignore[misc, valid-type]
    """A call of torch.distributed failed in the backend "tutti". It is also a dist.DistBackendError, and of the
    subclass of tutti.Error for its kind. rank: the rank at fault, or -1."""


class DistArgumentError(DistError, errors.ArgumentError):
    """See tutti.ArgumentError."""


class DistMismatchError(DistError, errors.MismatchError):
    """See tutti.MismatchError."""


class DistTimeoutError(DistError, errors.TimeoutError):
    """See tutti.TimeoutError."""


class DistPeerDeadError(DistError, errors.PeerDeadError):
    """See tutti.PeerDeadError."""


class DistAbortedError(DistError, errors.AbortedError):
    """See tutti.AbortedError."""


_CLASSES: dict[str, type[DistError]] = {
    "invalid_argument": DistArgumentError,
    "mismatch": DistMismatchError,
    "timeout": DistTimeoutError,
    "peer_dead": DistPeerDeadError,
    "aborted": DistAbortedError,
}


def of_dist(error: Error) -> DistError:
    """The same error as one of torch.distributed."""
    if isinstance(error, DistError):
        return error
    text = f"tutti {error.code.replace('_', ' ')} error: {error}"  # programs look for words such as timeout
    return _CLASSES.get(error.code, DistError)(text, error.code, error.rank, error.cause, error.call)


@contextlib.contextmanager
def as_dist_errors() -> Iterator[None]:
    """Raises errors of tutti as errors of torch.distributed."""
    try:
        yield
    except Error as error:
        raise of_dist(error) from error
