"""What may be shown of a server's URL."""

from __future__ import annotations

import pytest

from memory.schema.places import without_password


@pytest.mark.parametrize("name", ["password", "sslpassword", "PASSWORD", "passw%6Frd", "%70assword"])
def test_no_option_that_is_a_password_is_shown_however_its_name_is_written(name: str) -> None:
    assert without_password(f"postgresql://me@h/db?a=1&{name}=hunter2&b=2") == "postgresql://me@h/db?a=1&b=2"
    assert without_password(f"postgresql://me@h/db?{name}=hunter2") == "postgresql://me@h/db"
