import { parse, TomlDate, TomlError } from 'smol-toml'
import type { Json, Path } from '../../catalogue/json-value.ts'
import { CannotEdit, type Format, type Trace } from '../format.ts'
import { refusal } from '../text-edits.ts'
import { type Parsed, type Proposal, verifiedFormat } from '../verified-format.ts'
import { draftOf, drop, put, textBefore, traceOf } from './toml-edit.ts'
import { lastOf, orUndefined, startOf, type Target, type TomlDoc, tableJson, walk } from './toml-model.ts'
import { scanToml } from './toml-scan.ts'
import { assertWritable } from './toml-text.ts'

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

/** Reads with smol-toml, which shares no code with our scanner. */
function readWithSmolToml(text: string): Json {
  try {
    return jsonOf(parse(text, { integersAsBigInt: 'asNeeded' }))
  } catch (error) {
    // The parser's own message quotes the file, which contains secrets.
    const { line, column } = error instanceof TomlError ? error : { line: 1, column: 1 }
    throw new CannotEdit('Invalid TOML', { line, column })
  }
}

/** Dates become strings. Works in place, because a copy of a large file is slow. */
function jsonOf(value: unknown): Json {
  if (value instanceof TomlDate) return value.toISOString()
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value as Json
  const map = value as Record<string, unknown>
  for (const name of Object.keys(map)) {
    const json = jsonOf(map[name])
    if (json !== map[name]) map[name] = json
  }
  return map as Json
}
