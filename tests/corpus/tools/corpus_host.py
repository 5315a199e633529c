"""The host side of a corpus run: canaries, listeners, the lab's origins and name server, and what is counted outside."""
import ctypes, glob, os, random, re, shutil, socket, string, subprocess, tempfile, threading

LAB = {"LAB_ALLOWED": "allowed.test", "LAB_DENIED": "denied.test", "LAB_REBIND": "rebind.test", "LAB_ALLOWED_IP": "198.51.100.10",
       "LAB_DENIED_IP": "198.51.100.20", "LAB_DNS_IP": "198.51.100.53", "LAB_GATEWAY_IP": "198.51.100.1", "LAB_PORT": "18080", "LAB_TLS_PORT": "18443", "LAB_OTHER_PORT": "18022"}

def rid(n=8):
    return "".join(random.SystemRandom().choice(string.ascii_lowercase) for _ in range(n))

def rd(p, d=""):
    try:
        with open(p) as f:
            return f.read().strip()
    except OSError:
        return d

class Host:
    """Canaries and listeners on the host side."""
    def __init__(self, lab):
        self.lab = lab
        self.token = "TOKEN-" + rid(24)
        self.hits = {}
        self.lock = threading.Lock()
        base = os.path.expanduser("~") if os.access(os.path.expanduser("~"), os.W_OK) else "/var/tmp"
        self.dir = tempfile.mkdtemp(prefix=".snapcorp-", dir=base)
        self.canary = os.path.join(self.dir, "secret.txt")
        self.tmp = "/tmp/snapcorp-" + rid(); self.shm = "/dev/shm/snapcorp-" + rid()
        for p in (self.canary, self.tmp, self.shm):
            with open(p, "w") as f:
                f.write(self.token + "\n")
            os.chmod(p, 0o644)
        os.chmod(self.dir, 0o755)
        self.canary_stat = os.stat(self.canary)
        self.abstract = "snapcorp-" + rid(); self.unix = os.path.join(self.dir, "canary.sock")
        self.threads()
        self.shmkey = random.randrange(0x100000, 0x7FFFFFFF)
        self.shmid = ctypes.CDLL(None).shmget(self.shmkey, 4096, 0o1666)
        if lab:
            self.start_lab()

    def hit(self, kind, data=b""):
        with self.lock:
            self.hits.setdefault(kind, []).append(data if isinstance(data, bytes) else data.encode())

    def take(self):
        with self.lock:
            h, self.hits = self.hits, {}
            return h

    def serve(self, sock, fn):
        def loop():
            while True:
                try:
                    c, _ = sock.accept()
                except OSError:
                    return
                threading.Thread(target=fn, args=(c,), daemon=True).start()
        threading.Thread(target=loop, daemon=True).start()

    def threads(self):
        def tcp(kind):
            def fn(c):
                try:
                    c.settimeout(2); self.hit(kind, c.recv(2048))
                    c.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 15\r\n\r\ncanary-service\n")
                except OSError:
                    self.hit(kind, b"connect")
                finally:
                    c.close()
            return fn
        self.tcp = socket.create_server(("127.0.0.1", 0)); self.tcp_port = self.tcp.getsockname()[1]; self.serve(self.tcp, tcp("tcp"))
        try:
            s6 = socket.create_server(("::1", self.tcp_port), family=socket.AF_INET6); self.serve(s6, tcp("tcp"))
        except OSError:
            pass
        u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("0.0.0.0", 0)); self.udp_port = u.getsockname()[1]
        def uloop():
            while True:
                d, a = u.recvfrom(4096); self.hit("udp", d); u.sendto(b"echo", a)
        threading.Thread(target=uloop, daemon=True).start()
        for name, kind in (("\0" + self.abstract, "abstract"), (self.unix, "unix")):
            s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(8); self.serve(s, tcp(kind))
        os.chmod(self.unix, 0o777)

    def start_lab(self):
        def http(c):
            try:
                c.settimeout(3); d = b""
                while b"\r\n\r\n" not in d and len(d) < 8192:
                    x = c.recv(4096)
                    if not x:
                        break
                    d += x
                ip, port = c.getsockname()[:2]
                m = re.search(rb"(?mi)^host:\s*([^\r\n:]+)", d); host = (m.group(1).decode("latin-1") if m else "").strip().lower()
                path = d.split(b" ")[1].decode("latin-1") if d.count(b" ") > 1 else ""
                self.hit("lab:%s:%d" % (ip, port), d[:300]); self.hit("labhost:" + host, d[:100])
                if "/redirect?to=" in path:
                    c.sendall(b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % path.split("to=", 1)[1].encode("latin-1"))
                else:
                    b = ("origin-ok host=%s ip=%s port=%d\n" % (host, ip, port)).encode()
                    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(b) + b)
            except OSError:
                pass
            finally:
                c.close()
        def tls(c):
            try:
                c.settimeout(3); d = c.recv(4096); ip = c.getsockname()[0]
                self.hit("lab:%s:tls" % ip, d[:64])
                for n in (LAB["LAB_DENIED"], LAB["LAB_ALLOWED"]):
                    if n.encode() in d:
                        self.hit("labsni:" + n, b"")
            except OSError:
                pass
            finally:
                c.close()
        for ip in (LAB["LAB_ALLOWED_IP"], LAB["LAB_DENIED_IP"], LAB["LAB_GATEWAY_IP"]):
            for port in (LAB["LAB_PORT"], LAB["LAB_OTHER_PORT"]):
                self.serve(socket.create_server((ip, int(port))), http)
            self.serve(socket.create_server((ip, int(LAB["LAB_TLS_PORT"]))), tls)
        d = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); d.bind((LAB["LAB_DNS_IP"], 53)); flip = [0]
        def dns():
            while True:
                q, a = d.recvfrom(2048)
                labels, i = [], 12
                while i < len(q) and q[i]:
                    labels.append(q[i + 1:i + 1 + q[i]].decode("latin-1")); i += q[i] + 1
                name = ".".join(labels).lower(); qt = int.from_bytes(q[i + 1:i + 3], "big"); ip = None
                self.hit("dns", name)
                if qt == 1 and name == LAB["LAB_ALLOWED"]: ip = LAB["LAB_ALLOWED_IP"]
                if qt == 1 and name == LAB["LAB_DENIED"]: ip = LAB["LAB_DENIED_IP"]
                if qt == 1 and name == LAB["LAB_REBIND"]:
                    flip[0] += 1; ip = LAB["LAB_ALLOWED_IP"] if flip[0] % 2 else "127.0.0.1"
                known = name in (LAB["LAB_ALLOWED"], LAB["LAB_DENIED"], LAB["LAB_REBIND"])
                ans = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04" + socket.inet_aton(ip) if ip else b""
                d.sendto(q[:2] + (b"\x81\x80" if known else b"\x81\x83") + b"\x00\x01" + (b"\x00\x01" if ip else b"\x00\x00") + b"\x00\x00\x00\x00" + q[12:i + 5] + ans, a)
        threading.Thread(target=dns, daemon=True).start()

    def facts(self):
        ns = []
        for n in ("user", "pid", "net", "mnt", "ipc", "uts", "cgroup", "time"):
            try:
                ns.append("%s=%s" % (n, os.readlink("/proc/self/ns/" + n)))
            except OSError:
                pass
        stat = rd("/proc/stat"); mem = rd("/proc/meminfo")
        f = {"CANARY": self.canary, "CANARY_DIR": self.dir, "CANARY_TMP": self.tmp, "CANARY_SHM": self.shm, "TCP_PORT": str(self.tcp_port), "UDP_PORT": str(self.udp_port),
             "ABSTRACT": self.abstract, "UNIX_SOCK": self.unix, "SHMKEY": str(self.shmkey), "HOSTNAME": socket.gethostname(), "HOST_NS": ",".join(ns),
             "BOOT_ID": rd("/proc/sys/kernel/random/boot_id"), "HOST_UPTIME": rd("/proc/uptime", "0").split()[0],
             "HOST_BTIME": (re.search(r"btime (\d+)", stat) or [0, "0"])[1], "HOST_MEMTOTAL_KB": (re.search(r"MemTotal:\s+(\d+)", mem) or [0, "0"])[1]}
        f.update(LAB)
        return f

    def close(self):
        ctypes.CDLL(None).shmctl(self.shmid, 0, None)
        for p in (self.tmp, self.shm):
            try:
                os.unlink(p)
            except OSError:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)

