// Keeps a JavaScript context and runs code in it. Speaks docs/runner-protocol.md on descriptor 3.
//
// Theory of operation. Code runs in this process's own global scope, by way of the engine's inspector in its REPL
// mode: it knows top-level await and the value of the last statement, and it compiles before anything runs.
// rewrite.js has made the source fit for it. A run is
//
//   idle -> running: evaluated, and the promise that its last statement gave has been waited for
//        -> finishing: its value, error and variables are put into words, each in limited time
//        -> idle: the result is written, the next `run` is read
//
// An interrupt, or process.exit, breaks what JavaScript runs, and the whole stack with it, so nothing of the
// program can catch it. The engine then also drops all promises' callbacks that were due: for that reason no step
// here depends on a promise alone.
'use strict';

const { EventEmitter } = require('events');
const inspector = require('inspector');
const net = require('net');

const { Displays, makeDisplay } = require('./display.js');
const {
  describeFailure, describeSyntaxFailure, isProgramRunning, nameStacks, sourceName, uncaughtText,
} = require('./failure.js');
const { describe, localTexts } = require('./forms.js');
const { internal } = require('./guard.js');
const { enterFolder, isModule } = require('./modules.js');
const { IMPORT, INTERNAL } = require('./names.js');
const { Requests } = require('./requests.js');
const { rewrite } = require('./rewrite.js');
const { giveInput, rehearsePrinting, takeOver, writeAll } = require('./stdio.js');
const { allowBrokenCallbacks, startWatching } = require('./watch.js');
const { REHEARSAL, Zygote } = require('./zygote.js');

const INTERRUPTED_CODE = 130;
const TAKE = `function(){'use strict';${INTERNAL}.take(this)}`;
const GROUP = 'run';

const { stringify } = JSON;
const { setImmediate } = globalThis;
const { isPromise } = require('util').types;
const { then } = Promise.prototype;
const exitProcess = process.exit;

// The source as it stands gives the engine's own words for what is wrong; but it knows no imports.
function aboutImport({ error }) {
  return / import |import\.meta/.test(error.message);
}

// A module as `require` has it, else as `import` does.
function importing(name) {
  const quoted = stringify(name);
  return `try { require(${quoted}) } catch (error) { if (error.code !== 'ERR_REQUIRE_ESM') throw error; await ${IMPORT}(${quoted}) }`;
}

class Runner {
  constructor() {
    this.stream = null;
    this.session = new inspector.Session();
    this.session.connect();
    this.count = 0;
    this.run = null; // the run that is on
    this.builtins = null;
    this.given = new Map(); // what preludes have made
    this.ready = { op: 'ready', protocol: 1, language: 'node', version: process.versions.node };
  }

  // Takes runs from a stream.
  listen(stream) {
    this.stream = stream;
    this.requests = new Requests(stream, (request) => this.begin(request), () => this.run === null);
    stream.on('error', () => exitProcess(0));
    stream.on('close', () => exitProcess(0));
  }

  say(object) {
    this.stream.write(stringify(object) + '\n');
  }

  // Everything the program can reach is set up here, before its first line.
  prepare() {
    nameStacks();
    takeOver();
    enterFolder();
    globalThis.display = makeDisplay(() => (this.run === null ? null : this.run.displays));
    internal.take = (value) => { this.taken = value; };
    internal.interrupt = (again) => this.interrupt(again);
    process.exit = (code) => this.exit(code);
    process.on('uncaughtException', (error) => {
      // A program with a listener of its own has its say.
      if (process.listenerCount('uncaughtException') === 1) writeAll(2, Buffer.from(uncaughtText(error)));
    });
    this.builtins = new Set(Object.getOwnPropertyNames(globalThis));
    this.forgetBroken = allowBrokenCallbacks();
  }

  // ---- a run's beginning ----

  begin(request) {
    if (request.prelude === undefined) {
      this.start(request, ++this.count, null);
    } else if (this.count > 0) {
      this.stream.destroy(new Error('a prelude after a run'));
    } else {
      this.loadPrelude(request.prelude, request.code, (answer) => {
        this.say(answer);
        this.requests.next();
      });
    }
  }

  // done(answer) follows when it is loaded, or has failed.
  loadPrelude(kind, text, done) {
    this.startApart(kind === 'import' ? importing(text) : text, ({ error }) => {
      const kept = Object.entries(Object.getOwnPropertyDescriptors(globalThis)).filter(([name]) => !this.builtins.has(name));
      this.given = new Map(kept.map(([name, { value }]) => [name, value]));
      done({ op: 'prelude', status: error ? 'error' : 'ok', error: error || null });
    });
  }

  // A run without a trace, from its first byte to what it prints: what a run reads and writes is then in memory and this
  // process's own, and the engine has compiled what runs need.
  rehearse(code, done) {
    rehearsePrinting();
    const stream = new EventEmitter();
    this.requests = new Requests(stream, (request) => this.start(request, 0, done), () => true);
    stream.emit('data', Buffer.from(`run ${'0'.repeat(16)} ${Buffer.byteLength(code)} - rich\n${code}`));
  }

  // Code that is no run. Its outcome is for `done`.
  startApart(code, done) {
    this.start({ id: '', code, stdin: null, env: [] }, 0, done);
  }

  start(request, number, done) {
    for (const entry of request.env) {
      const equals = entry.indexOf('=');
      process.env[entry.slice(0, equals)] = entry.slice(equals + 1);
    }
    const displays = new Displays((data) => done || this.say({ op: 'display', id: request.id, data }));
    const run = { ...request, number, displays, done, finishing: false, breaking: false };
    this.run = run;
    // On a stack of its own: an interrupt takes all that stands on it.
    setImmediate(() => {
      if (this.run === run && !run.finishing) this.evaluate(run);
    });
  }

