// The current JavaScript SDK, through its public surface. Ends with 0 when all of it holds.
import assert from 'node:assert/strict'
import http from 'node:http'
import { createRequire } from 'node:module'

// Its packages are those in $CLIENTS.
const { Sandbox, NotFoundError, InvalidArgumentError, CommandExitError } = createRequire(process.env.CLIENTS + '/')('@e2b/code-interpreter')

const text = (bytes) => new TextDecoder().decode(bytes)
const until = async (true_) => {
  while (!true_()) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function runs(sandbox) {
  const streamed = { stdout: '', stderr: '', results: 0 }
  const first = await sandbox.runCode("import os, sys\nprint('é', os.environ['X'])\nprint('e', file=sys.stderr)\nx = 40\nx + 2", {
    onStdout: (piece) => { streamed.stdout += piece.line },
    onStderr: (piece) => { streamed.stderr += piece.line },
    onResult: () => { streamed.results++ },
  })
  assert.equal(first.text, '42')
  assert.deepEqual(first.logs, { stdout: ['é 1\n'], stderr: ['e\n'] })
  assert.deepEqual(streamed, { stdout: 'é 1\n', stderr: 'e\n', results: 1 })
  assert.equal(first.executionCount, 1)
  const again = await sandbox.runCode('x')
  assert.deepEqual([again.text, again.executionCount], ['40', 2])
  assert.equal((await sandbox.runCode("'abc'")).text, 'abc')
  assert.equal((await sandbox.runCode('print(1)')).text, undefined)
  let told
  const failed = await sandbox.runCode('def f():\n    raise KeyError("k")\nf()', { onError: (error) => { told = error } })
  assert.equal(failed.error.name, 'KeyError')
  assert.equal(failed.error.value, "'k'")
  assert.match(failed.error.traceback, /line 2, in f/)
  assert.equal(told.name, 'KeyError')
  assert.equal((await sandbox.runCode('x +')).error.name, 'SyntaxError')
  const rich = await sandbox.runCode("class T:\n    def _repr_html_(self): return '<b>t</b>'\n    def _repr_svg_(self): return '<svg/>'\ndisplay(T())\nT()")
  assert.deepEqual(rich.results.map((result) => [result.isMainResult, result.html, result.svg]), [[false, '<b>t</b>', '<svg/>'], [true, '<b>t</b>', '<svg/>']])
  const js = await sandbox.runCode('const y = 20; y + 1', { language: 'javascript' })
  assert.equal(js.text, '21')
  assert.equal((await sandbox.runCode('echo $((6 * 7))', { language: 'bash' })).logs.stdout.join(''), '42\n')
  await assert.rejects(sandbox.runCode('1', { language: 'r' }), /400/)
}

async function contexts(sandbox) {
  const context = await sandbox.createCodeContext({ cwd: '/tmp', language: 'python' })
  assert.deepEqual([context.language, context.cwd], ['python', '/tmp'])
  assert.equal((await sandbox.runCode('import os; z = 1; os.getcwd()', { context })).text, '/tmp')
  assert.equal((await sandbox.runCode('z')).error.name, 'NameError')
  assert.ok((await sandbox.listCodeContexts()).some((one) => one.id === context.id && one.cwd === '/tmp'))
  await sandbox.restartCodeContext(context)
  assert.equal((await sandbox.runCode('z', { context })).error.name, 'NameError')
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp')
  await sandbox.removeCodeContext(context.id)
  assert.ok(!(await sandbox.listCodeContexts()).some((one) => one.id === context.id))
  await assert.rejects(sandbox.runCode('1', { context }), NotFoundError)
  await assert.rejects(sandbox.createCodeContext({ cwd: '/nowhere' }), /400/)
}

async function files(sandbox) {
  const { files } = sandbox
  const written = await files.write('a é.txt', 'héllo')
  assert.deepEqual([written.path, written.name, written.type], ['/home/user/a é.txt', 'a é.txt', 'file'])
  assert.equal(await files.read('a é.txt'), 'héllo')
  assert.equal(text(await files.read('~/a é.txt', { format: 'bytes' })), 'héllo')
  assert.equal(await (await files.read('/home/user/a é.txt', { format: 'blob' })).text(), 'héllo')
  const chunks = []
  for await (const chunk of await files.read('a é.txt', { format: 'stream' })) chunks.push(Buffer.from(chunk))
  assert.equal(Buffer.concat(chunks).toString(), 'héllo')
  const many = await files.write([{ path: 'm/1', data: 'one' }, { path: 'm/n/2', data: '' }, { path: '/tmp/3', data: new Blob(['b']) }])
  assert.deepEqual(many.map((one) => one.path), ['/home/user/m/1', '/home/user/m/n/2', '/tmp/3'])
  assert.equal(await files.read('m/n/2'), '')
  const large = new Uint8Array(3000000).map((_, i) => i % 251)
  await files.write('large', large.buffer)
  assert.deepEqual(await files.read('large', { format: 'bytes' }), large)
  await files.write('large', large.buffer, { useOctetStream: true })
  assert.deepEqual(await files.read('large', { format: 'bytes' }), large)
  await assert.rejects(files.read('nope'), /does not exist/)
  await assert.rejects(files.read('m'), InvalidArgumentError)
  assert.deepEqual((await files.list('m', { depth: 2 })).map((one) => [one.path, one.type]), [['/home/user/m/1', 'file'], ['/home/user/m/n', 'dir'], ['/home/user/m/n/2', 'file']])
  assert.deepEqual([await files.exists('m/1'), await files.exists('m/9')], [true, false])
  await sandbox.commands.run('ln -s m/1 link && ln -s nowhere dangling && chmod 640 m/1')
  const info = await files.getInfo('m/1')
  assert.deepEqual([info.name, info.size, info.mode, info.permissions, info.owner, info.group], ['1', 3, 0o640, '-rw-r-----', 'user', 'user'])
  assert.ok(Math.abs(info.modifiedTime - Date.now()) < 600000)
  const link = await files.getInfo('link')
  assert.deepEqual([link.type, link.symlinkTarget, link.permissions[0]], ['file', '/home/user/m/1', 'L'])
  assert.ok(!(await files.list('.')).some((one) => one.name === 'dangling'))
  assert.deepEqual([await files.makeDir('d/e'), await files.makeDir('d/e')], [true, false])
  assert.equal((await files.rename('m/1', 'q/r/moved')).path, '/home/user/q/r/moved')
  await assert.rejects(files.rename('m/1', 'x'), NotFoundError)
  await files.remove('q')
  await files.remove('q')
  assert.equal(await files.exists('q'), false)
  await assert.rejects(files.list('/home/user', { user: 'root' }), /one user/)
  const address = await sandbox.downloadUrl('a é.txt', { useSignatureExpiration: 60000 })
  assert.equal(await (await fetch(address)).text(), 'héllo')
  assert.equal((await fetch(address.replace('signature=v1_', 'signature=v1_A'))).status, 401)
  const up = new FormData()
  up.append('file', new Blob(['up']), 'whatever')
  assert.equal((await fetch(await sandbox.uploadUrl('up.txt'), { method: 'POST', body: up })).status, 200)
  assert.equal(await files.read('up.txt'), 'up')
}

async function watched(sandbox) {
  const seen = []
  await sandbox.files.makeDir('w')
  const handle = await sandbox.files.watchDir('w', (event) => seen.push([event.type, event.name]))
  await sandbox.files.write('w/new', '1')
  await sandbox.commands.run('mkdir w/sub; rm w/new')
  await until(() => seen.some(([type, name]) => type === 'remove' && name === 'new'))
  assert.ok(seen.some(([type, name]) => type === 'create' && name === 'new'))
  assert.ok(seen.some(([type, name]) => type === 'create' && name === 'sub'))
  await handle.stop()
  await assert.rejects(sandbox.files.watchDir('/nowhere', () => {}), NotFoundError)
}

async function commands(sandbox) {
  const { commands } = sandbox
  const result = await commands.run('echo out; echo err >&2; pwd; whoami; echo $A $X', { envs: { A: 'a' }, cwd: '/tmp' })
  assert.deepEqual([result.exitCode, result.stdout, result.stderr], [0, 'out\n/tmp\nuser\na 1\n', 'err\n'])
  await assert.rejects(commands.run('echo gone; exit 3'), (error) => error instanceof CommandExitError && error.exitCode === 3 && error.stdout === 'gone\n')
  await assert.rejects(commands.run('true', { cwd: '/nowhere' }), InvalidArgumentError)
  await assert.rejects(commands.run('true', { user: 'root' }), /one user/)
  await assert.rejects(commands.run('sleep 600', { timeoutMs: 200 }), /timed out/)
  let heard = ''
  const cat = await commands.run('cat; echo end', { background: true, stdin: true, onStdout: (piece) => { heard += piece } })
  assert.deepEqual((await commands.list()).filter((one) => one.pid === cat.pid).map((one) => [one.cmd, one.args[2]]), [['/bin/bash', 'cat; echo end']])
  const other = await commands.connect(cat.pid)
  await commands.sendStdin(cat.pid, 'line\n')
  await until(() => heard === 'line\n')
  await commands.closeStdin(cat.pid)
  assert.deepEqual([(await cat.wait()).stdout, (await other.wait()).exitCode], ['line\nend\n', 0])
  assert.equal((await (await commands.connect(cat.pid)).wait()).exitCode, 0)
  const sleeps = await commands.run('sleep 600', { background: true })
  assert.equal(await sleeps.kill(), true)
  await assert.rejects(sleeps.wait(), (error) => error.exitCode === -1 && error.error === 'signal: killed')
  assert.equal(await commands.kill(999999), false)
  const lives = await commands.run('sleep 600', { background: true })
  await lives.disconnect()
  assert.ok((await commands.list()).some((one) => one.pid === lives.pid))
  assert.equal(await commands.kill(lives.pid), true)
  const much = await commands.run('head -c 3000000 /dev/zero | tr "\\0" x')
  assert.equal(much.stdout.length, 3000000)
}

async function terminal(sandbox) {
  let shown = ''
  const pty = await sandbox.pty.create({ cols: 80, rows: 24, onData: (bytes) => { shown += text(bytes) } })
  await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('stty size\n'))
  await until(() => shown.includes('24 80'))
  await sandbox.pty.resize(pty.pid, { cols: 100, rows: 40 })
  await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('stty size\n'))
  await until(() => shown.includes('40 100'))
  assert.equal(await sandbox.pty.kill(pty.pid), true)
}

