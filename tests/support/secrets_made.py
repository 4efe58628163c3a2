"""Secrets of every kind that is taken out, made when they are needed: none stands in any file."""

from __future__ import annotations

import base64
import json
import re
import string
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random

ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
    "h": "0123456789abcdef",
    "d": "0123456789",
    "i": string.ascii_uppercase + "234567",
    "e": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "y": string.ascii_lowercase + "234567",
    "n": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "c": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "p": string.ascii_letters + string.digits + "!*_=+~^",
    "s": string.ascii_letters + string.digits + "!#$%^*+~,;",
}

FREE = {
    "r": string.ascii_letters + string.digits,
    "z": string.ascii_lowercase,
    "Z": string.ascii_uppercase,
}
"""Alphabets of what is drawn as it comes."""

SIGNS = {"e": "\x1b", "n": "\u00a0", "b": "\\\n", "NL": "\n", "TAB": "\t"}

PHRASE = """
abandon ability absorb actor adapt baby bacon badge balance banana cabin cable cactus cage dance dawn debate
decade eager earth east echo fabric face faculty fade gadget gain galaxy habit hair hammer icon jacket jaguar jazz keen
label ladder lady machine magic naive napkin oak oasis obey page quality quarter rabbit raccoon saddle safe tackle
umbrella vacant vacuum wage wagon yard zebra zoo
""".split()
"""Some words of BIP-39."""

