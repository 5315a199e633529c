"""A zygote: loads a prelude, makes itself fit for forks, and is forked until its socket ends."""
import os
import sys

from ..channel import ProtocolError, Serve
from . import memory
from .carried import NotForkable
from .threads import use_one_thread


def be_zygote(context, channel, orders):
    """Returns only in a fork, ready to serve; ends the process where there is nothing more to fork."""
    added = use_one_thread()
    request = context.next_request()
    if request is None:
        sys.exit(0)
    if type(request) is not Serve:
        raise ProtocolError("a zygote has no runs")
    for name in added:
        # The prelude's libraries have read it; the forks are as free as any.
        os.environ.pop(name, None)
    try:
        memory.warm()
        context.rehearse()
        orders.prepare(context)
    except NotForkable as why:
        channel.send({"op": "not_forkable", "reason": str(why)})
        sys.exit(0)
    memory.settle()
    channel.send({"op": "forkable"})
    if not orders.serve(channel):
        sys.exit(0)
