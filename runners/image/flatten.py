"""Reads a container image and writes its root file system as one tar stream to stdout.

    python3 flatten.py IMAGE

IMAGE is an OCI layout (a folder, or an archive of one) or an archive as `docker save` writes it. Runs inside a cell,
where a hostile image can harm nothing: no member is ever unpacked here. The layers are read twice: once to know which
member stands where in the end (whiteouts, links between folders, files that a later layer replaces), once to pass on
those that are left. Every path in the stream is therefore its own: none leads through a link.
"""
import gzip
import hashlib
import json
import os
import shutil
import sys
import tarfile

JSON_MAX = 4 << 20
LAYERS_MAX = 512
MEMBERS_MAX = 2000000
LINKS_MAX = 40
WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
INDEX_TYPES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class BadImage(Exception):
    pass


# ---- where the image's own files come from ----

class FolderSource:
    def __init__(self, path):
        self.path = path

    def has(self, name):
        return os.path.isfile(os.path.join(self.path, name))

    def open(self, name):
        try:
            return open(os.path.join(self.path, name), "rb")
        except OSError as error:
            raise BadImage("%s: %s" % (name, error.strerror)) from None


class ArchiveSource:
    def __init__(self, path):
        self.archive = tarfile.open(path)
        self.members = {clean(member.name): member for member in self.archive}

    def has(self, name):
        return name in self.members

    def open(self, name):
        member = self.members.get(name)
        file = self.archive.extractfile(member) if member else None
        if file is None:
            raise BadImage("%s: not in the archive" % name)
        return file


def read_json(source, name):
    with source.open(name) as file:
        text = file.read(JSON_MAX + 1)
    if len(text) > JSON_MAX:
        raise BadImage("%s: too large" % name)
    value = json.loads(text)
    if not isinstance(value, dict if name != "manifest.json" else list):
        raise BadImage("%s: not what such a file holds" % name)
    return value


# ---- which layers ----

def blob(source, descriptor):
    """The name of a descriptor's blob, after its content was held against it."""
    algorithm, _, digest = descriptor["digest"].partition(":")
    if algorithm not in ("sha256", "sha512") or not digest.isalnum():
        raise BadImage("digest %r: sha256 and sha512 are understood" % descriptor["digest"])
    name = "blobs/%s/%s" % (algorithm, digest)
    found = hashlib.new(algorithm)
    with source.open(name) as file:
        while chunk := file.read(1 << 20):
            found.update(chunk)
    if found.hexdigest() != digest:
        raise BadImage("%s: its content has another digest" % name)
    return name


def is_for_us(descriptor):
    platform = descriptor.get("platform")
    machine = os.uname().machine
    return platform is None or (platform.get("os"), platform.get("architecture")) == ("linux", ARCHITECTURES.get(machine, machine))


def layers_of_index(source, index, depth=0):
    fitting = [x for x in index.get("manifests", []) if is_for_us(x)]
    if not fitting or depth > 3:
        raise BadImage("no manifest for this machine")
    manifest = read_json(source, blob(source, fitting[0]))
    if fitting[0].get("mediaType") in INDEX_TYPES or "manifests" in manifest:
        return layers_of_index(source, manifest, depth + 1)
    return [blob(source, layer) for layer in manifest["layers"]]


def layers_of(source):
    if source.has("index.json"):
        names = layers_of_index(source, read_json(source, "index.json"))
    elif source.has("manifest.json"):
        names = [clean(name) for name in read_json(source, "manifest.json")[0]["Layers"]]
    else:
        raise BadImage("neither index.json nor manifest.json: not an image")
    if len(names) > LAYERS_MAX:
        raise BadImage("more than %d layers" % LAYERS_MAX)
    return names


def open_layer(source, name):
    file = source.open(name)
    magic = file.read(4)
    file.seek(0)
    if magic == b"\x28\xb5\x2f\xfd":
        raise BadImage("%s: compressed by zstd; gzip and none are understood" % name)
    return tarfile.open(fileobj=gzip.GzipFile(fileobj=file) if magic[:2] == b"\x1f\x8b" else file, mode="r|")


# ---- the tree as it is in the end ----

class Folder:
    def __init__(self):
        self.mode = 0o755
        self.children = {}


class Link:
    def __init__(self, target):
        self.target = target


class File:
    def __init__(self, layer, index):
        self.at = (layer, index)
        self.names = []


def clean(name):
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise BadImage("%r: leads out of the root" % name[:200])
    return "/".join(parts)


