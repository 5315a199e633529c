"""Layer 7: AppArmor, where the host has it and the profile is loaded."""
import ahead
from cell import all_are, bash, claim, python


@claim("apparmor-entered", "Programs run under the profile snapcell-cell, forks of others under snapcell-forkable, and so does all that "
       "comes from them.", ["apparmor"], needs=["apparmor"])
def test_entered():
    labels = bash("read a < /proc/self/attr/current; echo $a; bash -c 'cat /proc/self/attr/current'").stdout.splitlines()
    assert labels == ["snapcell-%s (enforce)" % ("forkable" if ahead.START == "forked" else "cell")] * 2, labels


@claim("apparmor-no-way-back", "A program cannot leave its profile.", ["apparmor"], needs=["apparmor"])
def test_no_way_back():
    said = python("for f in ('current', 'exec'):\n    for p in ('/proc/self/attr/', '/proc/thread-self/attr/apparmor/'):\n"
                  "        try:\n            open(p + f, 'w').write(('changeprofile ' if f == 'current' else 'exec ') + 'unconfined')\n"
                  "            print('left')\n        except OSError:\n            print('kept')")
    assert said.stdout == "kept\n" * 4, said.describe()


@claim("apparmor-programs-work", "Under the profile, files, programs, sockets and signals of a cell work as without it.", ["apparmor"],
       needs=["apparmor"])
def test_twins(probes):
    all_are(probes.run("paths", ["exec_copy=/tmp/copy", "create=/home/user/f", "read=/etc/passwd", "mkfifo=/tmp/p"]), "ok")
    all_are(probes.run("network", ["own_tcp", "own_abstract", "socketpair"]), "ok")
    all_are(probes.run("others", ["child_kill", "self_prlimit"]), "ok")
