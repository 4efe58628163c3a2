"""Ollama, by its official client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memory.embed.remote import OLLAMA_PORT, Reply, failure, mask_keys, ollama_url, safe_url, secret
from memory.embed.transport import HEADERS, Connections
from memory.schema.errors import Garbled, Refused, Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import ollama

    from memory.embed.transport import Limits

CONNECT_SECONDS = 2.0
LISTED = 1_000_000  # most bytes of the list of loaded models
KEY = "OLLAMA_API_KEY"  # for a server behind a proxy; the client sends it
INSTALL = "Run `pip install ollama`."


class Ollama:
    """
    A server's `/api/embed`. https://docs.ollama.com/api/embed

    The client is imported at the first request: a search that finds the circuit open does without it.
    """

    provider = "ollama"
    most_texts = 64
    most_tokens = 16_384

    def __init__(self, model: str, *, host: str = "", keep_alive: str = "", dimensions: int = 0) -> None:
        """
        Args:
            host: URL, or name and port; empty takes `$OLLAMA_HOST`, else this machine.
            keep_alive: How long the model stays loaded, e.g. "30m"; empty leaves it to the server.
            dimensions: Width to shorten vectors to, if the model can; 0 is its own.
        """
        self.model = model.removesuffix(":latest")
        self._url = ollama_url(host)
        self.host = safe_url(self._url, "embedding.ollama_host", port=OLLAMA_PORT)
        self._keep_alive, self._dimensions = keep_alive or None, dimensions or None
        self._connections = Connections(self.host, self._connected, _mask)

    def ask(self, texts: Sequence[str], seconds: float, most: int) -> Reply:
        """See `Remote.ask`."""
        reply = self._answer(
            lambda client: client.embed(
                self.model,
                list(texts),
                truncate=False,  # a text that does not fit must be an error, not cut
                keep_alive=self._keep_alive,
                dimensions=self._dimensions,
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

    def close(self) -> None:
        """Hang up; the next request connects again."""
        self._connections.close()

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
            raise Unreachable(f"{self.host} did not answer within {seconds:g} s", hint="Is Ollama busy?") from error
        except (ConnectionError, httpx.TransportError) as error:
            cause = "" if isinstance(error, ConnectionError) else f": {_mask(str(error))}"
            raise Unreachable(
                f"Ollama gives no answer at {self.host}{cause}", hint="Is it running? `ollama serve`"
            ) from error
        except (ValueError, TypeError, httpx.HTTPError) as error:
            raise Garbled(f"{self.host} gave something that is no answer of Ollama's") from error

    def _connected(self, seconds: float, limits: Limits) -> ollama.Client:
        try:
            import httpx
            import ollama
        except ImportError as error:
            raise Refused(f"the ollama provider is not installed: {error}", hint=INSTALL) from error
        secret(os.environ.get(KEY, ""), f"${KEY}")  # checked here, because the client sends it unchanged
        return ollama.Client(
            self._url,
            timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
            headers=HEADERS,
            event_hooks={"response": [limits.take]},
            follow_redirects=False,  # texts must not go anywhere that the ledger does not name
        )


def _mask(text: str) -> str:
    return mask_keys(text, os.environ.get(KEY, ""))
