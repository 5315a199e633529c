// `require` and `import` of the code that is run: they look from the work folder, as those of a file there would.
'use strict';

const Module = require('module');
const path = require('path');
const { pathToFileURL } = require('url');

const { isPrimitive } = require('./forms.js');
const { IMPORT } = require('./names.js');

// Compiled as a file in the work folder, so that what it imports is looked for from there.
const IMPORTER = 'module.exports=(name,options)=>options===undefined?import(name):import(name,options);';

const known = new WeakSet();

function remember(value) {
  if (!isPrimitive(value)) known.add(value);
  return value;
}

// Whether a value is what a module exports, by the ways offered here.
function isModule(value) {
  return !isPrimitive(value) && known.has(value);
}

async function names(load, name, wanted, options) {
  const namespace = await load(name, options);
  remember(namespace.default);
  for (const word of wanted) {
    if (word in namespace) continue;
    throw new SyntaxError(`The requested module '${name}' does not provide an export named '${word}'`);
  }
  return namespace;
}

function hide(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

let folder = null;

// Gives the global object `require`, `module` and import for the folder the process is in.
function enterFolder() {
  let now;
  try {
    now = process.cwd();
  } catch {
    now = '/'; // the folder is gone
  }
  if (now === folder) return;
  folder = now;
  const filename = path.join(folder, '[run]');
  const importer = new Module(filename);
  importer.filename = filename;
  importer.paths = Module._nodeModulePaths(folder);
  importer._compile(IMPORTER, filename);
  const load = importer.exports;
  offerImport(load, filename);
  offerRequire(filename);
  process.argv = [process.argv[0], filename];
}

function offerImport(load, filename) {
  const found = async (name, options) => {
    const namespace = await load(name, options);
    remember(namespace.default);
    return namespace;
  };
  found.names = (name, wanted, options) => names(load, name, wanted, options);
  found.meta = {
    dirname: folder,
    filename,
    url: pathToFileURL(filename).href,
    resolve: (name) => resolved(filename, name),
  };
  hide(IMPORT, found);
}

function resolved(filename, name) {
  if (/^\.{0,2}\//.test(name)) return new URL(name, pathToFileURL(filename)).href;
  const file = Module.createRequire(filename).resolve(name);
  return path.isAbsolute(file) ? pathToFileURL(file).href : `node:${file.replace(/^node:/, '')}`;
}

function offerRequire(filename) {
  const real = Module.createRequire(filename);
  const module = new Module(filename);
  module.filename = filename;
  module.paths = Module._nodeModulePaths(folder);
  const require = Object.assign((name) => remember(real(name)), real, { main: module });
  module.require = require;
  hide('require', require);
  hide('module', module);
  hide('exports', module.exports);
  hide('__filename', filename);
  hide('__dirname', folder);
}

module.exports = { enterFolder, isModule };
