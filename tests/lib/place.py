"""Where tests run: as root, or as an ordinary user with copies of binary and tests that it may read."""
import json
import os
import pwd
import re
import shutil
import subprocess
import tempfile

USER = "snapcell-test"
# What a host may lack for an ordinary user without that being our bug; anything else a run asks for is.
ACCEPTABLE = {"memory", "cpu", "cpus", "apparmor"}


class Place:
    """A build and a test tree as one user sees them."""

    def __init__(self, name, snapcell, build, tests, user=None):
        self.name, self.snapcell, self.build, self.tests, self.user = name, snapcell, build, tests, user
        self.degraded = ""

    def environment(self):
        env = dict(os.environ, SNAPCELL=self.snapcell, SNAPCELL_BUILD=self.build, PYTHONDONTWRITEBYTECODE="1",
                   SNAPCELL_TEST_DEGRADED=self.degraded)
        if self.user:
            env.update(HOME=self.user.pw_dir, USER=self.user.pw_name, LOGNAME=self.user.pw_name)
            # The group configured for root's cells is not this user's.
            env.pop("SNAPCELL_CGROUP_PARENT", None)
        return env

    def identity(self):
        """Arguments for subprocess that make the child this user."""
        if not self.user:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid,
                "extra_groups": os.getgrouplist(self.user.pw_name, self.user.pw_gid)}

    def scratch(self):
        folder = tempfile.mkdtemp(prefix="snapcell-tests-")
        if self.user:
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)
        return folder

    def find_degraded(self):
        """What has to be accepted for a run to start here: asked by running, as a user would learn it."""
        accepted = []
        for _ in range(len(ACCEPTABLE) + 1):
            line = [self.snapcell, "run", "--json"]
            if accepted:
                line += ["--allow-degraded", ",".join(accepted)]
            ran = subprocess.run(line + ["--", "/bin/true"], capture_output=True, text=True, cwd="/",
                                 env=self.environment(), **self.identity())
            trouble = ran.stderr
            if ran.returncode == 125 and ran.stdout.startswith("{"):
                trouble += json.loads(ran.stdout).get("message", "")
            asked = re.search(r"--allow-degraded[ =]([a-z_,-]+)", trouble)
            fresh = [x for x in asked.group(1).split(",") if x in ACCEPTABLE and x not in accepted] if asked else []
            if ran.returncode != 125 or not fresh:
                break
            accepted += fresh
        self.degraded = ",".join(accepted)
        return self.degraded


class TestUser:
    """The ordinary user that tests run as: made when it is not there, and then removed at the end."""

    def __enter__(self):
        self.made = False
        try:
            pwd.getpwnam(USER)
        except KeyError:
            subprocess.run(["useradd", "--create-home", "--system", "--shell", "/bin/bash", USER], check=True)
            self.made = True
        return pwd.getpwnam(USER)

    def __exit__(self, *_):
        if self.made:
            subprocess.run(["userdel", "--remove", USER], stderr=subprocess.DEVNULL, check=False)


def copy_for(user, build, tests):
    """A Place below /tmp that `user` can read, whatever the checkout's permissions are."""
    folder = tempfile.mkdtemp(prefix="snapcell-for-user-")
    os.chmod(folder, 0o755)
    own_build = os.path.join(folder, "build")
    for name in ("src/cli/snapcell", "src/snapcell-mutant", "tests/soak/soak-many"):
        if os.path.exists(os.path.join(build, name)):
            os.makedirs(os.path.dirname(os.path.join(own_build, name)), exist_ok=True)
            shutil.copy(os.path.join(build, name), os.path.join(own_build, name))
    shutil.copytree(tests, os.path.join(folder, "tests"), ignore=shutil.ignore_patterns("unit", "vm", "__pycache__"))
    # tests/cli tells their stories.
    shutil.copytree(os.path.join(tests, "..", "examples"), os.path.join(folder, "examples"), ignore=shutil.ignore_patterns("out"))
    # tests/clients tests the SDKs from their sources.
    shutil.copytree(os.path.join(tests, "..", "sdk"), os.path.join(folder, "sdk"), ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache", "node_modules"))
    # tests/faults reads which stages there are, and what verifies them.
    shutil.copytree(os.path.join(tests, "..", "src", "cell"), os.path.join(folder, "src", "cell"))
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    place = Place("user", os.path.join(own_build, "src/cli/snapcell"), own_build, os.path.join(folder, "tests"), user)
    place.folder = folder
    return place
