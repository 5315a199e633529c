// What a value looks like: its forms by media type, and its text among the variables.
'use strict';

const util = require('util');

const { TIMED_OUT, guarded } = require('./guard.js');

const TEXT_MAX = 64 * 1024;
const FORM_MAX = 8 * 1024 * 1024;
const LOCAL_TEXT_MAX = 4096;
const LOCALS_MAX = 1000;
const LOCALS_BYTES_MAX = 1024 * 1024;
const LOCALS_MS = 3000;
const JSON_BYTES_MAX = 64 * 1024;
const JSON_ITEMS_MAX = 5000;
const JSON_DEPTH_MAX = 32;
// The method by which objects of many libraries give their own forms.
const JUPYTER_DISPLAY = Symbol.for('Jupyter.display');
const TEXT_FORMS = new Set(['text/plain', 'text/html', 'text/markdown', 'text/latex', 'image/svg+xml']);
const BINARY_FORMS = new Set(['image/png', 'image/jpeg']);
const VALUE_STYLE = { depth: 4, maxArrayLength: 100, maxStringLength: TEXT_MAX, breakLength: 100 };
const LOCAL_STYLE = { depth: 2, maxArrayLength: 50, maxStringLength: LOCAL_TEXT_MAX, breakLength: Infinity };

const { stringify } = JSON;
const { isModuleNamespaceObject, isPromise, isProxy, isUint8Array } = util.types;

// At most `max` characters, and only whole ones: a half of a pair is no text in UTF-8.
function cut(text, max) {
  const whole = text.length <= max ? text : text.slice(0, max - 1) + '\u2026';
  return whole.replace(/[\ud800-\udfff]/gu, '\ufffd');
}

function isPrimitive(value) {
  return value === null || (typeof value !== 'object' && typeof value !== 'function');
}

function inspectText(value, style, max) {
  return cut(util.inspect(value, style), max);
}

// A copy of a value that JSON can tell, made without running any code of the program: no getters, proxies or
// classes. Throws a text where that is not so, or it is too much.
function plain(value, left, depth = 0) {
  if (--left.items < 0 || depth > JSON_DEPTH_MAX) throw 'too much';
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'number') {
    // Readers of JSON have integers of 64 bits; beyond 53 they would be told wrong anyway.
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) throw 'no JSON number';
    return value;
  }
  if (typeof value === 'string') {
    left.bytes -= value.length;
    if (left.bytes < 0) throw 'too much';
    return cut(value, value.length);
  }
  if (typeof value !== 'object' || isProxy(value)) throw 'no JSON value';
  if (Array.isArray(value)) {
    const copy = [];
    for (let i = 0; i < value.length; i++) copy.push(plain(member(value, String(i)), left, depth + 1));
    return copy;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) throw 'no plain object';
  const copy = Object.create(null);
  for (const key of Object.keys(value)) copy[plain(key, left, depth)] = plain(member(value, key), left, depth + 1);
  return copy;
}

function member(object, key) {
  const property = Object.getOwnPropertyDescriptor(object, key);
  if (property === undefined || !('value' in property)) throw 'no plain property';
  return property.value;
}

// `value` as JSON knows it, or undefined.
function jsonForm(value, bytes = JSON_BYTES_MAX) {
  try {
    return plain(value, { items: JSON_ITEMS_MAX, bytes });
  } catch (problem) {
    if (typeof problem === 'string') return undefined;
    throw problem;
  }
}

function isJsonType(type) {
  return type === 'application/json' || type.endsWith('+json');
}

// One form as the protocol has it, or undefined.
function form(type, content) {
  if (BINARY_FORMS.has(type)) {
    if (isUint8Array(content)) {
      return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
    }
    const isBase64 = typeof content === 'string' && /^[A-Za-z0-9+/\s]*=*\s*$/.test(content);
    return isBase64 ? content.replace(/\s/g, '') : undefined;
  }
  if (TEXT_FORMS.has(type)) {
    return typeof content === 'string' ? cut(content, type === 'text/plain' ? TEXT_MAX : Infinity) : undefined;
  }
  return isJsonType(type) ? jsonForm(content, FORM_MAX) : undefined;
}

