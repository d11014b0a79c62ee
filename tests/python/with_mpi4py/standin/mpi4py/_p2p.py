"""Messages between two ranks, of arrays and of objects."""

from __future__ import annotations

import warnings
from typing import Any

from ._base import PROC_NULL, Base, Exception_, call
from ._messages import Message, Missing
from ._pickles import pickle
from ._requests import ANY_SOURCE, ANY_TAG, Prequest, Request, Status, set_status


def _own_tag(tag: int) -> int:
    return 0 if tag == ANY_TAG else tag  # tutti has no ANY_TAG; tests that need more than tag 0 are excepted


OBJECT = object()


class Receive(Request):
    """A receive whose message may be shorter than its array: tutti's own must have its length, so that the receive
    starts when the message has come."""

    def __init__(self, world: Any, buf: Any, source: int, tag: int) -> None:
        super().__init__(step=self._has_ended)
        self._world, self._source, self._tag = world, source, tag
        self._message = None if buf is OBJECT else Message(buf)
        self._started: Any = None
        self._bytes = bytearray()

    def may_match(self, other: Receive) -> bool:
        """Whether a message may be for either."""
        sources = {self._source, other._source}
        return self._tag == other._tag and (len(sources) == 1 or ANY_SOURCE in sources)

    def found(self) -> bool:
        """Starts, if a message has come."""
        arrival = call(self._world.probe_now, self._source, self._tag)
        if arrival is None:
            return False
        self.arrival = arrival
        self._started = call(self._world.start.recv, self.array(arrival.bytes), arrival.source, tag=arrival.tag)
        return True

    def array(self, bytes: int) -> Any:
        """The target of a message."""
        if self._message is None:
            self._bytes = bytearray(bytes)
            return self._bytes
        elements = self._message.elements
        if self._message.counts:
            elements = self._message.block(0)
        if bytes == elements.nbytes:
            return self._message.array
        if bytes > elements.nbytes:
            raise Exception_(f"{bytes} bytes have come for {elements.nbytes}")
        return elements[: bytes // elements.itemsize]

    def _has_ended(self) -> bool:
        if self._started is None or not call(self._started.test):
            return False
        if self.value is None:
            self.value = self.result()
        return True

    def result(self) -> Any:
        """The object of a message that was received; None of an array."""
        pickled, self._bytes = self._bytes, bytearray()
        return pickle.loads(pickled) if pickled else None


class Messages(Base):
    def _post(self, buf: Any, source: int, tag: int) -> Request:
        if source == PROC_NULL:
            return Request(step=lambda: True)
        receive = Receive(self.world, buf, source, _own_tag(tag))
        self.receives.append(receive)
        if self.match not in Request.progress:
            Request.progress.append(self.match)
        self.match()
        return receive

    def match(self) -> None:
        """Starts the receives for which messages have come, in their order."""
        waiting: list[Receive] = []
        for receive in self.receives:
            if any(receive.may_match(other) for other in waiting) or not receive.found():
                waiting.append(receive)
        self.receives = waiting
        if not waiting and self.match in Request.progress:
            Request.progress.remove(self.match)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        if dest == PROC_NULL:
            return Request(step=lambda: True)
        return self._start("send", Message(buf).array, to=dest, tag=tag)

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        if dest != PROC_NULL:
            self._block("send", Message(buf).array, to=dest, tag=tag)

    Ssend = Bsend = Rsend = Send
    Issend = Ibsend = Irsend = Isend

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        return self._post(buf, source, tag)

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Any:
        if source == PROC_NULL or Request.progress:
            return self._post(buf, source, tag).wait(status)
        receive = Receive(self.world, buf, source, _own_tag(tag))
        arrival = call(self.world.probe, source, _own_tag(tag))
        call(self.world.recv, receive.array(arrival.bytes), arrival.source, tag=arrival.tag)
        set_status(status, arrival)
        return receive.result()

    def Isendrecv(self, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int) -> Request:
        both = [self.Isend(sendbuf, dest, sendtag), self.Irecv(recvbuf, source, recvtag)]
        return Request(step=lambda: all([one.has_ended() for one in both]))

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int, status: Any = None
    ) -> None:
        given, out = Message(sendbuf), Message(recvbuf)
        if dest == source == self.rank and given.elements.nbytes == out.elements.nbytes:
            call(self.world.sendrecv, given.array, dest, out.array, source, tag=sendtag)
        else:
            self.Isendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag).wait(status)

    def Sendrecv_replace(self, buf: Any, dest: int, sendtag: int, source: int, recvtag: int) -> None:
        self.Isendrecv_replace(buf, dest, sendtag, source, recvtag).wait()

    def Isendrecv_replace(self, buf: Any, dest: int, sendtag: int, source: int, recvtag: int) -> Request:
        if dest == source == PROC_NULL:
            return Request(step=lambda: True)
        x = Message(buf).array
        return self._start("sendrecv", x, dest, x, source, tag=sendtag)

    def Probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        set_status(status, call(self.world.probe, source, _own_tag(tag)))
        return True

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        arrival = call(self.world.probe_now, source, _own_tag(tag))
        set_status(status, arrival)
        return arrival is not None

    probe, iprobe = Probe, Iprobe

    def _no_matched_probe(self, *_: Any) -> None:
        raise Missing("matched probes")

    mprobe = improbe = _no_matched_probe

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        return Prequest(lambda: self.Isend(buf, dest, tag))

    Ssend_init = Bsend_init = Rsend_init = Send_init

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        return Prequest(lambda: self.Irecv(buf, source, tag))

    # Objects. Messages are pickles in arrays of bytes, as those of mpi4py.

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        return self.Isend(b"" if dest == PROC_NULL else pickle.dumps(obj), dest, tag)

    issend = ibsend = isend

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        self.isend(obj, dest, tag).wait()

    ssend = bsend = send

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        return self._post(OBJECT, source, tag)

    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Any = None) -> Any:
        if buf is not None:
            warnings.warn("recv needs no buffer", UserWarning, stacklevel=2)
        return self.Recv(OBJECT, source, tag, status)

    def sendrecv(
        self, obj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG, status: Status | None = None,
    ) -> Any:  # fmt: skip
        sent = self.isend(obj, dest, sendtag)
        received = self.recv(recvbuf, source, recvtag, status)
        sent.wait()
        return received
