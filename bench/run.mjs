// npm run bench [name …] [-- --quick]: measures, prints a table, writes bench/results/<name>.json. A benchmark is not a test.
// --quick runs fewer rounds, in benchmarks that support it; its figures are only a first impression.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { prepare } from '../scripts/prepare.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const cache = join(here, '../node_modules/.cache/bench')
const isQuick = process.argv.includes('--quick')
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const names = readdirSync(here)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length))
  .filter((name) => wanted.length === 0 || wanted.includes(name))

await prepare()
mkdirSync(join(here, 'results'), { recursive: true })
for (const name of names) {
  const bundler = await rolldown({
    input: join(here, `${name}.bench.ts`),
    platform: 'node',
    external: [/^@photostructure\/sqlite/, /^fastify/, /^rolldown/],
  })
  const file = join(cache, `${name}.js`)
  await bundler.write({ file, format: 'esm', codeSplitting: false })
  const { run } = await import(pathToFileURL(file).href)
  const report = await run({ isQuick })
  console.log(`\n${report.title}`)
  console.table(report.rows)
  writeFileSync(join(here, `results/${name}.json`), `${JSON.stringify(report, null, 2)}\n`)
}
