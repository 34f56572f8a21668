"""Which pictures are refused, and where the message says they are."""

import base64
from typing import Any

import pytest

from agentlib.lab.api.pictures import broken_picture, picture_size

Block = dict[str, Any]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR"
START = b"\xff\xd8\xff\xe0\0\x04ab"
FRAME = b"\xff\xc0\0\x11\x08" + (300).to_bytes(2, "big") + (400).to_bytes(2, "big")


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def png(width: int, height: int) -> str:
    return encoded(PNG + width.to_bytes(4, "big") + height.to_bytes(4, "big"))


def image(data: str) -> Block:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data},
    }


def user(*content: Block) -> list[Block]:
    return [{"role": "user", "content": list(content)}]


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(640, 480), (640, 480)),
        (encoded(b"GIF87a" + b"\x80\x02\xe0\x01"), (640, 480)),
        (encoded(START + FRAME), (400, 300)),
        (encoded(b"RIFF\0\0\0\0WEBPVP8 "), (0, 0)),
        (encoded(b"%PDF-1.7"), None),
        (encoded(START), None),
        (encoded(PNG), None),
        ("not base64!", None),
        ("", None),
    ],
)
def test_the_size_is_read_from_the_first_bytes(data: str, size: tuple[int, int] | None):
    assert picture_size(data) == size


def test_a_side_of_8000_pixels_is_taken_and_one_more_is_not():
    assert broken_picture(user(image(png(8_000, 10)))) is None
    found = broken_picture(user(image(png(10, 8_001))))
    assert found is not None
    assert found.endswith("exceed max allowed size: 8000 pixels")


def test_with_more_than_twenty_pictures_2000_pixels_are_the_limit():
    large = image(png(2_001, 10))
    assert broken_picture(user(*[large] * 20)) is None
    found = broken_picture(user(*[large] * 21))
    assert found is not None
    assert "many-image requests: 2000 pixels" in found


def test_a_picture_in_a_result_is_named_by_its_path_there():
    result = {"type": "tool_result", "tool_use_id": "t", "content": [image("A" * 5_242_884)]}
    assert broken_picture(user({"type": "text", "text": "see"}, result)) == (
        "messages.0.content.1.tool_result.content.0.image.source.base64: "
        "image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes"
    )


def test_a_picture_by_its_address_is_not_looked_at():
    block = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    assert broken_picture(user(block)) is None