# `⟨…⟩` is the secret in its surroundings, `{a36}` stands for 36 characters of an alphabet.
SHAPES = """
anthropic-key              ⟨sk-ant-{l5}-{w93}AA⟩
openai-key                 ⟨sk-{a48}⟩
openai-key                 ⟨sk-proj-{w74}T3BlbkFJ{w74}⟩
openai-key                 ⟨sk-svcacct-{w60}⟩
openai-key                 ⟨sk-{h32}⟩
openrouter-key             ⟨sk-or-v1-{h64}⟩
langfuse-key               ⟨sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}⟩
huggingface-token          ⟨hf_{a34}⟩
replicate-token            ⟨r8_{a37}⟩
groq-key                   ⟨gsk_{a52}⟩
xai-key                    ⟨xai-{a80}⟩
perplexity-key             ⟨pplx-{a48}⟩
cerebras-key               ⟨csk-{l48}⟩
nvidia-key                 ⟨nvapi-{w64}⟩
pinecone-key               ⟨pcsk_{a5}_{a63}⟩
tavily-key                 ⟨tvly-dev-{a32}⟩
langsmith-key              ⟨lsv2_pt_{h32}_{h10}⟩
elevenlabs-key             ⟨sk_{h48}⟩
github-token               ⟨ghp_{a36}⟩
github-token               ⟨gho_{a36}⟩
github-token               ⟨ghu_{a36}⟩
github-token               ⟨ghs_{a36}⟩
github-token               ⟨ghr_{a76}⟩
github-fine-grained-token  ⟨github_pat_{a22}_{a59}⟩
gitlab-token               ⟨glpat-{w20}⟩
gitlab-token               ⟨glpat-{a40}.01.{l9}⟩
gitlab-token               ⟨gldt-{w20}⟩
gitlab-token               ⟨glrt-t1_{w20}⟩
gitlab-token               ⟨glcbt-64_{w20}⟩
gitlab-token               ⟨glptt-{h40}⟩
gitlab-token               ⟨gloas-{h64}⟩
gitlab-token               ⟨glagent-{w50}⟩
gitlab-runner-token        ⟨GR1348941{w20}⟩
bitbucket-token            ⟨ATBB{a32}⟩
bitbucket-token            ⟨ATCTT3{w180}={u8}⟩
atlassian-token            ⟨ATATT3{w180}={u8}⟩
npm-token                  ⟨npm_{a36}⟩
pypi-token                 ⟨pypi-AgEIcHlwaS5vcmc{w120}⟩
ruby-gems-key              ⟨rubygems_{h48}⟩
crates-token               ⟨cio{a32}⟩
nuget-key                  ⟨oy2{l43}⟩
docker-token               ⟨dckr_pat_{w27}⟩
artifactory-key            ⟨AKCp{a69}⟩
clojars-token              ⟨CLOJARS_{l60}⟩
sonar-token                ⟨squ_{h40}⟩
sourcegraph-token          ⟨sgp_{h16}_{h40}⟩
aws-access-key             ⟨AKIA{i16}⟩
aws-access-key             ⟨ASIA{i16}⟩
aws-session-token          ⟨IQoJb3JpZ2lu{b300}==⟩
aws-secret-key             aws_secret_access_key = ⟨{b40}⟩
aws-secret-key             "SecretAccessKey": "⟨{b40}⟩"
aws-bedrock-key            ⟨ABSKQmVkcm9ja0FQSUtleS{b110}⟩
gcp-api-key                ⟨AIza{w35}⟩
google-oauth-secret        ⟨GOCSPX-{w28}⟩
google-access-token        ⟨ya29.{w120}⟩
google-refresh-token       ⟨1//0{w60}⟩
azure-storage-key          AccountName=things;AccountKey=⟨{b86}==⟩;EndpointSuffix=core.windows.net
azure-storage-key          ⟨{a76}+ASt{a5}A==⟩
azure-sas-signature        https://things.blob.core.windows.net/box?sv=2022-11-02&sp=r&sig=⟨{a40}%2B{a4}%3D⟩
azure-client-secret        ⟨{a3}8Q~{a33}⟩
azure-devops-token         ⟨{a76}AZDO{a4}⟩
digitalocean-token         ⟨dop_v1_{h64}⟩
heroku-key                 ⟨HRKU-AA{w58}⟩
cloudflare-token           ⟨cfut_{a40}{h8}⟩
cloudflare-origin-key      ⟨v1.0-{h24}-{h146}⟩
alibaba-access-key         ⟨LTAI{a20}⟩
yandex-key                 ⟨AQVN{a36}⟩
fly-token                  ⟨fm2_{b140}⟩
planetscale-token          ⟨pscale_tkn_{w43}⟩
supabase-key               ⟨sbp_{h40}⟩
netlify-token              ⟨nfp_{a36}⟩
pulumi-token               ⟨pul-{h40}⟩
doppler-token              ⟨dp.pt.{a43}⟩
doppler-token              ⟨dp.st.prd.{a43}⟩
vault-token                ⟨hvs.{w95}⟩
terraform-token            ⟨{a14}.atlasv1.{w67}⟩
tailscale-key              ⟨tskey-auth-{a14}-{a32}⟩
openshift-token            ⟨sha256~{a43}⟩
age-secret-key             ⟨AGE-SECRET-KEY-1{e58}⟩
onepassword-token          ⟨ops_eyJ{b280}⟩
onepassword-secret-key     ⟨A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}⟩
slack-token                ⟨xoxb-{d12}-{d12}-{a24}⟩
slack-token                ⟨xoxp-{d12}-{d12}-{d12}-{h32}⟩
slack-token                ⟨xapp-1-{u11}-{d13}-{h64}⟩
slack-webhook              https://hooks.slack.com/services/⟨T{u10}/B{u10}/{a24}⟩
discord-token              ⟨MT{a22}.{a6}.{a38}⟩
discord-webhook            https://discord.com/api/webhooks/{d18}/⟨{w68}⟩
telegram-token             1{d9}:⟨AA{a33}⟩
teams-webhook              https://acme.webhook.office.com/webhookb2/IncomingWebhook/⟨{l32}/{h8}-{h4}-{h4}-{h4}-{h12}⟩
zapier-webhook             https://hooks.zapier.com/hooks/catch/⟨{d7}/{l7}⟩
twilio-key                 ⟨SK{h32}⟩
sendgrid-key               ⟨SG.{w22}.{w43}⟩
mailgun-key                ⟨key-{h32}⟩
mailchimp-key              ⟨{h32}-us21⟩
brevo-key                  ⟨xkeysib-{h64}-{a16}⟩
facebook-token             ⟨EAAC{a140}⟩
typeform-token             ⟨tfp_{w59}⟩
stripe-key                 ⟨sk_live_{a24}⟩
stripe-key                 ⟨sk_test_{a99}⟩
stripe-key                 ⟨rk_live_{a24}⟩
webhook-secret             ⟨whsec_{a32}⟩
square-token               ⟨sq0atp-{w22}⟩
square-token               ⟨EAAA{a60}⟩
braintree-token            ⟨access_token$production${l16}${h32}⟩
shopify-token              ⟨shpat_{h32}⟩
easypost-key               ⟨EZAK{a54}⟩
shippo-token               ⟨shippo_live_{h40}⟩
flutterwave-key            ⟨FLWSECK-{l32}-X⟩
duffel-token               ⟨duffel_live_{w43}⟩
databricks-token           ⟨dapi{h32}-2⟩
newrelic-key               ⟨NRAK-{u27}⟩
newrelic-key               ⟨{h36}NRAL⟩
sentry-token               ⟨sntryu_{h64}⟩
grafana-token              ⟨glsa_{a32}_{h8}⟩
grafana-token              ⟨glc_{b120}==⟩
dynatrace-token            ⟨dt0c01.{u24}.{u64}⟩
linear-key                 ⟨lin_api_{a40}⟩
notion-token               ⟨ntn_{d11}{a35}⟩
notion-token               ⟨secret_{a43}⟩
figma-token                ⟨figd_{w40}⟩
postman-key                ⟨PMAK-{h24}-{h34}⟩
airtable-token             ⟨pat{a14}.{h64}⟩
contentful-token           ⟨CFPAT-{w43}⟩
prefect-key                ⟨pnu_{a36}⟩
adobe-client-secret        ⟨p8e-{w32}⟩
url-password               postgres://user:⟨{a5}%40{a7}⟩@host/db
url-password               mongodb+srv://app:⟨{p16}⟩@cluster0.mongodb.net/?retryWrites=true
url-password               redis://:⟨{a16}⟩@cache:6379/0
url-password               amqps://worker:⟨{a16}⟩@mq.internal:5671/%2F
bearer-token               curl -H "X: Bearer ⟨{a40}⟩"
bearer-token               Authorization: Bearer ⟨{a40}⟩
basic-auth                 Authorization: Basic ⟨{basic}⟩
authorization              Authorization: Token ⟨{h40}⟩
authorization              "Authorization": "⟨{a40}⟩"
session-cookie             Cookie: theme=dark; sessionid=⟨{l32}⟩; lang=en
session-cookie             Set-Cookie: JSESSIONID=⟨{u32}⟩; Path=/; HttpOnly
session-cookie             Set-Cookie: connect.sid=⟨s%3A{a32}.{a43}⟩; Path=/
connection-password        Server=db;Database=app;User Id=sa;Password=⟨{p14}⟩;Encrypt=true
connection-password        Driver=ODBC;Uid=app;Pwd=⟨{p14}⟩;
oracle-password            jdbc:oracle:thin:scott/⟨{p14}⟩@db.local:1521:xe
netrc-password             machine git.example login bob password ⟨{p14}⟩
pgpass-password            db.internal:5432:app:owner:⟨{a14}⟩
curl-password              curl -s -u admin:⟨{p14}⟩ https://host/path
jwt                        ⟨{jwt}⟩
private-key                ⟨{pem:RSA PRIVATE KEY}⟩
private-key                ⟨{pem:PRIVATE KEY}⟩
private-key                ⟨{pem:EC PRIVATE KEY}⟩
private-key                ⟨{pem:OPENSSH PRIVATE KEY}⟩
private-key                ⟨{pem:ENCRYPTED PRIVATE KEY}⟩
private-key                ⟨{pem:PGP PRIVATE KEY BLOCK}⟩
private-key                ⟨{cut:RSA PRIVATE KEY}⟩
private-key                "private_key_of": "⟨{escaped:PRIVATE KEY}⟩", "client_email": "me@x"
putty-private-key          Private-Lines: 3\\n⟨{b64}\\n{b64}\\n{b20}⟩\\nPrivate-MAC: 00
assigned-secret            api_key: "⟨{a32}⟩"
assigned-secret            SECRET_KEY=⟨{p40}⟩
assigned-secret            export SERVICE_TOKEN=⟨{a32}⟩
assigned-secret            {"client_secret": "⟨{w32}⟩"}
assigned-secret            heroku_api_key = '⟨{h8}-{h4}-{h4}-{h4}-{h12}⟩'
assigned-secret            deploy --token ⟨{a32}⟩ --force
assigned-secret            stripeApiKey: '⟨{a32}⟩',
assigned-secret            https://host/path?token=⟨{a32}⟩&page=2
assigned-secret            X-Api-Key: ⟨{a32}⟩
assigned-secret            config["auth_token"] = "⟨{a32}⟩"
assigned-secret            //registry.npmjs.org/:_authToken=⟨{h8}-{h4}-{h4}-{h4}-{h12}⟩
assigned-secret            password = "⟨{p14}⟩"
assigned-secret            DB_PASSWORD=⟨x9!{p14}⟩
assigned-secret            <password>⟨{a14}⟩</password>
assigned-secret            mysql --password=⟨x9{a12}⟩ app
assigned-secret            password: ⟨R{s20}9w⟩
assigned-secret            Password: ⟨R{s20}9w⟩
assigned-secret            --db-password ⟨R{s20}9w⟩ --force
assigned-secret            DB_PASSWORD=⟨R{s20}9w⟩
assigned-secret            api_key: ⟨R{s20}9w⟩
assigned-secret            DB_PASSWORD_v2=⟨x9!{p14}⟩
assigned-secret            TOKEN_GITHUB: ⟨{a32}⟩
assigned-secret            Kennwort: ⟨x9!{p14}⟩
assigned-secret            contraseña: ⟨x9!{p14}⟩
assigned-secret            密码：⟨x9!{p14}⟩
assigned-secret            password: “⟨{p14}⟩”
assigned-secret            pw=⟨x9!{p14}⟩
assigned-secret            name: DB_PASSWORD\\n  value: ⟨x9!{p14}⟩
assigned-secret            {"name": "API_KEY", "value": "⟨{a32}⟩"}
assigned-secret            <add key="DbPassword" value="⟨{p14}⟩"/>
assigned-secret            <key>ApiToken</key><string>⟨{a32}⟩</string>
assigned-secret            variable "db_password" { type = string default = "⟨{p14}⟩" }
assigned-secret            os.Setenv("API_TOKEN", "⟨{a32}⟩")
assigned-secret            define('DB_PASSWORD', '⟨x9{a12}⟩');
assigned-secret            ds.setPassword("⟨x9{a12}⟩");
assigned-secret            req.Header.Set("X-Api-Key", "⟨{h32}⟩")
assigned-secret            password = '''⟨{p14}⟩'''
assigned-secret            \\\\\\"password\\\\\\": \\\\\\"⟨x9{a12}⟩\\\\\\"
assigned-secret            ENV API_TOKEN ⟨{a32}⟩
assigned-secret            setx API_TOKEN ⟨{a32}⟩
assigned-secret            ALTER ROLE app WITH LOGIN PASSWORD '⟨{p14}⟩';
assigned-secret            %22password%22%3A%22⟨x9{a12}⟩%22
assigned-secret            password%3D⟨x9{a12}⟩%26user%3Dx
assigned-secret            OPENWEATHER_KEY=⟨{h32}⟩
assigned-secret            SECRET_KEY = 'django-⟨#b&x9!(k{a20}⟩'
sql-password               CREATE USER 'a'@'%' IDENTIFIED BY '⟨{p14}⟩';
command-password           sshpass -p ⟨x9{a12}⟩ ssh root@host
command-password           mysql -u root -p⟨x9{a12}⟩ app
command-password           docker login -u bob -p ⟨x9{a12}⟩ reg.io
command-password           redis-cli -h cache -a ⟨x9{a12}⟩ ping
basic-auth                 {"auths": {"ghcr.io": {"auth": "⟨{basic}⟩"}}}
basic-auth                 //registry.corp.io/:_auth=⟨{basic}⟩
private-key                client-key-data: ⟨{b64:RSA PRIVATE KEY}⟩
url-password               https://bob:⟨{a15}⟩@example.com?to=a@b.c
url-password               mongodb://u:⟨{a15}⟩@h1.example.com:27017,u2:x@h2/db
url-password               [a](https://bob:⟨{a15}⟩@example.com)[b](mailto:x@y.z)
url-password               postgres://app:⟨Rx9{b40}=⟩@db.local/x
url-password               postgres://app:⟨Rx9#{a10}⟩@db.local/x
together-key               ⟨tgp_v1_{w43}⟩
jina-key                   ⟨jina_{h32}{a28}⟩
e2b-key                    ⟨e2b_{h40}⟩
vercel-token               ⟨vercel_blob_rw_{a16}_{a30}⟩
vercel-token               ⟨vcp_{a56}⟩
neon-key                   ⟨napi_{l64}⟩
neon-password              ⟨npg_{a12}⟩
posthog-key                ⟨phx_{a43}⟩
datadog-key                ⟨ddapp_{a34}⟩
nostr-key                  ⟨nsec1{n58}⟩
extended-private-key       ⟨xprv{c107}⟩
bitcoin-key                ⟨{wif}⟩
fireworks-key              ⟨fw_{a24}⟩
firecrawl-key              ⟨fc-{h32}⟩
voyage-key                 ⟨pa-{w43}⟩
modal-token                ⟨as-{a22}⟩
resend-key                 ⟨re_{a8}_{a24}⟩
circleci-token             ⟨CCIPAT_{a22}_{h40}⟩
buildkite-token            ⟨bkua_{l40}⟩
octopus-key                ⟨API-{u26}⟩
infracost-key              ⟨ico-{a32}⟩
maxmind-key                ⟨{a6}_{a29}_mmk⟩
hubspot-token              ⟨pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}⟩
plaid-token                ⟨access-sandbox-{h8}-{h4}-{h4}-{h4}-{h12}⟩
readme-key                 ⟨rdme_{l70}⟩
apify-token                ⟨apify_api_{a36}⟩
frameio-token              ⟨fio-u-{w64}⟩
prefixed-token             ⟨zorp_{a32}⟩
prefixed-token             ⟨qx_live_{a24}⟩
signed-url                 https://b.s3.amazonaws.com/k?X-Amz-Expires=3600&X-Amz-Signature=⟨{h64}⟩
azure-key                  ⟨{a52}JQQJ99{a26}⟩
azure-functions-key        https://things.azurewebsites.net/api/hello?code=⟨{w44}AzFu{w5}A==⟩
issuer-key                 Cohere: ⟨{a40}⟩
client-key                 new SomeClient("⟨{a40}⟩")
told-secret                the password is ⟨{a14}⟩
login-password             login: admin / ⟨x9Q{a12}⟩
otp-seed                   TOTP seed: ⟨{i32}⟩
seed-phrase                seed phrase: "⟨{seed12}⟩"
recovery-code              Recovery code: ⟨{l5}-4{l4}⟩
table-secret               | password | ⟨x9Q{a12}⟩ |
kubernetes-secret          {"kind": "Secret", "apiVersion": "v1", "data": {"url": "⟨{b64s}⟩"}}
terraform-secret           {"type": "random_password", "instances": [{"attributes": {"length": 16, "result": "⟨{p16}⟩"}}]}
session-cookie             .example.com TRUE / TRUE 1893456000 id ⟨{a32}⟩
""".strip().splitlines()


