"""
The rules for secrets with a form of their own, or between signs that are only there for them.

These are private keys, signed tokens and tokens of issuers; passwords in addresses, `Authorization` headers, cookies.
The forms of tokens are those that issuers publish, or that the rule sets of gitleaks, trufflehog, detect-secrets and
GitLab agree on; docs/redaction.md lists the issuers. A length is a lower bound where issuers lengthened tokens before.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, urlsafe_b64decode
from typing import TYPE_CHECKING

from memory.redact.detectors import bare_password, code, generated, made_up, mixed, scrambled, strong, words
from memory.redact.rules import Rule, Span, compiled, literal

if TYPE_CHECKING:
    from collections.abc import Iterator

START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
r"""Where a token may begin: not after a letter or digit, unless that ends `\n` or `%3D`."""

END = r"(?![A-Za-z0-9])"

_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END [A-Z0-9 ]{0,60}-----"
_BREAK = r"(?:\s|\\[nrt]|[\"'+,#>|*]|//)"
_BODY = (  # atomic, not `)*+`: before 3.11.5 CPython goes wrong there, and text after the key is lost (gh-106052)
    rf"(?>(?:{_BREAK}|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Encryption):[^\r\n\\]{{0,200}}"
    rf"|[A-Za-z0-9+/]{{20,}}={{0,3}}|(?<![\"'])[A-Za-z0-9+/]{{1,19}}={{0,3}}(?=[ \t]*(?:[\r\n\"']|\\[nr]|$)))*)"
)
_RUN = r"[A-Za-z0-9+/=]{16,}"
_OPENSSH = rf"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{{20,}}={{0,3}}(?>(?:{_BREAK}{{1,8}}[A-Za-z0-9+/]{{20,}}={{0,3}})*)"
_WRAPPED = r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{80,}={0,2}"
_PUTTY = r"Private-Lines: ?\d{1,4}\s{1,4}(?P<s>(?:[A-Za-z0-9+/=]{2,100}(?:\s|\\[nr]){1,4}){1,400})"
_JWT = r"(?:(?<![\w.-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))eyJ[\w-]{6,}+\.[\w-]*+\.[\w-]++(?:\.[\w-]++){0,2}"


def _private(match: re.Match[str]) -> Span | None:
    """
    The span from the BEGIN line to the END line, if most of what is between them is a key's body.

    Without such an END line the key was cut off, and the span ends with the body.
    """
    text, start = match.string, match.end()
    dashes = text.find("-----", start)
    last = compiled(_END, folded=False).match(text, dashes) if dashes >= 0 else None
    if last and _mostly_body(text[start:dashes]):
        return match.start(), last.end()
    body = compiled(_BODY, folded=False).match(text, start)
    stop = start + len(body[0].rstrip(" \t\r\n\"',")) if body else start
    return (match.start(), stop) if any(_runs(text[start:stop])) else None


def _mostly_body(text: str) -> bool:
    runs = list(_runs(text))
    return bool(runs) and sum(map(len, runs)) * 2 >= len("".join(text.split()))


def _runs(text: str) -> Iterator[str]:
    """The stretches of base64 that are not names: all but the last of a key's body."""
    return (run[0] for run in compiled(_RUN, folded=False).finditer(text) if strong(run[0], 16))


def _wrapped(match: re.Match[str]) -> Span | None:
    """The span if its first line decodes to the BEGIN line of a private key, else None."""
    return match.span() if b"PRIVATE KEY" in b64decode(match[0][:92]) else None


def _signed(match: re.Match[str]) -> Span | None:
    """The span if its first part decodes to a JSON object with an algorithm (RFC 7515, 4.1.1), else None."""
    head = match[0].partition(".")[0]
    try:
        header = json.loads(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):  # a wrong length is a ValueError too
        return None
    return match.span() if isinstance(header, dict) and "alg" in header else None


KEYS: tuple[Rule, ...] = (
    Rule("private-key", _BEGIN, ("-----BEGIN ",), judge=_private),
    Rule("private-key", _WRAPPED, ("LS0tLS1CRUdJTi",), judge=_wrapped),
    Rule("private-key", _OPENSSH, ("b3BlbnNzaC1rZXktdjE",)),
    Rule("putty-private-key", _PUTTY, ("Private-Lines:",)),
    Rule("jwt", _JWT, ("eyJ",), judge=_signed),
)


_B64 = r"[A-Za-z0-9+/]"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def _form(name: str, words: str, pattern: str, back: int = 0) -> Rule:
    """A rule for tokens with one of these words in them, `back` characters after their beginning."""
    return Rule(name, pattern, tuple(words.split()), back, solid=True)


