"""Programs that people use, as they are: they need no setting for any of this."""
import json
import os
import shutil
import subprocess
import tarfile
import zipfile

from test_rules import out

RULES = ["--allow", "allowed.test"]


def test_curl(cells, lab):
    result = cells.result(*RULES, "--", "curl", "-sS", "http://allowed.test/hello")
    assert result["stdout"] == "origin-ok 198.51.100.10 80 allowed.test", result
    # With the lab's own authority; the certificate is checked from end to end.
    result = cells.result(*RULES, "--file", os.path.join(lab.folder, "cert.pem"), "--", "curl", "-sS", "--cacert", "cert.pem", "https://allowed.test/hello")
    assert result["stdout"] == "origin-ok 198.51.100.10 443 allowed.test", result
    result = cells.result(*RULES, "--", "curl", "-sS", "http://denied.test/hello")
    assert result["exit_code"] == 6 and "Could not resolve host" in result["stderr"]


def test_node_fetch(cells):
    result = cells.result(*RULES, "--node", "-c", "fetch('http://allowed.test/hello').then(r => r.text()).then(console.log);"
                          "fetch('http://denied.test/hello').catch(e => console.error(e.cause.code));")
    # Node 18 also warns that its fetch is new.
    assert result["stdout"] == "origin-ok 198.51.100.10 80 allowed.test\n" and "ENOTFOUND\n" in result["stderr"], result


def test_git_over_http(cells, lab, tmp_path):
    work, bare = str(tmp_path / "work"), os.path.join(lab.folder, "repo.git")
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    os.mkdir(work)
    with open(os.path.join(work, "a.txt"), "w", encoding="ascii") as f:
        f.write("from the origin\n")
    for line in (["init", "-q", work], ["-C", work, "add", "."], ["-C", work, *who, "commit", "-qm", "one"],
                 ["clone", "-q", "--bare", work, bare], ["-C", bare, "update-server-info"]):
        subprocess.run(["git", *line], check=True, env=env)
    result = cells.result(*RULES, "--bash", "-c", "git clone -q http://allowed.test/repo.git && cat repo/a.txt")
    assert result["stdout"] == "from the origin\n", result
    result = cells.result(*RULES, "--bash", "-c", "git clone -q http://denied.test/repo.git")
    assert result["status"] == "error" and "Could not resolve host" in result["stderr"]


def test_pip_from_an_index(cells, lab):
    index = os.path.join(lab.folder, "simple", "small")
    os.makedirs(index)
    wheel = os.path.join(index, "small-1.0-py3-none-any.whl")
    with zipfile.ZipFile(wheel, "w") as z:
        z.writestr("small.py", "print('installed')\n")
        z.writestr("small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        z.writestr("small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("small-1.0.dist-info/RECORD", "small.py,,\nsmall-1.0.dist-info/METADATA,,\nsmall-1.0.dist-info/WHEEL,,\nsmall-1.0.dist-info/RECORD,,\n")
    with open(os.path.join(index, "index.html"), "w", encoding="ascii") as f:
        f.write('<a href="small-1.0-py3-none-any.whl">small-1.0-py3-none-any.whl</a>')
    result = cells.result(*RULES, "--bash", "-c",
                          "/usr/bin/python3 -m pip install -q --disable-pip-version-check --target pkgs --index-url http://allowed.test/simple/ "
                          "--trusted-host allowed.test small && PYTHONPATH=pkgs /usr/bin/python3 -c 'import small'")
    assert result["stdout"] == "installed\n", result


def test_npm_from_a_registry(cells, lab):
    folder = os.path.join(lab.folder, "package")
    os.makedirs(folder)
    with open(os.path.join(folder, "package.json"), "w", encoding="ascii") as f:
        json.dump({"name": "small", "version": "1.0.0", "main": "index.js"}, f)
    with open(os.path.join(folder, "index.js"), "w", encoding="ascii") as f:
        f.write("console.log('installed');\n")
    with tarfile.open(os.path.join(lab.folder, "small-1.0.0.tgz"), "w:gz") as tar:
        tar.add(folder, "package")
    shutil.rmtree(folder)
    with open(os.path.join(lab.folder, "small"), "w", encoding="ascii") as f:
        json.dump({"name": "small", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "small", "version": "1.0.0", "dist": {"tarball": "http://allowed.test/small-1.0.0.tgz"}}}}, f)
    result = cells.result(*RULES, "--bash", "-c", "npm install --silent --no-audit --no-fund --registry http://allowed.test/ small && node -e 'require(\"small\")'")
    assert result["stdout"].endswith("installed\n"), result


def test_python_from_any_thread(cells):
    result = cells.python(RULES, """
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(set(x[:9] for x in pool.map(lambda _: get("http://allowed.test/hello"), range(40))))
""")
    assert out(result) == ["{'origin-ok'}"]
