"""The keeper's wire, as docs/keeper.md tells it: for tests that speak it themselves, also wrongly."""
import json
import struct

HELLO, REQUEST, MORE, DATA, DATA_END, CANCEL, RESIZE = range(1, 8)
WELCOME, OUTPUT, CREDIT, REPLY, REPLY_MORE = range(64, 69)
STDOUT, STDERR, DISPLAYS, EVENTS = range(1, 5)
MAGIC, VERSION = 0x50434E53, 1
FRAME_MAX = 65536
WINDOW = 256 * 1024


def frame(kind, channel=0, payload=b""):
    return struct.pack("<IHH", len(payload), kind, channel) + payload


def hello(magic=MAGIC, version=VERSION):
    return frame(HELLO, 0, struct.pack("<II", magic, version))


def request(channel, value):
    """All frames of one request."""
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    first = FRAME_MAX - 8
    frames = [frame(REQUEST, channel, struct.pack("<II", len(text), 0) + text[:first])]
    frames += [frame(MORE, channel, text[at:at + FRAME_MAX]) for at in range(first, len(text), FRAME_MAX)]
    return b"".join(frames)


class Wire:
    """One connection."""

    def __init__(self, keeper, greet=True):
        self.sock = keeper.connect()
        self.sock.settimeout(60)
        self.buffer = b""
        self.channel = 0
        if greet:
            self.sock.sendall(hello())
            assert self.frame()[0] == WELCOME

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read(self, size):
        while len(self.buffer) < size:
            try:
                more = self.sock.recv(1 << 20)
            except ConnectionResetError:
                more = b""
            if not more:
                raise EOFError
            self.buffer += more
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def frame(self):
        """(kind, channel, payload); EOFError when the keeper has hung up."""
        size, kind, channel = struct.unpack("<IHH", self._read(8))
        return kind, channel, self._read(size)

    def send(self, data):
        self.sock.sendall(data)

    def begin(self, **value):
        """Sends a request; its channel."""
        self.channel = self.channel % 0xffff + 1
        self.send(request(self.channel, value))
        return self.channel

    def finish_all(self, channels):
        """Waits for the replies to all these, in whatever order they come: {channel: (reply, output by stream)}."""
        streams = {channel: {} for channel in channels}
        texts, totals = {channel: b"" for channel in channels}, {}
        while any(len(texts[x]) < totals.get(x, 1) for x in channels):
            kind, about, payload = self.frame()
            if about not in streams:
                continue
            if kind == OUTPUT:
                stream = struct.unpack("<II", payload[:8])[0]
                streams[about][stream] = streams[about].get(stream, b"") + payload[8:]
            elif kind == REPLY:
                totals[about], texts[about] = struct.unpack("<II", payload[:8])[0], payload[8:]
            elif kind == REPLY_MORE:
                texts[about] += payload
        return {x: (json.loads(texts[x]), streams[x]) for x in channels}

    def finish_any(self, channels):
        """The next reply to one of these that is in one frame: (channel, reply)."""
        while True:
            kind, about, payload = self.frame()
            if kind == REPLY and about in channels:
                assert struct.unpack("<I", payload[:4])[0] == len(payload) - 8, "it has more frames"
                return about, json.loads(payload[8:])

    def finish(self, channel):
        """Waits for the reply to `channel`, with what came before it, by stream. Others' frames are dropped."""
        return self.finish_all([channel])[channel]

    def ask(self, **value):
        """The reply to one request."""
        return self.finish(self.begin(**value))[0]

    def await_event(self, channel, name):
        """The event of this name; what comes before is dropped."""
        lines = b""
        while True:
            kind, about, payload = self.frame()
            assert not (kind == REPLY and about == channel), payload
            if kind == OUTPUT and about == channel and struct.unpack("<II", payload[:8])[0] == EVENTS:
                lines += payload[8:]
                for line in lines.splitlines():
                    if name in json.loads(line):
                        return json.loads(line)[name]

    def hung_up(self):
        """Does the keeper end the connection, saying nothing more?"""
        try:
            self.frame()
        except EOFError:
            return True
        return False