class Made(NamedTuple):
    """
    A secret in its surroundings: `text` holds `secret` once.

    Attributes:
        rule: The rule that takes it out.
    """

    rule: str
    text: str
    secret: str


def made(shape: str, dice: random.Random) -> Made:
    """A new secret of one of the `SHAPES`."""
    rule, _, template = shape.partition(" ")
    text = re.sub(r"\{([^{}]+)\}", lambda part: _part(part[1], dice), template.strip()).replace("\\n", "\n")
    before, _, rest = text.partition("⟨")
    secret, _, after = rest.partition("⟩")
    return Made(rule, before + secret + after, secret)


def runs(secret: str, size: int = 8) -> set[str]:
    """Every stretch of a secret of this many characters; the whole of a shorter one. The frame of a key is none."""
    secret = re.sub(r"-----[A-Z ]+-----", "", secret)
    return {secret[at : at + size] for at in range(max(1, len(secret) - size + 1))}


def private_key(label: str, dice: random.Random) -> str:
    lines = [_random("b", 64, dice) for _ in range(6)] + [_random("b", 22, dice) + "=="]
    dashes = "-" * 5
    return "\n".join((f"{dashes}BEGIN {label}{dashes}", *lines, f"{dashes}END {label}{dashes}"))


def signed(dice: random.Random) -> str:
    """A JSON Web Token: header and claims that decode, and a signature."""
    head = {"alg": dice.choice(["HS256", "RS256", "none"]), "typ": "JWT"}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, {"sub": "1"})]
    return ".".join((*parts, _random("w", 43, dice)))


