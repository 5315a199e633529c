#!/usr/bin/env python3
"""The Python runner: keeps one namespace and runs what descriptor 3 asks for (docs/runner-protocol.md). CPython 3.9 and
later, standard library only. With --restricted it keeps the policy of docs/restricted-python.md."""
import signal
import sys


def main():
    # Until there is a run to interrupt.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from snapcell_runner.channel import Channel, ProtocolError
    restricted = sys.argv[1:] == ["--restricted"]
    if sys.argv[1:] and not restricted:
        sys.exit("usage: runner.py [--restricted]")
    channel = Channel.take(3)
    if restricted:
        from snapcell_runner.restricted.context import RestrictedContext as Context
    else:
        from snapcell_runner.context import Context
    # From here on the folder imported from is the one worked in, and the program is the code to come.
    sys.path[0] = ""
    sys.argv[:] = [""]
    context = Context(channel)
    channel.send({"op": "ready", "protocol": 1, "language": "python", "version": "%d.%d.%d" % sys.version_info[:3]})
    try:
        context.serve()
    except ProtocolError as error:
        sys.exit("runner: %s" % error)


if __name__ == "__main__":
    main()
