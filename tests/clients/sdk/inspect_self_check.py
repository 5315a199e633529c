"""Inspect's own checks of a sandbox provider, for pytest in an environment that has inspect_ai and this SDK."""
import os

import pytest
from inspect_ai.util._sandbox.self_check import *  # noqa: F403
from snapcell.adapters.inspect import SnapcellConfig, SnapcellSandboxEnvironment

# What a cell is not made for, with the reason.
KNOWN = {"test_exec_as_user": "there is no root and one user in a cell"}


@pytest.fixture
def anyio_backend():
    return "asyncio"


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.anyio)


pytestmark = pytest.mark.anyio


@pytest.fixture
async def sandbox_env(request):
    if request.node.originalname in KNOWN:
        request.node.add_marker(pytest.mark.xfail(reason=KNOWN[request.node.originalname], strict=True))
    degraded = os.environ.get("SNAPCELL_TEST_DEGRADED")
    config = SnapcellConfig(allow_degraded=degraded.split(",") if degraded else [])
    environments = await SnapcellSandboxEnvironment.sample_init("task", config, {})
    yield environments["default"]
    await SnapcellSandboxEnvironment.sample_cleanup("task", config, environments, False)
