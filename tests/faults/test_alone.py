"""What several layers hold, each of them holds alone: the others are left out of a test build, and the attempt is still
refused. With all of them left out it works, so the test can see a difference."""
import os

import pytest

import cell

PRIVILEGED = ["mount_tmpfs", "umount", "sethostname", "chroot", "pivot_root", "unshare=20000", "unshare=40000000", "setgroups",
              "swapoff", "acct", "reboot", "syslog"]
AGENT = ["kill=1", "attach=1", "read_memory=1", "affinity=1", "priority=1", "steal_fd=1"]


@pytest.fixture
def ask(mutant, probes, monkeypatch):
    """ask(stages left out, probe, attempts) → {attempt: answer}"""
    monkeypatch.setattr(cell, "SNAPCELL", mutant)

    def asked(without, probe, attempts, *options):
        monkeypatch.setenv("SC_MUTANT", without)
        return probes.run(probe, attempts, *options)
    return asked


def test_namespaces_by_the_filter(ask):
    cell.all_are(ask("vacant,domain", "calls", ["userns_mount"]), "EPERM")


def test_namespaces_by_their_number(ask):
    """The cell's own user namespace allows none below it."""
    cell.all_are(ask("filter,vacant,domain", "calls", ["userns_mount"]), "ENOSPC")


def test_calls_bite_without_the_filter(ask):
    cell.all_are(ask("filter", "calls", ["keyctl", "add_key", "personality", "old_aio"]), "ok")


def test_privileges_by_capabilities(ask):
    cell.all_are(ask("filter,vacant,domain", "calls", PRIVILEGED), "EPERM")


if os.geteuid() == 0:  # an ordinary user has no second id, and may have no group
    def test_agent_by_its_id(ask):
        cell.all_are(ask("filter,domain", "others", AGENT), "EPERM")
        cell.all_are(ask("filter,domain", "others", ["mem_read=1", "environ=1", "root=1"]), "EACCES")

    def test_tasks_by_the_group(ask):
        assert ask("limits", "limits", ["forks=40"], "--tasks", "20") == {"forks=40": "EAGAIN"}


def test_tasks_by_the_process_limit(ask):
    assert ask("group", "limits", ["forks=60"], "--tasks", "20") == {"forks=60": "EAGAIN"}


def test_sockets_by_the_network_namespace(ask):
    """Without the filter a raw socket takes a capability, and nothing outside has a route."""
    got = ask("filter", "network", ["socket=2,3,1", "socket=17,3,0", "route=198.51.100.1", "other_interface"])
    assert list(got.values()) == ["EPERM", "EPERM", "ENETUNREACH", "ENODEV"], got


if cell.landlock_abi() >= 6:
    def test_agents_signals_by_landlock(ask):
        """Under the agent's own id, without the filter: only the domain stands between a program and the agent."""
        cell.all_are(ask("filter,program_ids", "others", ["kill=1", "stop=1"]), "EPERM")
        cell.all_are(ask("filter,program_ids,domain", "others", ["signal_zero=1"]), "ok")


def test_agents_memory_by_not_being_dumpable(ask):
    cell.all_are(ask("filter,program_ids,domain", "others", ["attach=1", "read_memory=1"]), "EPERM")
    cell.all_are(ask("filter,program_ids,domain", "others", ["mem_read=1", "maps=1"]), "EACCES")


if os.environ.get("SNAPCELL_TEST_APPARMOR") == "1":
    def test_tracing_by_apparmor(ask):
        cell.all_are(ask("filter", "calls", ["ptrace_child"]), "EACCES")
        cell.all_are(ask("filter,apparmor", "calls", ["ptrace_child"]), "ok")
