import type { CannotEdit, Edited, Format, Json, Path, Place, Trace } from '../format.ts'
import { draftOf, drop, put, wantedAt } from './edit.ts'
import { startOf, type Target, type TomlDoc } from './model.ts'
import { pathText, walk } from './path.ts'
import { openIfItSays, openToml, readWithSmol, saysSomething } from './read.ts'
import { cannot, placeAt } from './scan/cursor.ts'
import { lastOf } from './scan/tables.ts'
import { isMap, withoutValue, withValue } from './to-json.ts'
import { before, traceOf } from './trace.ts'
import { checkWritable } from './write-value.ts'

/** TOML 1.0: Codex, Grok and Mistral Vibe. */
export const tomlFormat: Format = {
  read: (text) => saysSomething(openToml(text).json),
  readAgain: (text) => saysSomething(readWithSmol(text)),
  find: findToml,
  set: setToml,
  remove: removeToml,
}

function findToml(text: string, path: Path): Place | undefined {
  const doc = openToml(text)
  const way = walk(doc, path)
  return way.length > path.length ? placeAt(text, startOf(lastOf(way))) : undefined
}

function setToml(text: string, path: Path, value: Json): Edited {
  const doc = openToml(text)
  const way = walk(doc, path)
  checkSet(doc, way, path, value)
  const draft = draftOf(doc)
  const edited = put(draft, path, value)
  if (edited === text) return { text, trace: undefined }
  const intended = withValue(doc.json, path, wantedAt(path, value))
  const verified = verify(text, containerOf(way, path), edited, intended)
  return { text: edited, trace: traceOf(draft, path, verified) }
}

function removeToml(text: string, path: Path, trace?: Trace): string {
  const doc = openToml(text)
  const way = walk(doc, path)
  if (path.length === 0) throw cannot(text, 0, 'The whole file cannot be removed; name an entry')
  if (way.length <= path.length) return text
  const draft = draftOf(doc)
  const was = trace === undefined ? undefined : before(draft, path, trace)
  if (was !== undefined) {
    openToml(was)
    return was
  }
  const edited = drop(draft, path)
  const intended = withoutValue(doc.json, path.slice(0, lengthThatVanishes(way)))
  verify(text, containerOf(way, path), edited, intended)
  return edited
}

/** A table that is written only by what stands in it goes with the last thing that does. */
function lengthThatVanishes(way: readonly Target[]): number {
  let length = way.length - 1
  while (length > 1 && isHeldOnlyByContent(way[length - 1])) length -= 1
  return length
}

function isHeldOnlyByContent(target: Target | undefined): boolean {
  if (target?.type === 'tables') return target.items.length === 1
  if (target?.type !== 'table' || target.members.size > 1) return false
  return target.how.by === 'implied' || target.how.by === 'dotted'
}

function checkSet(doc: TomlDoc, way: readonly Target[], path: Path, value: Json): void {
  const refuse = (reason: string): CannotEdit => cannot(doc.text, startOf(containerOf(way, path)), reason)
  if (path.length === 0) throw refuse('The whole file cannot be replaced; name an entry')
  if (path.length > 20) throw refuse('The path to the entry is too long')
  checkWritable(value, refuse)
  path.forEach((step, index) => {
    if (typeof step === 'string') return
    const isLast = index === path.length - 1
    if ('item' in step) {
      if (!isLast) throw refuse(`${pathText([step])} is a text, so that nothing can be put into it`)
    } else if (isLast && !(isMap(value) && (value[step.field] ?? step.is) === step.is)) {
      throw refuse(`An item of the list must be a map in which '${step.field}' is ${pathText([step])}`)
    } else if (path[index + 1] === step.field && value !== step.is) {
      throw refuse(`'${step.field}' tells the items of the list apart and stays as it is`)
    }
  })
}

/** Whatever went wrong inside, no text leaves this file that says something else than it should. */
function verify(text: string, container: Target, edited: string, intended: Json): TomlDoc {
  const doc = openIfItSays(edited, intended)
  if (doc !== undefined) return doc
  const message = 'This part of the file is written in a way that cannot be edited safely; edit it by hand'
  throw cannot(text, startOf(container), message)
}

function containerOf(way: readonly Target[], path: Path): Target {
  const length = Math.min(way.length, Math.max(path.length, 1))
  return lastOf(way.slice(0, length))
}
