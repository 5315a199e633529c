// What is told of something thrown: name, message, traceback and line, with none of the runner's own frames.
'use strict';

const util = require('util');

const { cut, isPrimitive } = require('./forms.js');
const { GUARD_FILE, guarded } = require('./guard.js');

const TRACEBACK_MAX = 64 * 1024;
const MESSAGE_MAX = 16 * 1024;
const STYLE = { depth: 2, maxArrayLength: 20, maxStringLength: 4096, breakLength: 100 };

// A source's name as the engine takes it: without spaces. People read `<run 3>`.
function sourceName(number) {
  return `<run:${number}>`;
}

// Number 0 is the prelude.
function labelOf(number) {
  return Number(number) === 0 ? '<prelude>' : `<run ${number}>`;
}

function readable(text) {
  return text.replace(/<run:(\d+)>/g, (_, number) => labelOf(number));
}

// Frames from the first of the runner or of the inspector on are how the code was started, not what it did.
function isOwn(frame) {
  const file = frame.getFileName();
  return typeof file === 'string' && (file.startsWith(__dirname) || file === 'node:inspector' || file === GUARD_FILE);
}

function formatStack(error, frames) {
  let text;
  try {
    text = Error.prototype.toString.call(error);
  } catch {
    text = '<error>';
  }
  for (const frame of frames) {
    if (isOwn(frame)) break;
    text += `\n    at ${readable(String(frame))}`;
  }
  return text;
}

// Whether code of the program, or of a module it uses, is on the stack.
function isProgramRunning() {
  const format = Error.prepareStackTrace;
  Error.prepareStackTrace = (error, frames) => frames;
  const { stack } = new Error();
  Error.prepareStackTrace = format;
  return stack.some((frame) => frame.getFileName() && !isOwn(frame) && !frame.getFileName().startsWith('node:'));
}

// From now on stacks name what people know, whoever reads them.
function nameStacks() {
  Error.prepareStackTrace = formatStack;
}

// Of a long text its first and last halves.
function halves(text, max) {
  if (text.length <= max) return cut(text, max);
  const half = Math.floor(max / 2) - 16;
  return `${cut(text.slice(0, half), half)}\n\u2026\n${cut(text.slice(-half), half)}`;
}

function inspected(thrown) {
  return halves(util.inspect(thrown, STYLE), TRACEBACK_MAX);
}

function lineIn(text, number) {
  const found = new RegExp(`${labelOf(number)}:(\\d+)`).exec(text);
  return found === null ? null : Number(found[1]);
}

function told(thrown, number) {
  if (!util.types.isNativeError(thrown)) {
    const text = cut(typeof thrown === 'string' ? thrown : util.inspect(thrown, STYLE), MESSAGE_MAX);
    return { name: 'Uncaught', message: text, traceback: `Uncaught ${text}`, line: null };
  }
  const { name, message } = thrown;
  return {
    name: cut(typeof name === 'string' ? name : 'Error', 256),
    message: cut(typeof message === 'string' ? message : '', MESSAGE_MAX),
    traceback: inspected(thrown),
    line: lineIn(String(thrown.stack), number),
  };
}

// The `error` of a result, for something that run `number` threw.
function describeFailure(thrown, number) {
  if (isPrimitive(thrown)) return told(thrown, number);
  const { value, problem } = guarded(() => told(thrown, number));
  if (problem === undefined) return value;
  return { name: 'Error', message: problem, traceback: problem, line: null };
}

// The `error` of a source that is not valid, `line` counted from 1.
function describeSyntaxFailure(error, number, source, toldLine) {
  const lines = source.split(/\r\n|[\n\r\u2028\u2029]/);
  // What is missing at the end is missed in the line that the runner appends.
  const line = Math.min(toldLine, lines.length);
  const where = `${labelOf(number)}:${line}\n${cut(lines[line - 1], 1000)}\n`;
  const message = cut(error.message, MESSAGE_MAX);
  return { name: 'SyntaxError', message, traceback: `${where}SyntaxError: ${message}`, line };
}

// For the standard error stream: something thrown that nobody waited for.
function uncaughtText(thrown) {
  const { value, problem } = guarded(() => inspected(thrown));
  return `Uncaught ${problem === undefined ? value : problem}\n`;
}

module.exports = { describeFailure, describeSyntaxFailure, isProgramRunning, nameStacks, sourceName, uncaughtText };
