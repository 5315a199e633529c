// Makes a fork unlike its siblings: what is in memory they have in common (docs/fork-correctness.md). The fork's OpenSSL
// has been given fresh bytes before any of this.
'use strict';

const crypto = require('crypto');
const v8 = require('v8');
const vm = require('vm');

const SEED_MAX = 2 ** 31 - 1;
const SKIP_MAX = 2 ** 10;
// How many draws pass through all that Node keeps ready: 128 identifiers, and 6 KiB by 6 for numbers.
const IDENTIFIERS = 128;
const NUMBERS = 1024;

// The engine gives the numbers of a context their state at its first draw, by a flag if that is set. So there is a context
// that nobody has drawn from yet; its function takes the place of the one that siblings share.
let untouched = null;

// In the zygote: forks find what they will do compiled, and its data in as few pages as can be.
function prepareApart() {
  dropKept();
  v8.setFlagsFromString('--random-seed=0');
  v8.setFlagsFromString('--expose-gc');
  vm.runInNewContext('gc')();
  v8.setFlagsFromString('--no-expose-gc');
  untouched = vm.runInContext('Math.random', vm.createContext());
  Object.setPrototypeOf(untouched, Function.prototype);
}

function renewNumbers() {
  const chance = crypto.randomBytes(8); // not by randomInt, which has kept some
  v8.setFlagsFromString(`--random-seed=${1 + (chance.readUInt32LE(0) % SEED_MAX)}`);
  untouched();
  v8.setFlagsFromString('--random-seed=0');
  for (let left = chance.readUInt32LE(4) % SKIP_MAX; left > 0; left--) untouched();
  Math.random = untouched;
}

function dropKept() {
  for (let i = 0; i < NUMBERS; i++) crypto.randomInt(2);
  for (let i = 0; i < IDENTIFIERS; i++) crypto.randomUUID();
}

const steps = {
  dropKept,
  renewNumbers,
  tellNumber: (pid) => Object.defineProperty(process, 'pid', { value: pid, enumerable: true, configurable: true, writable: false }),
};

// In a fork, whose number is `pid`.
function goApart(pid) {
  for (const step of Object.values(steps)) step(pid);
}

module.exports = { goApart, prepareApart, steps };
