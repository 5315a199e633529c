"""`snapcell template`: recipes of cells, what is built for them, and images that mean harm."""
import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
import zipfile

import pytest

BUILT_IN = ["bash", "native", "node", "pytest", "python", "python-data"]


class Templates:
    """A user's folder and a store of the test's own."""

    def __init__(self, cli, folder):
        self.cli = cli
        self.folder = folder / "templates"
        self.store = folder / "store"
        self.folder.mkdir()
        self.env = dict(os.environ, SNAPCELL_TEMPLATES=str(self.folder), SNAPCELL_STORE=str(self.store),
                        PIP_NO_INDEX="1", PIP_CONFIG_FILE="/dev/null")

    def __call__(self, word, *args, **more):
        more.setdefault("env", self.env)
        options = self.cli.accept if word in ("build", "test", "import") else []
        return self.cli("template", word, *args, *options, **more)

    def write(self, name, **recipe):
        (self.folder / (name + ".json")).write_text(json.dumps(recipe))

    def ls(self):
        done = self("ls", "--json")
        assert (done.returncode, done.stderr) == (0, b"")
        return {entry["name"]: entry for entry in json.loads(done.stdout)}

    def show(self, name):
        done = self("show", name)
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        return json.loads(done.stdout)

    def run(self, name, *args, **more):
        return self.cli("run", *self.cli.accept, "--template", name, *args, env=self.env, **more)

    def built(self, name):
        """Content hashes of what is there, the link, and what should not be left."""
        return sorted(x for x in os.listdir(self.store / "templates" / name) if x != ".lock")


@pytest.fixture
def templates(cli, tmp_path):
    return Templates(cli, tmp_path)


def message(done):
    return done.stderr.decode(errors="replace")


# ---- what there is ----

def test_the_built_in_ones_are_listed(templates):
    found = templates.ls()
    assert sorted(found) == BUILT_IN
    assert {entry["state"] for entry in found.values()} == {"ready"}
    assert {entry["source"] for entry in found.values()} == {"built in"}
    lines = templates("ls").stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["NAME"] + BUILT_IN


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_one_works(templates, name):
    shown = templates.show(name)
    assert shown["root"] == {"kind": "host"} and shown["description"] and shown["prelude"]["imports"]
    needs = {"node": "node", "native": "cc", "pytest": "pytest", "python-data": "pandas"}.get(name)
    done = templates("test", name)
    if done.returncode == 1 and needs and not has(needs):
        pytest.skip("the host has no " + needs)
    assert done.returncode == 0, message(done)
    assert message(done) == "snapcell: template %s: works\n" % name


def has(what):
    if what in ("pytest", "pandas"):
        return subprocess.run(["/usr/bin/python3", "-c", "import " + what], capture_output=True, check=False).returncode == 0
    return any(os.access(os.path.join(folder, what), os.X_OK) for folder in ("/usr/bin", "/usr/local/bin"))


def test_names_and_words(templates):
    for args in (["x"], [], ["show"], ["show", "a", "b"], ["ls", "a"], ["show", "../x"], ["show", "none"], ["rm", "none"],
                 ["rm", "python"], ["test", "none"], ["build", "A"], ["import", "x"], ["import", "python", "/"],
                 ["import", "x", "/not/there"], ["ls", "--python"]):
        done = templates.cli("template", *args, env=templates.env)
        assert (done.returncode, done.stdout) == (2, b""), (args, done.stderr)
        assert done.stderr.startswith(b"snapcell: ") and done.stderr.count(b"\n") == 1
    assert b"snapcell template ls" in templates.run("none", "--python", "-c", "1").stderr


# ---- defaults ----

