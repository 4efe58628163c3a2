"""What may be shown of a server's URL."""

from __future__ import annotations

import pytest

from memory.schema.databases import without_password

SECRETS = "password sslpassword PASSWORD passw%6Frd %70assword pass pwd auth token oauth_client_secret scram_client_key".split()


@pytest.mark.parametrize("name", SECRETS)
def test_no_option_that_is_a_password_is_shown_however_its_name_is_written(name: str) -> None:
    assert without_password(f"postgresql://me@h/db?a=1&{name}=hunter2&b=2") == "postgresql://me@h/db?a=1&b=2"
    assert without_password(f"postgresql://me@h/db?{name}=hunter2") == "postgresql://me@h/db"


@pytest.mark.parametrize(
    "shown",
    [
        "postgresql://host/db",
        "postgres://me@/db?host=/run/pg&port=5433",
        "postgresql://me@one:5432,two:5433/db?target_session_attrs=read-write",
        "postgresql://m%25e@%2Frun%2Fpg/d%20b?sslmode=verify-full&sslkey=/k&passfile=/p&options=-c%20role%3Dme",
        "postgresql://[::1]:5432?",
    ],
)
def test_what_is_no_secret_is_shown(shown: str) -> None:
    assert without_password(shown) == shown.rstrip("?")


@pytest.mark.parametrize(
    "written",
    [
        "postgresql://me:50%off!hunter2@host/db",
        "postgresql://me:hunter%002@host/db",
        "postgresql://me:12?hunter2@host/db",
        "postgresql://me:12?hunter2=@host/db",
        "postgresql://me:12#hunter2@host/db",
        "postgresql://host/db?password=a&hunter2",
        "postgresql://me:123/hunter2@host",
        "postgresql:///me:hunter2@host",
        "postgresql://host/hunter2@host",
        "postgresql://host/db?password=%zzhunter2",
        "postgresql://me:hun/ter2@host/db",
        "host=x password=hunter2",
    ],
)
def test_what_no_url_has_is_refused_and_not_repeated(written: str) -> None:
    with pytest.raises(ValueError, match="this is not a URL such as") as caught:
        without_password(written)

    assert "ter2" not in str(caught.value)


def test_a_password_behind_a_colon_that_is_written_as_in_a_name_is_not_shown() -> None:
    assert without_password("postgresql://me%3Ahunter2@host/db") == "postgresql://me@host/db"