// By the name that getHost makes, which not every resolver knows to be loopback's.
async function asked(sandbox, port, path, headers) {
  const lookup = (_name, options, done) => (options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4))
  return new Promise((resolve, reject) => {
    http.get(`http://${sandbox.getHost(port)}${path}`, { headers, lookup }, (answer) => {
      let body = ''
      answer.on('data', (piece) => { body += piece }).on('end', () => resolve([answer.statusCode, body])).on('error', reject)
    }).on('error', reject)
  })
}

async function ports(sandbox) {
  const token = { 'E2B-Traffic-Access-Token': sandbox.trafficAccessToken }
  assert.ok(sandbox.getHost(8123).startsWith(`8123-${sandbox.sandboxId}.localhost:`), sandbox.getHost(8123))
  assert.equal((await asked(sandbox, 8123, '/', token))[0], 502)
  await sandbox.files.write('www/index.html', 'served')
  const server = await sandbox.commands.run('python3 -m http.server -d www 8123', { background: true })
  let answer
  do answer = await asked(sandbox, 8123, '/index.html?a=b', token)
  while (answer[0] === 502)
  assert.deepEqual(answer, [200, 'served'])
  assert.equal((await asked(sandbox, 8123, '/index.html', {}))[0], 401)
  await server.kill()
}

