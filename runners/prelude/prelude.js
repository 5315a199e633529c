// Loads a template's prelude as its warm interpreter would.
//
//     node prelude.js CODE-FILE MODULE...      (CODE-FILE may be "")
//
// Exits 0, or 1 after a line that says what failed and its stack.
'use strict';
const fs = require('fs');
const vm = require('vm');

function attempt(what, action) {
  try {
    action();
  } catch (error) {
    process.stderr.write(`${what}:\n${(error && error.stack) || error}\n`);
    process.exit(1);
  }
}

const [path, ...names] = process.argv.slice(2);
for (const name of names) attempt(`import ${name}`, () => require(name));
if (path) {
  globalThis.require = require;
  attempt('code', () => vm.runInThisContext(fs.readFileSync(path, 'utf8'), { filename: '<prelude>' }));
}
