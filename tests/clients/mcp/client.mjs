// The official TypeScript client: what it saw, as JSON. Arguments: the server's command line, or URL and key of a service.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(path.join(process.env.SNAPCELL_CLIENTS, 'package.json'));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load('client/index.js');
const { StdioClientTransport } = await load('client/stdio.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');
const { LoggingMessageNotificationSchema } = await load('types.js');

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'test', version: '1' });
const logs = [];
client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => { logs.push(n.params.data); });
const byHttp = command.startsWith('http:');
const transport = byHttp
  ? new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers: { Authorization: `Bearer ${args[0]}` } } })
  : new StdioClientTransport({ command, args, env: process.env });
await client.connect(transport);
const call = (name, rest, options) => client.callTool({ name, arguments: rest }, undefined, options);
const seen = { server: client.getServerVersion().name, capabilities: client.getServerCapabilities() };
seen.tools = (await client.listTools()).tools.map((t) => t.name);
await call('run_code', { language: 'python', code: 'x = 41' });
seen.kept = await call('run_code', { language: 'python', code: 'x + 1' });
seen.failed = await call('run_code', { language: 'node', code: 'throw new TypeError("no")' });
const progress = [];
seen.long = await call('run_code', { language: 'bash', code: 'for i in 1 2 3; do echo $i; sleep 0.3; done' },
  { onprogress: (p) => progress.push(p) });
seen.progress = progress;
await call('write_file', { path: 'notes/a b.txt', content: 'hello' });
seen.command = await call('run_command', { command: 'cat "notes/a b.txt"; exit 3', return_files: ['notes/a b.txt'] });
seen.read = await client.readResource({ uri: 'snapcell:///home/user/notes/a%20b.txt' });
seen.resources = (await client.listResources()).resources.map((r) => r.uri);
seen.guide = (await client.getPrompt({ name: 'sandbox_guide', arguments: { topic: 'limits' } })).messages[0].content.text;
const abort = new AbortController();
const started = Date.now();
const endless = call('run_code', { language: 'bash', code: 'echo up; sleep 600' },
  { signal: abort.signal, onprogress: () => abort.abort('enough') });
seen.cancelled = await endless.then(() => 'answered', (e) => String(e));
seen.after = await call('run_code', { language: 'bash', code: 'echo after' });
seen.cancel_ms = Date.now() - started;
seen.logs = logs;
if (byHttp) await transport.terminateSession();
await client.close();
console.log(JSON.stringify(seen));
