// Makes a cell's source of a notebook's run: what it declares at its top level belongs to the context and may be
// declared again by the next run, and `import` works as in a module. Lines stay where they are.
//
//   const x = 1, {a} = o      var   x = 1, {a} = o
//   let x                     var x=undefined
//   class A {}                var A=class A {};
//   import d, {a as b} from "m"    var {default:d,a:b}=await IMPORT('m')
//   import(x), import.meta    IMPORT(x), IMPORT.meta
//
// A name that the global object came with (`setTimeout`, `crypto`) is declared with `let` instead: it hides the
// global one from the runs, and changes it for nobody else.
'use strict';

const { IMPORT } = require('./names.js');
const { ScanError, endsExpression, scan } = require('./scan.js');

// Tokens take much more memory than text. A longer source is run as it stands.
const SOURCE_MAX = 2 * 1024 * 1024;

class Rewriter {
  constructor(source, isBuiltin) {
    this.source = source;
    this.isBuiltin = isBuiltin;
    this.tokens = scan(source);
    this.edits = []; // [start, end, text]
    this.names = []; // what const, let, class and import declare
  }

  text(index) {
    const token = this.tokens[index];
    return token === undefined ? '' : token.text;
  }

  edit(start, end, text) {
    this.edits.push([start, end, text]);
  }

  // Whether the name in a pattern is one that it binds, not a property's or a part of a default value.
  bindsHere(index) {
    return this.tokens[index].type === 'name' && this.text(index + 1) !== ':' &&
      ['{', '[', ',', '...', ':'].includes(this.text(index - 1));
  }

  // The names that the pattern between two brackets binds.
  patternNames(first, last) {
    const names = [];
    for (let i = first + 1; i < last; i++) {
      const token = this.tokens[i];
      if (token.text === '(') i = token.match;
      else if (this.bindsHere(i)) names.push(token.text);
    }
    return names;
  }

  // The token that ends a declarator's initializer: a comma, a semicolon, the first word of a line that cannot
  // go on with it, or the end of the source.
  initializerEnd(from) {
    const { tokens } = this;
    for (let i = from; i < tokens.length; i++) {
      const token = tokens[i];
      if (token.text === ',' || token.text === ';') return i;
      const begins = token.statement || ['number', 'string'].includes(token.type) ||
        (token.type === 'punctuator' && ['{', '++', '--', '!', '~'].includes(token.text));
      if (i > from && token.newline && begins && endsExpression(tokens[i - 1], tokens[i - 2])) return i;
      if (token.match > i) i = token.match;
    }
    return tokens.length;
  }

  // Whether a name or a pattern stands here, after a `let`, which may be a name itself.
  isBinding(index) {
    const token = this.tokens[index];
    return token !== undefined && (token.type === 'name' || token.text === '{' || token.text === '[');
  }

  // const or let at `index`. What is not valid is left to the engine, which says so.
  declaration(index) {
    const keyword = this.tokens[index];
    const names = [];
    const empty = [];
    let i = index + 1;
    for (;;) {
      const binding = this.tokens[i];
      if (binding === undefined) return;
      if (binding.type === 'name') names.push(binding.text);
      else if (binding.match > i) names.push(...this.patternNames(i, binding.match));
      else return;
      i = Math.max(i, binding.match) + 1;
      if (this.text(i) === '=') i = this.initializerEnd(i + 1);
      else if (keyword.text === 'const') return;
      else empty.push(this.tokens[i - 1].end);
      if (this.text(i) !== ',') break;
      i++;
    }
    const hides = names.some(this.isBuiltin);
    this.edit(keyword.start, keyword.end, (hides ? 'let' : 'var').padEnd(keyword.text.length));
    // A `let` without a value makes the name undefined; a `var` would leave it what it was.
    if (!hides) for (const end of empty) this.edit(end, end, '=undefined');
    this.names.push(...names);
  }

  classDeclaration(index) {
    const name = this.tokens[index + 1];
    let i = index + 2;
    while (i < this.tokens.length && this.tokens[i].kind !== 'declaration') i++;
    if (name === undefined || name.type !== 'name' || i === this.tokens.length || this.tokens[i].match < 0) return;
    const start = this.tokens[index].start;
    this.edit(start, start, (this.isBuiltin(name.text) ? 'let ' : 'var ') + name.text + '=');
    const end = this.tokens[this.tokens[i].match].end;
    this.edit(end, end, ';');
    this.names.push(name.text);
  }

