"""
The signs by which `memory.redact.injection` recognises text that tries to instruct an agent.

An imperative alone is not a sign: developers' notes are full of them ("always run the tests", "from now on use uv",
"never ask the user twice", "ignore the previous migration"). A sign is something only agents have: instructions to
ignore, a prompt to reveal, a user to deceive, turns and tool calls to forge.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Sign(NamedTuple):
    """
    Attributes:
        stems: Groups of alternatives, "a,b": a text without at least one of each group cannot match.
        pattern: Applies to folded text; a space in it is any one white space. Every repetition is bounded, which keeps
            matching linear.
    """

    stems: tuple[str, ...]
    pattern: str


_ANY = r"(?:(?:all|any|each|every|of|the|these|those|my|your|please) ){0,4}"
_FORMER = r"(?:(?:previous|prior|above|earlier|preceding|foregoing|former|initial|original|your|system) (?:and )?){1,3}"
_YOURS = r"(?:(?:previous|prior|above|earlier|preceding|initial|original|your) (?:[\w-]{1,20} )?){1,2}"
_STRICT = r"(?:instruction|directive|direction|guideline|prompt|programming|training|safeguard|guardrail)s?"
_LOOSE = r"(?:(?:rule|order)s\b|conversation\b(?! (?:table|log|id)))"
_LOOSER = (
    r"(?:(?:rule|order|command|constraint|restriction|message)s\b|polic(?:y|ies)\b"
    r"|context\b(?! (?:manager|window|menu|object|variable)))"
)
_DROP = r"\b(?<!not )(?<!never )(?<!n't )(?:ignore|disregard|forget|neglect|pay no attention to)(?: about)? "
_FREED = r"(?:dan|jailbroken|unrestricted|unfiltered|uncensored)\b"
_MACHINE = rf"(?:(?:an? |the |my |called )(?:[\w-]{{1,20}} ){{0,3}}?(?:assistant|ai|bot|chatbot|{_FREED})|{_FREED})"
_INNER = r"(?:own|full|entire|exact|hidden|secret|initial|original|internal|system|developer|complete)"
_DO = r"\b(?:run|execute|send|delete|upload|call|invoke|install|forward|commit|push|proceed|do (?:it|this|so))\b"
_SECRETS = (
    r"(?:credential|secret|password|api key|ssh key|private key|access token|env(?:ironment)? (?:variable|file)|\.env\b"
    r"|conversation|chat (?:history|log)|system prompt|memor(?:y|ies)\b|cookie|source code|wallet|seed phrase)"
)
_SHELL = r"(?:curl|wget)\b[^\n|]{0,200}\| ?(?:sudo )?(?:ba|z|da)?sh\b"
_LINE = r"(?:^|\n)"

_DROPPING = "ignor,disregard,forget,neglect,attention"
"""The stems of `_DROP`."""

ENGLISH = (
    Sign(
        (_DROPPING, "instruct,directi,guideline,prompt,programming,training,safeguard,guardrail"),
        rf"{_DROP}{_ANY}{_FORMER}(?:[\w-]{{1,20}} ){{0,2}}?{_STRICT}",
    ),
    Sign((_DROPPING, "rules,orders,conversation"), rf"{_DROP}{_ANY}{_FORMER}(?:[\w-]{{1,20}} )?{_LOOSE}"),
    Sign(
        (_DROPPING, "all,any,every,your", "rule,order,command,constraint,restriction,message,polic,context"),
        rf"{_DROP}(?:(?:all|any|every) {_ANY}{_FORMER}(?:[\w-]{{1,20}} )?|(?:all )?(?:of )?your (?:{_FORMER})?){_LOOSER}",
    ),
    Sign(
        ("ignor,disregard,forget", "above,before this,given,came,i gave"),
        rf"{_DROP}{_ANY}{_STRICT} (?:above|before this|you (?:were|have been) given|(?:that )?(?:came|i gave))",
    ),
    Sign(
        ("ignor,disregard,forget", "above,told,been said,came before,before this,i said"),
        rf"{_DROP}(?:everything|anything|all)(?: that)?(?: is)? (?:(?:written |said )?above\b|you(?: were| have been|'ve been) told"
        r"|(?:was|has been) said|came before|before this|i (?:said|told))",
    ),
    Sign(("overrid,overrul,bypass,circumvent",), rf"\b(?:override|overrule|bypass|circumvent) {_ANY}{_YOURS}{_STRICT}"),
    Sign(
        ("overrid,overrul,bypass,circumvent",),
        rf"\b(?:override|overrule|bypass|circumvent) (?:all )?(?:of )?your (?:[\w-]{{1,20}} )?{_LOOSER}",
    ),
    Sign(
        ("not follow,n't follow,stop follow",),
        rf"\b(?:do not|don't|stop) follow(?:ing)? {_ANY}{_FORMER}(?:{_STRICT}|{_LOOSE}|{_LOOSER})",
    ),
    Sign(("you are now,you're now,you will now be",), rf"\byou(?: are|'re| will) now (?:be )?{_MACHINE}"),
    Sign(
        ("you are now,you're now",),
        r"\byou(?: are|'re) now in (?:[\w-]{1,20} )?(?:developer|god|dan|jailbreak|admin|debug) mode\b",
    ),
    Sign(
        ("you are no longer",),
        r"\byou are no longer (?:bound|restricted|limited|an? (?:ai|assistant)|required to follow)",
    ),
    Sign(
        ("pretend,act as,roleplay",),
        rf"\bpretend (?:that )?you(?: are|'re) {_MACHINE}"
        rf"|\b(?:act as|pretend to be|roleplay as) (?:an? |the )?(?:[\w-]{{1,20}} )?{_FREED}",
    ),
    Sign(
        ("instructions:,instruction:,instructions :,instruction :,for you:", "new,updated,revised,real,actual"),
        rf"(?:{_LINE}|[.!?:;*] ?|\byour |\bfollowing )(?:new|updated|revised|real|actual) (?:system )?instructions?(?: for you)? ?:",
    ),
    Sign(
        ("system prompt,system override,system instruction",),
        rf"\bnew system prompt ?:|{_LINE}\W{{0,5}}system (?:override|instructions?) ?:",
    ),
    Sign(
        ("your", "prompt,instruction,system message,guideline"),
        r"\b(?:(?:reveal|repeat|leak|disclose|dump|expose|output|print)(?: me| us)?|(?:show|display|tell|give|share) (?:me|us)) "
        rf"(?:all (?:of )?)?your (?:{_INNER} ){{0,3}}(?:prompts?\b|instructions?\b|system message|guidelines?\b)"
        rf"|\b(?:show|display|share) your (?:{_INNER} ){{1,3}}(?:prompts?\b|instructions?\b|message)",
    ),
    Sign(
        ("do not,don't,never", "the user,the human,the operator"),
        r"\b(?:do not|don't|never) (?:ever )?(?:tell|inform|mention (?:this|it|that) to) the (?:user|human|operator)"
        r"(?: (?:about (?:this|it|these)|of (?:this|it)|this|that you|what you|you|anything|and|or|before)\b|[.!,;:)]|$|\n)",
    ),
    Sign(
        ("do not,don't,never", "the user,the human,the operator"),
        r"\b(?:do not|don't|never) (?:notify|alert|warn|ask|let|show) the (?:user|human|operator)"
        r" (?:(?:about|of) (?:this|it|these)\b|that you|what you|know (?:about|what|that))",
    ),
    Sign(
        ("without ask,without tell,without inform,without notif,without alert", "user,human,operator"),
        rf"{_DO}[^.\n]{{0,60}}\bwithout (?:asking|telling|informing|notifying|alerting) (?:the )?(?:user|human|operator)\b",
    ),
    Sign(
        ("without the user,without the human,without the operator",),
        rf"{_DO}[^.\n]{{0,60}}\bwithout the (?:user|human|operator)(?:'s (?:knowledge|awareness)| (?:knowing|noticing))\b",
    ),
    Sign(
        ("from now on,henceforth",),
        r"\b(?:from now on|henceforth),? (?:you (?:are (?!on\b|in\b)|(?:will|must|shall|should) (?:only |always )?"
        r"(?:act|respond|reply|answer|be|obey|ignore|comply|pretend|speak))|(?:always )?(?:respond|reply|act as|obey|pretend|comply))",
    ),
    Sign(
        ("you must",),
        r"\byou must (?:now|always|immediately) (?:obey|exfiltrate|(?:run|execute|call|send|delete|upload|invoke)\b[^.\n]{0,60}?"
        r"\b(?:https?://|the (?:user|tool|following)|below|all (?:files|data|memories)|without))",
    ),
    Sign(
        ("send,post,upload,forward,exfiltrat,transmit,mail,leak,copy", "http,@"),
        rf"\b(?:send|post|upload|forward|exfiltrate|transmit|e-?mail|leak|copy)\b[^\n]{{0,40}}?\b(?:your|all|any|every|user's|contents? of|this)\b"
        rf"[^\n]{{0,40}}?{_SECRETS}[^\n]{{0,80}}?\bto (?:https?://|[\w.+-]{{1,40}}@)",
    ),
    Sign(
        ("curl,wget", "you ,immediately,silently,secretly,quietly,before "),
        r"(?:\byou (?:must|should|need to|have to)\b|\bimmediately\b|\bsilently\b|\bsecretly\b|\bquietly\b"
        rf"|\bbefore (?:answering|responding|replying|continuing|you (?:answer|respond|reply|continue)))[^\n]{{0,80}}?{_SHELL}",
    ),
    Sign(
        ("silently,secretly,quietly,covertly", "run,execut,call,invok,send,upload,exfiltrat"),
        r"\b(?:run|execute|call|invoke) (?:this|these|the following|it)(?: [\w-]{1,20}){0,3} (?:silently|secretly|quietly|covertly)\b"
        rf"|(?:{_LINE}|[.!?:;] )(?:silently|secretly|quietly|covertly) (?:run|execute|call|invoke|send|upload|exfiltrate)\b",
    ),
)

MARKUP = (
    Sign(
        ("<|",),
        r"<\| ?(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|eot_id|begin_of_text) ?\|>",
    ),
    Sign(("inst],<<sys,_of_turn",), r"(?<!\w)\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>"),
    Sign(
        ("</system,</assistant,reminder,_prompt>,-prompt>,message>,instruction",),
        r"</(?:system|assistant)>"
        r"|</?(?:system|assistant|user|developer)[-_](?:reminder|prompt|message|instruction)s?>",
    ),
    Sign(
        ("system,assistant,human", "#"),
        rf"{_LINE}#{{1,6}} ?(?:system|assistant|human)(?: (?:prompt|message|instructions?))? ?:",
    ),
    Sign(
        ("human:", "assistant:"),
        rf"{_LINE}human:[^\n]{{0,400}}\n(?:[^\n]{{0,400}}\n){{0,4}}?assistant:"
        rf"|{_LINE}assistant:[^\n]{{0,400}}\n(?:[^\n]{{0,400}}\n){{0,4}}?human:",
    ),
    Sign(
        ("<function,<tool,</function,</tool,<invoke,antml",),
        r"</?(?:antml:)?(?:function_(?:calls?|results?)|tool_(?:use|calls?|results?))\b[^>\n]{0,40}>"
        r"|<(?:antml:)?invoke name ?=",
    ),
    Sign(("end of memories,<<< memories",), r">>> end of memories\b|<<< memories\b"),
)

# Folding has removed accents, and ß is ss.
GERMAN = (
    Sign(
        ("ignorier,vergiss,vergessen,missacht,verwerf,verwirf", "anweisung,instruktion,regel,befehl,vorgabe,prompt"),
        r"\b(?:ignorier(?:e|en|t)?|vergiss|vergessen|missachte[nt]?|verwirf|verwerfen)(?: sie)?(?: bitte)? (?:(?:alle|alles|samtliche|jede|die) ){0,2}"
        r"(?:(?:vorherigen?|vorigen?|bisherigen?|fruheren?|obigen?|vorangegangenen?|vorhergehenden?|deine|ihre|eure) ){1,2}(?:[\w-]{1,20} )?"
        r"(?:system)?(?:anweisungen|instruktionen|regeln|befehle|vorgaben|prompts?)",
    ),
    Sign(
        ("du bist,sie sind",),
        rf"\b(?:du bist|sie sind) (?:jetzt|nun|ab jetzt|ab sofort) "
        rf"(?:(?:eine? |der |die )?(?:[\w-]{{1,20}} ){{0,2}}?(?:ki|(?:ki-)?assistent(?:in)?|assistant|bot)|{_FREED})\b",
    ),
    Sign(("neue anweisung,neue instruktion",), r"\bneue (?:anweisung(?:en)?|instruktion(?:en)?) ?:"),
    Sign(
        ("dem nutzer,dem benutzer,dem anwender,ohne den",),
        r"\b(?:sag|sage|sagen sie|erzahle?|verrate) (?:es |das |davon )?dem (?:be)?(?:nutzer|anwender) (?:nichts|nicht|nie|davon nichts)\b"
        r"|\b(?:fuhre|sende|schicke|losche|rufe|installiere|lade)\b[^.\n]{0,60}\bohne den (?:be)?(?:nutzer|anwender) zu (?:fragen|informieren)",
    ),
    Sign(
        ("zeig,verrat,gib ,nenn,wiederhol", "deine,ihre", "prompt,anweisung"),
        r"\b(?:zeige?|verrate|gib|nenne|wiederhole) (?:mir )?(?:deine?n?|ihren?) (?:system ?-?prompt|prompt|(?:system)?anweisungen)\b",
    ),
)
FRENCH = (
    Sign(
        (
            "ignore,oublie,pas compte",
            " les , tes , vos , mes , des ,toute,tous",
            "instruction,consigne,regle,directive,ordre",
        ),
        r"\b(?:ignore[rsz]?|oublie[rsz]?|ne (?:tiens|tenez) pas compte de?) ?s? ?(?:(?:toutes?|tous) )?(?:les |tes |vos |mes |des )?"
        r"(?:instructions|consignes|regles|directives|ordres)(?: [\w-]{1,20})? (?:precedent|anterieur|ci-dessus|initial|plus haut)",
    ),
    Sign(
        ("ignore,oublie", " tes , vos ", "instruction,consigne,regle,directive"),
        r"\b(?:ignore[rsz]?|oublie[rsz]?) (?:toutes )?(?:tes|vos) (?:precedentes )?(?:instructions|consignes|regles|directives)",
    ),
    Sign(
        ("maintenant,desormais",),
        rf"\b(?:tu es|vous etes) (?:maintenant|desormais) "
        rf"(?:(?:une? |le |la )(?:[\w-]{{1,20}} ){{0,2}}?(?:ia|assistant|bot|sans restrictions?)|{_FREED})\b",
    ),
    Sign(("nouvelles",), r"\bnouvelles (?:instructions|consignes) ?:"),
    Sign(
        ("utilisateur",),
        r"\bne (?:le )?(?:dis|dites) (?:rien|pas(?: cela| ca)?) a l'utilisateur|\bn'informe[sz]? pas l'utilisateur (?:de ca|de cela|de ceci)"
        r"|\bn'en (?:parle|parlez|dis|dites) (?:pas|rien) a l'utilisateur",
    ),
    Sign(
        ("revele,montre,affiche,donne,repete", " ton , ta , tes , votre , vos "),
        r"\b(?:revele|montre|affiche|donne|repete)[rsz]?(?:-moi| moi)? (?:ton|ta|tes|votre|vos) (?:prompt|invite|instructions|consignes)\b",
    ),
)
SPANISH = (
    Sign(
        ("ignor,olvid,omite,descarta,desestima,caso omiso", "instruccion,regla,indicacion,ordenes,directri"),
        r"\b(?:ignor(?:a|e|ar|ad|en)|olvid(?:a|e|ar|ad|en)|omite|descarta|desestima|haz caso omiso (?:de|a)) (?:(?:todas?|todos) )?(?:las |los |tus |sus |mis )?"
        r"(?:instrucciones|reglas|indicaciones|ordenes|directrices)(?: [\w-]{1,20})? (?:anterior|previ[ao]s|de arriba|inicial)",
    ),
    Sign(
        ("ignor,olvid", "instruccion,regla,indicacion,directri"),
        r"\b(?:ignor|olvid)(?:a|e|ar|ad|en) (?:todas )?(?:tus|sus|las anteriores|las previas) (?:instrucciones|reglas|indicaciones|directrices)",
    ),
    Sign(
        ("ahora eres,eres ahora",),
        rf"\b(?:ahora eres|eres ahora) "
        rf"(?:(?:una? |el |la )(?:[\w-]{{1,20}} ){{0,2}}?(?:ia|asistente|bot|sin restricciones)|{_FREED})\b",
    ),
    Sign(("nuevas instrucc",), r"\bnuevas instrucciones ?:"),
    Sign(
        ("al usuario",),
        r"\bno (?:le |se lo )?(?:digas|diga|menciones|cuentes)(?: nada| esto| eso)? al usuario(?: (?:nada|esto|que (?:has|lo))\b|[.!,;]|$|\n)"
        r"|\b(?:ejecuta|envia|borra|elimina|manda|llama|instala|sube)\b[^.\n]{0,60}\bsin (?:avisar|preguntar|informar|decirle)(?: nada)? al usuario",
    ),
    Sign(
        ("revela,muestra,imprime,dime,repite", "prompt,instruccion,mensaje"),
        r"\b(?:revela|muestra|muestrame|imprime|dime|repite) (?:tus?|sus?) (?:prompt|instrucciones|mensaje del? sistema)\b",
    ),
)
# Applied to text without any white space, because these scripts may break a line anywhere.
UNSPACED = (
    Sign(
        ("忽略,无视,無視,忘记,忘記,忘掉,忽視,不要理会",),
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|忽視|不要理会)(?:掉)?.{0,4}?(?:之前|以前|以上|上面|先前|前面|此前|上述|你的|所有).{0,6}?(?:指令|指示|规则|規則|提示词|提示詞|系统提示|系統提示|命令)",
    ),
    Sign(
        ("你现在是,你現在是,从现在,從現在",),
        r"你[现現]在是(?:一[个個名位])?.{0,6}?(?:助手|ai|dan|机器人|不受|没有限制)|[从從][现現]在[开開]?[始起],?你(?:是|将|將|必须|必須|只能)",
    ),
    Sign(("指令:,指示:",), r"新的?(?:系统|系統)?(?:指令|指示):"),
    Sign(
        ("用户,用戶,使用者",),
        r"(?:不要|别|別|请勿|請勿|不得|切勿)(?:告诉|告訴|告知|透露给|通知)(?:用户|用戶|使用者)(?:$|[。!,;.]|这|這|此|你|任何)",
    ),
    Sign(
        ("你的",),
        r"(?:显示|顯示|输出|輸出|打印|泄露|洩露|透露|说出|說出|告诉我|告訴我|重复|重複)你的.{0,4}?(?:提示词|提示詞|指令|系统提示|系統提示)",
    ),
    Sign(
        ("無視,忘れ,破棄,従わ",),
        r"(?:以前|これまで|今まで|上記|前|先ほど|過去|あなた|すべて|全て)(?:の|まで).{0,6}?(?:指示|命令|ルール|プロンプト|規則|制約)(?:を|は|に).{0,4}?(?:無視し|忘れ|破棄し|従わな)",
    ),
    Sign(("あなたは",), r"(?:今|いま|これ)から、?あなたは|あなたは(?:今|いま|これ)から"),
    Sign(("新しい",), r"新しい(?:指示|命令|システムプロンプト):"),
    Sign(
        ("ユーザ,利用者",),
        r"(?:ユーザー?|利用者)には?(?:このこと|これ|何|それ)?(?:を|も|は)?(?:言わないで|伝えないで|知らせないで|教えないで|言うな|伝えるな|教えるな|知らせるな|伝えては(?:いけ|なら))",
    ),
    Sign(
        ("あなたの",),
        r"あなたの(?:システム)?(?:プロンプト|指示|命令)(?:の(?:内容|全文|すべて))?を(?:すべて|全て)?(?:表示|出力|開示|公開|教え|見せ)",
    ),
)


# Languages without a table of their own: a few stems for each of "ignore the previous instructions" and "you are now …", in
# any order, close to each other. Three of them in one clause are seldom said of anything else.

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


def tongues(folded: Callable[[str], str]) -> tuple[Sign, ...]:
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
