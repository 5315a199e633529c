// Reads JavaScript as tokens: enough of the grammar to tell a statement's first word from any other, a regular
// expression from a division, and a block from an object. Not a parser: the engine has the last word on what
// is valid, and a source that cannot be read here throws ScanError and is run as it stands.
'use strict';

class ScanError extends Error {}

// After these words an expression begins: a slash is a regular expression, a brace an object.
const OPERATOR_WORDS = new Set(['return', 'typeof', 'instanceof', 'in', 'of', 'new', 'delete', 'void', 'throw', 'case',
  'do', 'else', 'await', 'yield', 'extends', 'default']);
// Words whose parentheses are followed by a statement.
const CONTROL_WORDS = new Set(['if', 'for', 'while', 'with']);
const EXPRESSION_ENDS = new Set([')', ']', '}', '++', '--']);
const BLOCK_WORDS = new Set(['do', 'else', 'try', 'finally', 'static']);
const PUNCTUATORS = /=>|\.\.\.|\?\?=|\*\*=|>>>=|<<=|>>=|&&=|\|\|=|\?\.(?!\d)|\?\?|&&|\|\||\+\+|--|[\s\S]/y;
const NUMBER = /0[xXbBoO][\da-fA-F_]+n?|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?n?/y;
const SPACES = /[ \t\v\f\u00a0\ufeff\u1680\u2000-\u200a\u202f\u205f\u3000]+/y;
const NEWLINES = /[\n\r\u2028\u2029]+/y;
const NEWLINE = /[\n\r\u2028\u2029]/g;
const NAME = /(?:[\w$#]|\\u[\da-fA-F]{4}|\\u\{[\da-fA-F]+\}|[^\x00-\x7f\s])+/y;

class Scanner {
  constructor(source) {
    this.source = source;
    this.at = 0;
    this.tokens = [];
    this.open = []; // indices of the brackets that are open
    this.newline = true;
    this.top = { questions: 0, statements: true };
  }

  sticky(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    return found === null ? '' : found[0];
  }

  lineEnd(from) {
    NEWLINE.lastIndex = from;
    const found = NEWLINE.exec(this.source);
    return found === null ? this.source.length : found.index;
  }

  previous() {
    return this.tokens[this.tokens.length - 1];
  }

  enclosing() {
    return this.open.length > 0 ? this.tokens[this.open[this.open.length - 1]] : this.top;
  }

  push(type, text, extra) {
    const token = { type, text, start: this.at, end: this.at + text.length, newline: this.newline,
      depth: this.open.length, statement: false, match: -1, ...extra };
    token.statement = this.startsStatement(token);
    this.tokens.push(token);
    this.at = token.end;
    this.newline = false;
    return token;
  }

  // Comments, spaces, line ends. Whether anything was skipped.
  skip() {
    const { source } = this;
    if (source.startsWith('/*', this.at)) {
      const end = source.indexOf('*/', this.at + 2);
      if (end < 0) throw new ScanError('comment');
      if (this.lineEnd(this.at) < end) this.newline = true;
      this.at = end + 2;
      return true;
    }
    if (source.startsWith('//', this.at) || source.startsWith('<!--', this.at) ||
        (this.newline && source.startsWith('-->', this.at)) || (this.at === 0 && source.startsWith('#!'))) {
      this.at = this.lineEnd(this.at);
      return true;
    }
    const spaces = this.sticky(SPACES);
    this.at += spaces.length;
    const lines = this.sticky(NEWLINES);
    this.at += lines.length;
    if (lines) this.newline = true;
    return spaces.length + lines.length > 0;
  }

  // A brace that closed whole statements: what comes after it begins a new one.
  static closedStatement(token) {
    return token.text === '}' && (token.kind === 'block' || token.kind === 'declaration');
  }

  // Whether the token may be the end of an expression.
  static endsExpression(token, before) {
    if (token === undefined) return false;
    if (token.type === 'punctuator') {
      return EXPRESSION_ENDS.has(token.text);
    }
    return token.type !== 'name' || !OPERATOR_WORDS.has(token.text) || (before !== undefined && before.text === '.');
  }

  startsStatement(token) {
    const previous = this.previous();
    if (previous === undefined || previous.text === ';') return true;
    if (previous.type === 'punctuator') {
      if (previous.text === '{') return previous.statements;
      if (Scanner.closedStatement(previous)) return true;
      if (previous.text === ':') return previous.kind === 'label';
      if (previous.text === ')' && previous.kind === 'control') return true;
    }
    if (previous.type === 'name' && (previous.text === 'else' || previous.text === 'do')) return true;
    return token.newline && token.type === 'name' && token.text !== 'in' && token.text !== 'instanceof' &&
      Scanner.endsExpression(previous, this.tokens[this.tokens.length - 2]);
  }

  regexAllowed() {
    const previous = this.previous();
    if (previous === undefined) return true;
    if (previous.type === 'name') return !Scanner.endsExpression(previous, this.tokens[this.tokens.length - 2]);
    if (previous.type !== 'punctuator') return false;
    switch (previous.text) {
      case ')': return previous.kind === 'control';
      case '}': return previous.kind !== 'expression';
      case ']': case '++': case '--': return false;
      default: return true;
    }
  }

  // What stands before `(`: a word that controls, a function's head (and of which kind), or a call.
  parenKind() {
    const count = this.tokens.length;
    for (let i = count - 1; i >= 0 && i >= count - 4; i--) {
      const token = this.tokens[i];
      const member = i > 0 && (this.tokens[i - 1].text === '.' || this.tokens[i - 1].text === '?.');
      if (token.text === 'function' && token.type === 'name' && !member) {
        const first = i > 0 && this.tokens[i - 1].text === 'async' ? this.tokens[i - 1] : token;
        return first.statement ? 'declaration' : 'expression';
      }
      if (i === count - 1 && CONTROL_WORDS.has(token.text) && !member) return 'control';
      if (token.text === 'await' && i === count - 1 && i > 0 && this.tokens[i - 1].text === 'for') return 'control';
      if (token.type !== 'name' && token.text !== '*') break;
    }
    return 'call';
  }

  braceKind() {
    const previous = this.previous();
    const owner = this.enclosing();
    if (owner.classHead !== undefined) {
      const kind = owner.classHead;
      owner.classHead = undefined;
      return kind;
    }
    if (previous === undefined) return 'block';
    if (previous.type === 'name') {
      if (BLOCK_WORDS.has(previous.text)) return 'block';
      return Scanner.endsExpression(previous) || (previous.text === 'return' && this.newline) ? 'block' : 'expression';
    }
    if (previous.type !== 'punctuator') return 'block';
    switch (previous.text) {
      case '=>': return 'arrow';
      case ')': return previous.kind === 'expression' ? 'expression' : 'block';
      case ';': case '{': case '}': case ']': return 'block';
      case ':': return previous.kind === 'label' ? 'block' : 'expression';
      default: return 'expression';
    }
  }

  opens(text) {
    const previous = this.previous();
    let kind = 'call';
    let statements = false;
    if (text === '(') {
      kind = this.parenKind();
    } else if (text === '{') {
      kind = this.braceKind();
      statements = kind === 'block' || kind === 'arrow' || (kind === 'expression' && previous.text === ')');
    } else if (text === '${') {
      kind = 'template';
    }
    this.push('punctuator', text, { kind, statements, questions: 0 });
    this.open.push(this.tokens.length - 1);
  }

  closes(text) {
    const index = this.open.pop();
    const opener = this.tokens[index];
    const fits = { ')': '(', ']': '[', '}': '{' };
    if (opener === undefined || (opener.text !== fits[text] && !(text === '}' && opener.text === '${'))) {
      throw new ScanError('bracket');
    }
    this.push('punctuator', text, { kind: opener.kind, match: index });
    opener.match = this.tokens.length - 1;
    if (opener.kind === 'template') this.template();
  }

  // A colon ends a `?`, or a label, or a property's name.
  colon() {
    const owner = this.enclosing();
    let kind = 'property';
    if (owner.questions > 0) owner.questions--;
    else if (owner.statements) kind = 'label';
    this.push('punctuator', ':', { kind });
  }

  punctuator() {
    const text = this.sticky(PUNCTUATORS);
    switch (text) {
      case '(': case '[': case '{': this.opens(text); return;
      case ')': case ']': case '}': this.closes(text); return;
      case ':': this.colon(); return;
      case '?': this.enclosing().questions++; break;
      case ';': this.enclosing().questions = 0; break;
    }
    this.push('punctuator', text);
  }

  string(quote) {
    const { source } = this;
    let i = this.at + 1;
    for (; source[i] !== quote; i++) {
      if (i >= source.length || source[i] === '\n' || source[i] === '\r') throw new ScanError('string');
      if (source[i] === '\\') i += source.startsWith('\r\n', i + 1) ? 2 : 1;
    }
    this.push('string', source.slice(this.at, i + 1));
  }

  // From a backtick, or from the brace that ends a substitution, to the next substitution or the end.
  template() {
    const { source } = this;
    let i = this.at;
    for (; source[i] !== '`'; i++) {
      if (i >= source.length) throw new ScanError('template');
      if (source[i] === '\\') i++;
      else if (source[i] === '$' && source[i + 1] === '{') {
        this.at = i;
        this.opens('${');
        return;
      }
    }
    this.at = i;
    this.push('template', '`');
  }

  regex() {
    const { source } = this;
    let inClass = false;
    let i = this.at + 1;
    for (; inClass || source[i] !== '/'; i++) {
      if (i >= source.length || /[\n\r\u2028\u2029]/.test(source[i])) throw new ScanError('regular expression');
      if (source[i] === '\\') i++;
      else if (source[i] === '[') inClass = true;
      else if (source[i] === ']') inClass = false;
    }
    NAME.lastIndex = i + 1;
    const flags = NAME.exec(source);
    this.push('regex', source.slice(this.at, i + 1) + (flags === null ? '' : flags[0]));
  }

  name(text) {
    const previous = this.previous();
    const token = this.push('name', text);
    const member = previous !== undefined && (previous.text === '.' || previous.text === '?.');
    if (text === 'class' && !member) this.enclosing().classHead = token.statement ? 'declaration' : 'expression';
  }

  scan() {
    const { source } = this;
    while (this.at < source.length) {
      if (this.skip()) continue;
      const character = source[this.at];
      if (character === '"' || character === "'") {
        this.string(character);
      } else if (character === '`') {
        this.at++;
        this.template();
      } else if (character === '/' && this.regexAllowed()) {
        this.regex();
      } else {
        const number = this.sticky(NUMBER);
        const name = number === '' ? this.sticky(NAME) : '';
        if (number !== '') this.push('number', number);
        else if (name !== '') this.name(name);
        else this.punctuator();
      }
    }
    return this.tokens;
  }
}

module.exports = {
  ScanError,
  // Tokens of a source: {type, text, start, end, newline before it, depth of brackets around it, statement
  // begins with it, match: index of a bracket's other half or -1, kind}. Throws ScanError.
  scan: (source) => new Scanner(source).scan(),
  endsExpression: Scanner.endsExpression,
};
