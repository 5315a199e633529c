#!/usr/bin/python3
"""A small internet in network and mount namespaces of its own: a name server, origins, and whoever is started among them.

  lab.py FOLDER    re-starts itself in the namespaces, as root or as an ordinary user, then obeys lines of JSON on stdin

Addresses lie in ranges that are reserved for documents; nothing leaves the namespaces. Orders: {"run": [word, …], "env": {…}}
answers {"code", "out", "err"}; {"start": [word, …]} answers {"pid"}; {"seen": true} answers what came since it was last asked.
"""
import base64
import ctypes
import http.server
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

NAMES = {
    "allowed.test": "198.51.100.10", "www.allowed.test": "198.51.100.10", "denied.test": "198.51.100.20",
    "loopback.test": "127.0.0.1", "metadata.test": "169.254.169.254", "private.test": "10.1.2.3", "own.test": "203.0.113.9",
    "nowhere.test": "198.51.100.99", "six.test": "2001:db8:5::10", "nat64.test": "64:ff9b::7f00:1", "both.test": "198.51.100.10",
    "ours.test": "198.51.99.9",
}
HOSTS = ("198.51.100.10", "198.51.100.20", "198.51.100.53", "203.0.113.9", "198.51.99.9", "169.254.169.254")
SIX = "2001:db8:5::10"
DNS = "198.51.100.53"
HTTP, TLS, ECHO, RESET, SLOW, SINK, LOOPBACK = 80, 443, 7, 8, 9, 10, 18555
LOCK = threading.Lock()
SEEN = []


def saw(what):
    with LOCK:
        SEEN.append(what)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def enter(folder):
    """Not root: a user namespace in which we are who we were, with every right over the network that is made with it."""
    line = ["unshare", "--net", "--mount"]
    if os.geteuid() != 0:
        line += ["--user", "--map-current-user", "--keep-caps"]
    os.execvp(line[0], line + [sys.executable, os.path.abspath(__file__), folder, "inside"])


def set_up(folder):
    ip("link", "set", "lo", "up")
    for address in HOSTS:
        ip("addr", "add", address + "/32", "dev", "lo")
    ip("addr", "add", SIX + "/128", "dev", "lo", "nodad")
    for name, text in (("resolv.conf", "nameserver %s\noptions timeout:1 attempts:1\n" % DNS), ("hosts", "127.0.0.1 localhost\n")):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(path, 0o644)
        subprocess.run(["mount", "--bind", path, os.path.realpath("/etc/" + name)], check=True)


def drop_rights():
    """What we start is an ordinary program of its user's."""
    if os.geteuid() != 0:
        ctypes.CDLL(None).prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL


# ---- origins ----

def answer_name(question, flips):
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode("latin-1"))
        at += question[at] + 1
    name, kind = ".".join(labels).lower(), struct.unpack(">H", question[at + 1:at + 3])[0]
    saw(["dns", name])
    address = NAMES.get(name)
    if name == "rebind.test":
        flips[0] += 1
        address = "198.51.100.10" if flips[0] % 2 else "127.0.0.1"
    known = address is not None
    family = socket.AF_INET6 if known and ":" in address else socket.AF_INET
    fits = known and (kind == 1) == (family == socket.AF_INET) and kind in (1, 28)
    head = question[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, int(bool(fits)), 0, 0)
    body = question[12:at + 5]
    if fits:
        raw = socket.inet_pton(family, address)
        body += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 1, len(raw)) + raw
    return head + body


def serve_names():
    sock, flips = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), [0]
    sock.bind((DNS, 53))
    while True:
        question, who = sock.recvfrom(512)
        sock.sendto(answer_name(question, flips), who)


