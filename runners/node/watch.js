// Interrupts by SIGINT that reach the main thread whatever it does: waits for events, runs JavaScript that never
// returns, or promises without end. Node tells its signals to the event loop, which a loop in the program never
// reaches; so a second thread waits for the signal, in a script that the engine breaks on SIGINT, and has a text
// evaluated in the main thread, which the engine does between any two of its instructions. A forked Node has an addon
// instead of that thread (runners/fork/node/watch.c).
'use strict';

const vm = require('vm');
const { Session } = require('inspector');
const { Worker, isMainThread, workerData } = require('worker_threads');

const { INTERNAL } = require('./names.js');

const AGAIN_MS = 20;

function tell(again) {
  // A session that stays would make the process wait for it at its end.
  const session = new Session();
  session.connectToMainThread();
  session.post('Runtime.evaluate', { expression: `${INTERNAL}.interrupt(${again})`, silent: true });
  session.disconnect();
}

// While no script of this kind runs, the signal has its default, which ends the process. So each runs inside of
// another one: the innermost is broken by the signal, the others keep it while the next one starts.
function watch() {
  const never = new Int32Array(new SharedArrayBuffer(4));
  let isDue = false; // a signal that has not been told
  const breakable = (text) => {
    const script = new vm.Script(text);
    return () => {
      try {
        script.runInThisContext({ breakOnSigint: true });
        isDue = false;
      } catch {
        isDue = true;
      }
    };
  };
  const wait = breakable('snapcellWait()');
  const say = breakable('snapcellSay()');
  const inner = breakable('snapcellInner()');
  const outer = breakable('snapcellOuter()');
  globalThis.snapcellWait = () => {
    Atomics.store(workerData.armed, 0, 1);
    Atomics.notify(workerData.armed, 0);
    Atomics.wait(never, 0, 0);
  };
  globalThis.snapcellSay = () => {
    tell(false);
    Atomics.wait(never, 0, 0, AGAIN_MS);
    tell(true);
  };
  globalThis.snapcellInner = () => {
    for (;;) (isDue ? say : wait)();
  };
  globalThis.snapcellOuter = () => {
    for (;;) inner();
  };
  for (;;) outer();
}

// What breaks off in a timer leaves Node's stack of asynchronous contexts with an entry too many, for which Node
// ends the process, unless told not to check (as by --no-force-async-hooks-checks, which these lines do). Returns
// what empties the stack.
function allowBrokenCallbacks() {
  const { noDeprecation } = process;
  process.noDeprecation = true;
  try {
    const binding = process.binding('async_wrap');
    binding.async_hook_fields[binding.constants.kCheck] = 0;
    return binding.clearAsyncIdStack;
  } catch {
    // Not to be had in this Node: there an interrupt in a timer ends the context.
    return () => {};
  } finally {
    process.noDeprecation = noDeprecation;
  }
}

// Starts the second thread. Returns when interrupts are told to `INTERNAL.interrupt`.
function startWatching() {
  const armed = new Int32Array(new SharedArrayBuffer(4));
  const resourceLimits = { maxOldGenerationSizeMb: 16 };
  new Worker(__filename, { workerData: { armed }, env: {}, execArgv: [], resourceLimits }).unref();
  Atomics.wait(armed, 0, 0);
  keepSignal();
}

// Listeners of the program would take the signal away from here.
function keepSignal() {
  for (const listener of process.rawListeners('newListener')) {
    process.off('newListener', listener);
    process.on('newListener', function ours(event, ...rest) {
      if (event !== 'SIGINT') listener.call(this, event, ...rest);
    });
  }
}

if (!isMainThread && workerData && workerData.armed) watch();

module.exports = { allowBrokenCallbacks, keepSignal, startWatching };
