"""Words for a password in many languages, and the verbs and names that lead from one to its value. Data, and no rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable

ABROAD = """
passwort, kennwort, zugangscode, losungswort, contraseña, contrasena, contraseñna, contrasenya, contrasinal, pasahitza, mot de passe,
mots de passe, motdepasse, senha, palavra-passe, palavra passe, parola d'ordine, wachtwoord, wagwoord, hasło, heslo, geslo,
lozinka, zaporka, salasana, tunnussana, lösenord, adgangskode, kodeord, kodord, passord, lykilorð, aðgangsorð, loyniorð,
jelszó, jelszav, parolă, parolei, slaptažod, парол, пароль, лозинка, құпия сөз, құпиясөз, сырсөз, сырсүз, нууц үг,
şifre, sifre, şifrə, κωδικός, κωδικο, κωδικού, συνθηματικό, συνθηματικο, fjalëkalim, pasfhocal, cyfrinair, facal-faire,
pasvorto, nenosiri, kata sandi, kata laluan, katasandi, mật khẩu, matkhau, iphasiwedi, sandi lewat,
პაროლ, գաղտնաբառ, סיסמה, סיסמא, ססמה, كلمة المرور, كلمة السر, كلمه السر, كلمة مرور, رمز عبور,
گذرواژه, گذر واژه, پاس ورڈ, पासवर्ड, कूटशब्द, পাসওয়ার্ড, ਪਾਸਵਰਡ, પાસવર્ડ, கடவுச்சொல், పాస్‌వర్డ్, పాస్వర్డ్, ಪಾಸ್‌ವರ್ಡ್, ಪಾಸ್ವರ್ಡ್,
പാസ്‌വേഡ്, പാസ്വേഡ്, මුරපදය, รหัสผ่าน, ລະຫັດຜ່ານ, ពាក្យសម្ងាត់, စကားဝှက်, የይለፍ ቃል, 비밀번호, 패스워드, 암호, 密码, 密碼,
口令, 通行码, 通行碼, パスワード, パスコード, 暗証番号
"""
"""Where it is a separate word; a stem where the word is inflected. `parola`, `clave` and such are not among them: `named.MAYBE`."""

IS = """
is, are, was, be, now, as, to, equals, lautet, lauten, ist, sind, wäre, est, sont, es, son, será, é, è, sono, são, sera, fica, são, jest, to, je, jsou,
är, er, on, ovat, este, sunt, e, là, adalah, ialah, yra, ir, van, az, a, είναι, είν, это, есть, является, є, це, је, са,
है, हैं, হল, হলো, है:, هو, هي, است, ہے, הוא, היא, คือ, là:, 是, 为, 為, は, 는, 은, 가, 이, olarak, oldu, —, –, -, →, ->, =>, =, :
"""
"""What may stand between the word and the value; a sign is one too."""


def cased(words: str) -> tuple[str, ...]:
    """The words as they are, decomposed too, each small, with a capital and in capitals."""
    plain = [word.strip() for word in words.replace("\n", " ").split(",") if word.strip()]
    whole = dict.fromkeys((*plain, *(normalize("NFD", word) for word in plain)))
    forms = (form for word in whole for form in (word, word.capitalize(), word.upper()))
    return tuple(dict.fromkeys(forms))


def any_of(words: Iterable[str]) -> str:
    """
    An expression for any of the words, in upper or lower case, the longest first.

    Written as a tree of letters: an expression that folds case tries the branches one by one, of which a list of words
    has hundreds.
    """
    tree: dict[str, set[str]] = {}
    for word in words:
        small = "".join(letter.lower() if letter.isascii() else letter for letter in word)
        tree.setdefault(small[:1], set()).add(small[1:])
    branches = [
        re.escape(first) + (any_of(rest) if first and rest != {""} else "")
        for first, rest in sorted(tree.items(), reverse=True)
    ]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
