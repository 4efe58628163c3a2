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
⟨xoxc-{d12}-{d12}-{d13}-{h64}⟩
d=⟨xoxd-{w40}%2B{a60}%2F{a20}%3D⟩
⟨{y52}⟩
ado pat ⟨{y52}⟩
https://dev.azure.com pat: ⟨{a52}JQQJ99{a18}AZDO{a4}⟩
https://things.azurewebsites.net/api/hello?code=⟨{w44}AzFu{w5}A==⟩
x-functions-key: ⟨{w44}AzFu{w5}Q==⟩
https://things.azurewebsites.net/api/hello?code=⟨{w54}⟩==
https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260101T000000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature=⟨{h64}⟩
https://b.s3.amazonaws.com/k?X-Amz-Security-Token=⟨IQoJb3JpZ2lu{a60}%2F{a60}%3D⟩&X-Amz-Expires=60
https://storage.googleapis.com/b/o?X-Goog-Expires=60&X-Goog-Signature=⟨{h256}⟩
https://b.s3.amazonaws.com/k?AWSAccessKeyId=x&Expires=1700000000&Signature=⟨{a26}%3D⟩
https://d1.cloudfront.net/x?Expires=1700000000&Signature=⟨{w170}~~⟩&Key-Pair-Id=K1
⟨ABSK{b120}=⟩
bedrock-api-key-⟨YmVkcm9jay5hbWF6b25hd3MuY29t{b200}⟩
⟨AGE-SECRET-KEY-PQ-1{e58}⟩
⟨tgp_v1_{w43}⟩
⟨fw_{a24}⟩
⟨fw_{a40}⟩
⟨pa-{w43}⟩
⟨jina_{h32}{a28}⟩
⟨jina_{a60}⟩
⟨fc-{h32}⟩
⟨e2b_{h40}⟩
⟨sk_e2b_{h40}⟩
⟨ak-{a22}⟩
⟨as-{a22}⟩
⟨vercel_blob_rw_{a16}_{a30}⟩
⟨vcp_{a56}⟩
⟨vck_{a56}⟩
⟨vcp_{a24}⟩
⟨napi_{l64}⟩
⟨npg_{a12}⟩
⟨re_{a8}_{a24}⟩
⟨phx_{a43}⟩
⟨phx_{w43}⟩
⟨phs_{a43}⟩
DD_APP_KEY=⟨{h40}⟩
DD-APPLICATION-KEY: ⟨{h40}⟩
datadog app key ⟨{h40}⟩
Datadog application key: ⟨{h40}⟩
⟨ddapp_{a34}⟩
⟨HRKU-{h8}-{h4}-{h4}-{h4}-{h12}⟩
⟨HRKU-AA{w58}⟩
{d10}:⟨{w35}⟩
https://api.telegram.org/bot{d9}:⟨AA{w33}⟩/getMe
⟨M{a23}.{a6}.{w27}⟩
⟨MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{w27}⟩
⟨N{a25}.{a6}.{w38}⟩
https://acme.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/⟨{h32}/{h8}-{h4}-{h4}-{h4}-{h12}⟩
https://outlook.office.com/webhook/{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/⟨{h32}/{h8}-{h4}-{h4}-{h4}-{h12}⟩
https://prod-12.westeurope.logic.azure.com:443/workflows/{h32}/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=⟨{w43}⟩
https://default{h20}.12.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/{h32}/triggers/manual/paths/invoke?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=⟨{w43}⟩
⟨nsec1{n58}⟩
⟨xprv{c107}⟩
⟨zprv{c107}⟩
⟨{wif}⟩
CO_API_KEY=⟨{a40}⟩
cohere.Client("⟨{a40}⟩")
co = cohere.ClientV2('⟨{a40}⟩')
Cohere: ⟨{a40}⟩
cohere key ⟨{a40}⟩
⟨zorp_{a32}⟩
⟨acme-{a40}⟩
⟨qx_live_{a24}⟩
⟨qx_sk_{a24}⟩
⟨foo_api_{h40}⟩
⟨blurb_pat_{w40}⟩
⟨kq1_{w43}⟩
⟨wobble-key-{h32}⟩
the password is ⟨{a12}⟩
The password is "⟨{a12}⟩".
My wifi password is ⟨{p12}⟩, please keep it.
the password for the database is ⟨{a14}⟩
the root password was changed to ⟨{a14}⟩
The password of bob on db1 is now ⟨{a12}⟩.
password ⟨{p14}⟩
passwd is ⟨{a12}⟩
my API key is ⟨{a32}⟩
the api key is: ⟨{a32}⟩
the token is ⟨{a24}⟩
the secret is ⟨{a24}⟩
use token ⟨{a32}⟩ for the deploy
set the admin password to ⟨{a14}⟩
set the admin password to ⟨{p14}⟩
bearer token ⟨{a40}⟩
Bearer token: ⟨{a40}⟩
The access token is ⟨{w40}⟩
Das Passwort lautet: ⟨{a12}⟩
Das Passwort lautet ⟨{a12}⟩
Das Passwort ist ⟨{a12}⟩
Das Kennwort für den Server ist ⟨{a12}⟩
Le mot de passe est ⟨{a12}⟩
Le mot de passe est : ⟨{a12}⟩
La contraseña es ⟨{a12}⟩
La contraseña del servidor es: ⟨{a12}⟩
A senha é ⟨{a12}⟩
La password è ⟨{a12}⟩
Het wachtwoord is ⟨{a12}⟩
Hasło to ⟨{a12}⟩
Hasło: ⟨{a12}⟩
Heslo je ⟨{a12}⟩
Пароль — ⟨{a12}⟩
Пароль от сервера: ⟨{a12}⟩
κωδικός: ⟨{a12}⟩
Ο κωδικός είναι ⟨{a12}⟩
पासवर्ड: ⟨{a12}⟩
पासवर्ड है ⟨{a12}⟩
parolă: ⟨{a12}⟩
Parola este ⟨{a12}⟩
Geslo: ⟨{a12}⟩
lozinka: ⟨{a12}⟩
парола: ⟨{a12}⟩
salasana on ⟨{a12}⟩
Lösenordet är ⟨{a12}⟩
passordet er ⟨{a12}⟩
Adgangskoden er ⟨{a12}⟩
slaptažodis: ⟨{a12}⟩
jelszó: ⟨{a12}⟩
A jelszavad: ⟨{a12}⟩
şifreniz: ⟨{a12}⟩
Şifre: ⟨{a12}⟩
รหัสผ่าน: ⟨{a12}⟩
kata sandi: ⟨{a12}⟩
mật khẩu là ⟨{a12}⟩
密码是⟨{a12}⟩
密码：⟨{a12}⟩
口令: ⟨{a12}⟩
パスワードは⟨{a12}⟩です
비밀번호는 ⟨{a12}⟩입니다
كلمة السر: ⟨{a12}⟩
רמז סיסמא: ⟨{a12}⟩
پاس ورڈ: ⟨{a12}⟩
رمز عبور: ⟨{a12}⟩
পাসওয়ার্ড: ⟨{a12}⟩
கடவுச்சொல்: ⟨{a12}⟩
пароль: ⟨{a12}⟩
ПАРОЛЬ: ⟨{a12}⟩
ΚΩΔΙΚΟΣ: ⟨{a12}⟩
contrasenya: ⟨{a12}⟩
cyfrinair: ⟨{a12}⟩
lykilorð: ⟨{a12}⟩
login: admin / ⟨{a12}⟩
Login: admin/⟨{a12}⟩
login admin, password ⟨{a12}⟩
credentials: bob:⟨{a12}⟩
creds: bob / ⟨{a12}⟩
Credentials are bob / ⟨{p14}⟩
user/pass: bob/⟨{a12}⟩
username: bob password: ⟨{a12}⟩
Zugangsdaten: bob / ⟨{a12}⟩
identifiants : bob / ⟨{a12}⟩
log in as bob with ⟨{p14}⟩
log in with bob:⟨{a14}⟩
| user | password |{NL}|---|---|{NL}| bob | ⟨{a12}⟩ |
| host | user | password | note |{NL}| --- | --- | :---: | --- |{NL}| db1 | al | `⟨{a12}⟩` | old |{NL}| db2 | bo | hunter | x |
| service | API key |{NL}|---|---|{NL}| maps | ⟨{a32}⟩ |
| Benutzer | Passwort |{NL}|:--|--:|{NL}| bob | ⟨{a12}⟩ |
user | password{NL}--- | ---{NL}bob | ⟨{a12}⟩
| password | ⟨{a12}⟩ |
user,password,role{NL}bob,⟨{a12}⟩,admin
name;login;passwort{NL}Bob;bob;⟨{a12}⟩
user{TAB}password{NL}bob{TAB}⟨{a12}⟩
<table><tr><th>user</th><th>password</th></tr><tr><td>bob</td><td>⟨{a12}⟩</td></tr></table>
#define DB_PASS "⟨{a12}⟩"
#define WIFI_PASSWORD "⟨{a12}⟩"
#define API_TOKEN ⟨{a24}⟩
define('AUTH_KEY', '⟨{s64}⟩');
define('NONCE_SALT',       '⟨{p64}⟩');
define("LOGGED_IN_KEY", "⟨{p64}⟩");
CREATE LOGIN app WITH PASSWORD = N'⟨{p14}⟩';
ALTER LOGIN sa WITH PASSWORD=N'⟨{a14}⟩'
Driver=x;Server=s;UID=sa;PWD={⟨{p14}⟩};
PWD={⟨{a12}⟩}
const char* password = "⟨{a12}⟩";
password := "⟨{a12}⟩"
let password: String = "⟨{a12}⟩".to_string();
val password: String = "⟨{a12}⟩"
static let apiKey = "⟨{a32}⟩"
private static final String PASSWORD = "⟨{a12}⟩";
$password = '⟨{a12}⟩';
password <- "⟨{a12}⟩"
(def password "⟨{a12}⟩")
(setq my-password "⟨{a12}⟩")
-define(PASSWORD, "⟨{a12}⟩").
@password "⟨{a12}⟩"
:password "⟨{a12}⟩"
password => "⟨{a12}⟩"
password: '⟨{a12}⟩'
%let password=⟨{a12}⟩;
gh secret set NPM_TOKEN --body ⟨{a24}⟩
gh secret set NPM_TOKEN -b"⟨{a24}⟩"
gh secret set DB --body "⟨{p14}⟩" --repo a/b
aws ssm put-parameter --name /app/db --value ⟨{a14}⟩ --type SecureString
aws ssm put-parameter --type SecureString --name /app/db --value '⟨{p14}⟩'
aws secretsmanager create-secret --name x --secret-string ⟨{a14}⟩
aws secretsmanager put-secret-value --secret-id x --secret-string '{"a":"⟨{a14}⟩"}'
az keyvault secret set --vault-name v --name n --value ⟨{a14}⟩
openssl enc -aes-256-cbc -k ⟨{a12}⟩ -in a -out b
openssl enc -d -aes-256-cbc -pbkdf2 -in a -k ⟨{a12}⟩
openssl enc -aes-128-cbc -K ⟨{h32}⟩ -iv 00 -in a
openssl rsa -in key.pem -passin pass:⟨{a12}⟩
nmcli dev wifi connect home password ⟨{a12}⟩
nmcli device wifi connect "my net" password "⟨{a12}⟩"
nmcli con modify home wifi-sec.psk ⟨{a12}⟩
kubectl create secret generic app --from-literal=pw=⟨{a14}⟩
kubectl create secret docker-registry r --docker-username=bob --docker-password=⟨{a14}⟩
fly secrets set DB=⟨{a24}⟩
heroku config:set FOO=⟨{a24}⟩
wpa_passphrase home ⟨{a12}⟩
unzip -P ⟨{a12}⟩ a.zip
rar a -hp⟨{a12}⟩ x.rar d
mosquitto_pub -h b -u bob -P ⟨{a12}⟩ -t x
rclone obscure ⟨{a12}⟩
vault login ⟨s.{r24}⟩
vault kv put secret/app pw=⟨{a14}⟩
rabbitmqctl add_user bob ⟨{a12}⟩
rabbitmqctl change_password bob ⟨{a12}⟩
mysqladmin -u root password ⟨{a12}⟩
net user bob ⟨{a12}⟩ /add
cmdkey /add:srv /user:bob /pass:⟨{a12}⟩
psexec \\\\srv -u bob -p ⟨{a12}⟩ cmd
az login -u bob -p ⟨{a12}⟩
oc login https://x -u bob -p ⟨{a12}⟩
twine upload -u bob -p ⟨{a12}⟩ dist/*
cargo login ⟨{a32}⟩
snyk auth ⟨{h8}-{h4}-{h4}-{h4}-{h12}⟩
redis-cli AUTH ⟨{a12}⟩
requirepass ⟨{a12}⟩
masterauth ⟨{a12}⟩
ansible-playbook x.yml -e ansible_password=⟨{a12}⟩
gpg --batch --passphrase ⟨{a12}⟩ -c x
echo ⟨{a12}⟩ | docker login -u bob --password-stdin
echo ⟨{a12}⟩ | passwd --stdin bob
echo "⟨{a32}⟩" | gh auth login --with-token
printf '⟨{a12}⟩' | docker login --password-stdin
send "⟨{a12}⟩\\r"
mc alias set m https://x bob ⟨{a40}⟩
git config --global github.token ⟨{h40}⟩
npm config set //registry.npmjs.org/:_authToken ⟨{a36}⟩
sonar-scanner -Dsonar.login=⟨{h40}⟩
curl -H 'X-Auth-Key: ⟨{h37}⟩' https://x
wget --http-password=⟨{a12}⟩ https://x
db.auth("bob", "⟨{a12}⟩")
username cisco password 0 ⟨{a12}⟩
snmp-server community ⟨{a12}⟩ RO
apiVersion: v1{NL}kind: Secret{NL}metadata:{NL}  name: app{NL}type: Opaque{NL}data:{NL}  url: ⟨{b64s}⟩
apiVersion: v1{NL}data:{NL}  url: ⟨{b64s}⟩{NL}  n: YQ=={NL}kind: Secret{NL}metadata:{NL}  name: app
kind: Secret{NL}stringData:{NL}  conn: ⟨{a14}⟩{NL}
{"kind": "Secret", "apiVersion": "v1", "data": {"url": "⟨{b64s}⟩"}}
{"mode": "managed", "type": "random_password", "name": "db", "instances": [{"attributes": {"bcrypt_hash": "x", "length": 16, "result": "⟨{p16}⟩"}}]}
"type": "random_password",{NL}"name": "db",{NL}"instances": [{NL}{{NL}"attributes": {{NL}"length": 16,{NL}"result": "⟨{p16}⟩",
"db": {"value": "⟨{a16}⟩", "type": "string", "sensitive": true}
.example.com{TAB}TRUE{TAB}/{TAB}TRUE{TAB}1893456000{TAB}id{TAB}⟨{a32}⟩
#HttpOnly_.example.com{TAB}TRUE{TAB}/{TAB}FALSE{TAB}0{TAB}sessionid{TAB}⟨{l32}⟩
otpauth://totp/Acme:bob?secret=⟨{i32}⟩&issuer=Acme
TOTP seed: ⟨{i32}⟩
TOTP secret: ⟨{i4} {i4} {i4} {i4}⟩
2FA key ⟨{i16}⟩
authenticator setup key: ⟨{y4} {y4} {y4} {y4} {y4} {y4} {y4} {y4}⟩
MFA secret is ⟨{i26}⟩
Recovery codes: ⟨{l5}-{l5}⟩, {l5}-{l5}, {l5}-{l5}
Recovery codes:{NL}{l5}-{l5}{NL}⟨{l5}-{l5}⟩{NL}{l5}-{l5}{NL}
Backup codes:{NL}- {d8}{NL}- ⟨{d8}⟩{NL}- {d8}
backup codes: {d4} {d4}, ⟨{d4} {d4}⟩
2FA recovery codes{NL}{NL}1. {h10}{NL}2. ⟨{h10}⟩{NL}
seed phrase: ⟨{seed12}⟩
Seed phrase:{NL}⟨{seed24}⟩{NL}
recovery phrase is "⟨{seed12}⟩"
MNEMONIC="⟨{seed12}⟩"
wallet mnemonic: ⟨{seed15}⟩
"⟨ghp_" + "{a36}⟩"
'⟨sk_live_' + '{a24}⟩'
"⟨ghp_{a18}" . "{a18}⟩"
api_key = "⟨{a16}" + "{a16}⟩"
"⟨AKIA{i8}" +{NL}    "{i8}⟩"
"⟨ghp_{a18}"{NL}    "{a18}⟩"
password&#61;⟨{a12}⟩
password&#x3d;&quot;⟨{a12}⟩&quot;
password&equals;⟨{a12}⟩
password&colon; ⟨{a12}⟩
password\\u003d⟨{a12}⟩
⟨ghp&#95;{a36}⟩
""".strip().splitlines()
"""Whole forms, of which none may be missed: `{e}` is the escape of a terminal, `{n}` a no-break space, `{b}` a line goes on,
`{NL}` a line break, `{TAB}` a tab. The secret is what a memory must not keep."""
