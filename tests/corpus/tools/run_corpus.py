#!/usr/bin/env python3
"""Run a corpus tree through an adapter and judge every case. See ../README.md for the manifest and the adapter contract.

  run_corpus.py TREE --adapter 'python3 tools/adapter_bwrap.py' [--only RE] [--class NAME] [--have a,b] [--host-safe] [--lab] [--json OUT]
                [--time-scale X] [--disputed FILE] [--degraded memory,cpu] [--user NAME]

--time-scale multiplies every time limit and bound, for slow machines. --disputed names a file {case: {"reason": …}} of cases whose
expectation is thought wrong, and --degraded the limits that this host cannot hold: entries of the file that carry "only_without": [limit, …]
count only when one of those is named. Such cases are printed with their reason and not run. --user: started as root, the driver makes
the lab, then becomes that user and runs everything as it.
"""
import argparse, base64, ctypes, glob, io, json, os, pwd, random, re, signal, socket, subprocess, sys, tarfile, tempfile, threading, time, zipfile
from concurrent.futures import ThreadPoolExecutor

from corpus_host import LAB, Host, growth, lab_setup, procs_with, rd, rid, zombies

EXT = {"python": "py", "bash": "sh", "node": "js", "java": "java", "go": "go", "native": "bin"}
DEFAULT_LIMITS = {"wall_ms": 10000, "memory_mb": 256, "pids": 64, "disk_mb": 64, "inodes": 50000, "stdout_bytes": 1048576, "stderr_bytes": 1048576}

def subst(v, f):
    if isinstance(v, str):
        return re.sub(r"\{([A-Z][A-Z0-9_]*)\}", lambda m: f.get(m.group(1), m.group(0)), v)
    if isinstance(v, list):
        return [subst(x, f) for x in v]
    if isinstance(v, dict):
        return {subst(k, f): subst(x, f) for k, x in v.items()}
    return v

def make_archive(spec, path):
    if spec["format"] == "tar":
        with tarfile.open(path, "w") as t:
            for m in spec["members"]:
                i = tarfile.TarInfo(m["name"]); b = m.get("content", "").encode(); k = m.get("type", "file")
                i.type = {"file": tarfile.REGTYPE, "symlink": tarfile.SYMTYPE, "hardlink": tarfile.LNKTYPE, "char": tarfile.CHRTYPE, "fifo": tarfile.FIFOTYPE}[k]
                i.linkname = m.get("target", ""); i.mode = m.get("mode", 0o644); i.devmajor = m.get("major", 0); i.devminor = m.get("minor", 0)
                i.size = len(b) if k == "file" else 0
                t.addfile(i, io.BytesIO(b) if k == "file" else None)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
            for m in spec["members"]:
                i = zipfile.ZipInfo(m["name"]); i.compress_type = zipfile.ZIP_DEFLATED
                i.external_attr = (0o120777 if m.get("type") == "symlink" else 0o100644) << 16
                z.writestr(i, m.get("target") or (b"\0" * m["zeros"] if "zeros" in m else m.get("content", "")))

