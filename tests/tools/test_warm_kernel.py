"""A forked kernel is as empty as another one, can be interrupted, and ends when it is
told to."""

from collections.abc import Iterator

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from tools import warm_kernel

NAMES = "'pandas' in globals(), 'pandas' in sys.modules, 'course' in sys.modules"


@pytest.fixture
def kernel() -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager, client = start_new_kernel()
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel()
    assert not manager.is_alive()


@pytest.mark.skipif(not warm_kernel.FORKS, reason="no process can be forked here")
def test_a_forked_kernel_is_empty_and_can_be_interrupted(kernel):
    manager, client = kernel
    assert isinstance(manager.provisioner, warm_kernel.Forked)
    told = []
    client.execute_interactive(
        f"import sys; print({NAMES})",
        output_hook=lambda message: told.append(message["content"].get("text")),
    )
    assert "False True False\n" in told
    client.execute("import time; print('It runs.', flush=True); time.sleep(60)")
    while "It runs." not in client.get_iopub_msg(timeout=10)["content"].get("text", ""):
        pass
    manager.interrupt_kernel()
    assert client.get_shell_msg(timeout=10)["content"]["ename"] == "KeyboardInterrupt"