async function control(sandbox) {
  const info = await sandbox.getInfo()
  assert.deepEqual([info.sandboxId, info.templateId, info.metadata, info.state], [sandbox.sandboxId, 'code-interpreter-v1', { a: 'b c', 'x.y z': 'é&=' }, 'running'])
  assert.ok(info.cpuCount >= 1 && info.memoryMB >= 16)
  await sandbox.setTimeout(600000)
  const left = (await sandbox.getInfo()).endAt - Date.now()
  assert.ok(left > 540000 && left <= 601000, String(left))
  const metrics = await sandbox.getMetrics()
  assert.ok(metrics.length === 1 && metrics[0].memTotal > 0 && metrics[0].diskTotal > 0)
  assert.equal(await sandbox.isRunning(), true)
  const same = await Sandbox.connect(sandbox.sandboxId)
  assert.equal((await same.runCode('x')).text, '40')
  const other = await Sandbox.create('base', { metadata: { a: 'other' }, timeoutMs: 60000 })
  const page = async (options) => Sandbox.list(options).nextItems()
  assert.deepEqual((await page({ query: { metadata: { a: 'b c', 'x.y z': 'é&=' } } })).map((one) => one.sandboxId), [sandbox.sandboxId])
  assert.deepEqual((await page({ query: { state: ['paused'] } })), [])
  const pages = Sandbox.list({ limit: 1 })
  const found = []
  while (pages.hasNext) found.push(...(await pages.nextItems()).map((one) => one.sandboxId))
  assert.deepEqual(found.slice(0, 2), [other.sandboxId, sandbox.sandboxId])
  await assert.rejects(Sandbox.getInfo('nope'), NotFoundError)
  await assert.rejects(Sandbox.create('no-such-template'), /404: .*there is no template/)
  await assert.rejects(Sandbox.create('base', { metadata: { long: 'x'.repeat(300) } }), /metadata/)
  await assert.rejects(Sandbox.create('base', { mcp: { duckduckgo: {} } }), /mcp/)
  assert.equal(await other.kill(), true)
  assert.deepEqual([await other.kill(), await other.isRunning()], [false, false])
  await assert.rejects(other.commands.run('true'), /not running anymore/)
}

const sandbox = await Sandbox.create({ metadata: { a: 'b c', 'x.y z': 'é&=' }, envs: { X: '1' }, timeoutMs: 300000 })
for (const part of [runs, contexts, files, watched, commands, terminal, ports, control]) {
  try {
    await part(sandbox)
  } catch (error) {
    console.error(part.name, error)
    process.exit(1)
  }
}
assert.equal(await sandbox.kill(), true)
console.log('all of it')
// A command that was left keeps the SDK's own clock running.
process.exit(0)
