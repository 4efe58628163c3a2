"""What is taken out of a text and what is not; tests/laws/test_redact.py has the laws."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from secrets_made import SHAPES, made, private_key, runs

from memory.redact import BUILT_IN, Redactor
from memory.schema.draft import Draft
from memory.schema.errors import BODY_LIMIT, DEPTH_LIMIT, NAME_LIMIT, Invalid
from memory.schema.kinds import Kind

REDACTOR = Redactor()
BENIGN = (Path(__file__).parents[2] / "support" / "benign.txt").read_text("utf-8").splitlines()

BLOCKS = [
    (
        'def login(user: str, password: str) -> Token:\n    """Check the password, return a token."""\n'
        "    if not check(password, user.password_hash):\n        raise Denied(user)\n    return Token(user.id, secret=SECRET)\n"
    ),
    (
        "# Setup\n\n```sh\nexport OPENAI_API_KEY=<your key>\nmemory config set embedding.provider openai\n```\n\n"
        "The key is read from `$OPENAI_API_KEY`; it is never written.\n"
    ),
    (
        "services:\n  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD_FILE: /run/secrets/db\n    secrets:\n"
        "      - db\nsecrets:\n  db:\n    file: ./db.txt\n"
    ),
    "class Settings(BaseSettings):\n    api_key: SecretStr\n    password: str | None = None\n    token: str = Field(default=...)\n",
    "| name | meaning |\n|---|---|\n| password | required |\n| token | from the login |\n",
    "const token = lexer.next();\nif (token.type === 'string') {\n  secret = secrets[token.value];\n}\n",
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\ntype: Opaque\n",
    "on: push\njobs:\n  test:\n    env:\n      TOKEN: ${{ secrets.GITHUB_TOKEN }}\n      PASSWORD: ${PASSWORD}\n",
    '[[package]]\nname = "secrecy"\nchecksum = "' + "0123456789abcdef" * 4 + '"\n',
    "password:\n  min: 8\n  max: 64\ntoken:\n  ttl: 3600\n",
    (
        'if line == "-----BEGIN RSA PRIVATE KEY-----":\n    parser.startPrivateKeySection()\n    self.lines2Base64Decoder = None\n'
        'elif line == "-----END RSA PRIVATE KEY-----":\n    parser.stop()\n'
    ),
    (
        "A file goes from -----BEGIN PRIVATE KEY----- over some lines of base64, which internationalization leaves alone, to "
        "-----END PRIVATE KEY-----, and no further."
    ),
    "password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6638643965396230\n",
    "name: password\nvalue: required\n",
    "| field | password |\n|---|---|\n| rule | required |\n| length | min 8 chars |\n| stored | bcrypt |\n| seen | ****** |\n",
    "| test | pass | fail |\n|---|---|---|\n| unit | 1204 | 3 |\n| speed | 1200ms | 12/15 |\n",
    "| token | count | logprob |\n|---|---|---|\n| the | 1820 | -0.12 |\n| Ġcat | 34 | -3.5e-05 |\n",
    "name,password,role\nstring,varchar(255),string\nrequired,required,optional\n",
    "user;token\nbob;none\n",
    "kind: Secret\nmetadata:\n  name: app\nstringData:\n  username: admin\n  host: db.internal\n  key: ${KEY}\n",
    "apiVersion: v1\nkind: ConfigMap\ndata:\n  level: debug\n  blob: aGVsbG8gd29ybGQ=\n---\nkind: Secret\nmetadata:\n  name: a\n",
    "Recovery codes:\n- print them\n- keep them safe\n",
    "Seed phrase:\n\nWrite all twelve words on paper and keep the paper in a safe that only you can open.\n",
    'text = (\n    "The first line of a text, "\n    "and the second line of it"\n)\n',
]


def test_what_is_no_secret_stays() -> None:
    for text in [*BENIGN, *BLOCKS]:
        assert REDACTOR.text(text) == (text, ())


def test_there_are_enough_benign_texts() -> None:
    assert len(set(BENIGN)) >= 130


def test_a_secret_is_taken_out_of_every_field() -> None:
    for shape in SHAPES:
        dice = random.Random(shape)
        one, other = made(shape, dice), made(shape, dice)
        line = one.text.replace("\n", " ")
        told = f"We saw {one.text} in the log."
        names = ("title", "category", "project", "source", "agent_id", "session_id", "task_code", "query_id")
        short = dict.fromkeys(names, line if len(line) <= NAME_LIMIT else "too long for a name")
        draft = Draft(
            **dict.fromkeys(("what", "why", "impact", "description", "body"), told),
            **short,
            kind=Kind.REPORT,
            tags=("plain", one.text),
            related_files=("a.py", f"logs/ {one.text} .txt"),
            metadata={"note": [{"deep": one.text}], other.text: 1, "plain": "text"},
        )

        safe, found = REDACTOR.draft(draft)

        assert not any(
            run in repr(safe) for secret in (one.secret, other.secret) for run in runs(secret.replace("\n", " "))
        )
        assert set(found) == {one.rule}, shape
        assert len(found) == 9 + 8 * (len(line) <= NAME_LIMIT)
        assert (safe.tags[0], safe.related_files[0], safe.metadata["plain"]) == ("plain", "a.py", "text")


def test_a_draft_without_secrets_is_the_same_object() -> None:
    draft = Draft(title="A title", what="token = next(lexer)", tags=("a",), metadata={"a": [{"b": 1}]})

    assert REDACTOR.draft(draft) == (draft, ())
    assert REDACTOR.draft(draft)[0] is draft


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('password = "hunter2"', 'password = "[redacted:assigned-secret]"'),
        ("password=hunter2", "password=[redacted:assigned-secret]"),
        ('{"password": "hunter2"}', '{"password": "[redacted:assigned-secret]"}'),
        ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": \\"[redacted:assigned-secret]\\"}'),
        ("**Password:** hunter2.", "**Password:** [redacted:assigned-secret]."),
        ("POSTGRES_PASSWORD=letmein up", "POSTGRES_PASSWORD=[redacted:assigned-secret] up"),
        ("--db-password hunter2 --force", "--db-password [redacted:assigned-secret] --force"),
        ('password: str = "hunter2"', 'password: str = "[redacted:assigned-secret]"'),
        ('dbPassword: "swordfish"', 'dbPassword: "[redacted:assigned-secret]"'),
        ("postgres://user:hunter2@host/db", "postgres://user:[redacted:url-password]@host/db"),
        ("postgres://user:h%40nter2@host/db", "postgres://user:[redacted:url-password]@host/db"),
        ("postgres://user:h@nter2@host/db", "postgres://user:[redacted:url-password]@host/db"),
        ("sshpass -phunter2 ssh host", "sshpass -p[redacted:command-password] ssh host"),
        ("Authorization: Bearer abcdef12", "Authorization: Bearer [redacted:bearer-token]"),
        ("https://u:x9Pa5word@corp.io?mail=a@b.c", "https://u:[redacted:url-password]@corp.io?mail=a@b.c"),
        ("password: Ab1!x,Zq9#rT7kLm now", "password: [redacted:assigned-secret] now"),
        ("password: Zx9(kLm2Qp7", "password: [redacted:assigned-secret]"),
        ("password: Zx9kLm2&Qp7vR3", "password: [redacted:assigned-secret]"),
        ("?password=hunter2&page=2", "?password=[redacted:assigned-secret]&page=2"),
        ("{password: hunter2,user: bob}", "{password: [redacted:assigned-secret],user: bob}"),
        ("login(user, password=hunter2).then(go)", "login(user, password=[redacted:assigned-secret]).then(go)"),
        ("<b>password: hunter2</b>", "<b>password: [redacted:assigned-secret]</b>"),
        ("password=hunter2&&make", "password=[redacted:assigned-secret]&&make"),
        ("password: |\n  hunter2\nuser: bob", "password: |\n  [redacted:assigned-secret]\nuser: bob"),
        ('password = """\nhunter2"""', 'password = """\n[redacted:assigned-secret]"""'),
        ("<password><![CDATA[hunter2]]></password>", "<password><![CDATA[[redacted:assigned-secret]]]></password>"),
        ("パスワード: hunter2です", "パスワード: [redacted:assigned-secret]です"),
        ("<redacted>any\nthing</redacted>, then", "[redacted], then"),
        ("<REDACTED>a<redacted>b</redacted>c</Redacted>", "[redacted]"),
        ("a</redacted> <redacted></redacted>b", "a</redacted> [redacted]b"),
    ],
)
def test_only_the_secret_is_replaced(text: str, expected: str) -> None:
    assert REDACTOR.text(text).text == expected


def test_a_token_that_says_nothing_but_its_algorithm_is_taken_out() -> None:
    """Its type need not be said: RFC 7515, section 4.1.9."""
    parts = (
        urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "HS256"}, {"sub": "1"})
    )
    token = ".".join((*parts, "a1B2" * 10))

    assert REDACTOR.text(f"We saw {token} in the log.") == ("We saw [redacted:jwt] in the log.", ("jwt",))


@pytest.mark.parametrize("unseen", [*"\u00ad\u200b\u200f\u202a\u202e\u2060\u2064\ufeff"], ids=ascii)
def test_what_nobody_sees_hides_no_secret(unseen: str) -> None:
    assert REDACTOR.text(f"pass{unseen}word: hunter2").text == f"pass{unseen}word: [redacted:assigned-secret]"


def test_names_are_told_in_order_of_place_once_for_each() -> None:
    text = 'password = "hunter2" <redacted>x</redacted> redis://:hunter2@a password=hunter3'

    assert REDACTOR.text(text).found == ("assigned-secret", "marked", "url-password", "assigned-secret")


def test_an_open_tag_beside_a_closed_one_is_refused_with_its_place() -> None:
    with pytest.raises(Invalid, match=r"why has a <redacted> at position 27 that is not closed") as caught:
        REDACTOR.draft(Draft(title="A title", what="x", why="Why <redacted>a</redacted> <redacted>hunter2"))

    assert "hunter2" not in str(caught.value)
    assert "</redacted>" in caught.value.hint


def test_tags_of_one_kind_alone_are_text() -> None:
    assert REDACTOR.text("token: <redacted>, <Redacted>").found == ()
    assert REDACTOR.text("password=hunter2 <redacted>").text == "password=[redacted:assigned-secret] <redacted>"


def test_a_body_between_other_lines_goes_whole_with_its_key() -> None:
    lines = private_key("RSA PRIVATE KEY", random.Random(5)).splitlines()
    numbered = "\n".join(f"{at:3} {line}" for at, line in enumerate(lines, 1))
    broken = "<br>".join(lines)

    assert REDACTOR.text(numbered).text == "  1 [redacted:private-key]"
    assert REDACTOR.text(broken).text == "[redacted:private-key]"


@pytest.mark.parametrize("kind", ["a24", "s20", "p20", "b40", "h32"])
@pytest.mark.parametrize("name", ["password: {}", "Password: {}", "--password {}", "DB_PASSWORD={}", "api_key: {}"])
def test_hardly_a_generated_secret_passes_and_none_in_part(name: str, kind: str) -> None:
    dice = random.Random(kind)
    shape = "assigned-secret " + name.format(f"⟨{{{kind}}}⟩")
    several = [made(shape, dice) for _ in range(150)]

    left = [REDACTOR.text(one.text).text for one in several]

    assert sum(one.secret in text for one, text in zip(several, left, strict=True)) <= 8
    assert sum(any(run in text for run in runs(one.secret)) for one, text in zip(several, left, strict=True)) <= 8


def test_a_field_that_grows_over_its_limit_says_why() -> None:
    with pytest.raises(Invalid, match=r"secrets replaced by markers, title has 2\d\d characters; the limit is 200"):
        REDACTOR.draft(Draft(title="x" * 183 + " password=hunter2", what="x"))


def test_keys_that_become_the_same_are_all_kept() -> None:
    dice = random.Random(3)
    keys = [made("github-token ⟨ghp_{a36}⟩", dice).text for _ in range(3)]

    value, found = REDACTOR.value({key: at for at, key in enumerate(keys)})

    assert value == {"[redacted:github-token]": 0, "[redacted:github-token] 2": 1, "[redacted:github-token] 3": 2}
    assert found == ("github-token",) * 3


@pytest.mark.parametrize(
    "key",
    "password Password api_key apiKey API-KEY authorization Authorization client_secret clientSecret db.password token "
    "accessToken X-Auth-Token private_key secret passphrase DB_PASS Cookie credentials secrets aws_secret_access_key".split(),
)
def test_what_the_key_of_a_secret_holds_is_taken_out_whole(key: str) -> None:
    value, found = REDACTOR.value({"call": [{key: "two words"}], "list": {key: ["a", 1, "b"]}})

    assert value == {
        "call": [{key: "[redacted:secret-field]"}],
        "list": {key: ["[redacted:secret-field]", 1, "[redacted:secret-field]"]},
    }
    assert found == ("secret-field",) * 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"credentials": {"db": "x y"}}, {"credentials": {"db": "[redacted:secret-field]"}}),
        ({"password": {"value": "x y"}}, {"password": {"value": "[redacted:secret-field]"}}),
        ({"api_keys": {"openai": ["x"]}}, {"api_keys": {"openai": ["[redacted:secret-field]"]}}),
        ({"secret": [["x y"]]}, {"secret": [["[redacted:secret-field]"]]}),
        ({"argv": ["--password", "x y", "-v"]}, {"argv": ["--password", "[redacted:secret-field]", "-v"]}),
        ({"name": "DB_PASSWORD", "value": "x"}, {"name": "DB_PASSWORD", "value": "[redacted:secret-field]"}),
        ({"auth": "Tr0ub4dor&3x"}, {"auth": "[redacted:secret-field]"}),
        *(
            ({key: "x y"}, {key: "[redacted:secret-field]"})
            for key in "DB_PASSWORD_v2 token_github secret_stripe_prod private_key_pem pw Kennwort".split()
        ),
    ],
)
def test_all_text_below_the_name_of_a_secret_goes(value: dict[str, object], expected: dict[str, object]) -> None:
    assert REDACTOR.value(value)[0] == expected
    assert REDACTOR.value(expected) == (expected, ())


@pytest.mark.parametrize(
    ("key", "held"),
    [
        ("session_key", "checkout"),
        ("auth", "oauth"),
        ("secret", "see vault"),
        ("password", "required"),
        ("pass", "ok"),
        ("argv", ["--verbose", "words", "--password", "--force"]),
        ("password", {"type": "string", "format": "password", "minLength": 8}),
        *(
            (key, "two words")
            for key in "tokens token_count max_tokens secret_name key author password_hash tokenizer".split()
        ),
        *(
            ("password", held)
            for held in ["", " ", "${PASSWORD}", "<password>", "[redacted:secret-field]", 512, None, True]
        ),
    ],
)
def test_other_keys_and_stand_ins_stay(key: str, held: object) -> None:
    value = {"a": {key: held}}

    assert REDACTOR.value(value) == (value, ())
    assert REDACTOR.value(value)[0] is value


def test_a_value_nested_without_end_is_refused() -> None:
    value: list[object] = []
    for _ in range(DEPTH_LIMIT + 5):
        value = [value]

    with pytest.raises(Invalid, match="nested more than 64 deep"):
        REDACTOR.value(value)


@pytest.mark.parametrize("label", ["RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "OPENSSH PRIVATE KEY"])
@pytest.mark.parametrize("lines", [2, 5, 8])
@pytest.mark.parametrize("glue", ["\n", "\r\n", " ", "\\n", "\n> ", "\n    "])
def test_a_key_is_taken_out_with_its_body_wherever_it_was_cut_off(label: str, lines: int, glue: str) -> None:
    block = private_key(label, random.Random(5)).splitlines()[:lines]

    text, found = REDACTOR.text(f"Before\n{glue.join(block)}\n\nAnd then we went on.")

    assert text == "Before\n[redacted:private-key]\n\nAnd then we went on."
    assert found == ("private-key",)


@pytest.mark.parametrize("label", ["PUBLIC KEY", "CERTIFICATE", "PGP PUBLIC KEY BLOCK"])
def test_what_is_public_stays(label: str) -> None:
    text = private_key(label, random.Random(5))

    assert REDACTOR.text(text) == (text, ())


def test_there_are_enough_rules_and_each_has_a_secret_made() -> None:
    assert len({rule.name for rule in BUILT_IN}) >= 45
    assert {rule.name for rule in BUILT_IN} == {shape.split()[0] for shape in SHAPES}


def test_importing_compiles_nothing() -> None:
    program = (
        "import re, memory.schema.draft\n"
        "def never(*a, **k): raise SystemExit(1)\n"
        "re._compiler.compile = never\nimport memory.redact\nmemory.redact.Redactor()\n"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_longest_body_with_a_secret_at_its_end() -> None:
    body = ("word " * BODY_LIMIT)[: BODY_LIMIT - 40] + "password=hunter2"

    draft, found = REDACTOR.draft(Draft(title="A title", what="x", body=body))

    assert found == ("assigned-secret",)
    assert draft.body == body.replace("hunter2", "[redacted:assigned-secret]")
