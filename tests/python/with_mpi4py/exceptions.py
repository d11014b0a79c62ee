"""Tests of mpi4py that do not carry over to tutti, and why."""

from __future__ import annotations

import fnmatch

# Patterns of names, by reason.
EXCEPTED = {
    "derived datatypes, and a datatype for each rank": [
        "*.testBcastTypeIndexed",
        "*.testAlltoallw*",
        "test_msgspec.TestMessageVectorW.*",
    ],
    "a reduction without communication (numpy has it)": ["*.testReduceLocal*"],
    "memory of the host whose object says that it lies on a GPU": ["*CAIBuf*", "*DLPackGPUBuf*", "*CuPy*", "*Numba*"],
    "arrays in the order of Fortran: elements lie in the order of C, and the error says how to copy": [
        "*.testOrderFortran",
        "*DLPackCPUBuf.testContiguous",
        "*DLPackCPUBuf.testStrides",
    ],
    "elements of a type that DLPack calls opaque": ["*DLPackCPUBuf.testDtypeCode"],
    "__dlpack_device__ is not called: the capsule has the device": ["*DLPackCPUBuf.testDevice"],
    "the class MPI.buffer (a memoryview, or the Memory of world.empty)": [
        "test_msgspec.*.testBuffer",
        "*DLPackCPUBuf.testByteOffset",
        "test_buffer.*.testAllocate",
        "test_buffer.*.testAttachBufferReadonly",
        "test_buffer.*.testBuffering",
        "test_buffer.*.testFromBufferArray*",
        "test_buffer.*.testFromBufferBytes",
        "test_buffer.*.testCast",
        "test_buffer.*.testFromAddress",
        "test_buffer.*.testNewEmpty",
        "test_buffer.*.testSequence",
        "test_buffer.*.testToReadonly",
    ],
    "windows": ["test_msgspec.TestMessageRMA.*"],
    "which lists mpi4py takes as a message": ["test_msgspec.TestMessageSimple.testMessageBad"],
    "MPI_ANY_TAG": ["*.testProbe", "*.testProbeCancel"],
    "MPI_Issend, whose request ends when the message is received: a send of tutti may end before": [
        "test_*_*.*.testISSendAndRecv",
        "test_p2p_obj.*.testManyISSendAndRecv",
        "test_p2p_obj.*.testTestSomeSend",
        "test_p2p_obj.*.testWaitSomeSend",
        "test_util_pkl5.*.testGetStatusAll",
        "test_util_pkl5.*.testTestAll",
        "test_util_pkl5.*.testWaitAll",
    ],
    "locks of mpi4py's threads": ["*.testCommLock"],
    "how mpi4py.util.pkl5 divides a pickle": ["test_util_pkl5.*.testPickle5", "test_util_pkl5.*.testBigMPI"],
    "cancelling a message": ["*.testCancel", "*.testISSendCancel"],
    "handles as numbers": ["*.testConstructor"],
    "intercommunicators": ["test_util_pkl5.*Inter"],
    "matched probes": ["*.test*MProbe*", "*.testMessageProbe*", "*.testMessage"],
}

# Reasons for tests that skip themselves, by a word of their message.
SKIPS = {
    "dill": "a package that is not installed",
    "yaml": "a package that is not installed",
    "mpi-world-size<2": "two ranks are needed",
}


def of(name: str) -> str | None:
    """Why a test is not run."""
    for reason, patterns in EXCEPTED.items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            return reason
    return None


def of_skip(text: str) -> str | None:
    """Why it is right that a test skipped itself; None if it did not. Raises if no reason is here."""
    if text and text not in SKIPS:
        raise LookupError(f"skipped for a reason that exceptions.py has not: {text}")
    return SKIPS[text] if text else None