def procs_with(words):
    out = []
    for p in glob.glob("/proc/[0-9]*"):
        pid = int(p[6:])
        if pid == os.getpid():
            continue
        try:
            with open(p + "/cmdline", "rb") as f:
                c = f.read()
        except OSError:
            continue
        if any(w.encode() in c for w in words):
            out.append((pid, c.replace(b"\0", b" ")[:80].decode("latin-1")))
    return out

def zombies():
    n = 0
    for p in glob.glob("/proc/[0-9]*/stat"):
        s = rd(p)
        if s and s.rsplit(")", 1)[-1].split()[:1] == ["Z"]:
            n += 1
    return n

def growth():
    return {"mount": rd("/proc/self/mountinfo").count("\n"), "cgroup": sum(len(d) for _, d, _ in os.walk("/sys/fs/cgroup")), "tmp": sum(not n.startswith("snapcorp-w-") for n in os.listdir("/tmp"))}

def lab_setup():
    for a in ("LAB_ALLOWED_IP", "LAB_DENIED_IP", "LAB_DNS_IP", "LAB_GATEWAY_IP"):
        subprocess.run(["ip", "addr", "add", LAB[a] + "/32", "dev", "lo"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for v in ("-4", "-6"):
        subprocess.run(["ip", v, "route", "add", "default", "dev", "lo"], stderr=subprocess.DEVNULL)      # routes that lead nowhere
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as f:      # of this namespace; the name server may be run as --user
        f.write("0")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    with tempfile.NamedTemporaryFile("w", delete=False, prefix="snapcorp-resolv-") as f:
        f.write("nameserver %s\noptions timeout:1 attempts:1\n" % LAB["LAB_DNS_IP"])
    os.chmod(f.name, 0o644)
    subprocess.run(["mount", "--bind", f.name, os.path.realpath("/etc/resolv.conf")], check=True)
    os.unlink(f.name)
