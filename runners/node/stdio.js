// Descriptors 0 to 2 as the program sees them.
'use strict';

const { Console } = require('console');
const crypto = require('crypto');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { Writable } = require('stream');

const { closeSync, openSync, unlinkSync, writeFileSync, writeSync, ReadStream } = fs;
const pause = new Int32Array(new SharedArrayBuffer(4));

// Writes all of it, waiting for the reader. A child that shares the pipe may have made it non-blocking.
function writeAll(fd, bytes) {
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

// process.stdout and process.stderr: written at once, so that the order against what children write is kept, and
// nothing is left to flush when a run ends. Node's own would make the pipe, which children share, non-blocking.
class Output extends Writable {
  constructor(fd) {
    super({ decodeStrings: true, emitClose: false, autoDestroy: false });
    this.fd = fd;
    this._type = 'fs';
    this._isStdio = true;
  }

  _write(bytes, encoding, done) {
    try {
      writeAll(this.fd, bytes);
      done();
    } catch (error) {
      done(error.code === 'EPIPE' || error.code === 'EBADF' ? null : error);
    }
  }

  // The next run prints, too.
  end(chunk, encoding, done) {
    const callback = [chunk, encoding, done].find((argument) => typeof argument === 'function');
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') this.write(chunk, encoding);
    if (callback) process.nextTick(callback);
    return this;
  }

  destroy() {
    return this;
  }
}

// What a program's console.log does, by a console of its own: the program's is bound to process.stdout when it is first
// used, and a prelude may have put something else in its place.
function rehearsePrinting() {
  const fd = openSync('/dev/null', 'w');
  try {
    const output = new Output(fd);
    const console = new Console(output, output);
    console.log(1, 'text', { list: [1, 2] });
    console.error('text');
  } finally {
    closeSync(fd);
  }
}

let stdin;
let hasInput = false;

function takeOver() {
  const outputs = { stdout: new Output(1), stderr: new Output(2) };
  for (const [name, stream] of Object.entries(outputs)) {
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
  }
  Object.defineProperty(process, 'stdin', { configurable: true, enumerable: true, get: input });
}

// Made when it is first asked for, of descriptor 0 as it then is.
function input() {
  if (stdin === undefined) stdin = new ReadStream(null, { fd: 0, autoClose: false });
  return stdin;
}

// Makes descriptor 0 give these bytes, or none: to process.stdin, fs.readFileSync(0), /dev/stdin, and to children
// that inherit it. The lowest free number is given to the next file opened, so closing 0 makes room for it.
function giveInput(bytes) {
  stdin = undefined;
  if (bytes === null && !hasInput) return;
  hasInput = bytes !== null;
  let name = '/dev/null';
  if (bytes !== null) {
    name = path.join(os.tmpdir(), `.snapcell-stdin-${crypto.randomBytes(8).toString('hex')}`);
    writeFileSync(name, bytes, { flag: 'wx', mode: 0o600 });
  }
  try {
    reopenInput(name);
  } finally {
    if (bytes !== null) unlinkSync(name);
  }
}

function reopenInput(name) {
  try {
    closeSync(0);
  } catch {
    // The program closed it.
  }
  const fd = openSync(name, 'r');
  if (fd === 0) return;
  closeSync(fd);
  throw new Error('standard input could not be opened: descriptor 0 is taken');
}

module.exports = { giveInput, rehearsePrinting, takeOver, writeAll };