def test_a_template_fills_in_what_is_not_said(templates):
    templates.write("mine", language="python", environment={"A": "template", "B": "template"},
                    limits={"wall_ms": 7000, "tasks": 33},
                    prelude={"files": [{"path": "data/a", "content": "from template"}, {"path": "b", "content": "b"}]})
    code = "import os; print(os.environ['A'], os.environ['B'], open('data/a').read(), open('b').read())"
    done = templates.run("mine", "--env", "A=request", "-c", code)
    assert done.stdout == b"request template from template b\n", message(done)
    (templates.folder / "b2").write_text("request's")
    done = templates.run("mine", "--file", str(templates.folder / "b2") + ":b", "-c", "print(open('b').read())")
    assert done.stdout == b"request's\n", message(done)

    def limits(*options, request=None):
        spec = []
        if request:
            path = templates.folder / "request"
            path.write_text(json.dumps(request))
            spec = ["--spec", str(path)]
        plan = templates.cli("plan", *templates.cli.accept, "--json", *spec, *options, env=templates.env)
        assert plan.returncode == 0, message(plan)
        found = json.loads(plan.stdout)["limits"]
        return found["wall"], found["tasks"]

    said = ["--template", "mine", "-c", "1"]
    assert limits(*said) == ("7s", "33")
    assert limits(*said, "--tasks", "128") == ("7s", "128"), "a standard value that was said counts"
    assert limits("-c", "1", request={"template": "mine", "limits": {"wall_ms": 5000}}) == ("5s", "33")
    assert limits("-c", "1", "--python") == ("5s", "128")


def test_a_session_has_a_template(templates, keepers, monkeypatch):
    for name in ("SNAPCELL_TEMPLATES", "SNAPCELL_STORE"):
        monkeypatch.setenv(name, templates.env[name])
    templates.write("mine", environment={"A": "template"}, limits={"tasks": 40, "wall_ms": 8000},
                    prelude={"files": [{"path": "a", "content": "file"}]})
    keeper = keepers()
    session = keeper.start("--template", "mine", "--tasks", "50")
    said = keeper.python(session, "import os; print(os.environ['A'], open('a').read())")
    assert said.stdout == b"template file\n", said.stderr
    keeper("end", session)
    done = keeper("start", *keeper.cli.accept, "--template", "none")
    assert done.returncode == 2 and b"there is none" in done.stderr


def test_rich_runs_and_requests_in_json(templates):
    templates.write("mine", language="python", environment={"A": "1"})
    path = templates.folder / "r"
    path.write_text(json.dumps({"template": "mine", "code": "import os; os.environ['A']", "mode": "rich"}))
    done = templates.cli("run", *templates.cli.accept, "--json", "--spec", str(path), env=templates.env)
    assert json.loads(done.stdout)["value"]["text/plain"] == "'1'"


def test_a_folder_as_root(templates, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "made").write_text("for the test")
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to("usr/" + name)
    (root / "usr").mkdir()
    templates.write("mine", root={"kind": "directory", "path": "../root"}, language="native")
    plan = templates.cli("plan", *templates.cli.accept, "--json", "--template", "mine", "--", "x", env=templates.env)
    assert any(mount["path"] == "/made" for mount in json.loads(plan.stdout)["template"])
    os.rename(root, tmp_path / "elsewhere")
    assert templates.ls()["mine"]["state"] == "broken"


# ---- broken ones ----

def test_a_prelude_that_raises(templates):
    templates.write("bad", language="python", prelude={"imports": ["json"], "code": "x = 1\nraise ValueError('of the prelude')\n"})
    templates.write("good", language="python", prelude={"code": "x = 1"})
    done = templates("test", "bad")
    assert done.returncode == 1
    assert "ValueError: of the prelude" in message(done) and 'File "<prelude>", line 2' in message(done)
    found = templates.ls()
    assert found["bad"]["state"] == "broken" and "ValueError: of the prelude" in found["bad"]["reason"]
    assert found["good"]["state"] == "ready"
    assert templates("test", "good").returncode == 0
    told = templates("test", "bad", "--json")
    assert told.returncode == 1 and "of the prelude" in json.loads(told.stdout)["reason"]
    # Mended, it is ready again.
    templates.write("bad", language="python", prelude={"imports": ["json"]})
    assert templates("test", "bad").returncode == 0
    assert templates.ls()["bad"]["state"] == "ready"


