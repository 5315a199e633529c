'use strict';
const fs = require('fs');
const path = require('node:path');
const {readFile, writeFile} = require('fs/promises');

async function main() {
  fs.mkdirSync('out', {recursive: true});
  await writeFile(path.join('out', 'a.json'), JSON.stringify({a: 1, eval: 'eval(1)'}));
  const text = await readFile('out/a.json', 'utf8');
  console.log(JSON.parse(text), fs.readdirSync('.').length, __dirname);
  fs.writeFileSync('/tmp/x', 'y');
  fs.createReadStream('out/a.json').pipe(process.stdout);
}

main().catch((error) => { console.error(error.message); process.exitCode = 1; });
