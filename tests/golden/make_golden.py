#!/usr/bin/env python3
"""Writes golden.json and golden.bin: what an independent Llama in PyTorch says about small models.

The model below is written from the published formulas (RMSNorm, half-split rotary embedding, causal grouped-query
attention, SwiGLU, untied head) with PyTorch's automatic differentiation, in double precision; it shares no code with
miniGIFT. Weights and tokens come from an integer hash that the C++ test repeats, so they are not stored.

    python3 make_golden.py            writes the files beside this script
    python3 make_golden.py --check    compares with the files instead of writing

Where the `transformers` package can be imported, the script also compares its own model with LlamaForCausalLM and
prints the largest differences.
"""

import argparse
import json
import math
import pathlib
import sys

import numpy
import torch

FOLDER = pathlib.Path(__file__).resolve().parent
STEPS = 10
LEARNING_RATE = 0.01
CLIP_NORM = 1.0
RMS_EPSILON = 1e-5
ROPE_THETA = 10000.0
TOKEN_STREAM = 1000  # hash stream of the tokens; weights use their position in the tensor list

CASES = {
    "mha": dict(layers=2, hidden=64, heads=4, kv_heads=4, feed_forward=192, vocabulary=256, B=4, T=32),
    "gqa": dict(layers=2, hidden=32, heads=4, kv_heads=2, feed_forward=88, vocabulary=250, B=3, T=20),
}


# --- numbers that both sides can make -------------------------------------------------------------------------------

def hash64(stream, count):
    """64-bit hashes of (stream, element) for element = 0 ... count-1: the finalizer of SplitMix64 (Steele et al. 2014)
    on stream*0x9E3779B97F4A7C15 + element*0xD1B54A32D192ED03, all modulo 2^64."""
    with numpy.errstate(over="ignore"):
        z = numpy.uint64((stream + 1) * 0x9E3779B97F4A7C15 % 2**64)
        z = z + numpy.arange(count, dtype=numpy.uint64) * numpy.uint64(0xD1B54A32D192ED03)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return z ^ (z >> numpy.uint64(31))


def hashed_weight(stream, shape, mean):
    """mean + uniform in [-1/4, 1/4), rounded to float32: exactly the same numbers in any language."""
    top = (hash64(stream, math.prod(shape)) >> numpy.uint64(40)).astype(numpy.float64)  # 24 bits
    values = mean + 0.25 * (top / 2.0**23 - 1.0)
    return torch.from_numpy(values.astype(numpy.float32).astype(numpy.float64)).reshape(shape)


def hashed_tokens(case):
    """(B, T+1) tokens; inputs are the first T of each row, targets the last T."""
    count = case["B"] * (case["T"] + 1)
    tokens = (hash64(TOKEN_STREAM, count) >> numpy.uint64(33)) % numpy.uint64(case["vocabulary"])
    tokens = torch.from_numpy(tokens.astype(numpy.int64)).reshape(case["B"], case["T"] + 1)
    return tokens[:, :-1], tokens[:, 1:]


def tensor_shapes(case):
    """Hugging Face names and shapes in forward order."""
    C, F, V = case["hidden"], case["feed_forward"], case["vocabulary"]
    kv_width = case["kv_heads"] * (C // case["heads"])
    shapes = {"model.embed_tokens.weight": (V, C)}
    for layer in range(case["layers"]):
        prefix = f"model.layers.{layer}."
        shapes[prefix + "input_layernorm.weight"] = (C,)
        shapes[prefix + "self_attn.q_proj.weight"] = (C, C)
        shapes[prefix + "self_attn.k_proj.weight"] = (kv_width, C)
        shapes[prefix + "self_attn.v_proj.weight"] = (kv_width, C)
        shapes[prefix + "self_attn.o_proj.weight"] = (C, C)
        shapes[prefix + "post_attention_layernorm.weight"] = (C,)
        shapes[prefix + "mlp.gate_proj.weight"] = (F, C)
        shapes[prefix + "mlp.up_proj.weight"] = (F, C)
        shapes[prefix + "mlp.down_proj.weight"] = (C, F)
    shapes["model.norm.weight"] = (C,)
    shapes["lm_head.weight"] = (V, C)
    return shapes


def initial_weights(case):
    return {
        name: hashed_weight(stream, shape, 1.0 if len(shape) == 1 else 0.0).requires_grad_()
        for stream, (name, shape) in enumerate(tensor_shapes(case).items())
    }


# --- the model ------------------------------------------------------------------------------------------------------

def rms_norm(x, weight):
    return weight * x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + RMS_EPSILON)


