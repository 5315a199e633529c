// Reads the supervisor's `run` lines, and the bytes they announce.
'use strict';

const HEADER_MAX = 128;
const PRELUDE = /^prelude (import|code) (\d{1,7})$/;
const HEADER = /^run ([0-9a-f]{16}) (\d{1,9}) (\d{1,9}|-) (rich)(?: (\d{1,7}))?$/;

class Requests {
  // take(request) is called with one at a time, when `isIdle`.
  constructor(stream, take, isIdle) {
    this.take = take;
    this.isIdle = isIdle;
    this.stream = stream;
    this.pieces = [];
    this.length = 0;
    this.head = null; // of the request whose bytes are awaited
    stream.on('data', (piece) => {
      this.pieces.push(piece);
      this.length += piece.length;
      this.next();
    });
  }

  // The bytes held, in one piece.
  held() {
    if (this.pieces.length > 1) this.pieces = [Buffer.concat(this.pieces)];
    return this.pieces.length > 0 ? this.pieces[0] : Buffer.alloc(0);
  }

  drop(count) {
    this.pieces = [this.held().subarray(count)];
    this.length -= count;
  }

  next() {
    if (!this.isIdle()) return;
    if (this.head === null && !this.readHead()) return;
    const { id, prelude, codeBytes, stdinBytes, envBytes } = this.head;
    const codeEnd = envBytes + codeBytes;
    const end = codeEnd + (stdinBytes === null ? 0 : stdinBytes);
    if (this.length < end) return;
    const bytes = this.held();
    const env = bytes.toString('utf8', 0, envBytes).split('\0').slice(0, -1);
    const code = bytes.toString('utf8', envBytes, codeEnd);
    const stdin = stdinBytes === null ? null : Buffer.from(bytes.subarray(codeEnd, end));
    this.drop(end);
    this.head = null;
    this.take({ id, prelude, code, stdin, env });
  }

  readHead() {
    const bytes = this.held();
    const end = bytes.indexOf(10);
    if (end < 0 && bytes.length <= HEADER_MAX) return false;
    const line = end < 0 ? '' : bytes.toString('latin1', 0, end);
    const prelude = PRELUDE.exec(line);
    if (prelude !== null) {
      this.head = { id: '', prelude: prelude[1], codeBytes: Number(prelude[2]), stdinBytes: null, envBytes: 0 };
      this.drop(end + 1);
      return true;
    }
    const found = HEADER.exec(line);
    if (found === null) {
      this.stream.destroy(new Error('no run'));
      return false;
    }
    const stdinBytes = found[3] === '-' ? null : Number(found[3]);
    this.head = { id: found[1], codeBytes: Number(found[2]), stdinBytes, envBytes: Number(found[5] || 0) };
    this.drop(end + 1);
    return true;
  }
}

module.exports = { Requests };
