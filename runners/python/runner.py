#!/usr/bin/env python3
"""The Python runner: keeps one namespace and runs what descriptor 3 asks for (docs/runner-protocol.md). CPython 3.9 and
later, standard library only. With --restricted it keeps the policy of docs/restricted-python.md; with --zygote it is
forked and runs nothing itself, with --forkable it is forked between its runs."""
import signal
import sys

OPTIONS = {"--restricted", "--zygote", "--forkable"}


def main():
    # Until there is a run to interrupt.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from snapcell_runner.channel import Channel, ProtocolError
    options = set(sys.argv[1:])
    if not options <= OPTIONS or len(options) != len(sys.argv) - 1 or options >= {"--zygote", "--forkable"}:
        sys.exit("usage: runner.py [--restricted] [--zygote | --forkable]")
    channel = Channel.take(3)
    if "--restricted" in options:
        from snapcell_runner.restricted.context import RestrictedContext as Context
    else:
        from snapcell_runner.context import Context
    orders = None
    if options & {"--zygote", "--forkable"}:
        from snapcell_runner.forking.orders import Orders
        orders = Orders.take(4, between_runs="--forkable" in options)
    if "--forkable" in options:
        from snapcell_runner.forking.threads import use_one_thread
        use_one_thread()
    # From here on the folder imported from is the one worked in, and the program is the code to come.
    sys.path[0] = ""
    sys.argv[:] = [""]
    context = Context(channel, orders)
    channel.send(context.ready)
    try:
        if "--zygote" in options:
            from snapcell_runner.forking.zygote import be_zygote
            be_zygote(context, channel, orders)
        context.serve()
    except ProtocolError as error:
        sys.exit("runner: %s" % error)


if __name__ == "__main__":
    main()
