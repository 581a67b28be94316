"""multipart/form-data (RFC 7578), read strictly and in order."""

import dataclasses
import email.parser

from servers.double import Refused, Request, text_answer


@dataclasses.dataclass
class Part:
    name: str
    filename: str | None
    headers: object
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()


def parts(request: Request) -> list[Part]:
    """The parts in the order sent. A body that is no such form is refused with 400."""
    def refuse(why: str):
        raise Refused(text_answer(400, f"multipart: {why}"))

    kind = email.parser.Parser().parsestr(f"Content-Type: {request.headers.get('Content-Type', '')}\n\n")
    boundary = kind.get_param("boundary")
    if kind.get_content_type() != "multipart/form-data" or not boundary:
        refuse("the content type is not multipart/form-data with a boundary")
    mark = b"--" + boundary.encode()
    if not request.body.startswith(mark + b"\r\n"):
        refuse("the body does not begin with its boundary")
    found, at = [], len(mark) + 2
    while True:
        end = request.body.find(b"\r\n" + mark, at)
        head_end = request.body.find(b"\r\n\r\n", at)
        if end < 0 or head_end < 0 or head_end > end:
            refuse("a part has no end, or no head")
        headers = email.parser.BytesParser().parsebytes(request.body[at:head_end + 4], headersonly=True)
        name = headers.get_param("name", header="content-disposition")
        if headers.get("Content-Disposition", "").split(";")[0].strip() != "form-data" or not name:
            refuse("a part has no name")
        found.append(Part(name, headers.get_filename(), headers, request.body[head_end + 4:end]))
        at = end + 2 + len(mark)
        if request.body[at:at + 2] == b"--":
            return found
        if request.body[at:at + 2] != b"\r\n":
            refuse("a boundary is followed by something else than a new line")
        at += 2
