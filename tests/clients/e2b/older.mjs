// Older generations of the JavaScript SDK. Arguments: the package, and with "debug" that it names no sandbox.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const [name, mode] = process.argv.slice(2)
const { Sandbox } = createRequire(process.env.CLIENTS + '/')(name)
const until = async (true_) => {
  while (!true_()) await new Promise((resolve) => setTimeout(resolve, 10))
}

const sandbox = mode === 'debug' ? await Sandbox.create() : await Sandbox.create('base', { metadata: { a: 'b' }, timeoutMs: 300000 })
if (sandbox.runCode) {
  const first = await sandbox.runCode('x = 40\nprint("é")\nx + 2')
  assert.deepEqual([first.text, first.logs.stdout], ['42', ['é\n']])
  assert.equal((await sandbox.runCode('1 / 0')).error.name, 'ZeroDivisionError')
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp')
}
await sandbox.commands.run('rm -rf d m') // in debug mode others have been here
await sandbox.files.write('a é.txt', 'héllo')
assert.equal(await sandbox.files.read('a é.txt'), 'héllo')
await sandbox.files.write([{ path: 'm/1', data: 'one' }, { path: 'm/2', data: 'two' }])
assert.deepEqual((await sandbox.files.list('m')).map((one) => [one.name, one.type]), [['1', 'file'], ['2', 'file']])
assert.deepEqual([await sandbox.files.makeDir('d'), await sandbox.files.makeDir('d'), await sandbox.files.exists('d')], [true, false, true])
await sandbox.files.rename('m/1', 'd/1')
await sandbox.files.remove('m')
const seen = []
const watch = await sandbox.files.watchDir('d', (event) => seen.push(event.name))
await sandbox.files.write('d/new', '1')
await until(() => seen.includes('new'))
await watch.stop()
assert.deepEqual([(await sandbox.commands.run('echo hi; pwd')).stdout, (await sandbox.commands.run('echo e >&2')).stderr], ['hi\n/home/user\n', 'e\n'])
await assert.rejects(sandbox.commands.run('exit 3'), (error) => error.exitCode === 3)
let heard = ''
const cat = await sandbox.commands.run('cat', { background: true, stdin: true, onStdout: (piece) => { heard += piece } })
await sandbox.commands.sendStdin(cat.pid, 'in\n')
await until(() => heard === 'in\n')
assert.ok((await sandbox.commands.list()).some((one) => one.pid === cat.pid))
assert.equal(await cat.kill(), true)
let shown = ''
const pty = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: (bytes) => { shown += new TextDecoder().decode(bytes) } })
await sandbox.pty.sendInput(pty.pid, new TextEncoder().encode('stty size\n'))
await until(() => shown.includes('24 80'))
await sandbox.pty.kill(pty.pid)
assert.equal(await sandbox.isRunning(), true)
if (mode !== 'debug') {
  assert.deepEqual((await sandbox.getInfo()).metadata, { a: 'b' })
  await sandbox.setTimeout(300000)
  assert.ok((await Sandbox.list({ query: { metadata: { a: 'b' } } }).nextItems()).length >= 1)
  assert.equal((await (await Sandbox.connect(sandbox.sandboxId)).commands.run('echo again')).stdout, 'again\n')
  await sandbox.kill()
  assert.equal(await sandbox.isRunning(), false)
}
console.log('all of it')
process.exit(0)
