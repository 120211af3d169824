"""Messages survive the way, damage is an error and nothing worse."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.campaign import wire
from tests.campaign.conftest import VOCABULARY

Pair = tuple[socket.socket, socket.socket]

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 99), inner),
    max_leaves=20,
)


@pytest.fixture
def pair() -> Iterator[Pair]:
    one, other = socket.socketpair()
    yield one, other
    one.close()
    other.close()


@given(st.dictionaries(st.text(), PLAIN))
def test_a_message_arrives_as_it_was_sent(message: dict[str, Any]) -> None:
    one, other = socket.socketpair()
    with one, other:
        wire.send(one, message)
        wire.send(one, {"next": 1})
        assert wire.receive(other) == message
        assert wire.receive(other) == {"next": 1}


def test_a_message_longer_than_the_buffer_arrives(pair: Pair) -> None:
    message = {"data": bytes(range(256)) * 20_000}
    sender = threading.Thread(target=wire.send, args=(pair[0], message))
    sender.start()
    assert wire.receive(pair[1]) == message
    sender.join()


def received(data: bytes) -> wire.Message | str:
    """Return what `data` says, or why it says nothing."""
    one, other = socket.socketpair()
    with other:
        with one:
            one.sendall(data)
        try:
            return wire.receive(other)
        except wire.WireError as error:
            return str(error)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_one_line(data: bytes) -> None:
    said = received(data)
    assert isinstance(said, dict) or "\n" not in said


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "closed"),
        (b"\x01\x00", "closed"),
        (b"\xff\xff\xff\xff", "4294967295 bytes"),
        (b"\x01\x00\x00\x00\xc1", "damaged"),
        (b"\x01\x00\x00\x00\x07", "is a int"),
    ],
)
def test_damage_is_named(data: bytes, says: str) -> None:
    assert says in received(data)


def test_sending_to_a_closed_end_is_an_error(pair: Pair) -> None:
    pair[1].close()
    with pytest.raises(wire.WireError, match="gone"):
        wire.send(pair[0], {"data": bytes(10_000)})


def test_the_vocabulary_arrives_equal(pair: Pair) -> None:
    wire.send(pair[0], wire.vocabulary_to_data(VOCABULARY))
    assert wire.vocabulary_from_data(wire.receive(pair[1])) == VOCABULARY