def rotate(x):
    """Rotary embedding of x (B, H, T, D): the pair (x_j, x_{j+D/2}) at position t turns by t * theta^(-2j/D)."""
    T, D = x.shape[-2:]
    half = D // 2
    frequency = ROPE_THETA ** (-2.0 * torch.arange(half, dtype=torch.float64) / D)
    angle = torch.arange(T, dtype=torch.float64)[:, None] * frequency[None, :]
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], dim=-1)


def attention(case, x, w, prefix):
    B, T, C = x.shape
    D = C // case["heads"]
    query = rotate((x @ w[prefix + "q_proj.weight"].T).reshape(B, T, case["heads"], D).transpose(1, 2))
    key = rotate((x @ w[prefix + "k_proj.weight"].T).reshape(B, T, case["kv_heads"], D).transpose(1, 2))
    value = (x @ w[prefix + "v_proj.weight"].T).reshape(B, T, case["kv_heads"], D).transpose(1, 2)
    visible = torch.ones(T, T, dtype=torch.bool).tril()
    heads = []
    for head in range(case["heads"]):
        shared = head * case["kv_heads"] // case["heads"]  # the key/value head that serves this query head
        score = query[:, head] @ key[:, shared].transpose(-1, -2) / math.sqrt(D)
        probability = score.masked_fill(~visible, -math.inf).softmax(dim=-1)
        heads.append(probability @ value[:, shared])
    return torch.cat(heads, dim=-1) @ w[prefix + "o_proj.weight"].T


def feed_forward(x, w, prefix):
    gate = x @ w[prefix + "gate_proj.weight"].T
    up = x @ w[prefix + "up_proj.weight"].T
    return (gate * torch.sigmoid(gate) * up) @ w[prefix + "down_proj.weight"].T


def mean_loss(case, w, tokens, targets):
    x = w["model.embed_tokens.weight"][tokens]
    for layer in range(case["layers"]):
        prefix = f"model.layers.{layer}."
        x = x + attention(case, rms_norm(x, w[prefix + "input_layernorm.weight"]), w, prefix + "self_attn.")
        x = x + feed_forward(rms_norm(x, w[prefix + "post_attention_layernorm.weight"]), w, prefix + "mlp.")
    logits = rms_norm(x, w["model.norm.weight"]) @ w["lm_head.weight"].T
    log_probability = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    return -log_probability.gather(-1, targets[..., None]).mean()


def loss_and_gradients(case, w, tokens, targets):
    loss = mean_loss(case, w, tokens, targets)
    return loss.item(), dict(zip(w, torch.autograd.grad(loss, list(w.values()))))


# --- the optimizers -------------------------------------------------------------------------------------------------

def single(x):
    """The double nearest to x's float32 rounding: miniGIFT keeps optimizer settings in single precision."""
    return float(numpy.float32(x))


BETA1, BETA2, ADAM_EPSILON, WEIGHT_DECAY = single(0.9), single(0.95), single(1e-8), single(0.1)
MOMENTUM, MUON_EPSILON, MUON_SCALE = single(0.95), single(1e-7), single(0.2)
COEFFICIENTS = (single(3.4445), single(-4.7750), single(2.0315))


class AdamW:
    """Decoupled weight decay (Loshchilov and Hutter 2019)."""

    def __init__(self, weight):
        self.first, self.second, self.step = torch.zeros_like(weight), torch.zeros_like(weight), 0

    def update(self, weight, gradient):
        self.step += 1
        self.first = BETA1 * self.first + (1 - BETA1) * gradient
        self.second = BETA2 * self.second + (1 - BETA2) * gradient**2
        first = self.first / (1 - BETA1**self.step)
        second = self.second / (1 - BETA2**self.step)
        return weight * (1 - LEARNING_RATE * WEIGHT_DECAY) - LEARNING_RATE * first / (second.sqrt() + ADAM_EPSILON)


class Muon:
    """Momentum orthogonalised by five Newton-Schulz steps (Jordan 2024), scaled as in Moonlight (Liu et al. 2025)."""

    def __init__(self, weight):
        self.momentum = torch.zeros_like(weight)

    def update(self, weight, gradient):
        self.momentum = MOMENTUM * self.momentum + gradient
        x = gradient + MOMENTUM * self.momentum  # Nesterov
        rows, columns = x.shape
        if rows > columns:
            x = x.T
        x = x / (x.norm() + MUON_EPSILON)
        a, b, c = COEFFICIENTS
        for _ in range(5):
            s = x @ x.T
            x = a * x + (b * s + c * s @ s) @ x
        if rows > columns:
            x = x.T
        scale = MUON_SCALE * math.sqrt(max(rows, columns))
        return weight * (1 - LEARNING_RATE * WEIGHT_DECAY) - LEARNING_RATE * scale * x


