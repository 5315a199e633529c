// A Node that loads a prelude and then is forked until its orders end (docs/runner-protocol.md). Each fork comes out of
// `serve` with the whole stack below it, and goes on as a runner. How Node is made to bear that: runners/fork/node/.
//
// Until then nothing is read or written by way of the event loop, which would have descriptors of ours to look after.
'use strict';

const fs = require('fs');
const path = require('path');

const { goApart, prepareApart } = require('./apart.js');
const { writeAll } = require('./stdio.js');
const { keepSignal } = require('./watch.js');

const RUNNER_FD = 3;
const SOCKET_FD = 4;
const CANNOT_COMPLY = 70;
const LINE_MAX = 128;
const PRELUDE = /^prelude (import|code) (\d{1,7})$/;
const FOLDER = path.join(__dirname, '..', 'fork');
const REHEARSAL = 'try { null.x } catch (error) { String(error) } [1, 2].map(String); process.stdout.write(""); `${[3]}`';
const endNow = process.exit;

function say(object) {
  writeAll(RUNNER_FD, Buffer.from(`${JSON.stringify(object)}\n`));
}

function readExactly(count) {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count;) {
    const got = fs.readSync(RUNNER_FD, bytes, at, count - at, null);
    if (got === 0) endNow(0);
    at += got;
  }
  return bytes;
}

function readLine() {
  let line = '';
  while (line.length < LINE_MAX) {
    const letter = readExactly(1).toString('latin1');
    if (letter === '\n') return line;
    line += letter;
  }
  return line;
}

function descriptors() {
  const here = (name) => {
    try {
      return [Number(name), fs.readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      return null; // the listing's own
    }
  };
  return new Map(fs.readdirSync('/proc/self/fd').map(here).filter((one) => one !== null));
}

class Zygote {
  constructor() {
    this.problem = null;
    this.hidePreload();
  }

  // start(runner) is called in each fork. The addon counts what Node itself has: that is, with the threads that do its work
  // on files, which it starts at the first, and which libuv starts anew in a fork.
  listen(runner, start) {
    this.runner = runner;
    this.start = start;
    fs.stat('/', () => {
      this.load();
      say(runner.ready);
      this.next();
    });
  }

  load() {
    try {
      this.addon = require(path.join(FOLDER, 'snapcell-fork-addon.node'));
      this.addon.load(path.join(FOLDER, 'libsnapcell-fork.so'));
    } catch (error) {
      this.problem = error.message;
    }
    this.own = descriptors();
  }

  // For the programs that forks start.
  hidePreload() {
    const others = (process.env.LD_PRELOAD || '').split(/[: ]/).filter((name) => name && !name.startsWith(FOLDER));
    if (others.length > 0) process.env.LD_PRELOAD = others.join(':');
    else delete process.env.LD_PRELOAD;
    process.execArgv = [];
  }

  next() {
    const line = readLine();
    const found = PRELUDE.exec(line);
    if (found !== null) {
      this.runner.loadPrelude(found[1], readExactly(Number(found[2])).toString(), (answer) => {
        say(answer);
        this.next();
      });
    } else if (line === 'serve') {
      this.prepare();
    } else {
      process.stderr.write('runner: a zygote has no runs\n');
      endNow(1);
    }
  }

  prepare() {
    this.runner.rehearse(REHEARSAL, () => {
      prepareApart();
      this.serve();
    });
  }

  serve() {
    const reason = this.problem || this.hindrance();
    if (reason !== null) {
      say({ op: 'not_forkable', reason });
      endNow(0);
    }
    say({ op: 'forkable' });
    const got = this.addon.serve(SOCKET_FD);
    if (got === 0) endNow(0);
    try {
      if (typeof got === 'string') throw new Error(got);
      this.beBorn(got === 2);
    } catch (error) {
      this.giveUp(error.message);
    }
  }

  // What no fork could have, or null.
  hindrance() {
    // Our own immediate is what this is called from.
    const waiting = process.getActiveResourcesInfo().filter((name) => name !== 'Immediate');
    if (waiting.length > 0) return `something is still waited for: ${[...new Set(waiting)].join(', ').slice(0, 200)}`;
    for (const [number, name] of descriptors()) {
      if (!this.own.has(number)) return `descriptor ${number} cannot be carried over: ${name.slice(0, 200)}`;
    }
    for (const line of fs.readFileSync('/proc/self/maps', 'latin1').split('\n')) {
      const words = line.split(/ +/);
      if (words.length > 1 && words[1][1] === 'w' && words[1][3] === 's') return `memory is shared: ${words.slice(5).join(' ')}`;
    }
    return null;
  }

  beBorn(hasSocket) {
    if (hasSocket) fs.closeSync(SOCKET_FD); // This one is not forked between its runs.
    goApart(this.addon.pid());
    // Node's own way to end waits for its threads, which a fork has not.
    process.reallyExit = (status) => this.addon.end(status);
    this.addon.watch((again) => this.runner.interrupt(again));
    keepSignal();
    this.start(this.runner);
  }

  giveUp(reason) {
    try {
      say({ op: 'not_forkable', reason });
    } catch (error) {
      process.stderr.write(`runner: ${reason}; ${error.message}\n`);
    }
    this.addon.end(CANNOT_COMPLY);
  }
}

module.exports = { REHEARSAL, Zygote };
