// Another program that edits the same file. Each line of its input is one edit: {"path", "counter", "way", "delay"}.
// It reads the file, changes its own number in it, writes it in place or by rename, and reports that it did.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

for await (const line of createInterface({ input: process.stdin })) {
  const { path, counter, way, delay } = JSON.parse(line)
  const end = performance.now() + delay
  while (performance.now() < end);
  const text = readFileSync(path, 'utf8').replace(/"foreign": \d+/, `"foreign": ${counter}`)
  if (way === 'in place') writeFileSync(path, text)
  else {
    writeFileSync(`${path}.theirs`, text)
    renameSync(`${path}.theirs`, path)
  }
  process.stdout.write(`${counter}\n`)
}
