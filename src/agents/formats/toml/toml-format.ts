import type { CannotEdit, Format, Json, Path, Trace } from '../format.ts'
import { refusal } from '../text.ts'
import { type Parsed, type Proposal, verifiedFormat } from '../verified-format.ts'
import { draftOf, drop, put } from './edit.ts'
import { startOf, type Target, type TomlDoc } from './model.ts'
import { walk } from './path.ts'
import { scanToml } from './scan/scan.ts'
import { lastOf } from './scan/tables.ts'
import { readWithSmolToml } from './second-parser.ts'
import { orUndefined, tableJson } from './to-json.ts'
import { textBefore, traceOf } from './trace.ts'
import { assertWritable } from './write-value.ts'

interface ParsedToml extends Parsed, TomlDoc {}

/** TOML 1.0, as Codex, Grok and Mistral Vibe use it. Parsed by our own scanner and verified with `smol-toml`. */
export const tomlFormat: Format = verifiedFormat<ParsedToml>({
  // About 0.2 s of CPU time per MiB, and four times as much for an edit. Real files have a few KiB.
  maxBytes: 1024 * 1024,
  acceptsBom: true,
  parse(text) {
    const doc = scanToml(text)
    return { ...doc, json: orUndefined(tableJson(doc.root)) }
  },
  readAgain: (text) => orUndefined(readWithSmolToml(text)),
  find(doc, path) {
    const found = walk(doc, path)
    return found.length > path.length ? startOf(lastOf(found)) : undefined
  },
  set,
  remove,
})

const MAX_STEPS = 20

function set(doc: ParsedToml, path: Path, value: Json): Proposal<ParsedToml> {
  const at = containerStart(doc, path)
  const refuse = (reason: string): CannotEdit => refusal(doc.text, at, reason)
  if (path.length > MAX_STEPS) throw refuse("The entry's path is too long")
  assertWritable(path, value, refuse)
  const draft = draftOf(doc)
  return { text: put(draft, path, value), at, confirm: (edited) => traceOf(draft, path, edited) }
}

function remove(doc: ParsedToml, path: Path, trace: Trace | undefined): Proposal<ParsedToml> {
  const draft = draftOf(doc)
  const before = trace === undefined ? undefined : textBefore(draft, path, trace)
  // Our own scanner must be able to read the result too.
  return { text: before ?? drop(draft, path), at: containerStart(doc, path), confirm: () => undefined }
}

/** Where the last existing container on the path begins. */
function containerStart(doc: TomlDoc, path: Path): number {
  const found: readonly Target[] = walk(doc, path)
  return startOf(lastOf(found.slice(0, Math.min(found.length, path.length))))
}