def _token(name: str, prefixes: str, rest: str, *, end: str = "") -> Rule:
    """A rule for tokens that begin with one of these prefixes."""
    escaped = "|".join(word.replace(".", r"\.").replace("$", r"\$").replace("+", r"\+") for word in prefixes.split())
    return _form(name, prefixes, rf"{START}(?:{escaped}){rest}{end}")


TOKENS: tuple[Rule, ...] = (
    # models
    _token("anthropic-key", "sk-ant-", r"[a-z0-9]{3,12}-[\w-]{20,}"),
    _token("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{20,}"),
    _token("openrouter-key", "sk-or-", r"v1-[0-9a-f]{64}"),
    _token("openai-key", "sk-", r"[A-Za-z0-9]{32,}"),
    _token("langfuse-key", "sk-lf-", _UUID),
    _token("huggingface-token", "hf_ api_org_", r"[A-Za-z0-9]{30,}"),
    _token("replicate-token", "r8_", r"[A-Za-z0-9]{37,}"),
    _token("groq-key", "gsk_", r"[A-Za-z0-9]{40,}"),
    _token("xai-key", "xai-", r"[\w-]{60,}"),
    _token("perplexity-key", "pplx-", r"[A-Za-z0-9]{40,}"),
    _token("cerebras-key", "csk-", r"[a-z0-9]{40,}"),
    _token("nvidia-key", "nvapi-", r"[\w-]{60,}"),
    _token("pinecone-key", "pcsk_", r"\w{50,}"),
    _token("tavily-key", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{30,}"),
    _token("langsmith-key", "lsv2_pt_ lsv2_sk_", r"[a-f0-9]{32}_[a-f0-9]{10}"),
    _token("elevenlabs-key", "sk_", r"[a-f0-9]{48}", end=END),
    # code and packages
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9_]{36,}(?:\.[\w-]{16,})*"),
    _token("github-fine-grained-token", "github_pat_", r"\w{60,}"),
    _token("gitlab-token", "glpat- gloas- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- glwt-", r"[\w-]{20,}(?:\.[a-z0-9]{2,}){0,2}"),
    _token("gitlab-runner-token", "GR1348941", r"[\w-]{20,}"),
    _token("bitbucket-token", "ATBB ATCTT3", r"[\w=-]{28,}"),
    _token("atlassian-token", "ATATT3 ATSTT3", r"[\w=-]{60,}"),
    _token("npm-token", "npm_", r"[A-Za-z0-9]{36,}"),
    _token("pypi-token", "pypi-AgE", r"[\w-]{50,}"),
    _token("ruby-gems-key", "rubygems_", r"[a-f0-9]{48}"),
    _token("crates-token", "cio", r"(?:_tp_)?[A-Za-z0-9]{32}", end=END),
    _token("nuget-key", "oy2", r"[a-z0-9]{43}", end=END),
    _token("docker-token", "dckr_pat_ dckr_oat_", r"[\w-]{20,}"),
    _token("artifactory-key", "AKCp cmVmd", r"[A-Za-z0-9]{59,69}", end=END),
    _token("clojars-token", "CLOJARS_", r"[a-z0-9]{60}"),
    _token("sonar-token", "sqp_ squ_ sqa_", r"[a-f0-9]{40}"),
    _token("sourcegraph-token", "sgp_", r"(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}"),
    # clouds and operations
    _token("aws-access-key", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}", end=END),
    _token("aws-session-token", "IQoJb3JpZ2lu FwoGZXIvYXdz", _B64 + r"{80,}={0,2}"),
    _token("aws-bedrock-key", "ABSKQmVkcm9ja0FQSUtleS", _B64 + r"{60,}={0,2}"),
    _token("gcp-api-key", "AIza", r"[\w-]{35}", end=r"(?![\w-])"),
    _token("google-oauth-secret", "GOCSPX-", r"[\w-]{28,}"),
    _token("google-access-token", "ya29.", r"[\w-]{20,}(?:\.[\w-]+)*"),
    _token("google-refresh-token", "1//0", r"[\w-]{40,}"),
    _form("azure-storage-key", "AccountKey= SharedAccessKey=", rf"(?:AccountKey|SharedAccessKey)=(?P<s>{_B64}{{43,86}}={{1,2}})"),
    _form("azure-storage-key", "+ASt", rf"(?:(?<![A-Za-z0-9+/])|(?<=\\[nrt])){_B64}{{76}}\+ASt{_B64}{{5}}[AQgw]==", 76),
    _form("azure-sas-signature", "sig=", r"(?<=[?&;\"'\s])sig=(?P<s>(?:[A-Za-z0-9/+]|%[0-9A-Fa-f]{2}){40,}=?)"),
    _form("azure-client-secret", "Q~", START + r"[\w.~]{3}\dQ~[\w.~-]{31,34}(?![\w~-])", 4),
    _form("azure-devops-token", "AZDO", START + r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}" + END, 76),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{64}"),
    _token("heroku-key", "HRKU-AA", r"[\w-]{58}"),
    _token("cloudflare-token", "cfut_ cfat_ cfk_", r"[\w-]{40,}"),
    _token("cloudflare-origin-key", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{146}"),
    _token("alibaba-access-key", "LTAI", r"[A-Za-z0-9]{12,26}", end=END),
    _token("yandex-key", "AQVN", r"[\w-]{35,38}", end=END),
    _token("fly-token", "fo1_ fm2_ fm1r_ fm1a_", r"[\w+/=-]{43,}"),
    _token("planetscale-token", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w=.-]{32,}"),
    _token("supabase-key", "sbp_ sb_secret_", r"[\w-]{30,}"),
    _token("netlify-token", "nfp_", r"[A-Za-z0-9]{36,}"),
    _token("pulumi-token", "pul-", r"[a-f0-9]{40}"),
    _token("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", end=END),
    _token("vault-token", "hvs. hvb. hvr.", r"[\w-]{24,}"),
    _form("terraform-token", ".atlasv1.", START + r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}", 14),
    _token("tailscale-key", "tskey-", r"(?:[a-z]+-)?[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}"),
    _token("openshift-token", "sha256~", r"[\w-]{43}", end=r"(?![\w-])"),
    _token("age-secret-key", "AGE-SECRET-KEY-1", r"[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    _token("onepassword-token", "ops_eyJ", _B64 + r"{100,}={0,3}"),
    _token("onepassword-secret-key", "A3-", r"[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}", end=END),
    # messages
    _token("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxe.xoxb- xoxe.xoxp- xapp-", r"(?=[A-Za-z-]{0,20}\d)[\w-]{20,}"),
    _form("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{30,})"),
    _form("discord-token", "MT Mj Mz ND NT Nj Nz OD OT", START + r"[MNO][A-Za-z\d]{22,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])"),
    _form("discord-webhook", "/api/webhooks/ /api/v", r"/api/(?:v\d+/)?webhooks/\d{17,20}/(?P<s>[\w-]{60,})"),
    _form("telegram-token", ":AA", r"(?<=\d{8}):(?P<s>AA[\w-]{32,34})(?![\w-])"),
    _form("teams-webhook", "IncomingWebhook/", r"IncomingWebhook/(?P<s>[a-z0-9]{32}/" + _UUID + r"(?:/[\w-]{20,})?)"),
    _form("zapier-webhook", "hooks.zapier.com/", r"hooks\.zapier\.com/hooks/catch/(?P<s>\d+/[a-z0-9]{6,})"),
    _token("twilio-key", "SK", r"[0-9a-f]{32}", end=END),
    _token("sendgrid-key", "SG.", r"[\w-]{16,32}\.[\w-]{16,64}"),
    _token("mailgun-key", "key- pubkey-", r"[0-9a-f]{32}", end=END),
    _form("mailchimp-key", "-us", START + r"[0-9a-f]{32}-us\d{1,2}" + END, 32),
    _token("brevo-key", "xkeysib- xsmtpsib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _token("facebook-token", "EAA", r"[A-Za-z0-9]{100,}"),
    _token("typeform-token", "tfp_", r"[\w.=-]{59,}"),
    # payments and shops
    _token("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_", r"[A-Za-z0-9]{10,}"),
    _token("webhook-secret", "whsec_", r"[A-Za-z0-9+/]{24,}={0,2}"),
    _token("square-token", "sq0atp- sq0csp-", r"[\w-]{22,}"),
    _token("square-token", "EAAA", r"[\w-]{60}", end=r"(?![\w-])"),
    _token("braintree-token", "access_token$production$ access_token$sandbox$", r"[0-9a-z]{16}\$[0-9a-f]{32}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_", r"[a-fA-F0-9]{32}"),
    _token("easypost-key", "EZAK EZTK", r"[A-Za-z0-9]{54}", end=END),
    _token("shippo-token", "shippo_live_ shippo_test_", r"[a-f0-9]{40}"),
    _token("flutterwave-key", "FLWSECK-  FLWSECK_TEST-", r"[a-z0-9]{32}-X"),
    _token("duffel-token", "duffel_live_ duffel_test_", r"[\w=-]{43}"),
    # data and tools
    _token("databricks-token", "dapi", r"[a-f0-9]{32}(?:-\d)?", end=END),
    _token("newrelic-key", "NRAK- NRII- NRJS- NRRA-", r"[A-Za-z0-9-]{19,}"),
    _form("newrelic-key", "NRAL", START + r"[a-f0-9]{36}(?:NRAL|FFFFNRAL)" + END, 36),
    _token("sentry-token", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_-]{40,}"),
    _token("grafana-token", "glc_ glsa_ eyJrIjoi", r"[A-Za-z0-9+/_]{32,}={0,3}"),
    _token("dynatrace-token", "dt0c01. dt0s01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("linear-key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,}"),
    _token("notion-token", "ntn_", r"[A-Za-z0-9]{40,}"),
    _token("notion-token", "secret_", r"[A-Za-z0-9]{43}", end=END),
    _token("figma-token", "figd_ figu_ figo_ figuh_ figoh_ figur_ figor_", r"[\w-]{40,}"),
    _token("postman-key", "PMAK- PMAT-", r"[A-Za-z0-9-]{24,}"),
    _token("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}", end=END),
    _token("contentful-token", "CFPAT-", r"[\w-]{43}"),
    _token("prefect-key", "pnu_ pnb_", r"[A-Za-z0-9]{36}"),
    _token("adobe-client-secret", "p8e-", r"[A-Za-z0-9_-]{32}"),
)  # fmt: skip


_HOST = r"[\w\[\-$%{.*]"  # first character of a host, or of a placeholder for one
_OPEN = r"[^\s/?#,;|()\[\]\"'<>`\\@\u0080-\uffff]"
_URL = (
    r"://(?P<user>[^\s:/@\"'<>`?#\[\],|)]{0,128}):"
    rf"(?P<s>[^\s\"'<>`@]{{1,256}}(?:@(?!{_HOST})[^\s\"'<>`@]{{0,128}}|@{_OPEN}{{1,128}}(?=@)){{0,4}})@(?={_HOST})"
)
"""
The password ends at the first `@` that a host can follow.

It goes on to a later `@` only if no character that ends a host is in between.
"""

_PORT = r"\d{1,5}(?:[^\w@!$%^&*+=~-]|[^\x00-\x7f])"
_WEB = ("http", "https", "ws", "wss")
_SIGNS = r"[/?#,;|()\[\]]"
_OTHER = r"\]\(|mailto:|:/|:\d{2,5}(?!\d)"

_CHANCE = 6.0  # threshold in bits: text between `user:` and `@` that scores lower is not a path (`detectors.scrambled`)
_LOADERS = ("sqlplus", "sqlldr", "expdp", "impdp", "exp", "imp", "rman target")
_ORACLE = (
    rf"(?:jdbc:oracle:[a-z0-9]{{2,8}}:|(?:{'|'.join(_LOADERS)})[ \t]{{1,4}}(?:-\w{{1,8}}[ \t]{{1,4}}){{0,4}}(?:userid=)?)"
    r"[\"']?[\w$.-]{1,64}/(?P<s>[^\s@/\"'<>`][^\s@\"'<>`]{0,127}(?:@(?![\w/(\[])[^\s@\"'<>`]{1,64})?)(?=@[\w/(\[])"
)
_PGPASS = (
    r"(?:(?<=:)|(?<=:\d)|(?<=:\d\d)|(?<=:\d{3})|(?<=:\d{4}))[\d*]:[^:\s/]{1,64}:[^:\s/]{1,64}:"
    r"(?P<s>(?:[^\s:\"'`<>\\]|\\[:\\]){1,128})(?=[\s\"'`<>]|\\[nrt]|$)"
)
_PORTS = (":5432:", ":5433:", ":6432:")  # of PostgreSQL and its poolers: any text after one is a password


def _address(match: re.Match[str]) -> Span | None:
    """A password with a character that ends a host must look generated: the `@` may come from after the URL."""
    value = match["s"]
    if re.match(_PORT, value) and not _no_port(match, value):
        return None
    if re.search(_SIGNS, value) and (re.search(_OTHER, value) or not _random(value)):
        return None
    return literal(match)


def _no_port(match: re.Match[str], value: str) -> bool:
    """
    Whether what looks like a port is part of a password, because no host precedes it.

    On the web, one digit before `/`, `?` or `#` is not a port.
    """
    user, web = match["user"], match.string[max(0, match.start() - 5) : match.start()].endswith(_WEB)
    no_host = bool(user) and "." not in user and user != "localhost"
    return no_host and _random(value) and (not web or value[1:2] in "/?#")


def _random(value: str) -> bool:
    """Whether letters and digits look random, whatever signs are between them."""
    return (
        generated(value, 8)
        or (mixed(value) and not words(re.sub(_SIGNS, "-", value)))
        or scrambled(re.sub(r"\W", "", value), bits=_CHANCE)
    )


def _line(match: re.Match[str]) -> Span | None:
    """Any text, after a PostgreSQL port or with a wildcard field; otherwise only what looks like a password."""
    value, before = match["s"], match.string[max(0, match.start() - 5) : match.start() + 2]
    known = before.endswith(_PORTS) or "*:" in match[0]
    return literal(match) if known or bare_password(value) or strong(value) else None


ADDRESSES: tuple[Rule, ...] = (
    Rule("url-password", _URL, ("://",), judge=_address),
    Rule("oracle-password", _ORACLE, ("jdbc:oracle:", *(f"{one} " for one in _LOADERS)), needs=("/",), judge=literal),
    Rule("pgpass-password", _PGPASS, tuple(f"{sign}:" for sign in "0123456789*"), needs=(":",), judge=_line),
)


_HEADER = r"authorization(?:\\?[\"'])?\s{0,8}(?:[:=]|=>)\s{0,8}(?:\\?[\"'])?"
_SCHEME = r"(?:(?:token|api-?key|oauth|splunk|key|digest|aws4-hmac-sha256)[ \t]{1,4})?"
_CREDENTIAL = r"(?P<s>[A-Za-z0-9._~+/=:|-]{8,8192})"
_BEARER = r"bearer[ \t]{1,4}(?P<s>[A-Za-z0-9._~+/=-]{16,8192})"
_BASIC = r"basic[ \t]{1,4}(?P<s>[A-Za-z0-9+/]{4,4096}={0,2})"
_COOKIE = r"(?:sess(?:ion)?[-_.]?(?:id|token|key)?|sid)=(?P<s>[^\s;,\"'&<>]{16,4096})"
_LOGIN = r"auth(?:\\?\"\s{0,4}:\s{0,4}\\?\"|[ \t]?=[ \t]?\"?)(?P<s>[A-Za-z0-9+/]{8,4096}={0,2})"


def _header(match: re.Match[str]) -> Span | None:
    value = match["s"]
    fits = re.search(r"\d", value) and not made_up(value) and not code(value.partition("=")[0])
    return match.span("s") if fits else None


def _bearer(match: re.Match[str]) -> Span | None:
    return match.span("s") if strong(match["s"], 16) or match["s"].count(".") == 2 else None


def _basic(match: re.Match[str]) -> Span | None:
    """The span if the text after the word decodes to `user:password`, else None."""
    value = match["s"]
    try:
        login = b64decode(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), validate=True).decode()
    except ValueError:  # neither base64 nor text
        return None
    return match.span("s") if ":" in login and login.isprintable() else None


def _scheme(match: re.Match[str]) -> Span | None:
    """Like `_header`, but not for words, which a header without a scheme may have: `Authorization: Role-Based-v2`."""
    return None if words(match["s"]) else _header(match)


def _cookie(match: re.Match[str]) -> Span | None:
    value = match["s"]
    token = value.replace("%3A", ":").partition(":")[2] or value
    fits = strong(token, 16) and not code(value) and not re.search(r"[(\[{]", value)
    return match.span("s") if fits else None


HEADERS: tuple[Rule, ...] = (
    Rule("basic-auth", _BASIC, ("basic ",), folded=True, judge=_basic),
    Rule("bearer-token", _BEARER, ("bearer ",), folded=True, judge=_bearer),
    Rule("basic-auth", rf"{_HEADER}basic[ \t]{{1,4}}{_CREDENTIAL}", ("authorization",), folded=True, judge=_header),
    Rule("bearer-token", rf"{_HEADER}bearer[ \t]{{1,4}}{_CREDENTIAL}", ("authorization",), folded=True, judge=_header),
    Rule("authorization", _HEADER + _SCHEME + _CREDENTIAL, ("authorization",), folded=True, judge=_scheme),
    Rule("basic-auth", _LOGIN, ('auth"', 'auth\\"', "auth=", "auth ="), judge=_basic),
    Rule("session-cookie", _COOKIE, ("sess", "sid="), folded=True, judge=_cookie),
)

FORMATS: tuple[Rule, ...] = (*KEYS, *TOKENS, *ADDRESSES, *HEADERS)
