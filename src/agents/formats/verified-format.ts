import { isObject } from '../../kernel/json/json-checks.ts'
import {
  type ItemStep,
  isMap,
  isSame,
  isSameAround,
  type Json,
  type Path,
  PROTOTYPE_NAMES,
  type Step,
  stepName,
  withoutEmpty,
  withValue,
} from '../catalogue/json-value.ts'
import { CannotEdit, type Format, type Trace } from './format.ts'
import { lineAt, lineStarts, positionOf, refusal } from './text-edits.ts'

/** A text with the positions that edits need. */
export interface Parsed {
  readonly text: string
  /** Undefined if the text is empty or has only comments. */
  readonly json: Json | undefined
}

/** An edit that is not verified yet. */
export interface Proposal<P extends Parsed> {
  readonly text: string
  /** The offset in the old text that a refusal names. */
  readonly at: number
  readonly trace?: Trace | undefined
  /** Gets the new text as `parse` reads it and returns the trace. Throws if the edit must be refused. */
  readonly confirm?: (edited: P) => Trace | undefined
}

/** The parsers and edits of one format. All texts are without a byte order mark. */
interface Editor<P extends Parsed> {
  readonly maxBytes: number
  readonly acceptsBom: boolean
  readonly parse: (text: string) => P
  /** Reads the text with a second parser, which shares no code with `parse`. */
  readonly readAgain: (text: string) => Json | undefined
  /** The offset where the value begins, with its name. */
  readonly find: (parsed: P, path: Path) => number | undefined
  readonly set: (parsed: P, path: Path, value: Json) => Proposal<P>
  readonly remove: (parsed: P, path: Path, trace: Trace | undefined) => Proposal<P>
}

const BOM = '\ufeff'
const TOP = { line: 1, column: 1 }
const DIFFERENT = 'Two parsers read this file differently. Write it in a simpler way'
const UNSAFE = 'This part of the file cannot be edited safely. Edit it by hand'

/**
 * A format whose edits are verified. Both parsers must agree on the old text. In the new text the second parser must
 * find the intended value, and everything else unchanged and in the old order. Otherwise the edit is refused.
 */
export function verifiedFormat<P extends Parsed>(editor: Editor<P>): Format {
  function parseBoth(text: string): P {
    const parsed = editor.parse(text)
    if (!isSame(parsed.json, editor.readAgain(text))) throw new CannotEdit(DIFFERENT, TOP)
    return parsed
  }

  function verify(before: P, path: Path, value: Json | undefined, proposal: Proposal<P>): Trace | undefined {
    const { text, at } = proposal
    const container = path.slice(0, -1)
    const relevant = (json: Json | undefined) => (value === undefined ? withoutEmpty(json, container) : json)
    const intended = relevant(withValue(before.json, path, value))
    try {
      if (isSameAround(relevant(editor.readAgain(text)), intended, path)) {
        if (!proposal.confirm) return proposal.trace
        const edited = editor.parse(text)
        if (isSame(relevant(edited.json), intended)) return proposal.confirm(edited)
      }
    } catch (error) {
      // A position in the new text would mean nothing to the user.
      if (!(error instanceof CannotEdit)) throw error
    }
    throw refusal(before.text, at, UNSAFE)
  }

  /** Splits off the byte order mark. */
  function split(text: string): { bom: string; body: string } {
    if (!text.startsWith(BOM)) return { bom: '', body: text }
    if (editor.acceptsBom) return { bom: BOM, body: text.slice(BOM.length) }
    throw new CannotEdit(
      'This agent cannot read a file with a byte order mark (BOM). Save it without one',
      TOP,
    )
  }

  return {
    maxBytes: editor.maxBytes,
    read: (text) => editor.parse(split(text).body).json,
    readAgain: (text) => editor.readAgain(split(text).body),
    find(text, path) {
      assertPath(path)
      const { body } = split(text)
      const start = editor.find(editor.parse(body), path)
      return start === undefined ? undefined : positionOf(body, start)
    },
    lines(text) {
      const { body } = split(text)
      const parsed = editor.parse(body)
      const starts = lineStarts(body)
      return (path) => {
        const start = editor.find(parsed, path)
        return start === undefined ? undefined : lineAt(starts, start)
      }
    },
    set(text, path, value) {
      assertPath(path)
      assertItems(path, value)
      const { bom, body } = split(text)
      const parsed = parseBoth(body)
      const proposal = editor.set(parsed, path, value)
      if (proposal.text === body) return { text, trace: undefined }
      return { text: bom + proposal.text, trace: verify(parsed, path, value, proposal) }
    },
    remove(text, path, trace) {
      assertPath(path)
      const { bom, body } = split(text)
      const parsed = parseBoth(body)
      const proposal = editor.remove(parsed, path, trace)
      if (proposal.text !== body) verify(parsed, path, undefined, proposal)
      return bom + proposal.text
    },
    remembering() {
      const { parse, readAgain } = editor
      return verifiedFormat({
        ...editor,
        parse: rememberingLast(parse),
        readAgain: rememberingLast(readAgain),
      })
    },
  }
}

function assertPath(path: Path): void {
  if (path.length === 0) throw new CannotEdit('The whole file cannot be changed. Name an entry', TOP)
  const names = path.flatMap((step) =>
    typeof step === 'string' ? [step] : 'field' in step ? [step.field] : [],
  )
  const forbidden = names.find((name) => PROTOTYPE_NAMES.includes(name))
  if (forbidden !== undefined) throw new CannotEdit(`'${forbidden}' cannot be used as a name`, TOP)
}

/** A list item must contain what it is found by. */
function assertItems(path: Path, value: Json): void {
  for (const [index, step] of path.entries()) {
    if (typeof step === 'string') continue
    const next = path[index + 1]
    if (!isFitting(step, next, value))
      throw new CannotEdit(`The list item '${stepName(step)}' cannot hold this value`, TOP)
  }
}

function isFitting(step: ItemStep, next: Step | undefined, value: Json): boolean {
  if ('item' in step) return next === undefined
  if (next === undefined) return isMap(value) && (value[step.field] ?? step.is) === step.is
  return next !== step.field || value === step.is
}

/** Shorter texts are parsed in a few milliseconds. */
const SHORT = 64 * 1024
/** The result takes several times the memory of its text. */
const KEPT_MS = 30_000

/**
 * Remembers the result for the last long text: a request reads the same file several times, and the next one mostly
 * finds it unchanged. It is forgotten when it was not needed for a while. Callers must not change the result.
 */
function rememberingLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly result: T } | undefined
  let timer: NodeJS.Timeout | undefined
  const forget = () => {
    last = undefined
    timer = undefined
  }
  return (text) => {
    if (text.length <= SHORT) return read(text)
    if (last?.text !== text) {
      last = undefined // its memory can be used for the next one
      last = { text, result: read(text) }
    }
    timer = timer?.refresh() ?? setTimeout(forget, KEPT_MS).unref()
    return last.result
  }
}

/** Undefined for a trace that is damaged: then only the value itself is removed. */
export function parseTrace(trace: Trace): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(trace)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