  // The names between the braces of an import: [imported, local] pairs, or null where they are not understood.
  namedImports(first, last) {
    const pairs = [];
    for (let i = first + 1; i < last; i++) {
      const imported = this.tokens[i];
      if (imported.type !== 'name' && imported.type !== 'string') return null;
      let local = imported;
      if (this.text(i + 1) === 'as') {
        local = this.tokens[i + 2];
        i += 2;
      }
      if (local.type !== 'name') return null;
      pairs.push([imported.text, local.text]);
      if (this.text(i + 1) === ',') i++;
      else if (i + 1 !== last) return null;
    }
    return pairs;
  }

  // What an import binds, from its first word to `from`: {pairs, namespace, next} or null.
  importClause(index) {
    const clause = { pairs: [], namespace: null, next: index };
    let i = index;
    if (this.tokens[i].type === 'name') {
      clause.pairs.push(['default', this.text(i)]);
      i++;
      if (this.text(i) === ',') i++;
    }
    if (this.text(i) === '*' && this.text(i + 1) === 'as') {
      clause.namespace = this.text(i + 2);
      i += 3;
    } else if (this.text(i) === '{') {
      const pairs = this.namedImports(i, this.tokens[i].match);
      if (pairs === null) return null;
      clause.pairs.push(...pairs);
      i = this.tokens[i].match + 1;
    }
    if (this.text(i) !== 'from') return null;
    clause.next = i + 1;
    return clause;
  }

  importStatement(index) {
    let clause = { pairs: [], namespace: null, next: index + 1 };
    if (this.tokens[index + 1] === undefined) return;
    if (this.tokens[index + 1].type !== 'string') clause = this.importClause(index + 1);
    const from = clause === null ? undefined : this.tokens[clause.next];
    if (from === undefined || from.type !== 'string') return;
    let last = from;
    let options = '';
    const word = this.text(clause.next + 1);
    if ((word === 'with' || word === 'assert') && this.text(clause.next + 2) === '{') {
      const open = this.tokens[clause.next + 2];
      last = this.tokens[open.match];
      options = `,{${word}:${this.source.slice(open.start, last.end)}}`;
    }
    const start = this.tokens[index].start;
    const lines = this.source.slice(start, last.end).match(/\r\n|[\n\r\u2028\u2029]/g) || [];
    const more = lines.length - (options.match(/\r\n|[\n\r\u2028\u2029]/g) || []).length;
    this.edit(start, last.end, this.imported(clause, from.text, options) + '\n'.repeat(Math.max(0, more)));
  }

  imported(clause, from, options) {
    const { pairs, namespace } = clause;
    const wanted = pairs.map(([imported]) => (/^['"]/.test(imported) ? imported : `'${imported}'`));
    const value = `await ${IMPORT}.names(${from},[${wanted}]${options})`;
    const names = pairs.map(([, local]) => local);
    if (namespace !== null) names.push(namespace);
    if (names.length === 0) return value;
    this.names.push(...names);
    const keyword = names.some(this.isBuiltin) ? 'let' : 'var';
    const pattern = `{${pairs.map(([imported, local]) => `${imported}:${local}`)}}`;
    if (namespace === null) return `${keyword} ${pattern}=${value}`;
    return `${keyword} ${namespace}=${value}` + (pairs.length > 0 ? `,${pattern}=${namespace}` : '');
  }

  importWord(index) {
    const token = this.tokens[index];
    const next = this.tokens[index + 1];
    if (['.', '?.'].includes(this.text(index - 1)) || next === undefined) return;
    // A method may be called import: its parentheses are followed by a body.
    const called = next.text === '(' && this.text(next.match + 1) !== '{';
    if (called || (next.text === '.' && this.text(index + 2) === 'meta')) {
      this.edit(token.start, token.end, IMPORT);
    } else if (token.depth === 0 && token.statement) {
      this.importStatement(index);
    }
  }

  rewrite() {
    this.tokens.forEach((token, index) => {
      if (token.type !== 'name') return;
      if (token.text === 'import') this.importWord(index);
      else if (token.depth > 0 || !token.statement) return;
      else if (token.text === 'class') this.classDeclaration(index);
      else if (token.text === 'const' || (token.text === 'let' && this.isBinding(index + 1))) this.declaration(index);
    });
    // The same name twice in one run is an error, which the engine tells of the source as it stands.
    if (new Set(this.names).size < this.names.length) return this.source;
    let result = '';
    let at = 0;
    for (const [start, end, text] of this.edits.sort((a, b) => a[0] - b[0])) {
      result += this.source.slice(at, start) + text;
      at = end;
    }
    return result + this.source.slice(at);
  }
}

// The source to run. isBuiltin(name): the global object came with it.
function rewrite(source, isBuiltin) {
  if (source.length > SOURCE_MAX) return source;
  try {
    return new Rewriter(source, isBuiltin).rewrite();
  } catch (error) {
    if (error instanceof ScanError) return source;
    throw error;
  }
}

module.exports = { rewrite };
