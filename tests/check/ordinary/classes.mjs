import assert from 'node:assert';
import {EventEmitter} from 'events';
import * as util from 'util';

class Counter extends EventEmitter {
  #count = 0;
  static from(n) { const c = new this(); for (let i = 0; i < n; i++) c.add(); return c; }
  add() { this.#count += 1; this.emit('add', this.#count); return this; }
  get count() { return this.#count; }
  clone() { return new this.constructor(); }
  [Symbol.iterator]() { return [1, 2][Symbol.iterator](); }
}

const groups = {};
for (const [key, value] of Object.entries({a: 1, b: 2})) groups[key] = (groups[key] ?? 0) + value;
const list = [3, 1, 2].sort((a, b) => a - b).map((x, i, all) => all[i] * 2);
assert.deepEqual(list, [2, 4, 6]);
setTimeout(() => console.log(`${util.inspect(groups)} ${Counter.from(2).count} function eval()`), 1);
const {a, ...rest} = groups;
console.log(a, rest, typeof require, [..."abc"].join(''), /eval\(/.test('x'));
class Wrong extends Error { constructor(...all) { super(...all); Error.captureStackTrace(this, Wrong); } }
function count() { return arguments.length + [Object, Error, Map].length; }
export * from './other.mjs';
export {count, Wrong};
export default Counter;