class Run:
    def __init__(self, tree, host, args):
        self.tree, self.host, self.args = tree, host, args
        self.cc = {}

    def scaled(self, limits):
        for k in ("wall_ms", "cpu_ms"):
            if k in limits:
                limits[k] = int(limits[k] * self.args.time_scale)
        return limits

    def build(self, src, work):
        out = os.path.join(work, "prog.bin")
        for extra in (["-static"], []):
            r = subprocess.run(["cc", "-O1", "-w", "-pthread"] + extra + ["-o", out, src], capture_output=True, text=True)
            if r.returncode == 0:
                return out
        raise RuntimeError("cc failed: " + r.stderr[-400:])

    def request(self, case, f, work, code=None):
        lang = case["lang"]
        src = os.path.join(work, "main." + (EXT.get(lang) or "c"))
        if lang == "java":
            src = os.path.join(work, "Main.java")
        if code is None:
            with open(os.path.join(self.tree, case["file"]), "rb") as h:
                code = h.read().decode("utf-8", "surrogateescape")
        with open(src, "wb") as h:
            h.write(subst(code, f).encode("utf-8", "surrogateescape"))
        prog = self.build(src, work) if lang == "c" else src
        req = {"id": case["id"], "lang": "native" if lang == "c" else lang, "program": prog, "argv": subst(case.get("argv", []), f), "env": case.get("env", {}),
               "limits": self.scaled(dict(DEFAULT_LIMITS, **case.get("limits", {}))), "network": subst(case.get("network", {"mode": "none"}), f), "mode": case.get("mode", "normal"),
               "policy": case.get("policy"), "snapshot": case.get("snapshot") if case.get("repeat", {}).get("how", "").startswith("snapshot") else None,
               "outputs": subst(case.get("outputs", []), f), "artifacts_dir": os.path.join(work, "artifacts"), "files": [], "stdin_b64": None, "archive": None}
        if case.get("tag_in_argv"):
            req["argv"] = [f["TAG"]]
        os.makedirs(req["artifacts_dir"], exist_ok=True)
        for i, x in enumerate(subst(case.get("files", []), f)):
            e = {"path": x["path"], "mode": x.get("mode", 0o644)}
            if "symlink" in x:
                e["symlink"] = x["symlink"]
            else:
                e["host"] = os.path.join(work, "up%d" % i)
                with open(e["host"], "w") as h:
                    h.write(x["content"])
            req["files"].append(e)
        if case.get("archive"):
            a = subst(case["archive"], f); p = os.path.join(work, "upload." + a["format"])
            make_archive(a, p); req["archive"] = {"host": p, "format": a["format"]}
        si = case.get("stdin")
        if case.get("stdin_gen"):
            si = case["stdin_gen"]["repeat"] * case["stdin_gen"]["times"]
        if si is not None:
            req["stdin_b64"] = base64.b64encode(subst(si, f).encode()).decode()
        return req

    def call(self, case, req, work):
        rq, rs = os.path.join(work, "request.json"), os.path.join(work, "response.json")
        with open(rq, "w") as h:
            json.dump(req, h)
        h = case.get("host", {}); env = dict(os.environ, SNAPCELL_CANARY_ENV=self.host.token)
        fds, kw, master = [], {}, None
        if h.get("leak_fds"):
            fds = [os.open(self.host.dir, os.O_RDONLY), os.open(self.host.canary, os.O_RDONLY), os.open("/", os.O_RDONLY | os.O_DIRECTORY)]
            s = socket.create_connection(("127.0.0.1", self.host.tcp_port)); fds.append(os.dup(s.fileno())); s.close()
            kw["pass_fds"] = fds
        if h.get("tty"):
            import pty, fcntl, termios
            master, slave = pty.openpty()
            def pre():
                os.setsid(); fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            kw.update(stdin=slave, stdout=slave, stderr=slave, preexec_fn=pre, pass_fds=fds + [slave])
        else:
            kw.update(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(os.path.join(work, "adapter.err"), "w"), start_new_session=True)
        t = time.time()
        p = subprocess.Popen(self.args.adapter.split() + [rq, rs], env=env, cwd=work, **kw)
        if h.get("dial_in"):
            threading.Thread(target=self.dial, args=(int(self.f["IN_PORT"]),), daemon=True).start()
        budget = req["limits"]["wall_ms"] / 1000 * 2 + 60
        peak = 0
        while p.poll() is None and time.time() - t < budget:
            time.sleep(0.05)
            if "peak_tasks_max" in case["expect"]:
                peak = max(peak, len(procs_with([self.f["TAG"]])))
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL) if not h.get("tty") else p.kill()
            p.wait()
            r = {"status": "error", "error": "the adapter did not return in %d s" % budget}
        else:
            try:
                with open(rs) as hh:
                    r = json.load(hh)
            except (OSError, ValueError) as e:
                r = {"status": "error", "error": "no well-formed answer: %s %s" % (e, rd(os.path.join(work, "adapter.err"))[-300:])}
        for x in fds:
            os.close(x)
        if master is not None:
            os.close(master); os.close(slave)
        r["_wall"] = int((time.time() - t) * 1000); r["_peak"] = peak; r["_art"] = req["artifacts_dir"]; r["_at"] = time.time()
        for k in ("stdout", "stderr"):
            r[k] = base64.b64decode(r.get(k + "_b64") or "")
        return r

    def dial(self, port):
        end = time.time() + 4 * self.args.time_scale
        while time.time() < end:
            for a in ("127.0.0.1", "::1"):
                try:
                    socket.create_connection((a, port), 0.5).close(); self.host.hit("inbound", b"")
                except OSError:
                    pass
            time.sleep(0.1)

    def one(self, case):
        self.f = f = self.host.facts()
        f["TAG"] = "t" + rid(9); f["TAGNUM"] = str(random.randrange(70000000, 99999999)); f["IN_PORT"] = str(random.randrange(20000, 30000)); f["RUNTAG"] = "r0"
        self.host.take()
        if case.get("host", {}).get("leak_fds"):
            pass
        before = growth(); z0 = zombies(); works, out = [], []
        def go(i, code=None):
            w = tempfile.mkdtemp(prefix="snapcorp-w-"); works.append(w)
            g = dict(f, RUNTAG="r%d%s" % (i, rid(4)))
            return self.call(case, self.request(case, g, w, code), w)
        try:
            rep = case.get("repeat"); how = rep["how"] if rep else ""
            if case.get("steps"):
                for i, s in enumerate(case["steps"]):
                    out.append(go(i, s.get("code")))
                judged = out[-1:] if len(case["steps"]) < 3 else out[1:]
            elif rep and how.endswith("parallel"):
                with ThreadPoolExecutor(rep["n"]) as ex:
                    out = list(ex.map(go, range(rep["n"])))
                judged = out
            elif rep:
                out = [go(i) for i in range(rep["n"])]; judged = out
            else:
                out = [go(0)]; judged = out
            if any(r["status"] == "unsupported" for r in out):
                return "SKIP", "unsupported by the adapter", out
            bad = []
            for i, r in enumerate(judged):
                b = self.judge(case, case["expect"], r, True)
                if b:
                    bad.append(("run %d: " % i if len(judged) > 1 else "") + "; ".join(b)); break
            if rep and not bad:
                bad += self.compare(rep, judged)
            bad += self.host_checks(case, before, z0)
        finally:
            for w in works:
                subprocess.run(["rm", "-rf", w], stderr=subprocess.DEVNULL)
            for d in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/etc", "/dev/mqueue", os.path.expanduser("~")):
                for p in glob.glob("%s/*%s*" % (d, f["TAG"])):
                    subprocess.run(["rm", "-rf", "--one-file-system", p], stderr=subprocess.DEVNULL)
            lib = ctypes.CDLL(None); i = lib.shmget(0x5EC2E7, 0, 0)
            if i >= 0:
                lib.shmctl(i, 0, None)
        if not bad:
            return "PASS", "", out
        return ("ESCAPED" if any("ESCAPED" in b for b in bad) else "FAIL"), " | ".join(bad), out

    def compare(self, rep, runs):
        bad = []
        if "distinct" in rep:
            seen = {}
            for r in runs:
                for k, v in re.findall(rep["distinct"], r["stdout"].decode("utf-8", "replace"), re.M):
                    seen.setdefault(k, []).append(v)
            for k, v in seen.items():
                if len(set(v)) != len(v):
                    bad.append("ESCAPED: value '%s' repeats over runs" % k)
            if not seen:
                bad.append("no values to compare")
        if "equal" in rep:
            v = [re.findall(rep["equal"], r["stdout"].decode("utf-8", "replace"), re.M) for r in runs]
            if any(x != v[0] for x in v):
                bad.append("values differ between runs")
        return bad

    def judge(self, case, e, r, top):
        bad = []; so, se = r["stdout"].decode("utf-8", "replace"), r["stderr"].decode("utf-8", "replace"); f = self.f
        st = r["status"]
        key = {"signaled": "signaled:%s" % r.get("signal"), "exited": "exited_nonzero" if r.get("exit_code") else "exited"}.get(st, st)
        if top:
            if self.host.token.encode() in r["stdout"] + r["stderr"]:
                bad.append("ESCAPED: the canary's content is in the output")
            for rx in e.get("escaped", ["^ESCAPED:"] if case["kind"] == "attack" else []):
                m = re.search(rx + ".*", so, re.M)
                if m:
                    bad.append(m.group(0)[:200] if m.group(0).startswith("ESCAPED") else "ESCAPED: matched " + rx)
            if st == "error":
                bad.append("sandbox error: " + str(r.get("error"))[:300])
            if bad:
                return bad
        if "any" in e:
            alts = [self.judge(case, a, r, False) for a in e["any"]]
            if all(alts):
                bad.append("no alternative holds: " + " / ".join("; ".join(a) for a in alts))
        if "contained" in e and not any(re.search(rx, so, re.M) for rx in e["contained"]) and key not in e.get("or_status", []) and st not in e.get("or_status", []):
            bad.append("no verdict (status %s %s, stderr %r)" % (key, r.get("exit_code"), se[-160:]))
        if "status" in e and st not in e["status"]:
            bad.append("status %s, expected %s (stderr %r)" % (key, e["status"], se[-160:]))
        if "exit" in e and st == "exited" and r.get("exit_code") != e["exit"]:
            bad.append("exit code %s, expected %s (stderr %r)" % (r.get("exit_code"), e["exit"], se[-160:]))
        if "exit_in" in e and r.get("exit_code") not in e["exit_in"]:
            bad.append("exit code %s not in %s" % (r.get("exit_code"), e["exit_in"]))
        if "signal" in e and st == "signaled" and r.get("signal") != e["signal"]:
            bad.append("signal %s, expected %s" % (r.get("signal"), e["signal"]))
        for k, v, raw in (("stdout", so, r["stdout"]), ("stderr", se, r["stderr"])):
            if k in e and v != e[k]:
                bad.append("%s is %r, expected %r" % (k, v[:160], e[k][:160]))
            for rx in e.get(k + "_re", []):
                if not re.search(rx, v, re.M):
                    bad.append("%s lacks /%s/ (has %r)" % (k, rx, v[-160:]))
            for rx in e.get(k + "_not_re", []):
                if re.search(rx, v, re.M):
                    bad.append("%s has /%s/" % (k, rx))
            if k + "_bytes_b64" in e and raw != base64.b64decode(e[k + "_bytes_b64"]):
                bad.append("%s bytes are %r" % (k, raw[:80]))
            if k + "_len" in e and len(raw) != e[k + "_len"]:
                bad.append("%s has %d bytes, expected %d" % (k, len(raw), e[k + "_len"]))
            if k + "_max_bytes" in e and len(raw) > e[k + "_max_bytes"]:
                bad.append("%s has %d bytes, more than %d" % (k, len(raw), e[k + "_max_bytes"]))
            if k + "_truncated" in e and bool(r.get(k + "_truncated")) != e[k + "_truncated"]:
                bad.append("%s_truncated is %s" % (k, r.get(k + "_truncated")))
        scale = self.args.time_scale
        if "wall_max_ms" in e and r["_wall"] > (e["wall_max_ms"] + self.args.slack_ms) * scale:
            bad.append("took %d ms, limit %d" % (r["_wall"], e["wall_max_ms"] * scale))
        if "wall_min_ms" in e and r["_wall"] < e["wall_min_ms"]:
            bad.append("took only %d ms" % r["_wall"])
        if "peak_tasks_max" in e and r["_peak"] > e["peak_tasks_max"]:
            bad.append("ESCAPED: %d tasks at once" % r["_peak"])
        if "supervisor_rss_max_mb" in e and r.get("supervisor_rss_mb", 0) > e["supervisor_rss_max_mb"]:
            bad.append("supervisor used %s MiB" % r["supervisor_rss_mb"])
        if e.get("raw_cli_no_escape") and "\x1b" in r.get("cli_text", ""):
            bad.append("raw escape sequences in the human view")
        if e.get("no_value") and r.get("result") is not None:
            bad.append("a result value is reported")
        if "result_re" in e and not all(re.search(x, str(r.get("result"))) for x in e["result_re"]):
            bad.append("result is %r" % (r.get("result"),))
        if "result_max_bytes" in e and len(str(r.get("result"))) > e["result_max_bytes"]:
            bad.append("result value is too long")
        if "now_within_ms" in e:
            m = re.search(r"^NOW ([\d.]+)$", so, re.M)
            if not m or not (-e["now_within_ms"] * scale <= (r["_at"] - float(m.group(1))) * 1000 <= r["_wall"] + e["now_within_ms"] * scale):
                bad.append("clock is off: %s against %.3f" % (m and m.group(1), r["_at"]))
        if "artifacts" in e:
            bad += self.artifacts(subst(e["artifacts"], f), r)
        return bad

    def artifacts(self, a, r):
        bad, root, total, n, types = [], r["_art"], 0, 0, set()
        for d, ds, fs in os.walk(root):
            for x in ds + fs:
                p = os.path.join(d, x); s = os.lstat(p); n += 1
                if os.path.islink(p):
                    types.add("symlink")
                    if a.get("no_symlinks_out") and not os.path.realpath(p).startswith(os.path.realpath(root)):
                        bad.append("ESCAPED: link out of the artifact folder: " + os.path.relpath(p, root))
                elif os.path.isfile(p):
                    types.add("file"); total += s.st_size
                    if s.st_size < 10 << 20:
                        try:
                            with open(p, "rb") as h:
                                if self.host.token.encode() in h.read():
                                    bad.append("ESCAPED: canary content in artifact " + os.path.relpath(p, root))
                        except OSError:
                            pass
                elif os.path.isdir(p):
                    types.add("dir")
                else:
                    types.add("special")
        for k, v in a.get("have", {}).items():
            p = os.path.join(root, k)
            if os.path.islink(p) or not os.path.isfile(p):
                bad.append("artifact %s is missing" % k)
            else:
                with open(p, "rb") as h:
                    if h.read() != v.encode():
                        bad.append("artifact %s differs" % k)
        for k, v in a.get("have_prefix_b64", {}).items():
            try:
                with open(os.path.join(root, k), "rb") as h:
                    if not h.read(64).startswith(base64.b64decode(v)):
                        bad.append("artifact %s has other content" % k)
            except OSError:
                bad.append("artifact %s is missing" % k)
        for k in a.get("lack", []):
            if os.path.lexists(os.path.join(root, k)) and not os.path.islink(os.path.join(root, k)):
                bad.append("ESCAPED: artifact %s came back" % k)
        if "only_types" in a and types - set(a["only_types"]):
            bad.append("artifact types %s" % sorted(types))
        if "max_total_bytes" in a and total > a["max_total_bytes"]:
            bad.append("artifacts of %d bytes" % total)
        if "min_count" in a and n < a["min_count"]:
            bad.append("only %d artifacts" % n)
        return bad

    def host_checks(self, case, before, z0):
        bad, f = [], self.f; want = list(case["expect"].get("host", []))
        words = [f["TAG"], f["TAGNUM"]]
        if "no_survivors" in want:
            end = time.time() + 2 * self.args.time_scale
            while procs_with(words) and time.time() < end:
                time.sleep(0.1)
            left = procs_with(words)
            if left:
                bad.append("ESCAPED: processes outlived the run: %s" % left[:3])
        for pid, _ in procs_with(words):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        end = time.time() + 5 * self.args.time_scale
        while "no_zombies" in want and zombies() > z0 + 2 and time.time() < end:
            time.sleep(0.2)
        if "no_zombies" in want and zombies() > z0 + 2:
            bad.append("zombies left: %d" % (zombies() - z0))
        try:
            s = os.stat(self.host.canary)
            if rd(self.host.canary) != self.host.token or (s.st_mode, s.st_uid, s.st_ino) != (self.host.canary_stat.st_mode, self.host.canary_stat.st_uid, self.host.canary_stat.st_ino):
                bad.append("ESCAPED: the canary was changed")
        except OSError:
            bad.append("ESCAPED: the canary is gone")
        h = self.host.take()
        own = 1 if case.get("host", {}).get("leak_fds") else 0
        for k, name in (("tcp", "tcp_no_hit"), ("udp", "udp_no_hit"), ("abstract", "abstract_no_hit"), ("unix", "unix_no_hit")):
            if name in want and len(h.get(k, [])) > own * (k == "tcp"):
                bad.append("ESCAPED: the host's %s service was reached" % k)
        if "inbound_refused" in want and h.get("inbound"):
            bad.append("ESCAPED: the host could dial into the cell")
        if "dns_no_query" in want and h.get("dns"):
            bad.append("ESCAPED: name queries left the cell: %s" % h["dns"][:3])
        if "dns_only_allowed" in want:
            o = [n for n in h.get("dns", []) if n.decode() not in (LAB["LAB_ALLOWED"], LAB["LAB_REBIND"])]
            if o:
                bad.append("ESCAPED: queries for other names: %s" % o[:3])
        if "lab_allowed_hit" in want and not any(k.startswith("lab:%s:" % LAB["LAB_ALLOWED_IP"]) for k in h):
            bad.append("the allowed origin saw no request")
        if "lab_denied_no_hit" in want and any(k.startswith(("lab:%s:" % LAB["LAB_DENIED_IP"], "lab:%s:" % LAB["LAB_GATEWAY_IP"])) for k in h):
            bad.append("ESCAPED: the denied origin was reached")
        if "lab_other_no_hit" in want and any(k.endswith(":" + LAB["LAB_OTHER_PORT"]) for k in h):
            bad.append("ESCAPED: another port of an origin was reached")
        if "lab_denied_host_no_hit" in want and any(k.startswith("labhost:" + LAB["LAB_DENIED"]) for k in h):
            bad.append("ESCAPED: a request with the denied Host header arrived")
        if "lab_sni_denied_no_hit" in want and "labsni:" + LAB["LAB_DENIED"] in h:
            bad.append("ESCAPED: a hello with the denied server name arrived")
        after = None
        for w in want:
            if w.startswith("path_absent:") and os.path.lexists(subst(w[12:], f)):
                bad.append("ESCAPED: created on the host: " + w[12:])
                try:
                    os.unlink(subst(w[12:], f))
                except OSError:
                    pass
            if w == "no_core" and [p for p in glob.glob("/tmp/core*") + glob.glob("/core*") + glob.glob(os.path.join(self.tree, "core*")) if os.path.isfile(p) and time.time() - os.path.getmtime(p) < 30]:
                bad.append("core file on the host")
            m = re.match(r"no_(mount|cgroup|tmp)_growth", w)
            if m:
                after = after or growth()
                if after[m.group(1)] > before[m.group(1)] + 3:
                    bad.append("%s grew from %d to %d" % (m.group(1), before[m.group(1)], after[m.group(1)]))
        return bad

