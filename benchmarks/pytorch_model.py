#!/usr/bin/env python3
"""Forward and backward of the same Llama in PyTorch: the yardstick for model_benchmark.

Written the way PyTorch is fastest on a CPU: fused rms_norm, scaled_dot_product_attention, silu and cross_entropy,
contiguous linear layers, q/k/v and gate/up as one product each with --fused; BF16 through autocast. Prints the best and
the median of the repeats in tokens/s, and the least processor time, which a busy machine disturbs less.

    python3 pytorch_model.py --compute fp32 --repeats 5
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F


class Layer(torch.nn.Module):
    def __init__(self, hidden, heads, feed_forward, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        linear = lambda inputs, outputs: torch.nn.Linear(inputs, outputs, bias=False)
        self.input_norm = torch.nn.Parameter(torch.ones(hidden))
        self.mlp_norm = torch.nn.Parameter(torch.ones(hidden))
        if fused:
            self.qkv, self.gate_up = linear(hidden, 3 * hidden), linear(hidden, 2 * feed_forward)
        else:
            self.q, self.k, self.v = (linear(hidden, hidden) for _ in range(3))
            self.gate, self.up = (linear(hidden, feed_forward) for _ in range(2))
        self.o, self.down = linear(hidden, hidden), linear(feed_forward, hidden)

    def forward(self, x, cosine, sine):
        B, T, C = x.shape
        z = F.rms_norm(x, (C,), self.input_norm, 1e-5)
        q, k, v = self.qkv(z).chunk(3, dim=-1) if self.fused else (self.q(z), self.k(z), self.v(z))
        q, k, v = (t.reshape(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
        q, k = (turn(t, cosine, sine).to(v.dtype) for t in (q, k))
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(attention.transpose(1, 2).reshape(B, T, C))
        z = F.rms_norm(x, (C,), self.mlp_norm, 1e-5)
        gate, up = self.gate_up(z).chunk(2, dim=-1) if self.fused else (self.gate(z), self.up(z))
        return x + self.down(F.silu(gate) * up)


def turn(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


class Llama(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        self.embedding = torch.nn.Embedding(a.vocabulary, a.hidden)
        self.layers = torch.nn.ModuleList(Layer(a.hidden, a.heads, a.feed_forward, a.fused) for _ in range(a.layers))
        self.norm = torch.nn.Parameter(torch.ones(a.hidden))
        self.head = torch.nn.Linear(a.hidden, a.vocabulary, bias=False)
        half = a.hidden // a.heads // 2
        angle = torch.arange(a.sequence)[:, None] * 10000.0 ** (-torch.arange(half) / half)[None, :]
        self.register_buffer("cosine", angle.cos())
        self.register_buffer("sine", angle.sin())

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        logits = self.head(F.rms_norm(x, (x.shape[-1],), self.norm, 1e-5))
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for key, value in dict(layers=9, hidden=384, heads=6, feed_forward=1024, vocabulary=256, batch=4, sequence=512,
                           threads=1, repeats=5).items():
        parser.add_argument(f"--{key}", type=int, default=value)
    parser.add_argument("--compute", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--fused", action="store_true", help="one product for q, k, v and one for gate, up")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    model = Llama(a)
    call = torch.compile(model) if a.compile else model
    tokens = torch.randint(a.vocabulary, (a.batch, a.sequence + 1))
    seconds, processor_seconds = [], []
    for _ in range(a.repeats + 1):
        start, processor_start = time.perf_counter(), time.process_time()
        with torch.autocast("cpu", torch.bfloat16, enabled=a.compute == "bf16"):
            loss = call(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        seconds.append(time.perf_counter() - start)
        processor_seconds.append(time.process_time() - processor_start)
    rates = [a.batch * a.sequence / s for s in seconds[1:]]  # the first pass allocates
    print(f"torch {torch.__version__} {a.compute}{' fused' if a.fused else ''}{' compiled' if a.compile else ''}: "
          f"best {max(rates):.1f} tokens/s, median {statistics.median(rates):.1f}; "
          f"best processor time {1e3 * min(processor_seconds[1:]):.0f} ms")


if __name__ == "__main__":
    main()
