// Pausing, forks and snapshots, as far as sessions have them.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const { Sandbox, NotFoundError } = createRequire(process.env.CLIENTS + '/')('@e2b/code-interpreter')

async function paused() {
  const sandbox = await Sandbox.create({ metadata: { of: 'pause' }, timeoutMs: 300000 })
  await sandbox.files.write('kept', 'x')
  await assert.rejects(sandbox.pause(), /memory: cannot be kept/)
  assert.equal(await sandbox.pause({ keepMemory: false }), true)
  assert.equal(await sandbox.pause({ keepMemory: false }), false)
  assert.equal(await sandbox.isRunning(), false)
  const query = { metadata: { of: 'pause' }, state: ['paused'] }
  assert.deepEqual((await Sandbox.list({ query }).nextItems()).map((one) => [one.sandboxId, one.state]), [[sandbox.sandboxId, 'paused']])
  assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).state, 'paused')
  const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 300000 })
  assert.equal(await again.files.read('kept'), 'x')
  assert.deepEqual((await again.getInfo()).metadata, { of: 'pause' })
  await assert.rejects(sandbox.files.read('kept'), /401|token/i)
  assert.equal(await again.pause({ keepMemory: false }), true)
  assert.equal(await again.kill(), true)
  await assert.rejects(Sandbox.connect(sandbox.sandboxId), NotFoundError)
}

async function copied() {
  const plain = await Sandbox.create({ timeoutMs: 300000 })
  await assert.rejects(plain.createSnapshot(), /409/)
  await plain.kill()
  const sandbox = await Sandbox.create({ metadata: { 'snapcell.forkable': 'true' }, timeoutMs: 300000 })
  await sandbox.runCode("x = 41\nopen('f', 'w').write('kept')")
  const [fork] = await sandbox.fork({ count: 1 })
  const copy = fork.sandbox ?? fork
  assert.equal((await copy.runCode('x + 1')).text, '42')
  assert.equal(await copy.files.read('f'), 'kept')
  await copy.runCode('x = 0')
  assert.equal((await sandbox.runCode('x')).text, '41')
  const snapshot = await sandbox.createSnapshot()
  assert.deepEqual((await sandbox.listSnapshots().nextItems()).map((one) => one.snapshotId), [snapshot.snapshotId])
  const begun = await Sandbox.create(snapshot.snapshotId, { timeoutMs: 300000 })
  assert.equal((await begun.runCode('x')).text, '41')
  assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), true)
  assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), false)
  for (const one of [begun, copy, sandbox]) assert.equal(await one.kill(), true)
}

await paused()
await copied()
console.log('all of it')
process.exit(0)
