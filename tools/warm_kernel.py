"""Fork kernels from a process that has imported what every lesson imports.

Of a lesson's seconds three went into these imports. Nothing of agentlib is among them.
A kernel's namespace is as empty as ever, so a notebook that forgets an import still
fails. Where a process can't be forked, kernels start as usual.
"""

import gc
import io
import multiprocessing
import os
import signal
import sys
import threading
from importlib.metadata import EntryPoint
from multiprocessing.context import ForkServerProcess
from typing import Any

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

IMPORTED = (
    "anthropic",
    "filelock",
    "ipykernel.kernelapp",
    "ipywidgets",
    "jinja2",
    "matplotlib.pyplot",
    "nbformat",
    "pandas",
    "rich.table",
)
NAME = "warm"
FORKS = "forkserver" in multiprocessing.get_all_start_methods()


def install() -> None:
    """Let all kernels of this process be forked, if that can be done here."""
    if FORKS:
        factory = KernelProvisionerFactory.instance()
        factory.provisioners[NAME] = EntryPoint(
            NAME, f"{__name__}:Forked", factory.GROUP_NAME
        )
        factory.default_provisioner_name = NAME
        # There is one such process for everything that this one forks.
        multiprocessing.set_forkserver_preload([*IMPORTED, __name__])


def pytest_collection_finish() -> None:
    """Serve as a plugin: `pytest -p tools.warm_kernel`."""
    install()


class Forked(LocalProvisioner):
    """Start a kernel by a fork in place of a command."""

    async def launch_kernel(self, cmd: list[str], **given: Any) -> Any:
        context = multiprocessing.get_context("forkserver")
        options = cmd[cmd.index("-f") :] if "-f" in cmd else []
        options = options or ["-f", self.parent.connection_file]
        child = context.Process(
            target=serve, args=(options, given["env"], given.get("cwd") or ".")
        )
        child.start()
        self.process = Popen(child)
        self.pid = child.pid
        self.pgid = child.pid
        return self.connection_info


class Popen:
    """A forked process as jupyter_client knows one."""

    stdin = stdout = stderr = None

    def __init__(self, child: ForkServerProcess) -> None:
        self.child = child

    def poll(self) -> int | None:
        return self.child.exitcode

    def wait(self) -> int | None:
        self.child.join()
        return self.child.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.child.pid, number)


def serve(options: list[str], environment: dict[str, str], folder: str) -> None:
    """Be a kernel until it is shut down."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.__stdout__ = io.StringIO()  # it would print how to connect
    end_with_parent()
    gc.freeze()  # what was imported is never looked at again
    gc.set_threshold(10_000, 20, 100)
    IPKernelApp.launch_instance(options)


def end_with_parent() -> None:
    """End this process as soon as the one that asked for it ends, however it does."""

    def follow() -> None:
        parent = multiprocessing.parent_process()
        assert parent
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
