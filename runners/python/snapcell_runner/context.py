"""One context: the namespace, and what happens from a request to its result."""
import builtins
import os
import signal
import sys

from .channel import Prelude, ProtocolError, Request, encoded
from .figures import Figures, is_figure
from .forms import Displays, forms_of
from .locals import LEFT_OUT, texts_of
from .loop import Loop
from .main_module import MainModule, forget_run, remember_run
from .preludes import PRELUDE_NAME, load_prelude
from .program import Compiler, forget_lines, remember_lines, source_text
from .streams import Streams
from .tracebacks import describe

INTERRUPTED = 130
EXIT_MASK = 0xFF
# Does what runs usually do, and leaves nothing behind.
REHEARSAL = b"""\
try:
    [str(n) for n in range(50)][50]
except IndexError as error:
    str(error)
print(end="", flush=True)
"value"
"""


class Context:
    MODE = "rich"
    LEFT_OUT = LEFT_OUT

    def __init__(self, channel, orders=None):
        """`orders` is asked between two runs whether this process is to be forked: forking.orders.Orders, or None."""
        self._channel = channel
        self._orders = orders
        self._streams = Streams()
        self._displays = Displays(channel)
        self._figures = Figures(self._displays)
        self._compiler = Compiler()
        self._loop = Loop()
        self._runs = 0
        self._given = {}  # What preludes have defined.
        self._interrupted = False
        self._handler = self._interrupt
        self._listen()
        # A module in its own right, where pickle, dataclasses and multiprocessing look for what the program defines.
        self.main = MainModule()
        self.main.__builtins__ = builtins
        sys.modules["__main__"] = self.main
        builtins.display = self._displays.display

    def serve(self):
        """Runs what is asked for until the stream ends."""
        while True:
            request = self.next_request()
            if request is None:
                return
            if type(request) is not Request:
                raise ProtocolError("only a zygote is told to serve")
            if request.mode != self.MODE:
                raise ProtocolError("this context is %s, not %s" % (self.MODE, request.mode))
            self._channel.send_line(encoded(self._run(request)))

    def next_request(self):
        """The next one that is no prelude; those are loaded, and answered, here."""
        while True:
            if self._orders is not None:
                self._orders.answer_until_readable(self, self._channel)
            request = self._channel.next_request()
            if type(request) is not Prelude:
                return request
            if self._runs:
                raise ProtocolError("a prelude after a run")
            self._channel.send(load_prelude(request, self._run_prelude))
            self._streams.flush()
            self._given = dict(self.main.__dict__)

    def _run_prelude(self, text):
        remember_lines(text, PRELUDE_NAME)
        remember_run(self.main, PRELUDE_NAME, text)
        self._program_runs(self._compiler.compile(text, PRELUDE_NAME))

    @property
    def ready(self):
        """What is said first."""
        return {"op": "ready", "protocol": 1, "language": "python", "version": "%d.%d.%d" % sys.version_info[:3]}

    # ---- forks ----

    def rehearse(self):
        """A run without a trace: what a run reads and writes is then in memory, and this process's own."""
        encoded(self._run(Request("0" * 16, REHEARSAL, None, self.MODE)))
        name = self._name()
        forget_lines(name)
        forget_run(self.main, name)
        self._runs -= 1

    @property
    def descriptors(self):
        """Those that this context has open besides 0 to 2."""
        return {self._channel.fileno(), *self._streams.descriptors, *self._loop.descriptors}

    def before_fork(self):
        self._streams.flush()

    def after_fork(self):
        """In the fork, which has descriptors 0 to 2, its channel, and nothing of what was open before."""
        self._loop.forget()
        self._streams.renew()
        self._listen()

    def resume(self):
        """When the program's own files are open again."""
        self._loop.renew()

    # ---- interrupts ----

    def _listen(self):
        """Again after each run, which may have taken the signal for itself."""
        if signal.getsignal(signal.SIGINT) is not self._handler:
            signal.signal(signal.SIGINT, self._handler)

    def _interrupt(self, _number, frame):
        """SIGINT counts where the program runs, and nowhere else: a note of being in it would come a moment late."""
        while frame is not None:
            if frame.f_code is _PROGRAM_RUNS:
                self._interrupted = True
                raise KeyboardInterrupt
            if frame.f_code is _RUN:
                self._interrupted = True  # It is about to start, or over.
                return
            frame = frame.f_back

    # ---- one run ----

    def _name(self):
        return "<run %d>" % self._runs

    def _run(self, request):
        self._interrupted = False
        self._runs += 1
        name = self._name()
        if request.env:
            os.environb.update(request.env)
        text = None
        try:
            text = source_text(request.code)
            program = self._compiler.compile(text, name)
        except Exception as error:
            return self._not_run(request, error.with_traceback(None), name, text)
        remember_lines(text, name)
        remember_run(self.main, name, text)
        self._streams.mend()
        self._streams.give_stdin(request.stdin)
        self._displays.begin(request.id)
        status, exit_code, value, error = self._outcome(program, name)
        self._listen()
        if self._channel.lost:
            self._end_child(exit_code, error)
        self._streams.flush()
        forms = None if value is None else self._forms(value)
        self._displays.end()
        known = texts_of(self.main.__dict__, self.LEFT_OUT, self._given)
        self._streams.flush()  # Texts of values may print.
        return self._told(request, status, exit_code, forms, known, error)

    def _not_run(self, request, error, name, _text):
        """The result of what was found to be wrong before it ran."""
        return self._told(request, "syntax_error", 1, error=describe(error, name))

    def _forms(self, value):
        return forms_of(value, self._displays.room())

    def _outcome(self, program, name):
        """Status, exit code, value and error."""
        try:
            return "ok", 0, self._program_runs(program), None
        except SystemExit as asked:
            return "exit", self._exit_code(asked), None, None
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and self._interrupted:
                return "interrupted", INTERRUPTED, None, describe(error, name)
            return "error", 1, None, describe(error, name)

    def _program_runs(self, program):
        namespace = self.main.__dict__
        if self._interrupted:
            raise KeyboardInterrupt
        try:
            if program.waits:
                value = self._loop.run(program, namespace)
            else:
                if program.body is not None:
                    exec(program.body, namespace)
                value = None if program.last is None else eval(program.last, namespace)
        except (Exception, SystemExit):
            self._figures.flush()
            raise
        self._figures.flush(value if is_figure(value) else None)
        return value

    def _exit_code(self, asked):
        """As the interpreter does it: a number is the code, nothing is 0, anything else is said and is 1."""
        code = asked.code
        if code is None:
            return 0
        if isinstance(code, int):
            return int(code) & EXIT_MASK
        try:
            print(code, file=sys.stderr)
        except BaseException:  # Its own words; and there is no more program to hear of it.
            pass
        return 1

    def _end_child(self, exit_code, error):
        """A forked child of the program came out at its end: it ends as a child of a script would."""
        if error is not None:
            sys.stderr.write(error["traceback"])
        self._streams.flush()
        sys.exit(exit_code)

    @staticmethod
    def _told(request, status, exit_code, value=None, known=None, error=None):
        return {"op": "result", "id": request.id, "status": status, "exit_code": exit_code, "value": value,
                "locals": known or {}, "error": error}


_PROGRAM_RUNS, _RUN = Context._program_runs.__code__, Context._run.__code__