def bitcoin_key(dice: random.Random) -> str:
    """A private key as wallets import it: a version, the key, for half of them a sign, and a checksum, in base58."""
    raw = b"\x80" + dice.randbytes(32) + (b"\x01" if dice.random() < 0.5 else b"")
    number = int.from_bytes(raw + sha256(sha256(raw).digest()).digest()[:4], "big")
    letters = ""
    while number:
        number, rest = divmod(number, 58)
        letters = ALPHABETS["c"][rest] + letters
    return letters


def _part(said: str, dice: random.Random) -> str:
    if said in SIGNS:
        return SIGNS[said]
    kind, _, label = said.partition(":")
    return _key(kind, private_key(label, dice)) if label else _drawn(said, dice)


def _drawn(said: str, dice: random.Random) -> str:
    kind, size = said[0], said[1:]
    if said in MADE:
        return MADE[said](dice)
    if said.startswith("seed"):
        return " ".join(dice.choices(PHRASE, k=int(said[4:])))
    if kind in FREE and size.isdigit():
        return "".join(dice.choices(FREE[kind], k=int(size)))
    return _random(kind, int(size), dice) if kind in ALPHABETS and size.isdigit() else "{" + said + "}"


MADE = {
    "jwt": signed,
    "wif": bitcoin_key,
    "basic": lambda dice: base64.b64encode(f"admin:{_random('a', 14, dice)}".encode()).decode(),
    "b64s": lambda dice: base64.b64encode(_random("a", dice.choice([9, 14, 20]), dice).encode()).decode(),
}


def _key(form: str, key: str) -> str:
    """A private key as it was cut off, written in one line or wrapped in base64."""
    match form:
        case "cut":
            return "\n".join(key.splitlines()[:-3])
        case "escaped":
            return key.replace("\n", "\\\\n")
        case "b64":
            return base64.b64encode(key.encode()).decode()
    return key


def _random(kind: str, size: int, dice: random.Random) -> str:
    """Random characters; a digit among them where there are eight or more, as all but one in thousands have."""
    drawn = dice.choices(ALPHABETS[kind], k=size)
    if size >= 8:
        drawn[size // 2] = dice.choice("234567")
        drawn[size // 2 - 1] = dice.choice("ACDEF" if ALPHABETS[kind].isupper() or kind in "uie" else "acde")
        if kind == "d":
            drawn[size // 2 - 1] = "8"
    return "".join(drawn)
