#!/usr/bin/env python3
"""embed_binary.py FILE NAME OUT.S: an assembler file that takes FILE into the library as NAME and NAME_len. Megabytes
as a C array would take a compiler longer than all the rest. The checksum makes a changed FILE a changed source."""
import hashlib
import os
import sys

path, name, out = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
with open(path, "rb") as file:
    digest = hashlib.sha256(file.read()).hexdigest()
with open(out, "w", encoding="ascii") as file:
    file.write("""/* Made by tools/embed_binary.py; sha256 %(digest)s */
    .section .rodata
    .balign 16
    .globl %(name)s
    .hidden %(name)s
    .type %(name)s, @object
%(name)s:
    .incbin "%(path)s"
%(name)s_end:
    .size %(name)s, %(name)s_end - %(name)s
    .balign 8
    .globl %(name)s_len
    .hidden %(name)s_len
    .type %(name)s_len, @object
%(name)s_len:
    .quad %(name)s_end - %(name)s
    .size %(name)s_len, 8
    .section .note.GNU-stack, "", @progbits
""" % {"digest": digest, "name": name, "path": path})
