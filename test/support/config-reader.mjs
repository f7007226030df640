// Reads the given files every 2 ms until its input ends, and reports states that no reader may ever see.
// Each file has a path and the texts that it must always contain.
import { readFileSync } from 'node:fs'

const files = JSON.parse(process.argv[2])
const seen = { reads: 0, faults: [] }
const timer = setInterval(() => {
  for (const { path, always, json } of files) {
    seen.reads += 1
    try {
      const text = readFileSync(path, 'utf8')
      if (json) JSON.parse(text)
      for (const part of always) if (!text.includes(part)) throw new Error(`without ${part}`)
    } catch (error) {
      seen.faults.push(`${path}: ${error.message}`)
    }
  }
}, 2)
process.stdin.resume().on('end', () => {
  clearInterval(timer)
  process.stdout.write(JSON.stringify(seen))
})
