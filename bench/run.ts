import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
// Benches that run the program's parts themselves load the driver as the program does.
import '../src/platform/mend-driver.ts'

/** `npm run bench` lists what can be measured; `npm run bench -- request` measures it. */
const names = globSync(join(import.meta.dirname, '*.ts'))
  .map(path => basename(path, '.ts'))
  .filter(name => !['run', 'measure', 'bare'].includes(name) && !name.startsWith('part-'))
  .sort()
const [name] = process.argv.slice(2)
if (name && names.includes(name)) await import(join(import.meta.dirname, `${name}.ts`))
else console.log(`Choose what to measure: npm run bench -- ${names.join(' | ')}`)
