"""
"Ignore the previous instructions" and "you are now …" in languages that have no table of their own in
`memory.redact.injection_signs`: a few stems for each, in any order, close to each other. Three of them in one clause are seldom
said of anything else.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from memory.redact.injection_signs import Sign

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# To ignore · earlier, or your · instructions: stems, in the language's own letters.
_DROPPED = """
игнорируй игнорировать забудь забудьте|предыдущ прежн все твои ваши выше|инструкц указан правила
ігноруй ігноруйте забудь|попередн усі всі твої ваші|інструкц вказівк правила
ignore ignora desconsidere esqueça esquece esqueca|anteriores anterior prévias acima suas tuas todas|instruções instrucoes regras ordens
ignora ignorate dimentica dimenticate|precedenti precedente tue tutte sopra|istruzioni regole direttive indicazioni
negeer vergeet|vorige voorgaande eerdere alle jouw|instructies regels opdrachten aanwijzingen
zignoruj ignoruj zapomnij|poprzednie wszystkie wcześniejsze twoje|instrukcje polecenia zasady
ignorera glöm|tidigare föregående alla dina|instruktioner regler anvisningar
ignorer glem|tidligere forrige alle dine|instruktioner instruksjoner regler
yok say yoksay görmezden unut|önceki tüm bütün yukarıdaki|talimat yönerge kural komut
무시 잊어|이전 모든 위의 앞의|지시 명령 규칙 지침 프롬프트
تجاهل انس انسى|السابقة جميع كل السابق|التعليمات تعليمات الأوامر القواعد
نادیده فراموش|قبلی پیشین تمام همه|دستور
התעלם התעלמי תתעלם שכח|הקודמות הקודם כל|הוראות ההוראות הנחיות
अनदेखा नज़रअंदाज़ भूल|पिछले पिछली सभी|निर्देश आदेश नियम
bỏ qua quên|trước đó phía trên tất cả|hướng dẫn chỉ dẫn chỉ thị lệnh
abaikan lupakan|sebelumnya semua|instruksi perintah arahan
αγνόησε αγνοήστε ξέχνα|προηγούμεν όλες|οδηγίες εντολές κανόνες
ignoruj zapomeň ignorujte|předchozí všechny|instrukce pokyny pravidla
ignoră ignora uită|anterioare precedente toate|instrucțiunile instrucțiuni regulile
jätä unohda|aiemmat edelliset kaikki|ohjeet säännöt
hagyd felejtsd|korábbi előző összes|utasítás szabály
เพิกเฉย ลืม|ก่อนหน้า ทั้งหมด|คำสั่ง คำแนะนำ
উপেক্ষা ভুলে|আগের পূর্ববর্তী সমস্ত|নির্দেশ
"""

# Now · you are · what nobody becomes in a note.
_BECOME = """
теперь отныне|ты вы|ассистент бот root админ ии без ограничений
agora|você é tu és|assistente ia root admin sem restrições
ora adesso|sei|assistente root admin senza restrizioni
nu vanaf|je bent jij bent u bent|assistent ai root admin zonder beperkingen
teraz|jesteś|asystent ai root admin bez ograniczeń
artık şimdi|sen|asistan yapay zeka root admin
이제 지금부터|너는 당신은|관리자 ai 어시스턴트 root 제한
الآن|أنت|مساعد root مدير بدون قيود
अब|आप तुम|सहायक root एडमिन
"""

# Not to tell · the user, in one order or the other.
_SILENT = """
не говори не сообщай не рассказывай|пользовател
não conte não diga não informe não avise|usuário utilizador
non dire non informare non dirlo|utente
vertel niet zeg niets zeg het niet|gebruiker
nie mów nie informuj|użytkownik
söyleme bildirme haber verme|kullanıcı
말하지 알리지|사용자
لا تخبر|المستخدم
मत बताना मत बताओ न बताएं|उपयोगकर्ता यूज़र
không nói không cho biết đừng nói|người dùng
jangan beri tahu jangan katakan|pengguna
berätta inte säg inget|användaren
"""

_SEVERAL = frozenset(
    "yok say|phía trên|trước đó|tất cả|hướng dẫn|chỉ dẫn|chỉ thị|bỏ qua|без ограничений|sem restrições|senza restrizioni|"
    "zonder beperkingen|bez ograniczeń|yapay zeka|você é|tu és|je bent|jij bent|u bent|بدون قيود|не говори|не сообщай|не рассказывай|"
    "não conte|não diga|não informe|não avise|non dire|non informare|non dirlo|vertel niet|zeg niets|zeg het niet|nie mów|nie informuj|"
    "haber verme|لا تخبر|मत बताना|मत बताओ|न बताएं|không nói|không cho biết|đừng nói|jangan beri tahu|jangan katakan|"
    "berätta inte|säg inget|người dùng".split("|")
)
"""What is one stem although it has blanks."""


def signs(folded: Callable[[str], str]) -> tuple[Sign, ...]:
    """
    The signs of all these languages.

    Args:
        folded: Makes of a stem what the texts are in which it is looked for.
    """
    lines = (line for table in (_DROPPED, _BECOME, _SILENT) for line in table.strip().splitlines())
    rows = ([[*map(folded, _stems(group))] for group in line.split("|")] for line in lines)
    return tuple(Sign(tuple(map(",".join, groups)), _near(groups)) for groups in rows)


def _stems(group: str) -> list[str]:
    words, found = group.split(), []
    while words:
        size = next((size for size in (4, 3, 2) if " ".join(words[:size]) in _SEVERAL), 1)
        found.append(" ".join(words[:size]))
        words = words[size:]
    return found


def _near(groups: Sequence[Sequence[str]]) -> str:
    """The groups in any order within one clause; where words stand apart, a stem begins one."""
    parts = ["(?:" + "|".join(rf"\b{stem}" if stem < "\u0590" else stem for stem in group) + ")" for group in groups]
    return "|".join(r"[^.!?\n]{0,40}?".join(order) for order in permutations(parts))
