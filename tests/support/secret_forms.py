"""
The forms in which an adversary writes a secret, beside the `SHAPES` of `secrets_made`; docs/redaction.md has the bars.

Nothing is forced on what is drawn: `{r8}` is eight letters and digits by chance, and may be letters alone.
"""

from __future__ import annotations

NAMED = """
password: ⟨{}⟩
Password: ⟨{}⟩
password=⟨{}⟩
password = ⟨{}⟩
"password": "⟨{}⟩"
the password: ⟨{}⟩, and then we went on
--password ⟨{}⟩
--password=⟨{}⟩
PASSWORD=⟨{}⟩
export DB_PASSWORD=⟨{}⟩
passwd: ⟨{}⟩
pwd=⟨{}⟩
passphrase: ⟨{}⟩
secret: ⟨{}⟩
client_secret=⟨{}⟩
token: ⟨{}⟩
token=⟨{}⟩
--token ⟨{}⟩
api_key: ⟨{}⟩
API_KEY=⟨{}⟩
X-Api-Key: ⟨{}⟩
mdp: ⟨{}⟩
mot de passe : ⟨{}⟩
clave: ⟨{}⟩
contraseña: ⟨{}⟩
senha: ⟨{}⟩
wachtwoord: ⟨{}⟩
hasło: ⟨{}⟩
HASŁO=⟨{}⟩
Passwort: ⟨{}⟩
Пароль: ⟨{}⟩
parola: ⟨{}⟩
lösenord: ⟨{}⟩
비밀번호: ⟨{}⟩
password -> ⟨{}⟩
password → ⟨{}⟩
psk=⟨{}⟩
psk="⟨{}⟩"
wpa-psk ⟨{}⟩
db.internal:15432:app:owner:⟨{}⟩
bindpw ⟨{}⟩
bindpw: ⟨{}⟩
<b>Password:</b> ⟨{}⟩
sshpass -p ⟨{}⟩ ssh root@host
mysql -u root -p⟨{}⟩ app
mysqldump -p⟨{}⟩ app
mariadb -uroot -p⟨{}⟩
mongosh -u admin -p ⟨{}⟩ db
mongodump --host db -u admin -p ⟨{}⟩
sqlcmd -S db -U sa -P ⟨{}⟩
cqlsh -u cassandra -p ⟨{}⟩
redis-cli -h cache -a ⟨{}⟩ ping
docker login -u bob -p ⟨{}⟩ reg.io
oras login -u bob -p ⟨{}⟩ reg.io
ssh-keygen -t ed25519 -N ⟨{}⟩ -f key
htpasswd -b .htpasswd bob ⟨{}⟩
htpasswd -nb bob ⟨{}⟩
htpasswd -cbB /etc/nginx/.htpasswd bob ⟨{}⟩
ldapsearch -x -D cn=admin,dc=x -w ⟨{}⟩ -b dc=x
net use Z: \\\\srv\\share ⟨{}⟩ /user:corp\\bob
net use Z: \\\\srv\\share /user:corp\\bob ⟨{}⟩
keytool -list -keystore k.jks -storepass ⟨{}⟩
openssl pkcs12 -in a.p12 -passin pass:⟨{}⟩
smbclient //srv/share -U bob%⟨{}⟩
ipmitool -H bmc -U root -P ⟨{}⟩ power on
echo ⟨{}⟩ | sudo -S apt update
echo 'root:⟨{}⟩' | chpasswd
""".strip().splitlines()
"""Where one word is said to be the secret: `{}` is that many letters and digits, missed at most so often as BARS says."""

BARS = {8: 0.02, 10: 0.02, 12: 0.005, 15: 0.005}
"""Characters, and the share that may be missed."""

PAIRS = """
token: ⟨{r6}.{r4}⟩
api_key=⟨{r5}.{r5}⟩
VAULT_TOKEN=⟨{r6}.{r5}⟩
X-Vault-Token: ⟨{r6}.{r4}⟩
secret: ⟨{r5}.{r5}⟩
password: ⟨{r5}.{r5}⟩
""".strip().splitlines()
"""Two short words with a dot between, which together are one of ten: missed at most as often as that."""

