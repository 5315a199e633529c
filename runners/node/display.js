// `display(value)` and its relatives: what a run shows before it ends.
'use strict';

const { TEXT_MAX, bundleForms, cut, describe } = require('./forms.js');
const { guarded } = require('./guard.js');

const DISPLAYS_MAX = 1000;
const DISPLAYS_BYTES_MAX = 16 * 1024 * 1024;
const KINDS = {
  text: 'text/plain', html: 'text/html', markdown: 'text/markdown', latex: 'text/latex', svg: 'image/svg+xml',
  json: 'application/json', png: 'image/png', jpeg: 'image/jpeg',
};

// Counts what one run shows. write(forms) sends; after the bounds, once more to say so, then nothing.
class Displays {
  constructor(write) {
    this.write = write;
    this.count = 0;
    this.bytes = 0;
  }

  show(forms) {
    if (this.count > DISPLAYS_MAX) return;
    this.count++;
    this.bytes += Buffer.byteLength(JSON.stringify(forms));
    if (this.count <= DISPLAYS_MAX && this.bytes <= DISPLAYS_BYTES_MAX) {
      this.write(forms);
      return;
    }
    this.count = DISPLAYS_MAX + 1;
    this.write({ 'text/plain': '(more was displayed than is passed on)' });
  }
}

// The forms of content that the program says is of this type. Words are their own plain text.
function only(type, content) {
  const plain = typeof content === 'string' && !type.startsWith('image/') ? content : `<${type}>`;
  const { value, problem } = guarded(() => bundleForms({ [type]: content }, () => cut(plain, TEXT_MAX)));
  if (problem !== undefined) return { 'text/plain': problem };
  if (value[type] === undefined && value['text/plain'] === plain) {
    throw new TypeError(`this cannot be shown as ${type}`);
  }
  return value;
}

// The global function. current(): the Displays of the run that is on, or null.
function makeDisplay(current) {
  const show = (forms) => {
    const displays = current();
    if (displays !== null) displays.show(forms);
  };
  const display = (value) => describe(value, show);
  for (const [name, type] of Object.entries(KINDS)) {
    display[name] = (content) => show(only(type, content));
  }
  return display;
}

module.exports = { Displays, makeDisplay };
