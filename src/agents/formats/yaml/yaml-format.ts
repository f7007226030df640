import {
  CannotEdit,
  type Edited,
  type Format,
  type Json,
  type Path,
  type Step,
  type Trace,
} from '../format.ts'
import { add } from './add.ts'
import { isSame, itemOf, withoutValue, withValue } from './change.ts'
import { placeOf, refuse, splice } from './lines.ts'
import { type Parsed, parse } from './parse.ts'
import { type Level, refuseMarksIn, walk } from './path.ts'
import { remove } from './remove.ts'
import { replace } from './replace.ts'
import { readWithOtherParser } from './second-parser.ts'
import { readTrace, writeTrace } from './trace.ts'

const BOM = '\ufeff'
/** Up to here an addition is taken out again on trial. Beyond, that would cost seconds. */
const TRIAL_LENGTH = 1024 * 1024

/**
 * YAML, as Goose, Hermes, Continue and Rovo Dev keep it. The file is never written anew: bytes are put in and taken
 * out by the places that the parser `yaml` found, and what comes out is held against `js-yaml` before it is given
 * back. A text that the two read differently is refused.
 */
export const yamlFormat: Format = {
  read: (text) => guarded(text, (body) => parse(body).json),
  readAgain: (text) => guarded(text, readWithOtherParser),
  find: (text, path) =>
    guarded(text, (body) => {
      const item = walk(parse(body), path)[path.length]?.item
      return item && placeOf(body, item.start)
    }),
  set: (text, path, value) => {
    const bom = bomOf(text)
    const { text: body, trace } = guarded(text, (inner) => setValue(inner, path, value))
    return { text: bom + body, trace }
  },
  remove: (text, path, trace) => bomOf(text) + guarded(text, (body) => removeValue(body, path, trace)),
}

function setValue(text: string, path: Path, value: Json): Edited {
  const parsed = parseTwice(text)
  const levels = walk(parsed, path)
  const step = path.at(-1) as Step
  refuseValue(text, step, value)
  const wanted = withValue(parsed.json, path, typeof step === 'string' ? value : itemOf(step, value))
  const target = levels[path.length]
  if (target) {
    if (isSame(parsed.json, wanted)) return { text, trace: undefined }
    refuseMarksIn(text, target)
    const whole = typeof step === 'string' ? value : itemOf(step, value)
    return {
      text: checked(parsed, splice(text, replace(parsed, target, whole)), wanted, target),
      trace: undefined,
    }
  }
  const { splices, before } = add(parsed, levels, path, value)
  const edited = checked(parsed, splice(text, splices), wanted, levels.at(-1))
  const trace = before && writeTrace(before)
  if (edited.length <= TRIAL_LENGTH) refuseOneWay(text, edited, path, trace)
  return { text: edited, trace }
}

function removeValue(text: string, path: Path, trace: Trace | undefined): string {
  const parsed = parseTwice(text)
  const { edited, wanted, target } = withoutPath(parsed, path, trace)
  return edited === text ? text : checked(parsed, edited, wanted, target)
}

function withoutPath(
  parsed: Parsed,
  path: Path,
  trace: Trace | undefined,
): { edited: string; wanted: Json; target?: Level } {
  const { text, json = null } = parsed
  const levels = walk(parsed, path)
  if (!levels[path.length]) return { edited: text, wanted: json }
  const taken = remove(parsed, levels, path, readTrace(trace))
  const target = levels[taken.path.length] as Level
  refuseMarksIn(text, target)
  const wanted = withoutValue(json, taken.path, taken.emptied)
  return { edited: splice(text, taken.splices), wanted, target }
}

/** The old text, which both parsers must read alike. */
function parseTwice(text: string): Parsed {
  const parsed = parse(text)
  if (isSame(readWithOtherParser(text), parsed.json)) return parsed
  return refuse(text, 0, 'Two YAML parsers read this file differently; write it in a simpler way')
}

/** What the other parser reads in the new text must be what was wanted, in all of the file. */
function checked({ text }: Parsed, edited: string, wanted: Json, target: Level | undefined): string {
  if (succeeds(() => isSame(readWithOtherParser(edited), wanted ?? undefined))) return edited
  return refuse(
    text,
    target?.item?.start ?? 0,
    'This is written in a way that cannot be edited safely; edit it by hand',
  )
}

/** What is added must be able to go again and leave the same bytes. */
function refuseOneWay(text: string, edited: string, path: Path, trace: Trace | undefined): void {
  if (succeeds(() => withoutPath(parse(edited), path, trace).edited === text)) return
  refuse(text, 0, 'What is added to this file could not be taken out again; edit it by hand')
}

/** A refusal of the new text names a place that the person does not have. */
function succeeds(test: () => boolean): boolean {
  try {
    return test()
  } catch (cause) {
    if (cause instanceof CannotEdit) return false
    throw cause
  }
}

function refuseValue(text: string, step: Step, value: Json): void {
  if (!isWritable(value)) refuse(text, 0, 'The new value holds a text or a number that no file can keep')
  if (typeof step === 'string' || 'item' in step) return
  const isMap = value !== null && typeof value === 'object' && !Array.isArray(value)
  const own = isMap ? (value as { readonly [name: string]: Json })[step.field] : null
  if (!isMap || (own !== undefined && own !== step.is)) {
    refuse(text, 0, 'An item that is found by a field must be a map with that field')
  }
}

/** Half a character cannot be written as UTF-8, and YAML's readers disagree about numbers that are none. */
function isWritable(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (value === null || typeof value !== 'object') return true
  return Object.entries(value).every(([name, inner]) => name.isWellFormed() && isWritable(inner))
}

function bomOf(text: string): string {
  return text.startsWith(BOM) ? BOM : ''
}

/** Nothing but `CannotEdit` leaves here: a parser may run out of stack on a file made for that. */
function guarded<Result>(text: string, work: (body: string) => Result): Result {
  const body = text.startsWith(BOM) ? text.slice(1) : text
  try {
    return work(body)
  } catch (cause) {
    if (cause instanceof CannotEdit) throw cause
    const refusal = new CannotEdit('The file cannot be read as YAML', { line: 1, column: 1 })
    refusal.cause = cause
    throw refusal
  }
}
