"""
Build the package `tiermem-minilm`: the weights of the default model in 16 bits, and nothing that it depends on.

    .venv/bin/python scripts/weights.py [--from FOLDER] [--to FOLDER]

It is for whoever publishes: half the size of the package that `memory model install` brings, in the same space.
The file of weights is the same to the byte wherever it is built, and `memory` knows its check sum, so that
`memory model install FILE.whl` takes it. Afterwards the vectors of both are compared.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
import tempfile
import zipfile
from math import prod
from pathlib import Path

import numpy as np

from memory.vectors.local import OWN, VOCABULARY, WEIGHTS, model_folder
from memory.vectors.local.embedder import LocalEmbedder

DISTRIBUTION, VERSION = OWN.replace("_", "-"), "1.0.0"
INFO = f"{OWN}-{VERSION}.dist-info"
CLOSE = 1e-3  # greatest difference of any number of a vector of length 1
SAMPLES = ("a query", "Postgres pool raised to 20", "why is the database slow under load", "def main() -> None:" * 60)

NOTICE = """all-MiniLM-L6-v2, https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
by the authors of sentence-transformers, under the Apache License, Version 2.0.

Changed: the weights are rounded from 32 to 16 bits. The vocabulary is as it was.

Licensed under the Apache License, Version 2.0 (the "License"); you may not use these files except in compliance with
the License. You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software distributed under the License is distributed on an
"AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific
language governing permissions and limitations under the License.
"""

METADATA = f"""Metadata-Version: 2.4
Name: {DISTRIBUTION}
Version: {VERSION}
Summary: The weights of all-MiniLM-L6-v2 in 16 bits, for tiermem. Data only: no code, no dependencies.
License-Expression: Apache-2.0
License-File: NOTICE
Requires-Python: >=3.8
Description-Content-Type: text/plain

{NOTICE}"""

WHEEL = "Wheel-Version: 1.0\nGenerator: scripts/weights.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def halved(content: bytes) -> bytes:
    """
    A safetensors file with its 32-bit numbers rounded to 16 bits; everything else stays, in its order.

    Raises:
        ValueError: A number is too large for 16 bits.
    """
    start = 8 + int.from_bytes(content[:8], "little")
    header, numbers = json.loads(content[8:start]), content[start:]
    written: dict[str, object] = {}
    parts: list[bytes] = []
    place = 0
    for name, tensor in header.items():
        if name == "__metadata__":
            written[name] = tensor
            continue
        first, last = tensor["data_offsets"]
        part = numbers[first:last]
        if tensor["dtype"] == "F32":
            if last - first != 4 * prod(tensor["shape"]):
                raise ValueError(f"{name} is damaged")
            part = _rounded(name, part)
        kind = {"F32": "F16"}.get(tensor["dtype"], tensor["dtype"])
        written[name] = {**tensor, "dtype": kind, "data_offsets": [place, place + len(part)]}
        place += len(part)
        parts.append(part)
    said = json.dumps(written, separators=(",", ":")).encode()
    said += b" " * (-len(said) % 8)  # numbers begin at a multiple of 8, as the format wants it
    return b"".join([len(said).to_bytes(8, "little"), said, *parts])


def _rounded(name: str, part: bytes) -> bytes:
    exact = np.frombuffer(part, dtype="<f4")
    if np.abs(exact).max(initial=0) > np.finfo(np.float16).max:
        raise ValueError(f"a number of {name} is too large for 16 bits")
    return exact.astype("<f2").tobytes()


def wheel(to: Path, weights: bytes, vocabulary: bytes) -> Path:
    """The package, in a folder."""
    files = {
        f"{OWN}/__init__.py": b'"""The weights of all-MiniLM-L6-v2 in 16 bits, in the folder `model`."""\n',
        f"{OWN}/model/{WEIGHTS}": weights,
        f"{OWN}/model/{VOCABULARY}": vocabulary,
        f"{INFO}/METADATA": METADATA.encode(),
        f"{INFO}/WHEEL": WHEEL.encode(),
        f"{INFO}/licenses/NOTICE": NOTICE.encode(),
    }
    lines = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items()]
    files[f"{INFO}/RECORD"] = "".join([*lines, f"{INFO}/RECORD,,\n"]).encode()
    path = to / f"{OWN}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980, wherever and whenever it is built
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def difference(one: Path, other: Path) -> float:
    """The greatest difference of two models' vectors of the samples, in any number."""
    vectors = [LocalEmbedder(folder).embed(SAMPLES, "passage") for folder in (one, other)]
    return float(np.abs(vectors[0] - vectors[1]).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=Path, help="the model in 32 bits; by default, the installed one")
    parser.add_argument("--to", type=Path, default=Path("dist"), help="where the package goes (default: dist)")
    given = parser.parse_args()
    source = given.source or model_folder()
    if source is None:
        sys.exit("the model is not installed: memory model install")
    given.to.mkdir(parents=True, exist_ok=True)
    weights, vocabulary = halved((source / WEIGHTS).read_bytes()), (source / VOCABULARY).read_bytes()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / WEIGHTS).write_bytes(weights)
        (folder / VOCABULARY).write_bytes(vocabulary)
        apart = difference(source, folder)
    if apart > CLOSE:
        sys.exit(f"the vectors differ by up to {apart:.1e}; {CLOSE:.0e} is the most")
    path = wheel(given.to, weights, vocabulary)
    print(f"{path}  {path.stat().st_size / 1e6:.1f} MB; vectors differ by at most {apart:.1e}")
    print(f"{WEIGHTS}  {len(weights)} bytes  sha256 {hashlib.sha256(weights).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