FORMS = """
API_KEY=⟨{z24}⟩
api_key: ⟨{z24}⟩
API_KEY=⟨{Z24}⟩
X-Vault-Token: ⟨s.{r24}⟩
X-Vault-Token: ⟨s.{r24}⟩, and no more
DB_PASS=⟨{r9}.{r6}⟩
password: ⟨{r9}.{r6}⟩
token: ⟨{r10}.{r10}⟩
{e}[31m⟨ghp_{a36}⟩
{e}[31m⟨ghp_{a36}⟩{e}[0m
{e}[01;31m{e}[K⟨ghp_{e}[m{e}[K{a36}⟩
{e}[38;5;196m⟨glpat-{w20}⟩{e}[0m
{e}[1;32m⟨AKIA{i16}⟩{e}[0m
{e}[31mpassword{e}[0m: {e}[33m⟨x9{r10}⟩{e}[0m
{e}[36mAPI_KEY{e}[0m=⟨{a32}⟩
password=⟨&{a12}⟩
password=⟨%{a12}⟩
password=⟨${a12}⟩
PASSWORD=⟨&{a12}⟩
PASSWORD=⟨%{a12}⟩
PASSWORD=⟨${a12}⟩
password: ⟨&{a12}⟩
password: ⟨%{a12}⟩
password: ⟨${a12}⟩
api_key=⟨&{a24}⟩
api_key: ⟨%{a24}⟩
password{n}=⟨{a12}⟩
password={n}⟨{a12}⟩
password{n}={n}⟨{a12}⟩
mot de passe{n}: ⟨{a12}⟩
API_KEY{n}={n}⟨{a32}⟩
--password{n}⟨{a12}⟩
Authorization:{n}Bearer{n}⟨{a40}⟩
⟨ghp_{a18}{b}{a18}⟩
⟨ghp_{a18}{b}    {a18}⟩
token="⟨{a16}{b}{a16}⟩"
API_KEY=⟨{a16}{b}{a16}⟩
postgres://app:⟨{r5}#{r6}⟩@db.local/x
postgres://app:⟨{r5}@#{r6}⟩@db.local/x
postgres://app:⟨{r5}/{r6}⟩@db.local/x
postgres://app:⟨{r3}#{r3}/{r5}⟩@db.local:5432/x
mysql://root:⟨{r1}#{r9}⟩@db/x
amqp://guest:⟨{r6}/{r6}⟩@mq.internal:5671/%2F
https://bob:⟨{r6}#{r6}⟩@example.com/path
https://bob:⟨{r6}/{r6}⟩@git.example.com/repo.git
redis://:⟨{r8}#{r4}⟩@cache:6379/0
mongodb+srv://app:⟨{r6}?{r6}⟩@c0.mongodb.net/?w=1
ftp://bob:⟨{r6};{r6}⟩@ftp.example.com
jdbc:oracle:thin:scott/⟨{r10}⟩@db.local:1521:xe
jdbc:oracle:thin:scott/⟨{r10}⟩@//db.local:1521/svc
jdbc:oracle:oci:app_user/⟨{r8}#1⟩@tns
sqlplus scott/⟨{r10}⟩@db
sqlplus -s system/⟨{r10}⟩@//db.local:1521/svc
db.internal:5432:app:owner:⟨{r12}⟩
localhost:1234:*:*:⟨{r12}⟩
*:*:*:postgres:⟨{r12}⟩
10.0.0.5:6543:app:owner:⟨x9{r10}⟩
xfreerdp /u:bob /p:⟨x9{r10}⟩ /v:host
lftp -u bob,⟨x9{r10}⟩ sftp://host
7z a -p⟨x9{r10}⟩ out.7z dir
zip -P ⟨x9{r10}⟩ out.zip a
curl --user bob:⟨{r12}⟩ https://host
curl -ubob:⟨{r12}⟩ https://host
wget --user=bob --password=⟨{a12}⟩ https://host
{"Password":"⟨{a12}⟩"}
<Password>⟨{a12}⟩</Password>
""".strip().splitlines()
"""Whole forms, of which none may be missed: `{e}` is the escape of a terminal, `{n}` a no-break space, `{b}` a line goes on."""
