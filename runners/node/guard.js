// Calls that may run the program's own code (getters, inspect functions, toJSON) for a limited time.
'use strict';

const vm = require('vm');

const { INTERNAL } = require('./names.js');

const SECOND_MS = 1000;
const GUARD_FILE = 'snapcell:guard';
const script = new vm.Script(`${INTERNAL}.call()`, { filename: GUARD_FILE });

// The object that texts evaluated for the runner call; its members are set by who needs them.
const internal = { call: null };
Object.defineProperty(globalThis, INTERNAL, { value: internal });

// How a value that could not be asked is told.
const TIMED_OUT = '<repr timed out>';
function failed(error) {
  let name = typeof error;
  try {
    if (error instanceof Error && typeof error.name === 'string') name = error.name.slice(0, 100);
  } catch {
    // Its name is no better than its words.
  }
  return `<repr failed: ${name}>`;
}

// {value} of `ask`, or {problem}: a text.
function guarded(ask, milliseconds = SECOND_MS) {
  let outcome = { problem: TIMED_OUT };
  internal.call = () => {
    try {
      outcome = { value: ask() };
    } catch (error) {
      outcome = { problem: failed(error) };
    }
  };
  try {
    script.runInThisContext({ timeout: Math.max(1, Math.ceil(milliseconds)) });
  } catch {
    outcome = { problem: TIMED_OUT };
  }
  internal.call = null;
  return outcome;
}

module.exports = { GUARD_FILE, TIMED_OUT, guarded, internal };