// Forms from what a program gave: {media type: content}. Unknown ones and too large ones are left out.
function bundleForms(bundle, fallback) {
  const forms = {};
  const omitted = [];
  for (const type of [...TEXT_FORMS, ...BINARY_FORMS, ...Object.keys(bundle).filter(isJsonType)].slice(0, 30)) {
    if (bundle[type] === undefined) continue;
    const made = form(type, bundle[type]);
    if (made === undefined) continue;
    const size = typeof made === 'string' ? Buffer.byteLength(made) : Buffer.byteLength(stringify(made));
    if (size > FORM_MAX) omitted.push(`${type} left out: ${size} bytes`);
    else forms[type] = made;
  }
  const text = forms['text/plain'] === undefined ? fallback() : forms['text/plain'];
  forms['text/plain'] = omitted.length > 0 ? cut(`(${omitted.join(', ')}) ${text}`, TEXT_MAX) : text;
  return forms;
}

function ownForms(value) {
  const forms = { 'text/plain': inspectText(value, VALUE_STYLE, TEXT_MAX) };
  const tells = !isPrimitive(value) && !isProxy(value) && typeof value.toJSON === 'function';
  const json = jsonForm(tells ? value.toJSON() : value);
  if (json !== undefined) forms['application/json'] = json;
  return forms;
}

// The forms of a value, given to `done` at once, or later where the value gives them by a promise.
function describe(value, done) {
  if (isPrimitive(value)) {
    done(ownForms(value));
    return;
  }
  const asked = guarded(() => {
    const method = isProxy(value) ? undefined : value[JUPYTER_DISPLAY];
    if (typeof method !== 'function') return ownForms(value);
    const bundle = method.call(value);
    return isPromise(bundle) ? { promise: bundle } : fromBundle(bundle, value);
  });
  if (asked.problem !== undefined) done({ 'text/plain': asked.problem });
  else if (asked.value.promise !== undefined) later(asked.value.promise, value, done);
  else done(asked.value);
}

function fromBundle(bundle, value) {
  if (isPrimitive(bundle)) return ownForms(value);
  return bundleForms(bundle, () => inspectText(value, VALUE_STYLE, TEXT_MAX));
}

const { setTimeout, clearTimeout } = globalThis;

function later(promise, value, done) {
  let pending = true;
  const finish = (ask) => {
    if (!pending) return;
    pending = false;
    clearTimeout(timer);
    const { value: forms, problem } = guarded(ask);
    done(problem === undefined ? forms : { 'text/plain': problem });
  };
  const timer = setTimeout(() => finish(() => ({ 'text/plain': TIMED_OUT })), 1000);
  promise.then((bundle) => finish(() => fromBundle(bundle, value)), (error) => finish(() => { throw error; }));
}

// Name -> text of the variables among `names` of the global object. isModule(value): left out.
function localTexts(names, isModule) {
  const values = [];
  for (const name of names) {
    const property = Object.getOwnPropertyDescriptor(globalThis, name);
    if (property === undefined || !('value' in property) || name.startsWith('_')) continue;
    const { value } = property;
    if (typeof value === 'function' || isModuleNamespaceObject(value) || isModule(value)) continue;
    values.push([name, value]);
    if (values.length === LOCALS_MAX) break;
  }
  return withinBytes(values, textsOf(values));
}

// The texts of all values: those that run no code at once, the others in as few guarded calls as they permit.
function textsOf(values) {
  const text = (value) => inspectText(value, LOCAL_STYLE, LOCAL_TEXT_MAX);
  const texts = values.map(([, value]) => (isPrimitive(value) ? text(value) : null));
  const deadline = Date.now() + LOCALS_MS;
  let next = texts.indexOf(null);
  while (next >= 0) {
    const left = deadline - Date.now();
    if (left <= 0) break;
    const { problem } = guarded(() => {
      for (; next >= 0; next = texts.indexOf(null, next)) {
        texts[next] = text(values[next][1]);
      }
    }, Math.min(left, 1000));
    if (problem === undefined) break;
    texts[next] = problem;
    next = texts.indexOf(null, next);
  }
  return texts.map((text) => (text === null ? TIMED_OUT : text));
}

function withinBytes(values, texts) {
  const result = Object.create(null);
  let left = LOCALS_BYTES_MAX;
  for (let i = 0; i < values.length; i++) {
    const name = cut(values[i][0], 256);
    left -= Buffer.byteLength(name) + Buffer.byteLength(texts[i]);
    if (left < 0) break;
    result[name] = texts[i];
  }
  return result;
}

module.exports = { TEXT_MAX, bundleForms, cut, describe, isPrimitive, localTexts };
