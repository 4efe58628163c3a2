"""The forms in which an adversary writes a secret: how many are missed of those drawn by chance."""

from __future__ import annotations

import json
import random

import pytest
from secret_forms import BARS, FORMS, NAMED, PAIRS
from secrets_made import made, runs

from memory.redact import Redactor
from memory.redact.detectors import scrambled

REDACTOR = Redactor()
DRAWS = 40
"""Of each form; `bench/leaks.py` draws thousands, holds each form to the bar, and goes through every way in."""

STAYS = """
PASSWORD=<your password>
PASSWORD=<your password here> and go on
password: <put it here>
DB_PASSWORD=[your password]
password=&user
password:&nbsp;required
password=$DB_PASSWORD
password: $dbPassword
password=user.profile.name
password: String
password -> String
password -> encrypt(password)
password is: required
password (optional): a text
password for bob: see vault
Passwort: Geschwindigkeitsbegrenzung
hasło jest wymagane
wachtwoord vergeten?
senha: obrigatória
clave: valor
MDP: Markov decision process
psk: QPSK modulation
token: CancellationToken
token: RefreshTokenResponse
token: XLMRoberta
secret: kubernetes.io/tls
token=tokenizer.eosTokenId
ssh-keygen -t ed25519 -N "" -f key
docker login -p is insecure
ldapsearch -x -W -D cn=admin
curl -u alice https://host
net use Z: \\\\srv\\share /user:bob
echo hello | sudo tee /etc/x
src/foo.py:12:5:error: E501 line too long
chr1:12345:A:G:rs123
jdbc:oracle:thin:@//db:1521/svc
sqlplus / as sysdba
git+ssh://git@github.com:org/repo.git@v1.2.3
docker://repo:tag/x@sha256
http://api:8080/users/v2@x
https://github:JavaScript/Readme@v2
pwd = ':%s@' % parsed.password
password=$Oauth2Client
def both(name, session_id=name).memory.id for name in names
secret = engine.save(Draft(title="secretive", what="hushword"))
remote.with_options(api_key=key("any").value).embeddings.create(model=SMALL, input=CAT)
SECRET = "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=36))
slack-token  xoxb-,xoxp-,xoxa-,xoxr-,xoxs-,xoxo-
words such as clave are not among them: `named.MAYBE`
""".strip().splitlines()


def missed(form: str, draws: int) -> list[str]:
    dice = random.Random(form)
    several = [made(f"any {form}", dice) for _ in range(draws)]
    left = [(one, REDACTOR.text(one.text).text) for one in several]
    return [one.text for one, text in left if any(run in text for run in runs(one.secret))]


def test_two_short_words_with_a_dot_between_are_missed_as_seldom_as_one_of_their_size():
    several = {form: len(missed(form, 20 * DRAWS)) for form in PAIRS}

    assert max(several.values()) <= 20 * DRAWS * BARS[10], several


@pytest.mark.parametrize("size", BARS)
def test_letters_and_digits_by_chance_are_hardly_ever_missed(size: int) -> None:
    several = {form: len(missed(form.replace("{}", f"{{r{size}}}"), DRAWS)) for form in NAMED}

    assert sum(several.values()) <= DRAWS * len(NAMED) * BARS[size]
    assert max(several.values()) <= DRAWS * BARS[size] + 4, several


def test_no_secret_of_another_form_is_missed() -> None:
    assert {form: gone for form in FORMS if (gone := missed(form, DRAWS))} == {}


def test_no_secret_is_missed_in_a_text_that_json_wrote() -> None:
    left = []
    for form in FORMS:
        dice = random.Random(form)
        for one in [made(f"any {form}", dice) for _ in range(5)]:
            text = REDACTOR.text(json.dumps({"stdout": f"We ran it.\n{one.text}\nand went on"})).text
            left += [(form, text) for run in runs(one.secret) if run in text]

    assert left == []


def test_in_a_text_that_json_wrote_the_next_line_stays() -> None:
    text = json.dumps(
        {"log": "heroku config:set FOO=ALEBIgxHaCWd6GwVnV\n\nunzip -P uDmrQa7Qc1d5 a.zip\n\nrar a x.rar d"}
    )

    gone = "heroku config:set FOO=[redacted:command-password]\n\nunzip -P [redacted:command-password] a.zip\n\nrar a x.rar d"
    assert json.loads(REDACTOR.text(text).text) == {"log": gone}


@pytest.mark.parametrize("text", STAYS)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert REDACTOR.text(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "\x1b[31mpassword\x1b[0m: \x1b[1mhunter2x\x1b[0m, and",
            "\x1b[31mpassword\x1b[0m: \x1b[1m[redacted:assigned-secret]\x1b[0m, and",
        ),
        ("password\xa0=\xa0hunter2x, then", "password\xa0=\xa0[redacted:assigned-secret], then"),
        ("password=hunter\\\n  2xyz9 and on", "password=[redacted:assigned-secret] and on"),
        ("mysql -u root \\\n  -phunter2x app", "mysql -u root \\\n  -p[redacted:command-password] app"),
        ("postgres://app:p@#w0rd9x@db/x", "postgres://app:[redacted:url-password]@db/x"),
        ("jdbc:oracle:thin:scott/tiger@db:1521:xe", "jdbc:oracle:thin:scott/[redacted:oracle-password]@db:1521:xe"),
        ("net use Z: \\\\srv\\c$ hunter2x /user:bob", "net use Z: \\\\srv\\c$ [redacted:command-password] /user:bob"),
        ("password -> hunter2x; next", "password -> [redacted:assigned-secret]; next"),
        ("<b>Password:</b> hunter2x<br>", "<b>Password:</b> [redacted:assigned-secret]<br>"),
        ("the password is: hunter2x.", "the password is: [redacted:assigned-secret]."),
        (
            "We made them. The accounts: user,password\nbob,kh4iRc3WM248\n",
            "We made them. The accounts: user,password\nbob,[redacted:table-secret]\n",
        ),
        ("password for bob: hunter2x", "password for bob: [redacted:assigned-secret]"),
    ],
)
def test_only_the_secret_goes(text: str, expected: str) -> None:
    assert REDACTOR.text(text).text == expected
    assert REDACTOR.text(expected) == (expected, ())


@pytest.mark.parametrize("word", "getToken userPassword2 PKCS11Provider Geschwindigkeit base64url oauth2Client".split())
def test_words_and_names_are_not_scrambled(word: str) -> None:
    assert not scrambled(word)
