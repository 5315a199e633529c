import {readFileSync} from 'fs';

interface Row { name: string; value: number; }
type Table<T extends Row = Row> = Record<string, T[]>;
enum Kind { A = 'a', B = 'b' }

function group<T extends Row>(rows: readonly T[]): Table<T> {
  const table: Table<T> = {};
  for (const row of rows) (table[row.name] ??= []).push(row);
  return table;
}

abstract class Base { constructor(protected readonly kind: Kind) {} abstract run(): void; }
class Impl extends Base { run(): void { console.log(this.kind as string, this.constructor.name); } }

const rows = JSON.parse(readFileSync('rows.json', 'utf8')) as Row[];
console.log(group(rows), new Impl(Kind.A).run(), rows[0]!.value satisfies number);
