"""
Ollama, and OpenAI with every server that has its protocol, by their official clients.

A client is imported at the first request: a search that finds the circuit open does without it.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from memory.schema.errors import EmbedError, Error, Garbled, Refused, Unreachable
from memory.vectors.models import library
from memory.vectors.remote import HEADERS, OPENAI, Connections, Limits, Reply, failure, urls

if TYPE_CHECKING:
    from collections.abc import Sequence

    import ollama
    import openai

    from memory.vectors.providers import ModelSpec

OLLAMA_SECONDS, OPENAI_SECONDS = 2.0, 5.0  # to connect, at most
LISTED = 1_000_000  # most bytes of the list of loaded models
KEY = "OLLAMA_API_KEY"  # for a server behind a proxy; the client sends it


class Ollama:
    """A server's `/api/embed`. https://docs.ollama.com/api/embed"""

    provider = "ollama"
    most_texts = 64
    most_tokens = 16_384

    def __init__(self, spec: ModelSpec) -> None:
        self._settings, self.model = spec.settings, spec.model.removesuffix(":latest")
        self._url, self.host = urls("ollama", spec.settings.servers[0])
        self._connections = Connections(self.host, self._connected, _mask)
        self.prepare, self.close = self._connections.prepare, self._connections.close

    def ask(self, texts: Sequence[str], seconds: float, most: int) -> Reply:
        """See `Remote.ask`."""
        reply = self._answer(
            lambda client: client.embed(
                self.model,
                list(texts),
                truncate=False,  # a text that does not fit must be an error, not cut
                dimensions=self._settings.dimensions or None,
            ),
            seconds,
            most,
        )
        if reply.model is not None and reply.model.removesuffix(":latest") != self.model:
            raise Garbled(f"{self.host} was asked for {self.model} and answered with {reply.model}")
        return Reply(reply.embeddings, reply.prompt_eval_count)

    def loaded(self, seconds: float) -> bool:
        """See `Remote.loaded`."""
        reply = self._answer(lambda client: client.ps(), seconds, LISTED)
        names = {name for model in reply.models for name in (model.model, model.name) if name}
        return self.model in {name.removesuffix(":latest") for name in names}

    def _answer(self, question: Any, seconds: float, most: int) -> Any:
        """What the client returns; its errors become ours."""
        return self._connections.ask(lambda client: self._call(client, question, seconds), seconds, most)

    def _call(self, client: ollama.Client, question: Any, seconds: float) -> Any:
        import httpx
        import ollama

        try:
            return question(client)
        except ollama.ResponseError as error:
            answer = getattr(error.__context__, "response", None)  # the client keeps the message, but not the headers
            headers = answer.headers if answer is not None else {}
            hint = f"Is it there? `ollama pull {self.model}` brings it."
            raise failure(
                error.status_code, _mask(str(error.error)), host=self.host, headers=headers, hint=hint
            ) from error
        except httpx.TimeoutException as error:
            late = Unreachable(f"{self.host} did not answer within {seconds:g} s", hint="Is Ollama busy?", late=True)
            raise unsent(late, error) from error
        except (ConnectionError, httpx.TransportError) as error:
            cause = "" if isinstance(error, ConnectionError) else f": {_mask(str(error))}"
            hint = "Is it running? `ollama serve`"
            raise unsent(Unreachable(f"Ollama does not answer at {self.host}{cause}", hint=hint), error) from error
        except (ValueError, TypeError, httpx.HTTPError) as error:
            raise Garbled(f"{self.host} did not answer like Ollama") from error

    def _connected(self, seconds: float, limits: Limits) -> Any:
        ollama = library("ollama", "the ollama provider", "ollama")
        import httpx

        secret(os.environ.get(KEY, ""), f"${KEY}")  # checked here, because the client sends it unchanged
        return ollama.Client(
            self._url,
            timeout=httpx.Timeout(seconds, connect=min(seconds, OLLAMA_SECONDS)),
            headers=HEADERS,
            event_hooks={"response": [limits.take]},
            follow_redirects=False,  # texts must not go anywhere that the usage log does not name
        )


def _mask(text: str) -> str:
    return mask_keys(text, os.environ.get(KEY, ""))