  evaluate(run) {
    try {
      enterFolder();
      giveInput(run.stdin);
    } catch (error) {
      this.fail(run, error);
      return;
    }
    process.exitCode = undefined;
    const source = rewrite(run.code, (name) => this.builtins.has(name));
    this.compile(run, source, (failure) => {
      if (source === run.code) this.failSyntax(run, failure);
      else this.compile(run, run.code, (plain) => this.failSyntax(run, aboutImport(plain) ? failure : plain));
    });
  }

  // Evaluates; `invalid` is called when nothing ran because the source cannot.
  compile(run, source, invalid) {
    let within = true;
    const expression = `${source}\n//# sourceURL=${sourceName(run.number)}`;
    const question = { expression, replMode: true, awaitPromise: true, objectGroup: GROUP };
    this.session.post('Runtime.evaluate', question, (problem, answer) => {
      if (this.run !== run || run.finishing) return;
      if (problem) this.fail(run, new Error(problem.message));
      else if (answer.exceptionDetails === undefined) this.evaluated(run, this.valueOf(answer.result));
      // Only what fails before it runs is answered before post() returns: the rest is told by a promise.
      else if (within) invalid({ error: this.valueOf(answer.result), line: answer.exceptionDetails.lineNumber + 1 });
      else this.fail(run, this.valueOf(answer.exceptionDetails.exception));
    });
    within = false;
  }

  // The value that the inspector tells of.
  valueOf(remote) {
    const { objectId, unserializableValue: text } = remote;
    if (objectId !== undefined) {
      this.session.post('Runtime.callFunctionOn', { functionDeclaration: TAKE, objectId, silent: true });
      const value = this.taken;
      this.taken = undefined;
      return value;
    }
    if (text === undefined) return remote.subtype === 'null' ? null : remote.value;
    return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);
  }

  // What a program's `main()` as its last line gives is waited for.
  evaluated(run, value) {
    if (!isPromise(value)) {
      this.succeed(run, value);
      return;
    }
    then.call(value, (result) => this.succeed(run, result), (error) => this.fail(run, error));
  }

  // ---- a run's end ----

  succeed(run, value) {
    if (!this.enterFinish(run)) return;
    const done = (forms) => this.finish(run, { status: 'ok', exit_code: 0, value: forms });
    if (value === undefined) done(null);
    else describe(value, done);
  }

  fail(run, thrown) {
    if (!this.enterFinish(run)) return;
    this.finish(run, { status: 'error', exit_code: 1, error: describeFailure(thrown, run.number) });
  }

  failSyntax(run, { error, line }) {
    if (!this.enterFinish(run)) return;
    const told = describeSyntaxFailure(error, run.number, run.code, line);
    this.finish(run, { status: 'syntax_error', exit_code: 1, error: told });
  }

  enterFinish(run) {
    if (this.run !== run || run.finishing) return false;
    run.finishing = true;
    return true;
  }

  finish(run, outcome) {
    const names = Object.getOwnPropertyNames(globalThis).filter((name) => !this.builtins.has(name) && !this.isGiven(name));
    const locals = localTexts(names, isModule);
    this.run = null;
    this.session.post('Runtime.releaseObjectGroup', { objectGroup: GROUP });
    if (run.done !== null) {
      run.done(outcome);
      return;
    }
    this.say({ op: 'result', id: run.id, value: null, locals, error: null, ...outcome });
    this.requests.next();
  }

  // Whether a variable still is what a prelude made.
  isGiven(name) {
    if (!this.given.has(name)) return false;
    const value = this.given.get(name);
    return value !== undefined && Object.getOwnPropertyDescriptor(globalThis, name).value === value;
  }

  // ---- ends from elsewhere ----

  // Called between two instructions of whatever runs, or of nothing; twice for each interrupt, for the first time
  // breaks only what it finds in the program's own code. The engine's own callbacks do not survive that; if they go
  // on and on, as in promises without end, it is not one of them that the second time finds.
  interrupt(again) {
    const run = this.run;
    if (run === null) return;
    if (!again && this.enterFinish(run)) {
      const error = { name: 'Interrupted', message: 'the run was interrupted', traceback: '', line: null };
      this.endSoon(run, { status: 'interrupted', exit_code: INTERRUPTED_CODE, error });
      if (!isProgramRunning()) return;
    } else if (!again || !run.breaking) {
      return;
    }
    this.session.post('Runtime.terminateExecution');
  }

  // The result, when the stack is empty.
  endSoon(run, outcome) {
    run.breaking = true;
    setImmediate(() => {
      this.forgetBroken();
      this.finish(run, outcome);
    });
  }

  exit(code) {
    const asked = code === undefined ? process.exitCode : code;
    const run = this.run;
    if (run !== null && this.enterFinish(run)) {
      const exitCode = (Number(asked) || 0) & 255;
      this.endSoon(run, { status: 'exit', exit_code: exitCode });
    }
    // Without a run to end it ends only what called it. Nothing of that can catch it, or goes on.
    this.session.post('Runtime.terminateExecution');
    for (;;);
  }
}

function openStream() {
  return new net.Socket({ fd: 3, readable: true, writable: true });
}

function main() {
  const zygote = process.argv[2] === '--zygote' ? new Zygote() : null;
  const runner = new Runner();
  runner.prepare();
  if (zygote !== null) {
    zygote.listen(runner, () => {
      runner.rehearse(REHEARSAL, () => {
        runner.listen(openStream());
        runner.say(runner.ready);
      });
    });
    return;
  }
  startWatching();
  runner.listen(openStream());
  runner.say(runner.ready);
}

main();