class Tree:
    def __init__(self):
        self.root = Folder()

    def folder(self, path):
        """The folder that `path` names, links followed as a process with this root would; made where it is missing."""
        stack, todo, links = [self.root], path.split("/")[::-1], 0
        while todo:
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del stack[max(1, len(stack) - 1):]
                continue
            node = stack[-1].children.get(part)
            if isinstance(node, Link):
                links += 1
                if links > LINKS_MAX:
                    raise BadImage("%r: too many links" % path[:200])
                if node.target.startswith("/"):
                    stack = [self.root]
                todo += node.target.split("/")[::-1]
                continue
            if not isinstance(node, Folder):
                node = stack[-1].children[part] = Folder()
            stack.append(node)
        return stack[-1]

    def parent(self, path):
        above, _, name = path.rpartition("/")
        return self.folder(above), name

    def hide(self, path):
        folder, name = self.parent(path)
        if name == OPAQUE:
            folder.children.clear()
        else:
            folder.children.pop(name[len(WHITEOUT):], None)

    def add(self, member, path, layer, index):
        if not path:
            return
        folder, name = self.parent(path)
        if member.isdir():
            if not isinstance(folder.children.get(name), Folder):
                folder.children[name] = Folder()
            folder.children[name].mode = member.mode
        elif member.issym():
            folder.children[name] = Link(member.linkname)
        elif member.islnk():
            other, target = self.parent(clean(member.linkname))
            if not isinstance(other.children.get(target), (File, Link)):
                raise BadImage("%r: a hard link to what is not there" % path[:200])
            folder.children[name] = other.children[target]
        elif member.isreg():
            folder.children[name] = File(layer, index)
        # Devices and the like: a cell has its own.


def read_layers(source, names):
    """The tree, after every layer was laid over those before."""
    tree, count = Tree(), 0
    for layer, name in enumerate(names):
        members = []
        with open_layer(source, name) as archive:
            for index, member in enumerate(archive):
                archive.members = []  # else it keeps them all
                members.append((index, member, clean(member.name)))
                count += 1
                if count > MEMBERS_MAX:
                    raise BadImage("more than %d members" % MEMBERS_MAX)
        # A whiteout hides what is below its layer, wherever in the layer it stands.
        for _, member, path in members:
            if path.rpartition("/")[2].startswith(WHITEOUT):
                tree.hide(path)
        for index, member, path in members:
            if not path.rpartition("/")[2].startswith(WHITEOUT):
                tree.add(member, path, layer, index)
    return tree


# ---- the stream ----

def put_header(out, name, kind, mode=0o777, size=0, target="", mtime=0):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.size, info.linkname, info.mtime = kind, mode & 0o777, size, target, max(0, int(mtime))
    out.write(info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))


def put_folders(out, tree):
    """Folders first, so that everything has its place. Files by where they come from, and all links."""
    files, links, todo = {}, [], [("", tree.root)]
    while todo:
        path, folder = todo.pop()
        for name, node in sorted(folder.children.items()):
            below = path + name
            if isinstance(node, Folder):
                put_header(out, below + "/", tarfile.DIRTYPE, node.mode)
                todo.append((below + "/", node))
            elif isinstance(node, Link):
                links.append((below, node.target))
            else:
                files.setdefault(node.at, node).names.append(below)
    return files, links


def put_file(out, archive, member, names):
    put_header(out, names[0], tarfile.REGTYPE, member.mode, member.size, mtime=member.mtime)
    with archive.extractfile(member) as content:
        shutil.copyfileobj(content, out, 1 << 20)
    out.write(b"\0" * (-member.size % 512))
    for name in names[1:]:
        put_header(out, name, tarfile.LNKTYPE, member.mode, target=names[0])


def put_files(out, source, names, files):
    for layer, name in enumerate(names):
        with open_layer(source, name) as archive:
            for index, member in enumerate(archive):
                archive.members = []
                if (layer, index) in files:
                    put_file(out, archive, member, files[layer, index].names)


def flatten(path, out):
    source = FolderSource(path) if os.path.isdir(path) else ArchiveSource(path)
    names = layers_of(source)
    files, links = put_folders(out, read_layers(source, names))
    put_files(out, source, names, files)
    for name, target in links:
        put_header(out, name, tarfile.SYMTYPE, target=target)
    out.write(bytes(1024))
    out.flush()


def main():
    try:
        flatten(sys.argv[1], sys.stdout.buffer)
    except (BadImage, tarfile.TarError, EOFError, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        sys.exit("%s: %s" % (type(error).__name__, error) if not isinstance(error, BadImage) else str(error))


if __name__ == "__main__":
    main()
