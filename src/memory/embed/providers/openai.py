"""OpenAI, and every server with its protocol, by the official client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memory.embed.remote import OPENAI, Reply, failure, mask_keys, openai_url, safe_url, secret
from memory.embed.transport import HEADERS, Connections
from memory.schema.errors import Error, Garbled, Refused, Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import openai

    from memory.embed.transport import Limits

CONNECT_SECONDS = 5.0
INSTALL = "Run `pip install openai`."


class OpenAI:
    """
    A server's `/embeddings`. https://platform.openai.com/docs/api-reference/embeddings

    The client is imported at the first request: a search that finds the circuit open does without it.
    """

    provider = "openai"
    most_texts = 256  # OpenAI accepts 2,048; others fewer
    most_tokens = 100_000  # OpenAI accepts 300,000

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        key: str | None = None,
        key_env: str = "OPENAI_API_KEY",
        dimensions: int = 0,
    ) -> None:
        """
        Args:
            base_url: Up to the version, e.g. "http://127.0.0.1:8000/v1"; empty takes `$OPENAI_BASE_URL`, else OpenAI.
            key: None takes that of the environment variable `key_env`.
            dimensions: Width to shorten vectors to, if the model can; 0 is its own.
        """
        self.model = model
        self._url = openai_url(base_url)
        self.host = safe_url(self._url, "embedding.openai_base_url")
        self._key, self._key_env, self._dimensions = key, key_env, dimensions
        self._connections = Connections(self.host, self._connected, self._mask)

    def ask(self, texts: Sequence[str], seconds: float, most: int) -> Reply:
        """See `Remote.ask`."""
        return self._connections.ask(lambda client: self._answer(client, texts, seconds), seconds, most)

    def _answer(self, client: openai.OpenAI, texts: Sequence[str], seconds: float) -> Reply:
        import openai

        more: dict[str, Any] = {"dimensions": self._dimensions} if self._dimensions else {}
        try:
            reply = client.embeddings.create(model=self.model, input=list(texts), encoding_format="float", **more)
            rows = {item.index: item.embedding for item in reply.data}
            tokens = reply.usage.prompt_tokens if reply.usage else None
            count = len(reply.data)
        except openai.APITimeoutError as error:
            raise Unreachable(f"{self.host} did not answer within {seconds:g} s") from error
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, Error):  # of `Limits.take`
                raise error.__cause__ from error
            cause = self._mask(str(error.__cause__ or error))
            raise Unreachable(f"{self.host} gives no answer: {cause}", hint="Is it running?") from error
        except openai.APIStatusError as error:
            hint = f"Check `embedding.model` ({self.model}) and the key in ${self._key_env}."
            body = error.body if isinstance(error.body, dict) else {}
            message = self._mask(str(body.get("message") or error.response.text))
            raise failure(
                error.status_code, message, host=self.host, headers=error.response.headers, hint=hint
            ) from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise Garbled(f"{self.host} gave something that is no answer of this protocol") from error
        if count != len(texts) or set(rows) != set(range(count)):
            raise Garbled(f"{self.host} gave {count} vectors for {len(texts)} texts, or did not say for which")
        return Reply([rows[index] for index in range(count)], tokens)

    def loaded(self, seconds: float) -> bool:
        """Always True: a shared server has its model loaded; whether it answers shows when it is asked."""
        del seconds
        return True

    def close(self) -> None:
        """Hang up; the next request connects again."""
        self._connections.close()

    def _connected(self, seconds: float, limits: Limits) -> openai.OpenAI:
        """
        Make a client.

        Raises:
            Refused: The library is not installed, or a server that needs a key has none.
        """
        try:
            import openai
        except ImportError as error:
            raise Refused(f"the openai provider is not installed: {error}", hint=INSTALL) from error
        key = secret(self._key_text(), f"${self._key_env}")
        if not key and self.host == OPENAI:
            hint = f"`export {self._key_env}=…`, or name another variable in `embedding.openai_key_env`."
            raise Refused(f"there is no key for {self.host} in ${self._key_env}", hint=hint)
        try:  # private servers often need no key, but the client always does
            client = openai.OpenAI(
                api_key=key or "none",
                base_url=self._url,
                max_retries=0,
                timeout=openai.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
                default_headers=HEADERS,
                # Texts must not go anywhere that the ledger does not name.
                http_client=openai.DefaultHttpxClient(follow_redirects=False, event_hooks={"response": [limits.take]}),
            )
            assert client.embeddings  # noqa: S101  # imported when first accessed, which must not count as a request's time
        except (openai.OpenAIError, ValueError) as error:
            hint = "Set `embedding.openai_base_url`."
            raise Refused(f"{self.host} cannot be asked: {self._mask(str(error))}", hint=hint) from error
        return client

    def _mask(self, text: str) -> str:
        return mask_keys(text, self._key_text(), self._key_text().strip())

    def _key_text(self) -> str:
        return self._key if self._key is not None else os.environ.get(self._key_env, "")