def loss_curve(case, optimizer):
    """Losses before each of STEPS updates on the same batch, and the gradient norms before clipping."""
    w = initial_weights(case)
    tokens, targets = hashed_tokens(case)
    hidden = [name for name in w if "_proj." in name]
    state = {name: Muon(w[name]) if optimizer == "muon" and name in hidden else AdamW(w[name]) for name in w}
    losses, norms = [], []
    for _ in range(STEPS):
        loss, gradients = loss_and_gradients(case, w, tokens, targets)
        norm = math.sqrt(sum(g.square().sum().item() for g in gradients.values()))
        factor = min(1.0, CLIP_NORM / norm)
        w = {name: state[name].update(w[name].detach(), factor * gradients[name]).requires_grad_() for name in w}
        losses.append(loss)
        norms.append(norm)
    return losses, norms


# --- comparison with another implementation -------------------------------------------------------------------------

def compare_with_transformers(case, loss, gradients):
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError:
        print("  transformers is not installed: no cross-check")
        return
    config = LlamaConfig(
        vocab_size=case["vocabulary"], hidden_size=case["hidden"], intermediate_size=case["feed_forward"],
        num_hidden_layers=case["layers"], num_attention_heads=case["heads"], num_key_value_heads=case["kv_heads"],
        rms_norm_eps=RMS_EPSILON, hidden_act="silu", tie_word_embeddings=False, max_position_embeddings=case["T"],
        attn_implementation="eager")
    other = LlamaForCausalLM(config).double()
    other.load_state_dict({name: weight.detach() for name, weight in initial_weights(case).items()})
    tokens, targets = hashed_tokens(case)
    logits = other(input_ids=tokens).logits.double()
    other_loss = torch.nn.functional.cross_entropy(logits.reshape(-1, case["vocabulary"]), targets.reshape(-1))
    other_loss.backward()
    worst = max(
        ((parameter.grad - gradients[name]).norm() / gradients[name].norm()).item()
        for name, parameter in other.named_parameters())
    # LlamaForCausalLM computes its rotary angles and norms in float32 whatever the parameters' type.
    print(f"  transformers: loss differs by {abs(other_loss.item() - loss):.1e}, "
          f"gradients by at most {worst:.1e} (relative L2, worst tensor)")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="compare with the stored files, write nothing")
    check = arguments.parse_args().check
    torch.set_num_threads(1)

    index = {"format": 1, "steps": STEPS, "learning_rate": LEARNING_RATE, "clip_norm": CLIP_NORM,
             "rms_epsilon": RMS_EPSILON, "rope_theta": ROPE_THETA, "token_stream": TOKEN_STREAM, "cases": {}}
    data = []
    offset = 0
    for case_name, case in CASES.items():
        print(case_name, case)
        w = initial_weights(case)
        loss, gradients = loss_and_gradients(case, w, *hashed_tokens(case))
        print(f"  loss {loss:.12f}")
        compare_with_transformers(case, loss, gradients)
        entry = {"shape": case, "loss": loss, "gradients": [], "curves": {}}
        for name, gradient in gradients.items():
            values = gradient.detach().numpy().astype("<f8").ravel()
            entry["gradients"].append({"name": name, "shape": list(gradient.shape), "offset": offset})
            data.append(values)
            offset += values.size
        for optimizer in ("adamw", "muon"):
            losses, norms = loss_curve(case, optimizer)
            entry["curves"][optimizer] = {"loss": losses, "gradient_norm": norms}
            print(f"  {optimizer}: loss {losses[0]:.6f} -> {losses[-1]:.6f}, gradient norm {norms[0]:.3f}")
        index["cases"][case_name] = entry
    data = numpy.concatenate(data)

    if check:
        stored = numpy.fromfile(FOLDER / "golden.bin", dtype="<f8")
        difference = numpy.linalg.norm(stored - data) / numpy.linalg.norm(data)
        stored_index = json.loads((FOLDER / "golden.json").read_text())
        curves = max(
            abs(a - b)
            for case in CASES for optimizer in ("adamw", "muon")
            for a, b in zip(index["cases"][case]["curves"][optimizer]["loss"],
                            stored_index["cases"][case]["curves"][optimizer]["loss"]))
        print(f"stored gradients differ by {difference:.1e} (relative L2), stored curves by {curves:.1e}")
        return 0 if difference < 1e-12 and curves < 1e-10 else 1
    data.tofile(FOLDER / "golden.bin")
    (FOLDER / "golden.json").write_text(json.dumps(index, indent=1) + "\n")
    print(f"wrote {data.nbytes} bytes of gradients")
    return 0


if __name__ == "__main__":
    sys.exit(main())
