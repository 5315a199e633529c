// Interrupts by SIGINT that reach the main thread whatever it does: waits for events, runs JavaScript that never
// returns, or promises without end. Node tells its signals to the event loop, which a loop in the program never
// reaches; so a second thread waits for the signal, in a script that the engine breaks on SIGINT, and has a text
// evaluated in the main thread, which the engine does between any two of its instructions.
'use strict';

const vm = require('vm');
const { Session } = require('inspector');
const { Worker, isMainThread, workerData } = require('worker_threads');

const { INTERNAL } = require('./names.js');

function tell() {
  // A session that stays would make the process wait for it at its end.
  const session = new Session();
  session.connectToMainThread();
  session.post('Runtime.evaluate', { expression: `${INTERNAL}.interrupt()`, silent: true });
  session.disconnect();
}

// Two scripts, one in the other: while the inner one starts again the outer one keeps the signal from its default.
function watch() {
  const never = new Int32Array(new SharedArrayBuffer(4));
  const inner = new vm.Script('snapcellWait()');
  const outer = new vm.Script('snapcellWatch()');
  const broken = (script) => {
    try {
      script.runInThisContext({ breakOnSigint: true });
    } catch {
      tell();
    }
  };
  globalThis.snapcellWait = () => {
    Atomics.store(workerData.armed, 0, 1);
    Atomics.notify(workerData.armed, 0);
    Atomics.wait(never, 0, 0);
  };
  globalThis.snapcellWatch = () => {
    for (;;) broken(inner);
  };
  for (;;) broken(outer);
}

// Starts the second thread. Returns when interrupts are told to `INTERNAL.interrupt`.
function startWatching() {
  const armed = new Int32Array(new SharedArrayBuffer(4));
  const resourceLimits = { maxOldGenerationSizeMb: 16 };
  new Worker(__filename, { workerData: { armed }, env: {}, execArgv: [], resourceLimits }).unref();
  Atomics.wait(armed, 0, 0);
  // Listeners of the program would take the signal away from here.
  for (const listener of process.rawListeners('newListener')) {
    process.off('newListener', listener);
    process.on('newListener', function ours(event, ...rest) {
      if (event !== 'SIGINT') listener.call(this, event, ...rest);
    });
  }
}

if (!isMainThread && workerData && workerData.armed) watch();

module.exports = { startWatching };