@pytest.mark.parametrize("language, prelude, said", [
    ("python", {"imports": ["a_module_that_is_not_there"]}, "No module named 'a_module_that_is_not_there'"),
    ("python", {"code": "def"}, "SyntaxError"),
    ("python", {"code": "import sys; sys.exit(3)"}, "SystemExit: 3"),
    ("python", {"code": "import time; time.sleep(100)"}, "wall-clock limit"),
    # Where processor time is limited for each process only, it may be up first.
    ("python", {"code": "while True: pass"}, ("wall-clock limit", "processor time")),
    ("node", {"imports": ["not-there"]}, "Cannot find module 'not-there'"),
    ("node", {"code": "throw new Error('of the prelude')"}, "of the prelude"),
    ("bash", {"imports": ["not-there"]}, "no such command"),
    ("bash", {"code": "false"}, "exited with 1"),
])
def test_what_a_prelude_says(templates, language, prelude, said):
    if language == "node" and not has("node"):
        pytest.skip("the host has no node")
    templates.write("bad", language=language, prelude=prelude, limits={"wall_ms": 3000})
    done = templates("test", "bad")
    words = said if isinstance(said, tuple) else (said,)
    assert done.returncode == 1 and any(x in message(done) for x in words), message(done)


@pytest.mark.parametrize("text, field", [
    ("{", "request"), ("[]", "request"), ('{"a":1}', "a"), ('{"root":{"kind":"zip"}}', "root.kind"),
    ('{"root":{"kind":"directory"}}', "root"), ('{"root":{"kind":"host","path":"/x"}}', "root.path"),
    ('{"root":{"kind":"packages","packages":["--x"]}}', "root.packages[0]"), ('{"name":"other"}', "name"),
    ('{"pool":{"idle":-1}}', "pool.idle"), ('{"prelude":{"import":[]}}', "prelude.import"),
    ('{"limits":{"wall_ms":1}}', "limits.wall_ms"), ('{"prelude":{"imports":["-c"]}}', "prelude.imports[0]")])
def test_a_broken_file_disturbs_no_other(templates, text, field):
    (templates.folder / "bad.json").write_text(text)
    templates.write("good", language="python")
    found = templates.ls()
    assert found["bad"]["state"] == "broken" and field in found["bad"]["reason"]
    assert found["good"]["state"] == "ready" and len(found) == len(BUILT_IN) + 2
    done = templates("show", "bad")
    assert done.returncode == 2 and field in message(done)
    assert templates.run("good", "-c", "print(1)").stdout == b"1\n"
    assert templates("rm", "bad").returncode == 0 and "bad" not in templates.ls()


# ---- requirements ----

