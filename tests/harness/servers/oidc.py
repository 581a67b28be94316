"""Identity without secrets in CI: GitHub's issuer of identity tokens, as a job sees it, and how a server checks them."""

import base64
import hashlib
import hmac
import json
import time

from servers.double import Answer, Double, Refused, Request, json_answer, text_answer


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Issuer(Double):
    """GET of ACTIONS_ID_TOKEN_REQUEST_URL&audience=… with `Authorization: bearer` and the request token gives {"value": JWT}.

    The signature is an HMAC of this issuer's key (GitHub's is RSA with published keys): only its own verify() needs it.
    claims: on top of iss, aud, exp; e.g. {"repository": "owner/name", "workflow_ref": …}.
    """

    def __init__(self, *, claims: dict | None = None, seconds: float = 300, **options) -> None:
        self.claims, self.seconds, self.key = claims or {}, seconds, b"the issuer of the test"
        self.request_token = "request-token-of-the-test"
        super().__init__(**options)

    def environment(self) -> dict[str, str]:
        """What GitHub sets in a job with the permission id-token: write."""
        return {"GITHUB_ACTIONS": "true", "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.url}/token?api-version=2.0",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": self.request_token}

    def sign(self, audience: str, **claims) -> str:
        payload = {"iss": self.url, "aud": audience, "exp": int(time.time() + self.seconds), **self.claims, **claims}
        signed = ".".join(_encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, payload))
        return f"{signed}.{_encode(hmac.digest(self.key, signed.encode(), hashlib.sha256))}"

    def verify(self, token: str, audience: str) -> dict:
        """The claims; ValueError for anything not signed here, of another audience, or too old."""
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(_encode(hmac.digest(self.key, signed.encode(), hashlib.sha256)), signature):
            raise ValueError("the signature is not of this issuer")
        claims = json.loads(_decode(signed.split(".")[1]))
        if claims["aud"] != audience:
            raise ValueError(f"the audience is {claims['aud']}, not {audience}")
        if claims["exp"] < time.time():
            raise ValueError("the token has expired")
        return claims

    def handle(self, request: Request) -> Answer:
        if request.method != "GET" or request.path != "/token":
            raise Refused(text_answer(404, "no such route"))
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or token != self.request_token:
            raise Refused(text_answer(401, "the request token is wrong"))
        if request.query.get("api-version") != "2.0":
            raise Refused(text_answer(400, "the query of the given address was lost"))
        return json_answer(200, {"count": 1, "value": self.sign(request.query.get("audience", "https://ci.example/owner"))})

    def state(self) -> dict:
        return {}
