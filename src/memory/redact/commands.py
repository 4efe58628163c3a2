"""
The rules for passwords among the arguments of commands that mean one without saying so: `mysql -p…`, `cargo login …`.

Tables of data: programs with the flag before the password, and commands with what stands before it.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from memory.redact.detectors import bare_password, generated, mixed, quoted_password, scrambled, strong, token, words
from memory.redact.issuers import mixture
from memory.redact.rules import SecretRule, Span, Text, compiled, literal

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


_ARGUMENT = r"(?P<quote>[\"']?)(?P<s>[^\s\"']{1,128})"
_REST = r"(?=[ \t])[^\r\n|;]{0,200}?[ \t]"  # the command's other arguments

FLAGS = r"""
mysql|mariadb               (?:dump|admin|import|check|show|slap|-dump|-admin)?   -p
mongo                       (?:sh|dump|restore|export|import|stat|top|files)?     -p(?:[ \t]{1,4}|=)
sqlcmd|bcp|osql|isql|tsql   -                                                     -P[ \t]{0,4}
cqlsh                       -                                                     -p[ \t]{1,4}
redis-cli                   -                                                     (?:-a|AUTH|auth)[ \t]{1,4}
docker login|podman login|nerdctl login|buildah login|skopeo login|oras login|helm registry login  -  -p[ \t=]{0,4}
az login|oc login|cf login|ibmcloud login|argocd login|harbor login  -            -p[ \t=]{1,4}
twine upload|psexec|PsExec|PsExec64|psexec.exe|winexe|rdesktop|svn|influx|kinit   -   -p[ \t=]{1,4}
sshfs|mount|mount.cifs      -                                                     -o[ \t]{0,4}\S{0,100}?pass(?:word)?=
ssh-keygen                  -                                                     -[NP][ \t]{1,4}
ldap                        (?:search|modify|add|delete|passwd|whoami|compare|modrdn)   -w[ \t]{0,4}
keytool|jarsigner           -                                                     -(?:src|dest)?(?:store|key)pass[ \t]{1,4}
openssl                     -                                                     -(?:pass(?:in|out)?|password)[ \t]{1,4}pass:
openssl enc|openssl aes     (?:-\S{1,20})?                                        -[kK][ \t]{1,4}
smbclient|rpcclient|smbget|smbmap|crackmapexec|netexec   -                        -[Up][ \t]{0,4}(?:[\"']?[^\s%\"']{1,64}%)?
ipmitool                    -                                                     -P[ \t]{1,4}
mosquitto                   _(?:pub|sub|rr)                                       (?:-P|--pw)[ \t=]{1,4}
zip|unzip                   -                                                     -P[ \t]{1,4}
7z                          [ar]?                                                 -p
rar|unrar                   -                                                     -h?p(?!-)
xfreerdp|wlfreerdp|freerdp|mstsc  -                                                     /p:
cmdkey|schtasks|wmic   -                                                  /(?:pass|password|rp|p)[: ]
lftp                        -                                                     -u[ \t]{0,4}[\"']?[^\s,\"']{1,64},
http|https                  -                                                     -a[ \t]{1,4}[\"']?[^\s:\"']{1,64}:
snmp                        (?:walk|get|set|bulkwalk|getnext)                     -[cAX][ \t]{1,4}
gh secret set|gh variable set   -                                                 (?:--body|-b)[ \t=]{0,4}
az keyvault secret set      -                                                     --value[ \t=]{1,4}
az webapp config|az functionapp config   -                                        --settings[ \t=]{1,4}[\"']?\w{1,64}=
aws secretsmanager          -                                                     --secret-string[ \t=]{1,4}
gcloud sql|aws rds|az sql|az mysql|az postgres   -                                --(?:root-|master-user-|admin-)?password[ \t=]{1,4}
kubectl create secret       -                                                     --from-literal[ \t=]{1,2}[\"']?[\w.-]{1,64}=
vercel|netlify|railway|render   -                                                 (?:--auth|-t)[ \t=]{1,4}
sonar-scanner|mvn|gradle    -                                                     -D[\w.]{1,40}(?:login|token|password|pass|secret)=
restic|borg|rclone|duplicity   -                                                  (?:obscure|--pass(?:word)?)[ \t=]{1,4}
"""
"""Programs, what the name of each may or must go on with (`-`: nothing), and what precedes the password."""

PLACES = r"""
sshpass                                 [ \t]{1,4}-p[ \t]{0,4}
aws ssm put-parameter                   (?=[^\r\n]{0,600}SecureString)[^\r\n|;]{0,400}?[ \t]--value[ \t=]{1,4}
nmcli                                   [ \t][^\r\n|;]{0,200}?[ \t](?:password|[\w.-]{0,40}psk|vpn\.secrets\.\w{1,20}|802-1x\.password)[ \t=]{1,4}
wpa_passphrase                          [ \t]{1,4}(?:\"[^\"\n]{1,64}\"|'[^'\n]{1,64}'|\S{1,64})[ \t]{1,4}
rabbitmqctl                             [ \t](?:add_user|change_password|authenticate_user)[ \t]{1,4}\S{1,64}[ \t]{1,4}
mysqladmin                              [ \t][^\r\n|;]{0,200}?[ \t]password[ \t]{1,4}
net user                                [ \t]{1,4}[\w.\\$-]{1,64}[ \t]{1,4}(?![/*])
cargo login                             [ \t]{1,4}
wandb login                             [ \t]{1,4}(?:--\S{1,40}[ \t]{1,4}){0,3}
vault login                             [ \t]{1,4}(?:-\S{1,40}[ \t]{1,4}){0,3}(?:token=)?
snyk auth                               [ \t]{1,4}
pulumi login                            [ \t]{1,4}
ngrok                                   [ \t](?:config[ \t])?(?:add-)?authtoken[ \t]{1,4}
tailscale up                            [ \t][^\r\n|;]{0,200}?--auth-?key[ \t=]{1,4}
nuget setapikey                         [ \t]{1,4}
travis encrypt                          [ \t]{1,4}(?:\w{1,60}=)?
mc alias set                            [ \t]{1,4}\S{1,60}[ \t]{1,4}\S{1,200}[ \t]{1,4}\S{1,128}[ \t]{1,4}
mc config host add                      [ \t]{1,4}\S{1,60}[ \t]{1,4}\S{1,200}[ \t]{1,4}\S{1,128}[ \t]{1,4}
snmp-server community                   [ \t]{1,4}
enable secret                           [ \t]{1,4}(?:\d[ \t]{1,4})?
enable password                         [ \t]{1,4}(?:\d[ \t]{1,4})?
username                                [ \t]{1,4}[\w.-]{1,64}[ \t]{1,4}(?:privilege[ \t]{1,4}\d{1,2}[ \t]{1,4})?(?:password|secret)[ \t]{1,4}(?:\d[ \t]{1,4})?
tacacs-server key                       [ \t]{1,4}(?:\d[ \t]{1,4})?
requirepass                             [ \t]{1,8}
masterauth                              [ \t]{1,8}
bindpw                                  [ \t]{1,8}
rootpw                                  [ \t]{1,8}
wpa-psk                                 [ \t]{1,8}
--password-stdin                        [ \t]{0,4}<<<[ \t]{0,4}
--with-token                            [ \t]{0,4}<<<[ \t]{0,4}
"""
"""Commands and settings, and what stands between their name and the password."""

_PIPED = (
    r"(?:echo|printf)[ \t]{1,4}(?:-\w{1,4}[ \t]{1,4})?(?P<quote>[\"']?)(?P<s>[^\s\"'|]{1,256}?)(?:\\n)?[\"']?[ \t]{0,4}\|[ \t]{0,4}"
    r"(?:sudo[ \t]{1,4}(?:-\w{1,8}[ \t]{1,4})?-\w{0,4}S|[^\r\n|]{0,160}?(?:--password-stdin|--stdin|--with-token|--token-stdin|--passphrase-fd"
    r"|--pinentry-mode|kinit|cryptsetup|smbpasswd|vncpasswd|passwd|secret[ \t]set|secrets?[ \t]create)(?![\w-]))"
)
_CHPASSWD = (
    r"echo[ \t]{1,4}(?:-\w{1,4}[ \t]{1,4})?[\"']?[\w.-]{1,32}:(?P<s>[^\s\"':|]{1,128})[\"']?[ \t]{0,4}\|"
    r"[ \t]{0,4}(?:sudo[ \t]{1,4})?chpasswd"
)
_CURL = (
    r"curl(?=[ \t])[^\r\n]{0,200}?[ \t](?:-u|--user|-U|--proxy-user)[ \t=]?[\"']?[^\s:\"']{1,64}:(?P<s>[^\s\"']{1,128})"
)
_OPTION = r"(?:[ \t]{1,4}-\w{1,16})"
_HTPASSWD = (
    rf"htpasswd{_OPTION}{{0,4}}?[ \t]{{1,4}}-(?:(?=[a-zA-Z]{{0,8}}b)[a-mo-zA-Z]{{1,8}}{_OPTION}{{0,4}}[ \t]{{1,4}}[^\s-]\S{{0,200}}"
    rf"|(?=[a-zA-Z]{{0,8}}b)[a-zA-Z]{{1,8}}{_OPTION}{{0,4}})[ \t]{{1,4}}[^\s-]\S{{0,64}}[ \t]{{1,4}}{_ARGUMENT}"
)
"""With `-b` the password is the last argument: after file and user, or with `-n` after the user alone."""

_NET_USE = (
    r"net use(?:[ \t]{1,4}(?:[A-Za-z]:|\*))?[ \t]{1,4}[\"']?\\\\\S{1,200}(?:[ \t]{1,4}/user:\S{1,100})?[ \t]{1,4}"
    r"(?P<quote>[\"']?)(?P<s>[^\s/*\"'][^\s\"']{0,127})"
)
_OBJECT = r"--secret-string[ \t=]{1,4}(?P<quote>['\"])(?P<s>[{\[][^'\n]{4,2000})(?P=quote)"
_SETS = (
    *(
        "fly secrets set",
        "flyctl secrets set",
        "heroku config:set",
        "heroku config:add",
        "doppler secrets set",
        "supabase secrets set",
    ),
    *(
        "vault kv put",
        "vault kv patch",
        "vault write",
        "consul kv put",
        "dokku config:set",
        "eb setenv",
        "railway variables",
    ),
    *(
        "netlify env:set",
        "convex env set",
        "cf set-env",
        "vercel env add",
        "eas secret:create",
        "serverless params set",
        "wrangler secret",
    ),
)
_PAIR = r"[ \t][\"']?(?P<name>[A-Za-z][\w.-]{0,64})(?:=|[ \t])[\"']?(?P<s>[^\s\"']{4,512})"


_LINE = r"(?:[^\n\\]|\\(?!n)){0,4000}"


def _argument(match: re.Match[str]) -> Span | None:
    value = match["s"]
    fits = quoted_password(value) if match["quote"] else bare_password(value) or strong(value) or scrambled(value)
    return literal(match) if fits else None


def _placed(match: re.Match[str]) -> Span | None:
    """An argument that has no flag of its own: it must look generated, or not at all like a word."""
    value = match["s"]
    fits = token(value) or generated(value, 8) or mixture(value) or (bare_password(value) and not words(value))
    return literal(match) if fits and "://" not in value else None


def _piped(match: re.Match[str]) -> Span | None:
    return literal(match) if match["quote"] and mixed(match["s"]) else _argument(match)


def _stored(match: re.Match[str]) -> Span | None:
    """A whole object in JSON that is kept as a secret, unless it holds placeholders only."""
    return (
        match.span("s")
        if compiled(r"[\w!#%^*+~@-]{8,}", folded=False).search(match["s"]) and "${" not in match["s"]
        else None
    )


def settings(whole: Text) -> Iterator[Span]:
    """Values that a command sets in the environment of a service, `heroku config:set A=… B=…`, if they look generated."""
    for line in _lines(whole.text):
        for pair in compiled(_PAIR, folded=False).finditer(whole.text, *line):
            value = pair["s"]
            if (token(value) or mixture(value)) and len(value) >= 8 and "://" not in value:
                yield pair.span("s")


def _lines(text: str) -> Iterator[Span]:
    """From each of the commands of `_SETS` to the next, or to the end of its line, which JSON may have written."""
    found = list(compiled("|".join(_SETS), folded=False).finditer(text))
    for command, after in zip_longest(found, found[1:]):
        line = compiled(_LINE, folded=False).match(text, command.end())
        stop = line.end() if line else command.end()
        yield command.end(), min(stop, after.start() if after else len(text))


def _rows(table: str) -> Iterator[list[str]]:
    for line in table.strip().splitlines():
        yield [cell.strip() for cell in line.split("  ") if cell.strip()]


def _flag(programs: str, more: str, flag: str) -> SecretRule:
    more = "" if more == "-" else more
    names = tuple(program if more else f"{program} " for program in programs.split("|"))
    pattern = rf"(?:{programs.replace('.', '[.]')}){more}{_REST}{flag}{_ARGUMENT}"
    return SecretRule(
        "command-password",
        pattern,
        names,
        needs=(" -", "\t-", "/", "AUTH", "auth", "obscure"),
        apart=True,
        judge=_argument,
    )


COMMANDS: tuple[SecretRule, ...] = (
    SecretRule("curl-password", _CURL, ("curl",), needs=(" -", "\t-"), apart=True, judge=literal),
    *(_flag(*row) for row in _rows(FLAGS)),
    *(
        SecretRule("command-password", f"{name}{before}{_ARGUMENT}", (name,), apart=True, judge=_argument if name in {"sshpass", "bindpw", "rootpw", "wpa-psk", "nmcli"} else _placed)
        for name, before in _rows(PLACES)
    ),
    SecretRule("command-password", _HTPASSWD, ("htpasswd",), needs=(" -", "\t-"), apart=True, judge=_argument),
    SecretRule("command-password", _NET_USE, ("net use",), apart=True, judge=_argument),
    SecretRule("command-password", _PIPED, ("echo ", "printf "), needs=("|",), apart=True, judge=_piped),
    SecretRule("command-password", _CHPASSWD, ("echo ",), needs=("|",), apart=True, judge=literal),
    SecretRule("command-password", _OBJECT, ("--secret-string",), judge=_stored),
    SecretRule("command-password", "", _SETS, apart=True, reader=settings),
)  # fmt: skip