class Origin(http.server.SimpleHTTPRequestHandler):
    """Files of the folder, /redirect?to=URL, /big?N; tells where and for whom it was asked."""
    protocol_version = "HTTP/1.1"

    def tell_credentials(self):
        for name in ("Authorization", "X-Api-Key", "X_Api_Key"):
            if name in self.headers:
                saw(["credential", self.path, name, self.headers.get_all(name)])

    def do_GET(self):
        local = self.connection.getsockname()
        self.tell_credentials()
        saw(["http", local[0], local[1], self.headers.get("Host"), self.path])
        if self.path.startswith("/redirect?to="):
            self.send_response(302)
            self.send_header("Location", self.path.split("=", 1)[1])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path.startswith("/big?"):
            self.answer(b"x" * int(self.path[5:]))
        elif self.path == "/hello":
            self.answer(("origin-ok %s %s %s" % (local[0], local[1], self.headers.get("Host"))).encode())
        else:
            super().do_GET()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.tell_credentials()
        saw(["post", self.path, body.decode("latin-1")])
        self.answer(b"posted")

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True

    def __init__(self, address, handler):
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)

    def handle_error(self, *_):
        pass


def spawn(target, *args):
    threading.Thread(target=target, args=args, daemon=True).start()


def serve_http(address, port, context=None):
    server = Server((address, port), Origin)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    spawn(server.serve_forever)


def serve_tcp(address, port, handle):
    listener = socket.create_server((address, port), backlog=1024)

    def loop():
        while True:
            sock, _ = listener.accept()
            saw(["tcp", address, port])
            spawn(handle, sock)
    spawn(loop)


def echo(sock):
    """Bytes back as they come; a last word after the other side's end."""
    while True:
        data = sock.recv(65536)
        if not data:
            break
        sock.sendall(data)
    sock.sendall(b"[end]")
    sock.close()


def reset(sock):
    sock.recv(1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def slow(sock):
    """A byte now and then, for ever."""
    try:
        while True:
            sock.sendall(b".")
            time.sleep(0.2)
    except OSError:
        pass


def sink(sock):
    """Says goodbye first and goes on listening; tells how much came."""
    sock.sendall(b"bye")
    sock.shutdown(socket.SHUT_WR)
    total = 0
    while True:
        data = sock.recv(65536)
        if not data:
            break
        total += len(data)
    saw(["sink", total])
    sock.close()


def certificate(folder):
    key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                    "-out", cert, "-days", "30", "-subj", "/CN=lab", "-addext", "subjectAltName=DNS:allowed.test,DNS:denied.test"],
                   check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.sni_callback = lambda _sock, name, _context: saw(["sni", name])
    return context


def start_origins(folder):
    os.chdir(folder)
    context = certificate(folder)
    spawn(serve_names)
    for address in HOSTS + (SIX,):
        if address != DNS:
            serve_http(address, HTTP)
            serve_http(address, TLS, context)
    serve_http("127.0.0.1", HTTP)
    serve_http("127.0.0.1", LOOPBACK)
    for port, handle in ((ECHO, echo), (RESET, reset), (SLOW, slow), (SINK, sink)):
        serve_tcp("198.51.100.10", port, handle)


# ---- orders ----

def run(order):
    done = subprocess.run(order["run"], env=dict(os.environ, **order.get("env", {})), cwd="/", stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    return {"code": done.returncode, "out": base64.b64encode(done.stdout).decode(), "err": base64.b64encode(done.stderr).decode()}


def obey(line):
    order = json.loads(line)
    if "run" in order:
        return run(order)
    if "start" in order:
        child = subprocess.Popen(order["start"], env=dict(os.environ, **order.get("env", {})), cwd="/", stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        spawn(child.wait)
        return {"pid": child.pid}
    with LOCK:
        seen = list(SEEN)
        SEEN.clear()
    return {"seen": seen}


def main():
    folder = sys.argv[1]
    if len(sys.argv) < 3:
        enter(folder)
    set_up(folder)
    start_origins(folder)
    drop_rights()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(obey(line)), flush=True)


if __name__ == "__main__":
    main()