class OpenAI:
    """A server's `/embeddings`. https://platform.openai.com/docs/api-reference/embeddings"""

    provider = "openai"
    most_texts = 256  # OpenAI accepts 2,048; others fewer
    most_tokens = 100_000  # OpenAI accepts 300,000

    def __init__(self, spec: ModelSpec) -> None:
        self.model = spec.model
        self._url, self.host = urls("openai", spec.settings.servers[0])
        self._key, self._key_env, self._dimensions = spec.key, spec.settings.openai_key_env, spec.settings.dimensions
        self._connections = Connections(self.host, self._connected, self._mask)
        self.prepare, self.close = self._connections.prepare, self._connections.close

    def ask(self, texts: Sequence[str], seconds: float, most: int) -> Reply:
        """See `Remote.ask`."""
        return self._connections.ask(lambda client: self._answer(client, texts, seconds), seconds, most)

    def _answer(self, client: openai.OpenAI, texts: Sequence[str], seconds: float) -> Reply:
        import openai

        more: dict[str, Any] = {"dimensions": self._dimensions} if self._dimensions else {}
        try:
            reply = client.embeddings.create(model=self.model, input=list(texts), encoding_format="float", **more)
            rows = [item.embedding for item in reply.data]
            order = _order([getattr(item, "index", None) for item in reply.data])
            tokens = reply.usage.prompt_tokens if reply.usage else None
        except openai.APITimeoutError as error:
            late = Unreachable(f"{self.host} did not answer within {seconds:g} s", late=True)
            raise unsent(late, error.__cause__) from error
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, Error):  # of `Limits.take`
                raise error.__cause__ from error
            cause = self._mask(str(error.__cause__ or error))
            gone = Unreachable(f"{self.host} does not answer: {cause}", hint="Is it running?")
            raise unsent(gone, error.__cause__) from error
        except openai.APIStatusError as error:
            hint = f"Check `embedding.model` ({self.model}) and the key in ${self._key_env}."
            body = error.body if isinstance(error.body, dict) else {}
            message = self._mask(str(body.get("message") or error.response.text))
            raise failure(
                error.status_code, message, host=self.host, headers=error.response.headers, hint=hint
            ) from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise Garbled(f"{self.host} did not answer in this protocol") from error
        if len(rows) != len(texts) or order is None:
            raise Garbled(f"{self.host} gave {len(rows)} vectors for {len(texts)} texts, or did not say for which")
        return Reply([rows[place] for place in order], tokens)

    def loaded(self, seconds: float) -> bool:
        """Always True: a shared server has its model loaded; whether it answers shows when it is asked."""
        del seconds
        return True

    def _connected(self, seconds: float, limits: Limits) -> Any:
        """
        Make a client.

        Raises:
            Refused: The library is not installed, or a server that needs a key has none.
        """
        openai = library("openai", "the openai provider", "openai")
        key = secret(self._key_text(), f"${self._key_env}")
        if not key and self.host == OPENAI:
            hint = f"`export {self._key_env}=…`, or name another variable in `embedding.openai_key_env`."
            raise Refused(f"there is no key for {self.host} in ${self._key_env}", hint=hint)
        try:  # private servers often need no key, but the client always does
            client = openai.OpenAI(
                api_key=key or "none",
                base_url=self._url,
                max_retries=0,
                timeout=openai.Timeout(seconds, connect=min(seconds, OPENAI_SECONDS)),
                default_headers=HEADERS,
                # Texts must not go anywhere that the usage log does not name.
                http_client=openai.DefaultHttpxClient(follow_redirects=False, event_hooks={"response": [limits.take]}),
            )
            assert client.embeddings  # noqa: S101  # imported when first accessed, which must not count as a request's time
        except (openai.OpenAIError, ValueError) as error:
            hint = "Set `embedding.base_url`."
            raise Refused(f"{self.host} cannot be asked: {self._mask(str(error))}", hint=hint) from error
        return client

    def _mask(self, text: str) -> str:
        return mask_keys(text, self._key_text(), self._key_text().strip())

    def _key_text(self) -> str:
        return self._key if self._key is not None else os.environ.get(self._key_env, "")


def unsent(error: EmbedError, cause: BaseException | None) -> EmbedError:
    """The error with `sent` set: False if there was no connection, so that nothing was sent."""
    error.sent = type(cause).__name__ not in {
        "ConnectError",
        "ConnectTimeout",
        "ConnectionError",
    }  # by name: libraries that copied httpx have classes of their own
    return error


def _order(indices: Sequence[object]) -> Sequence[int] | None:
    """
    For each text, the place of its vector in an answer, by the indices that the answer has; None if some are missing. Some
    servers write them as texts; where one gives none, or 0 for all, the order of the request counts.
    """
    said = [int(str(index)) if re.fullmatch(r"\d{1,9}", str(index)) else None for index in indices]
    places = {index: place for place, index in enumerate(said) if index is not None}
    if len(said) < 2 or not places or (set(places) == {0} and None not in said):
        return range(len(said))
    return [places[index] for index in range(len(said))] if set(places) == set(range(len(said))) else None


def secret(text: str, variable: str) -> str:
    """
    A key ready to send, without the line end that a file leaves on it.

    Raises:
        Refused: It cannot be sent. The message does not repeat it.
    """
    key = text.strip()
    if not (key.isascii() and key.isprintable()):
        hint = "A key is one line of plain letters, digits and signs."
        raise Refused(f"the key in {variable} contains characters that cannot be sent", hint=hint)
    return key


def mask_keys(text: str, *keys: str) -> str:
    """A message of a server or client without keys: some repeat them, in full, in part or in quotes."""
    for key in filter(None, keys):
        for spelling in {key, repr(key)[1:-1]}:
            text = text.replace(spelling, "…")
    return re.sub(r"\b(sk|pk|key)-[\w*.-]{4,}", "…", text)