def become(name):
    u = pwd.getpwnam(name)
    os.initgroups(name, u.pw_gid); os.setresgid(u.pw_gid, u.pw_gid, u.pw_gid); os.setresuid(u.pw_uid, u.pw_uid, u.pw_uid)
    os.environ.update(HOME=u.pw_dir, USER=name, LOGNAME=name); os.chdir(u.pw_dir)

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("tree"); ap.add_argument("--adapter", required=True); ap.add_argument("--only"); ap.add_argument("--klass", "--class", dest="klass")
    ap.add_argument("--kind"); ap.add_argument("--have", default=""); ap.add_argument("--host-safe", action="store_true"); ap.add_argument("--lab", action="store_true")
    ap.add_argument("--in-lab", action="store_true", help=argparse.SUPPRESS); ap.add_argument("--json"); ap.add_argument("--slack-ms", type=int, default=1500); ap.add_argument("-v", action="store_true")
    ap.add_argument("--time-scale", type=float, default=1); ap.add_argument("--disputed"); ap.add_argument("--degraded", default=""); ap.add_argument("--user")
    args = ap.parse_args()
    args.tree = os.path.abspath(args.tree); args.disputed = args.disputed and os.path.abspath(args.disputed); args.json = args.json and os.path.abspath(args.json)
    args.adapter = " ".join(os.path.abspath(w) if os.path.exists(w) and "/" in w else w for w in args.adapter.split())
    if args.lab and not args.in_lab:
        os.execvp("unshare", ["unshare", "-n", "-m", sys.executable, os.path.abspath(__file__)] + sys.argv[1:] + ["--in-lab"])
    if args.in_lab:
        lab_setup()
    if args.user:
        become(args.user)
    with open(os.path.join(args.tree, "cases.json"), encoding="utf-8") as f:
        man = json.load(f)
    have = set(filter(None, args.have.split(","))); disputed = {}
    if args.disputed:
        with open(args.disputed) as f:
            disputed = {k: v for k, v in json.load(f).items() if "only_without" not in v or set(v["only_without"]) & set(args.degraded.split(","))}
    host = Host(args.in_lab); run = Run(os.path.abspath(args.tree), host, args); res = []
    try:
        for c in man["cases"]:
            if args.only and not re.search(args.only, c["id"]) or args.klass and c["class"] != args.klass or args.kind and c["kind"] != args.kind:
                continue
            miss = set(c.get("requires", [])) - have
            if c["id"] in disputed:
                v = ("SKIP", ("degraded: " if "only_without" in disputed[c["id"]] else "disputed: ") + disputed[c["id"]]["reason"], [])
            elif args.host_safe and not c.get("host_safe"):
                v = ("SKIP", "not for a bare host", [])
            elif c.get("needs_lab") and not args.in_lab:
                v = ("SKIP", "needs --lab", [])
            elif miss:
                v = ("SKIP", "needs " + ",".join(sorted(miss)), [])
            else:
                try:
                    v = run.one(c)
                except Exception as e:
                    v = ("ERROR", "%s: %s" % (type(e).__name__, e), [])
            res.append({"id": c["id"], "kind": c["kind"], "class": c["class"], "severity": c["severity"], "verdict": v[0], "why": v[1]})
            print("%-8s %-28s %s" % (v[0], c["id"], v[1][:220]), flush=True)
            if args.v and v[2]:
                print("         stdout %r" % v[2][-1]["stdout"][:300], "status", v[2][-1]["status"], v[2][-1].get("exit_code"))
    finally:
        host.close()
    n = {}
    for r in res:
        n[r["verdict"]] = n.get(r["verdict"], 0) + 1
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"summary": n, "results": res}, f, indent=1)
    print(" ".join("%s=%d" % x for x in sorted(n.items())))
    print("%d passed, %d failed, %d skipped" % (n.get("PASS", 0), n.get("FAIL", 0) + n.get("ESCAPED", 0) + n.get("ERROR", 0), n.get("SKIP", 0)))
    sys.exit(0 if not (n.get("FAIL") or n.get("ESCAPED") or n.get("ERROR")) else 1)

if __name__ == "__main__":
    main()
