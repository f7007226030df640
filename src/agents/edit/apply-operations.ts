import { AppError } from '../../kernel/errors.ts'
import type { Dialect, FileFormat } from '../catalogue/catalogue.schema.ts'
import { unparsable } from '../files/config-text.ts'
import { CannotEdit, type Format, type Json, type Path, type Trace } from '../formats/format.ts'
import { jsonFormat } from '../formats/json/json-format.ts'
import { isSame, valueAt, withoutEmpty, withValue } from '../formats/json-value.ts'
import { tomlFormat } from '../formats/toml/toml-format.ts'
import { yamlFormat } from '../formats/yaml/yaml-format.ts'

/** One value of a file; undefined takes it out. */
export interface Operation {
  readonly path: Path
  readonly value: Json | undefined
}

export function formatOf(format: FileFormat, dialect: Dialect): Format {
  if (format === 'toml') return tomlFormat
  if (format === 'yaml') return yamlFormat
  return jsonFormat(dialect)
}

/**
 * The text with all operations applied, or an error and nothing at all. Before anybody writes it, another parser reads
 * what came out: it must say the old things, changed as intended, in the old order.
 */
export function applyOperations(
  format: Format,
  path: string,
  text: string,
  operations: readonly Operation[],
  trace: Trace | undefined,
): { text: string; trace: Trace | undefined } {
  return naming(path, () => {
    let now = { text, trace }
    let intended = format.readAgain(text)
    for (const operation of operations) {
      const isThere = valueAt(format.read(now.text), operation.path) !== undefined
      if (operation.value !== undefined) {
        const edited = format.set(now.text, operation.path, operation.value)
        now = { text: edited.text, trace: now.trace ?? edited.trace }
      } else if (isThere) now = { ...now, text: format.remove(now.text, operation.path, now.trace) }
      intended = withValue(intended, operation.path, operation.value)
    }
    const ways = operations.map(({ path: way }) => way.slice(0, -1))
    const pruned = (value: Json | undefined) => ways.reduce(withoutEmpty, value)
    if (!isSame(pruned(format.readAgain(now.text)), pruned(intended))) throw unsure(path)
    return now
  })
}

/** What the file says; undefined when it says nothing. */
export function readText(format: Format, path: string, text: string): Json | undefined {
  return naming(path, () => format.read(text))
}

function naming<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof CannotEdit) throw unparsable(path, error.message, error.place)
    throw error
  }
}

const unsure = (path: string): AppError =>
  new AppError(
    'config_unsafe',
    `${path} is written in a way that Toolroom cannot edit without touching more than the entry`,
    {
      hint: 'Nothing was changed; edit this file by hand',
    },
  )