def make_wheel(folder, version="1.0", text="value = 1\n"):
    name = "made_up-%s-py3-none-any.whl" % version
    files = {"made_up.py": text,
             "made_up-%s.dist-info/METADATA" % version: "Metadata-Version: 2.1\nName: made-up\nVersion: %s\n" % version,
             "made_up-%s.dist-info/WHEEL" % version: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "made_up-%s.dist-info/RECORD" % version
    files[record] = "".join("%s,,\n" % x for x in [*files, record])
    with zipfile.ZipFile(folder / name, "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    return name


@pytest.fixture
def pip():
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("the host's python3 has no pip")


@pytest.mark.usefixtures("pip")
def test_requirements_are_built_once(templates):
    wheel = make_wheel(templates.folder)
    (templates.folder / "requirements.txt").write_text("./%s  # ours\n" % wheel)
    templates.write("mine", language="python", requirements="requirements.txt", prelude={"imports": ["made_up"]})
    assert templates.ls()["mine"]["state"] == "not built"
    code = "import made_up; print(made_up.value)"
    early = templates.run("mine", "-c", code)
    assert early.returncode == 2 and b"template build mine" in early.stderr
    done = templates("build", "mine")
    assert (done.returncode, message(done)) == (0, "snapcell: template mine: built\n")
    assert templates.run("mine", "-c", code).stdout == b"1\n"
    assert templates("test", "mine").returncode == 0
    assert templates.show("mine")["up_to_date"] is True
    first = templates.built("mine")
    again = templates("build", "mine")
    assert message(again) == "snapcell: template mine: is built already\n" and templates.built("mine") == first
    # Another content is another build. Until it is there, and when it fails, the one before is used.
    make_wheel(templates.folder, text="value = 2\n")
    assert templates.show("mine")["up_to_date"] is False
    assert templates.run("mine", "-c", code).stdout == b"1\n"
    (templates.folder / wheel).write_bytes(b"no wheel")
    failed = templates("build", "mine")
    assert failed.returncode == 125, message(failed)
    assert templates.built("mine") == first and templates.run("mine", "-c", code).stdout == b"1\n"
    make_wheel(templates.folder, text="value = 2\n")
    assert templates("build", "mine").returncode == 0
    assert templates.run("mine", "-c", code).stdout == b"2\n"
    assert len(templates.built("mine")) == 3, "the one before stays for cells that use it"
    assert templates("rm", "mine").returncode == 0
    assert os.listdir(templates.store / "templates") == []


@pytest.mark.parametrize("line", ["-e .", "-r other.txt", "--requirement=other.txt", "-c x", "./folder", "folder/", "x @ file:///x",
                                  "git+https://host/x", "six \\\n -e ./x", "pkg$HOME", "--no-binary :all:", "a/../../b.tar.gz",
                                  "six\x0c-e ./x", "--find-links=/x", "-f /x"])
def test_requirements_that_would_run_code_are_refused(templates, line):
    (templates.folder / "requirements.txt").write_text("six\n" + line + "\n")
    templates.write("mine", language="python", requirements="requirements.txt")
    done = templates("build", "mine")
    assert done.returncode == 2 and "requirements" in message(done), message(done)
    assert not (templates.store / "templates").exists() or templates.built("mine") == []


def test_what_cannot_be_fetched_is_told(templates):
    templates.write("mine", root={"kind": "packages", "packages": ["hello"]})
    done = templates("build", "mine", env=dict(templates.env, PATH="/nowhere"))
    assert done.returncode == 125 and "mmdebstrap" in message(done)
    assert templates.built("mine") == []


def test_packages_come_from_mmdebstrap(templates, tmp_path):
    """A program of that name in PATH: what it is asked, and that what it writes is taken as hostile."""
    tools = tmp_path / "tools"
    tools.mkdir()
    archive = tmp_path / "root.tar"
    with tarfile.open(archive, "w") as tar:
        add(tar, "./usr/bin/tool", b"#!x", mode=0o4755)
        add(tar, "./bin", kind=tarfile.SYMTYPE, link="usr/bin")
        add(tar, "./dev/null", kind=tarfile.CHRTYPE)
    script = tools / "mmdebstrap"
    script.write_text("#!/bin/sh\nprintf '%%s\\n' \"$@\" >%s/asked\ncat %s\n" % (tmp_path, archive))
    script.chmod(0o755)
    templates.write("mine", root={"kind": "packages", "packages": ["hello", "python3-six"], "suite": "bookworm"})
    done = templates("build", "mine", env=dict(templates.env, PATH="%s:/usr/bin:/bin" % tools))
    assert done.returncode == 0, message(done)
    asked = (tmp_path / "asked").read_text().split()
    assert "--include=hello,python3-six" in asked and asked[-2:] == ["bookworm", "-"]
    root = os.path.join(templates.show("mine")["built"], "root")
    assert os.readlink(root + "/bin") == "usr/bin" and os.stat(root + "/usr/bin/tool").st_mode & 0o7777 == 0o755
    assert not os.path.lexists(root + "/dev/null")


def test_modules_of_node(templates):
    if not has("npm") or not has("node"):
        pytest.skip("the host has no npm")
    (templates.folder / "package.json").write_text('{"name":"x","version":"1.0.0","private":true}')
    templates.write("mine", language="node", package_json="package.json")
    done = templates("build", "mine", env=dict(templates.env, npm_config_offline="true"))
    assert done.returncode == 0, message(done)
    assert templates.run("mine", "-c", "console.log(process.env.NODE_PATH)").stdout == b"/template/node_modules\n"


# ---- images ----

def add(tar, name, content=b"", kind=tarfile.REGTYPE, link="", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    tar.addfile(info, io.BytesIO(content) if info.size else None)


def layer(*members, compress=True):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, *rest in members:
            add(tar, name, *rest)
    return gzip.compress(data.getvalue()) if compress else data.getvalue()


FOLDER, LINK, HARD, DEVICE = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE


def make_layout(folder, *layers, spoil=False):
    """An OCI layout of these layers."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data + (b"x" if spoil else b""))
        return {"digest": "sha256:" + digest, "size": len(data)}

    manifest = {"schemaVersion": 2, "config": blob(b"{}"), "layers": [blob(x) for x in layers]}
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [blob(json.dumps(manifest).encode())]}))
    return folder


BASE = layer(("usr", b"", FOLDER), ("usr/lib/", b"", FOLDER), ("usr/lib/a", b"old a"), ("usr/lib/hard", b"", HARD, "usr/lib/a"),
             ("lib", b"", LINK, "usr/lib"), ("gone/x", b"x"), ("opaque/below", b"below"), ("tool", b"#!", tarfile.REGTYPE, "", 0o4755),
             ("made", b"made"))
UPPER = layer(("lib/a", b"new a"), (".wh.gone",), ("opaque/.wh..wh..opq",), ("opaque/above", b"above"), ("dev/sda", b"", DEVICE),
              ("abs", b"", LINK, "/usr/lib/a"), compress=False)


def tree_of(root):
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            short = os.path.relpath(path, root)
            if os.path.islink(path):
                found[short] = "-> " + os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[short] = file.read().decode()
    return found


WHOLE = {"usr/lib/a": "new a", "usr/lib/hard": "old a", "lib": "-> usr/lib", "opaque/above": "above", "tool": "#!", "made": "made",
         "abs": "-> /usr/lib/a"}


def pack(folder, path, mode="w"):
    with tarfile.open(path, mode) as tar:
        tar.add(folder, ".")
    return path


def test_an_image_is_imported(templates, tmp_path):
    layout = make_layout(tmp_path / "layout", BASE, UPPER)
    done = templates("import", "mine", str(layout))
    assert (done.returncode, message(done)) == (0, "snapcell: template mine: imported\n")
    shown = templates.show("mine")
    assert shown["root"] == {"kind": "image", "from": str(layout)} and shown["state"] == "ready"
    root = os.path.join(shown["built"], "root")
    assert tree_of(root) == WHOLE
    assert os.stat(root + "/tool").st_mode & 0o7777 == 0o755, "no set-user-ID bit"
    plan = templates.cli("plan", *templates.cli.accept, "--json", "--template", "mine", "--", "x", env=templates.env)
    assert any(mount["path"] == "/made" for mount in json.loads(plan.stdout)["template"])
    # The image may go; what was made of it stays.
    os.rename(layout, tmp_path / "elsewhere")
    assert templates.ls()["mine"]["state"] == "ready"
    assert templates("import", "mine", str(tmp_path / "elsewhere")).returncode == 2
    assert templates("rm", "mine").returncode == 0 and "mine" not in templates.ls()


def test_archives_are_imported_too(templates, tmp_path):
    layout = make_layout(tmp_path / "layout", BASE, UPPER)
    pack(layout, tmp_path / "oci.tar")
    pack(layout, tmp_path / "oci.tar.gz", "w:gz")
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "base.tar").write_bytes(gzip.decompress(BASE))
    (saved / "upper.tar").write_bytes(UPPER)
    (saved / "manifest.json").write_text(json.dumps([{"Config": "c.json", "Layers": ["base.tar", "upper.tar"]}]))
    pack(saved, tmp_path / "docker.tar")
    for i, name in enumerate(("oci.tar", "oci.tar.gz", "docker.tar")):
        done = templates("import", "mine%d" % i, str(tmp_path / name))
        assert done.returncode == 0, message(done)
        assert tree_of(os.path.join(templates.show("mine%d" % i)["built"], "root")) == WHOLE


def test_a_program_of_an_image_runs(templates, tmp_path):
    """With a static program of its own, and nothing of the host's."""
    if not has("gcc"):
        pytest.skip("the host has no gcc")
    source = tmp_path / "x.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts(fopen("/usr/bin/env", "r") ? "host" : "image"); return 0; }\n')
    subprocess.run(["gcc", "-static", "-o", tmp_path / "x", source], check=True)
    layout = make_layout(tmp_path / "layout", layer(("bin/x", (tmp_path / "x").read_bytes(), tarfile.REGTYPE, "", 0o755)))
    assert templates("import", "mine", str(layout)).returncode == 0
    done = templates.run("mine", "--", "/bin/x")
    assert done.stdout == b"image\n", message(done)


@pytest.mark.parametrize("members", [
    [("../beside", b"x")], [("a/../../beside", b"x")],
    [("hard", b"", HARD, "../../beside")], [("hard", b"", HARD, "/etc/passwd")], [("hard", b"", HARD, "missing")],
    [("loop", b"", LINK, "loop"), ("loop/x", b"x")], [("a", b"", LINK, "b"), ("b", b"", LINK, "a"), ("a/b/c", b"x")]])
def test_a_hostile_image_is_refused(templates, tmp_path, members):
    layout = make_layout(tmp_path / "layout", BASE, layer(*members))
    before = sorted(os.listdir(tmp_path))
    done = templates("import", "mine", str(layout))
    assert done.returncode == 125, message(done)
    assert "mine" not in templates.ls() and templates.built("mine") == []
    assert sorted(os.listdir(tmp_path)) == sorted(before + ["store"]) and not (tmp_path / "beside").exists()


def test_links_of_an_image_stay_in_it(templates, tmp_path):
    """What goes through a link lands where it would in the image, never on the host."""
    outside = tmp_path / "outside"
    outside.mkdir()
    layout = make_layout(tmp_path / "layout", layer(
        ("out", b"", LINK, str(outside)), ("out/x", b"evil"), ("up", b"", LINK, "../../../.."), ("up/y", b"evil"),
        ("etc", b"", LINK, "/etc"), ("etc/cron.d/z", b"evil")))
    done = templates("import", "mine", str(layout))
    assert os.listdir(outside) == [] and not os.path.exists("/etc/cron.d/z")
    if done.returncode == 0:
        found = tree_of(os.path.join(templates.show("mine")["built"], "root"))
        assert found[os.path.relpath(outside / "x", "/")] == "evil" and found["y"] == "evil"


def test_no_image(templates, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no archive")
    make_layout(tmp_path / "spoiled", BASE, spoil=True)
    zstd = make_layout(tmp_path / "zstd", b"\x28\xb5\x2f\xfd" + b"x" * 100)
    cut = make_layout(tmp_path / "cut", BASE[:100])
    for source in (tmp_path / "text", tmp_path / "spoiled", zstd, cut):
        done = templates("import", "mine", str(source))
        assert done.returncode == 125, (source, message(done))
        assert "mine" not in templates.ls()
    assert templates("import", "mine", str(tmp_path / "empty")).returncode == 2
    assert b"zstd" in templates("import", "mine", str(zstd)).stderr


# ---- the store ----

@pytest.fixture
def fetched():
    """Where a build that is killed leaves what it fetched; the user that fetches for root may go there."""
    with tempfile.TemporaryDirectory(prefix="snapcell-test-") as folder:
        os.chmod(folder, 0o755)
        yield folder


@pytest.mark.usefixtures("pip")
def test_a_build_that_is_killed_leaves_the_old_one(templates, fetched):
    wheel = make_wheel(templates.folder)
    (templates.folder / "requirements.txt").write_text("./%s\n" % wheel)
    templates.write("mine", language="python", requirements="requirements.txt")
    assert templates("build", "mine").returncode == 0
    before = templates.built("mine")
    make_wheel(templates.folder, text="value = 2\n")
    child = templates.cli.popen("template", "build", "mine", *templates.cli.accept, stderr=subprocess.DEVNULL,
                                env=dict(templates.env, TMPDIR=fetched))
    while ".build" not in templates.built("mine"):
        assert child.poll() is None
    child.kill()
    child.wait()
    code = "import made_up; print(made_up.value)"
    assert templates.run("mine", "-c", code).stdout == b"1\n"
    assert templates("build", "mine").returncode == 0
    assert templates.run("mine", "-c", code).stdout == b"2\n"
    assert len(templates.built("mine")) == 3 and set(before) < set(templates.built("mine"))


def test_a_store_that_others_may_write_to_is_refused(templates, tmp_path):
    layout = make_layout(tmp_path / "layout", BASE)
    assert templates("import", "mine", str(layout)).returncode == 0
    os.chmod(templates.store / "templates" / "mine", 0o777)
    assert templates.run("mine", "--", "/x").returncode != 0
    assert templates("build", "mine").returncode == 2
