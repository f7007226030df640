import type { Format, Json, Path, Trace } from '../format.ts'
import { isSame, itemOf, valueAt } from '../json-value.ts'
import { refusal, spliced } from '../text.ts'
import { type Proposal, verifiedFormat } from '../verified-format.ts'
import { add } from './add.ts'
import { type ParsedYaml, parse } from './parse.ts'
import { refuseMarksIn, walk } from './path.ts'
import { remove } from './remove.ts'
import { replace } from './replace.ts'
import { readWithJsYaml } from './second-parser.ts'
import { readTrace, writeTrace } from './trace.ts'

/** YAML, as Goose, Hermes, Continue and Rovo Dev use it. Parsed with `yaml` and verified with `js-yaml`. */
export const yamlFormat: Format = verifiedFormat<ParsedYaml>({
  // About 1.5 s of CPU time per MiB, and four times as much for an edit. Real files have a few KiB.
  maxBytes: 256 * 1024,
  acceptsBom: true,
  parse,
  readAgain: readWithJsYaml,
  find: (parsed, path) => walk(parsed, path)[path.length]?.item?.start,
  set,
  remove: removal,
})

function set(parsed: ParsedYaml, path: Path, value: Json): Proposal<ParsedYaml> {
  const { text } = parsed
  const levels = walk(parsed, path)
  if (!isWritable(value)) throw refusal(text, 0, 'YAML cannot represent a string or number in this value')
  const target = levels[path.length]
  if (target) {
    const step = path.at(-1)
    const whole = typeof step === 'object' ? itemOf(step, value) : value
    if (isSame(valueAt(parsed.json, path), whole)) return { text, at: 0 }
    refuseMarksIn(text, target)
    return { text: spliced(text, replace(parsed, target, whole)), at: target.item?.start ?? 0 }
  }
  const { splices, before } = add(parsed, levels, path, value)
  const trace = before && writeTrace(before)
  const confirm = (edited: ParsedYaml) => {
    if (removal(edited, path, trace).text === text) return trace
    throw refusal(text, 0, 'This addition could not be undone')
  }
  return { text: spliced(text, splices), at: levels.at(-1)?.item?.start ?? 0, trace, confirm }
}

function removal(parsed: ParsedYaml, path: Path, trace: Trace | undefined): Proposal<ParsedYaml> {
  const { text } = parsed
  const levels = walk(parsed, path)
  if (!levels[path.length]) return { text, at: 0 }
  const { splices, target } = remove(parsed, levels, path, readTrace(trace))
  refuseMarksIn(text, target)
  return { text: spliced(text, splices), at: target.item?.start ?? 0 }
}

/** Lone surrogates cannot be encoded as UTF-8, and YAML parsers disagree about infinite numbers and NaN. */
function isWritable(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (value === null || typeof value !== 'object') return true
  return Object.entries(value).every(([name, inner]) => name.isWellFormed() && isWritable(inner))
}
