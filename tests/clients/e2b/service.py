"""A `snapcell serve --dev` for clients of E2B, and the three variables that they need."""
import os
import subprocess


class Service:
    def __init__(self, binary, folder, *options):
        self.child = subprocess.Popen(
            [binary, "serve", "--dev", "--socket", os.path.join(folder, "keeper.sock"), "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/", text=True,
            env=dict(os.environ, SNAPCELL_STORE=os.path.join(folder, "store")))
        said = {}
        while "key" not in said:
            line = self.child.stdout.readline()
            assert line, "the service has ended"
            word, _, rest = line.strip().rpartition(" ")
            said[word if "http://" in rest or word.endswith("key") else ""] = rest
        self.address = said["listening on"]
        self.key, self.native_key = said["e2b-key"], said["key"]

    def environment(self):
        return {"E2B_API_KEY": self.key, "E2B_API_URL": self.address, "E2B_SANDBOX_URL": self.address}

    def end(self):
        self.child.terminate()
        status = self.child.wait(120)
        self.child.stdout.close()
        return status
