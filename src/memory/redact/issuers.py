"""
Issuers of tokens: the forms of their tokens as data, and one rule for tokens of issuers that are in no table.

A row says what the rule is called, how a token begins, what follows, and who says so, with the month it was read.
`gitleaks`, `trufflehog`, `kingfisher`, `noseyparker` and `security-utilities` (Microsoft's) are sets of rules;
`code` is what public programs check before they take a key. Where issuers lengthened tokens before, a length is a
lower bound. In the column `rest` a `$` at the end stands for `END`, and `UUID` for one in lower case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memory.redact.detectors import MIXED, made_up, scrambled
from memory.redact.rules import SecretRule, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
r"""Where a token may begin: not after a letter or digit, unless that ends `\n` or `%3D`."""

END = r"(?![A-Za-z0-9])"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

PREFIXED = r"""
anthropic-key              sk-ant-                   [a-z0-9]{3,12}-[\w-]{20,}                   gitleaks 2026-07
openai-key                 sk-proj-,sk-svcacct-,sk-admin-,sk-None-  [\w-]{20,}                   trufflehog 2026-08
openrouter-key             sk-or-                    v1-[0-9a-f]{64}                             trufflehog 2026-08
openai-key                 sk-                       [A-Za-z0-9]{32,}                            gitleaks 2026-07
langfuse-key               sk-lf-                    UUID                                        trufflehog 2026-08
huggingface-token          hf_,api_org_              [A-Za-z0-9]{30,}                            gitleaks 2026-07
replicate-token            r8_                       [A-Za-z0-9]{37,}                            trufflehog 2026-08
groq-key                   gsk_                      [A-Za-z0-9]{40,}                            trufflehog 2026-08
xai-key                    xai-                      [\w-]{60,}                                  trufflehog 2026-08
perplexity-key             pplx-                     [A-Za-z0-9]{40,}                            gitleaks 2026-07
cerebras-key               csk-                      [a-z0-9]{40,}                               code 2026-11
nvidia-key                 nvapi-                    [\w-]{60,}                                  trufflehog 2026-08
pinecone-key               pcsk_                     \w{50,}                                     trufflehog 2026-08
tavily-key                 tvly-                     (?:dev-|prod-)?[A-Za-z0-9]{30,}             code 2026-11
langsmith-key              lsv2_pt_,lsv2_sk_         [a-f0-9]{32}_[a-f0-9]{10}                   trufflehog 2026-08
elevenlabs-key             sk_                       [a-f0-9]{48}$                               trufflehog 2026-08
together-key               tgp_v1_                   [\w-]{40,}                                  code 2026-11
jina-key                   jina_                     [\w-]{40,}                                  code 2026-11
e2b-key                    e2b_,sk_e2b_              [a-f0-9]{40}                                code 2026-11
github-token               ghp_,gho_,ghu_,ghs_,ghr_  [A-Za-z0-9_]{36,}(?:\.[\w-]{16,})*          gitleaks 2026-07
github-fine-grained-token  github_pat_               \w{60,}                                     gitleaks 2026-07
gitlab-token               glpat-,gloas-,gldt-,glrt-,glrtr-,glcbt-,glptt-,glft-,glimt-,glagent-,glsoat-,glffct-,glwt-  [\w-]{20,}(?:\.[a-z0-9]{2,}){0,2}  gitleaks 2026-07
gitlab-runner-token        GR1348941                 [\w-]{20,}                                  gitleaks 2026-07
bitbucket-token            ATBB,ATCTT3               [\w=-]{28,}                                 trufflehog 2026-08
bitbucket-token            BBDC-                     [\w+/@-]{40,}                               trufflehog 2026-08
atlassian-token            ATATT3,ATSTT3             [\w=-]{60,}                                 gitleaks 2026-07
npm-token                  npm_                      [A-Za-z0-9]{36,}                            gitleaks 2026-07
pypi-token                 pypi-AgE                  [\w-]{50,}                                  gitleaks 2026-07
ruby-gems-key              rubygems_                 [a-f0-9]{48}                                gitleaks 2026-07
crates-token               cio                       (?:_tp_)?[A-Za-z0-9]{32}$                   trufflehog 2026-08
nuget-key                  oy2                       [a-z0-9]{43}$                               security-utilities 2025-11
docker-token               dckr_pat_,dckr_oat_       [\w-]{20,}                                  trufflehog 2026-08
artifactory-key            AKCp,cmVmd                [A-Za-z0-9]{59,69}$                         gitleaks 2026-07
clojars-token              CLOJARS_                  [a-z0-9]{60}                                gitleaks 2026-07
sonar-token                sqp_,squ_,sqa_            [a-f0-9]{40}                                gitleaks 2026-07
sourcegraph-token          sgp_                      (?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}    gitleaks 2026-07
sourcegraph-token          slk_                      [a-f0-9]{64}                                trufflehog 2026-08
circleci-token             CCIPAT_                   [A-Za-z0-9]{22}_[a-f0-9]{40}                trufflehog 2026-08
buildkite-token            bkua_                     [a-z0-9]{40}                                trufflehog 2026-08
octopus-key                API-                      [A-Z0-9]{26}$                               gitleaks 2026-07
infracost-key              ico-                      [A-Za-z0-9]{32}$                            gitleaks 2026-07
aws-access-key             AKIA,ASIA,ABIA,ACCA       [A-Z2-7]{16}$                               gitleaks 2026-07
aws-session-token          IQoJb3JpZ2lu,FwoGZXIvYXdz  [A-Za-z0-9+/]{80,}={0,2}                   code 2026-11
aws-bedrock-key            ABSK                      [A-Za-z0-9+/]{109,}={0,2}                   gitleaks 2026-07
aws-bedrock-key            ABSKQmVkcm9ja0FQSUtleS    [A-Za-z0-9+/]{60,}={0,2}                    gitleaks 2026-07
aws-bedrock-key            bedrock-api-key-          [A-Za-z0-9+/]{40,}={0,2}                    gitleaks 2026-07
gcp-api-key                AIza                      [\w-]{35}(?![\w-])                          gitleaks 2026-07
google-oauth-secret        GOCSPX-                   [\w-]{28,}                                  kingfisher 2025-06
google-access-token        ya29.                     [\w-]{20,}(?:\.[\w-]+)*                     trufflehog 2026-08
google-refresh-token       1//0                      [\w-]{40,}                                  kingfisher 2025-06
digitalocean-token         dop_v1_,doo_v1_,dor_v1_   [a-f0-9]{64}                                gitleaks 2026-07
heroku-key                 HRKU-                     (?:UUID|[\w-]{40,})                         gitleaks 2026-07
cloudflare-token           cfut_,cfat_,cfk_          [\w-]{40,}                                  trufflehog 2026-08
cloudflare-origin-key      v1.0-                     [a-f0-9]{24}-[a-f0-9]{146}                  gitleaks 2026-07
alibaba-access-key         LTAI                      [A-Za-z0-9]{12,26}$                         gitleaks 2026-07
yandex-key                 AQVN                      [\w-]{35,38}$                               gitleaks 2026-07
fly-token                  fo1_,fm2_,fm1r_,fm1a_     [\w+/=-]{43,}                               gitleaks 2026-07
planetscale-token          pscale_tkn_,pscale_oauth_,pscale_pw_  [\w=.-]{32,}                    gitleaks 2026-07
supabase-key               sbp_,sb_secret_           [\w-]{30,}                                  trufflehog 2026-08
netlify-token              nfp_                      [A-Za-z0-9]{36,}                            trufflehog 2026-08
vercel-token               vercel_blob_rw_           \w{20,}                                     code 2026-11
vercel-token               vcp_,vci_,vca_,vcr_,vck_  [A-Za-z0-9]{24,}                            code 2026-11
neon-key                   napi_                     [a-z0-9]{40,}                               code 2026-11
pulumi-token               pul-                      [a-f0-9]{40}                                gitleaks 2026-07
doppler-token              dp.pt.,dp.st.,dp.ct.,dp.sa.,dp.scim.,dp.audit.  (?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}$  trufflehog 2026-08
vault-token                hvs.,hvb.,hvr.            [\w-]{24,}                                  gitleaks 2026-07
tailscale-key              tskey-                    (?:[a-z]+-)?[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}  trufflehog 2026-08
openshift-token            sha256~                   [\w-]{43}(?![\w-])                          gitleaks 2026-07
age-secret-key             AGE-SECRET-KEY-1,AGE-SECRET-KEY-PQ-1  [QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58,}  gitleaks 2026-07
onepassword-token          ops_eyJ                   [A-Za-z0-9+/]{100,}={0,3}                   gitleaks 2026-07
onepassword-secret-key     A3-                       [A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}$  gitleaks 2026-07
slack-token                xoxb-,xoxp-,xoxa-,xoxr-,xoxs-,xoxo-,xoxe-,xoxc-,xoxe.xoxb-,xoxe.xoxp-,xapp-  (?=[A-Za-z-]{0,20}\d)[\w-]{20,}  gitleaks 2026-07
slack-token                xoxd-                     [\w%+/=-]{40,}                              code 2026-11
twilio-key                 SK                        [0-9a-f]{32}$                               gitleaks 2026-07
sendgrid-key               SG.                       [\w-]{16,32}\.[\w-]{16,64}                  gitleaks 2026-07
mailgun-key                key-,pubkey-              [0-9a-f]{32}$                               gitleaks 2026-07
brevo-key                  xkeysib-,xsmtpsib-        [a-f0-9]{64}-[A-Za-z0-9]{16}                gitleaks 2026-07
facebook-token             EAA                       [A-Za-z0-9]{100,}                           gitleaks 2026-07
typeform-token             tfp_                      [\w.=-]{59,}                                gitleaks 2026-07
hubspot-token              pat-na1-,pat-eu1-         (?i:UUID)                                   trufflehog 2026-08
stripe-key                 sk_live_,sk_test_,rk_live_,rk_test_,sk_prod_,rk_prod_  [A-Za-z0-9]{10,}  gitleaks 2026-07
webhook-secret             whsec_                    [A-Za-z0-9+/]{24,}={0,2}                    code 2026-11
square-token               sq0atp-,sq0csp-           [\w-]{22,}                                  gitleaks 2026-07
square-token               EAAA                      [\w-]{60}(?![\w-])                          gitleaks 2026-07
braintree-token            access_token$production$,access_token$sandbox$  [0-9a-z]{16}\$[0-9a-f]{32}  code 2026-11
plaid-token                access-sandbox-,access-development-,access-production-  UUID          gitleaks 2026-07
shopify-token              shpat_,shpca_,shppa_,shpss_,shpua_  [a-fA-F0-9]{32}                   gitleaks 2026-07
easypost-key               EZAK,EZTK                 [A-Za-z0-9]{54}$                            gitleaks 2026-07
shippo-token               shippo_live_,shippo_test_  [a-f0-9]{40}                               gitleaks 2026-07
flutterwave-key            FLWSECK-,FLWSECK_TEST-    [a-z0-9]{32}-X                              gitleaks 2026-07
duffel-token               duffel_live_,duffel_test_  [\w=-]{43}                                 gitleaks 2026-07
databricks-token           dapi                      [a-f0-9]{32}(?:-\d)?$                       gitleaks 2026-07
newrelic-key               NRAK-,NRII-,NRJS-,NRRA-   [A-Za-z0-9-]{19,}                           gitleaks 2026-07
datadog-key                ddapp_                    [A-Za-z0-9]{34}                             code 2026-11
sentry-token               sntrys_,sntryu_           [A-Za-z0-9+/=_-]{40,}                       gitleaks 2026-07
grafana-token              glc_,glsa_,eyJrIjoi       [A-Za-z0-9+/_]{32,}={0,3}                   gitleaks 2026-07
dynatrace-token            dt0c01.,dt0s01.,dt0s16.   [A-Z0-9]{24}\.[A-Z0-9]{64}                  gitleaks 2026-07
posthog-key                phx_,phs_                 \w{40,}                                     trufflehog 2026-08
linear-key                 lin_api_,lin_oauth_       [A-Za-z0-9]{32,}                            gitleaks 2026-07
notion-token               ntn_                      [A-Za-z0-9]{40,}                            gitleaks 2026-07
notion-token               secret_                   [A-Za-z0-9]{43}$                            trufflehog 2026-08
figma-token                figd_,figu_,figo_,figp_,figuh_,figoh_,figur_,figor_  [\w-]{40,}       trufflehog 2026-08
postman-key                PMAK-,PMAT-               [A-Za-z0-9-]{24,}                           gitleaks 2026-07
airtable-token             pat                       [A-Za-z0-9]{14}\.[a-f0-9]{64}$              gitleaks 2026-07
contentful-token           CFPAT-                    [\w-]{43}                                   trufflehog 2026-08
prefect-key                pnu_,pnb_                 [A-Za-z0-9]{36}                             gitleaks 2026-07
adobe-client-secret        p8e-                      [A-Za-z0-9_-]{32}                           gitleaks 2026-07
readme-key                 rdme_                     [a-z0-9]{70}                                gitleaks 2026-07
apify-token                apify_api_                [A-Za-z0-9-]{36}                            trufflehog 2026-08
frameio-token              fio-u-                    [\w=-]{64}                                  gitleaks 2026-07
nostr-key                  nsec1                     [023456789acdefghjklmnpqrstuvwxyz]{58}$     NIP-19 2026-11
extended-private-key       xprv,yprv,zprv,tprv,uprv,vprv  [1-9A-HJ-NP-Za-km-z]{107}$             BIP-32 2026-11
"""

SHORT = r"""
fireworks-key              fw_                       [A-Za-z0-9]{24}(?![\w-])                    code 2026-11
fireworks-key              fw_                       [A-Za-z0-9]{40}(?![\w-])                    code 2026-11
firecrawl-key              fc-                       [a-f0-9]{32}(?![\w-])                       noseyparker 2026-02
voyage-key                 pa-                       [\w-]{43}(?![\w-])                          code 2026-11
modal-token                ak-,as-                   [A-Za-z0-9]{22}(?![\w-])                    code 2026-11
neon-password              npg_                      [A-Za-z0-9]{12}(?![\w-])                    code 2026-11
resend-key                 re_                       [A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![\w-])     code 2026-11
"""
"""Prefixes of two or three letters, which other things have too: what follows must also look random (`mixture`)."""

PLACED = r"""
azure-storage-key          AccountKey=,SharedAccessKey=  0   (?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/]{43,86}={1,2})  security-utilities 2025-11
azure-storage-key          +ASt                      76  (?:(?<![A-Za-z0-9+/])|(?<=\\[nrt]))[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{5}[AQgw]==  security-utilities 2025-11
azure-key                  +ABa,+AMC,ACDb,APIM       76  (?:(?<![A-Za-z0-9+/])|(?<=\\[nrt]))[A-Za-z0-9+/]{76}[\w+]{4}[A-Za-z0-9+/]{5}[AQgw]==  security-utilities 2025-11
azure-key                  AzCa,AZEG,+AEh,AIoT,+ARm,+ASb  33  (?:(?<![A-Za-z0-9+/])|(?<=\\[nrt]))[A-Za-z0-9+/]{33}[\w+]{4}[A-P][A-Za-z0-9+/]{5}=  security-utilities 2025-11
azure-key                  +ACR,AzSe                 42  (?:(?<![A-Za-z0-9+/])|(?<=\\[nrt]))[A-Za-z0-9+/]{42}[\w+]{4}[A-D][A-Za-z0-9+/]{5}(?![\w=])  security-utilities 2025-11
azure-key                  JQQJ9                     52  START[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27}$  security-utilities 2025-11
azure-functions-key        AzFu                      44  START[\w-]{44}AzFu[\w-]{5}[AQgw](?:==|%3[dD]%3[dD])?  security-utilities 2025-11
azure-functions-key        code=                     1   [?&"'\s]code=(?P<s>[\w/+-]{52,56}(?:==|%3[dD]%3[dD]))  trufflehog 2026-08
azure-sas-signature        sig=                      1   [?&;"'\s]sig=(?P<s>(?:[\w/+-]|%[0-9A-Fa-f]{2}){40,}=?)  trufflehog 2026-08
azure-client-secret        Q~                        4   START[\w.~]{3}\dQ~[\w.~-]{31,34}(?![\w~-])  gitleaks 2026-07
azure-devops-token         AZDO                      76  START[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}$  security-utilities 2025-11
signed-url                 X-Amz-Signature=,X-Goog-Signature=,X-Amz-Security-Token=  0  X-(?:Amz|Goog)-(?:Signature|Security-Token)=(?P<s>[\w/+~-](?:[\w/+~=-]|%[0-9A-Fa-f]{2}){31,4096})  code 2026-11
signed-url                 Signature=                1   [?&]Signature=(?P<s>(?:[\w/+~-]|%[0-9A-Fa-f]{2}){26,4096}={0,2})  code 2026-11
terraform-token            .atlasv1.                 14  START[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}  gitleaks 2026-07
slack-webhook              hooks.slack.com/          0   hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{30,})  gitleaks 2026-07
discord-webhook            /api/webhooks/,/api/v     0   /api/(?:v\d+/)?webhooks/\d{17,20}/(?P<s>[\w-]{60,})  trufflehog 2026-08
teams-webhook              IncomingWebhook/          0   IncomingWebhook/(?P<s>[A-Za-z0-9]{32}/(?i:UUID)(?:/[\w-]{20,})?)  gitleaks 2026-07
zapier-webhook             hooks.zapier.com/         0   hooks\.zapier\.com/hooks/catch/(?P<s>\d+/[a-z0-9]{6,})  trufflehog 2026-08
mailchimp-key              -us                       32  START[0-9a-f]{32}-us\d{1,2}$  trufflehog 2026-08
newrelic-key               NRAL                      36  START[a-f0-9]{36}(?:NRAL|FFFFNRAL)$  trufflehog 2026-08
maxmind-key                _mmk                      36  START[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk$  gitleaks 2026-07
"""
"""Tokens that are known by what stands inside them or before them: a word, and how many characters precede it."""

SHAPED = r"""
azure-devops-token         52  START[a-z2-7]{52}$                                        security-utilities 2025-11
telegram-token             40  (?:(?<![\w.])|(?<=\\[nrt]))(?:bot)?\d{8,10}:(?P<s>[\w-]{35})(?![\w-])      trufflehog 2026-08
discord-token              58  START[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])   kingfisher 2025-06
bitcoin-key                51  START[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}$                  bitcoin.org 2026-11
"""
"""Tokens without any fixed word in them: the fewest characters, a shape, and a look at the whole (`SHAPES`)."""

BARE = {
    "cohere": r"[A-Za-z0-9]{40}",
    "mistral": r"[A-Za-z0-9]{32}",
    "azure": r"[A-Za-z0-9]{84}|[a-z0-9]{52}|[a-f0-9]{32}",
    "datadog": r"[a-f0-9]{32}|[a-f0-9]{40}",
    "algolia": r"[a-f0-9]{32}",
    "deepgram": r"[a-f0-9]{40}",
    "cloudflare": r"[\w-]{40}|[a-f0-9]{37}",
    "fastly": r"[\w-]{32}",
    "vercel": r"[A-Za-z0-9]{24}",
    "together": r"[a-f0-9]{64}",
    "twitch": r"[a-z0-9]{30}",
    "snyk": UUID,
    "heroku": UUID,
    "pagerduty": r"[\w+-]{20}",
}
"""Issuers whose keys have no form of their own: the key after the issuer's name and a word such as `key`. trufflehog 2026-08."""

LEAST = 30
"""The fewest letters and digits of a token after a prefix that no table has. Ids of services have up to 29."""

FEWEST = 20
"""The same if the prefix says that a secret follows: `acme_live_`, `xy-key-`."""

_TELLS = frozenset(
    "key apikey token secret sec sk rk pat sat oat rat api auth live test prod priv private access admin svc".split()
)
_TELLS_NOT = frozenset(
    # of hashes, of what is public, and of ids, whatever their length
    "sha sha1 sha256 sha384 sha512 md5 blake2b blake3 hash digest checksum etag integrity nonce pk pub public publishable"
    " cs css id ids ref commit rev tag img image chunk file session sess trace span req request".split()
)
_PARTS = r"[A-Za-z0-9]+"
_HEX = r"(?i)[0-9a-f]+"

_B58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


_PREFIXED = 10.0
"""Bits below which what follows a short prefix, in a length of its own, is no name: see `detectors.scrambled`."""


def mixture(text: str, bits: float = MIXED) -> bool:
    """Whether a text without blanks is random as a whole, though some stretch may look like a word by chance."""
    joined = "".join(re.findall(_PARTS, text))
    if not joined or made_up(text):
        return False
    if re.fullmatch(_HEX, joined):
        return bool(re.search(r"\d", joined) and re.search(r"[A-Fa-f]", joined))
    cases = bool(re.search("[a-z]", joined)) + bool(re.search("[A-Z]", joined)) + bool(re.search(r"\d", joined))
    return cases >= 2 and scrambled(joined, bits=bits)


def _random(match: re.Match[str]) -> Span | None:
    """All of a match if what follows its short prefix looks random, else None."""
    value = re.split("[-_]", match[0], maxsplit=1)[1]
    return match.span() if mixture(value, _PREFIXED) else None


def _unknown(match: re.Match[str]) -> Span | None:
    """A token of an issuer that no table has: a prefix of small letters and a long random value."""
    text = match[0].rstrip("-_.")
    heads: list[str] = []
    at = 0
    for found in re.finditer(r"[a-z][a-z0-9]{0,11}[-_]", text):
        if found.start() != at or len(heads) == 4:
            break
        heads.append(found[0][:-1])
        at = found.end()
    for used in range(len(heads), 0, -1):  # the last head may belong to the value
        start = sum(len(head) + 1 for head in heads[:used])
        if _foreign(heads[:used], text[start:]):
            return match.start(), match.start() + len(text)
    return None


def _foreign(heads: list[str], value: str) -> bool:
    tells = not _TELLS.isdisjoint(heads)
    size = sum(map(len, re.findall(_PARTS, value)))
    if size < (FEWEST if tells else LEAST) or not _TELLS_NOT.isdisjoint(heads):
        return False
    both = re.search("[a-z]", value) and re.search("[A-Z]", value)
    one = tells and re.fullmatch(r"[a-z0-9]{24,}|[A-Z0-9]{24,}", value)  # in one case only as a single stretch
    return bool(both or one) and mixture(value)


def _checked(match: re.Match[str]) -> Span | None:
    """A private key of Bitcoin if its checksum is right (base58check)."""
    from hashlib import sha256

    number = 0
    for letter in match[0]:
        number = number * 58 + _B58.index(letter)
    raw = number.to_bytes(38, "big").lstrip(b"\0")
    return match.span() if sha256(sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:] else None


def _discord(match: re.Match[str]) -> Span | None:
    return match.span() if all(mixture(part) for part in (match[0], match[0].rpartition(".")[2])) else None


def _whole(match: re.Match[str]) -> Span | None:
    """The group `s` of a match, or all of it, if it looks random as a whole."""
    group = "s" if "s" in match.re.groupindex else 0
    return match.span(group) if mixture(match[group]) else None


_JUDGES: dict[str, Callable[[re.Match[str]], Span | None]] = {"bitcoin-key": _checked, "discord-token": _discord}


def _rows(table: str) -> Iterator[list[str]]:
    for line in table.strip().splitlines():
        *row, _ = (cell.strip() for cell in line.split("  ") if cell)  # an expression would be compiled at each start
        yield row


def _pattern(written: str) -> str:
    ended = written[:-1] + END if written.endswith("$") else written
    return ended.replace("START", START).replace("UUID", UUID)


def _starting(name: str, prefixes: str, rest: str) -> SecretRule:
    words = tuple(prefixes.split(","))
    begins = "|".join(word.replace(".", r"\.").replace("$", r"\$") for word in words)
    return SecretRule(name, f"{START}(?:{begins}){_pattern(rest)}", words, solid=True, apart=True)


TOKENS: tuple[SecretRule, ...] = (
    *(_starting(*row) for row in _rows(PREFIXED)),
    *(_starting(*row)._replace(judge=_random) for row in _rows(SHORT)),
    *(
        SecretRule(name, _pattern(pattern), tuple(words.split(",")), int(back), solid=True)
        for name, words, back, pattern in _rows(PLACED)
    ),
    *(
        SecretRule(name, _pattern(pattern), solid=True, long=int(size), judge=_JUDGES.get(name, _whole))
        for name, size, pattern in _rows(SHAPED)
    ),
    SecretRule("prefixed-token", r"(?<![\w/.+-])[a-z][a-z0-9]{0,11}[-_][\w-]{20,512}(?![\w+/=])", solid=True, long=24, judge=_unknown),
)  # fmt: skip
