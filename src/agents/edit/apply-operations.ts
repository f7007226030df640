import { AppError } from '../../kernel/errors.ts'
import type { Dialect, FileFormat } from '../catalogue/catalogue.schema.ts'
import { unparsable } from '../files/config-text.ts'
import { CannotEdit, type Format, type Json, type Path, type Trace } from '../formats/format.ts'
import { jsonFormat } from '../formats/json/json-format.ts'
import { isSame, valueAt, withoutEmpty, withValue } from '../formats/json-value.ts'
import { tomlFormat } from '../formats/toml/toml-format.ts'
import { yamlFormat } from '../formats/yaml/yaml-format.ts'

/** Sets one value of a file; undefined removes it. */
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
 * Applies all operations or throws. The result is read by a second parser before it is written: it must contain the
 * old values, changed as intended, in the old order.
 */
export function applyOperations(
  format: Format,
  path: string,
  text: string,
  operations: readonly Operation[],
  trace: Trace | undefined,
): { text: string; trace: Trace | undefined } {
  return withPath(path, () => {
    let now = { text, trace }
    let intended = format.readAgain(text)
    for (const operation of operations) {
      if (operation.value !== undefined) {
        const edited = format.set(now.text, operation.path, operation.value)
        now = { text: edited.text, trace: now.trace ?? edited.trace }
      } else if (valueAt(format.read(now.text), operation.path) !== undefined)
        now = { ...now, text: format.remove(now.text, operation.path, now.trace) }
      intended = withValue(intended, operation.path, operation.value)
    }
    const ways = operations.map(({ path: way }) => way.slice(0, -1))
    const pruned = (value: Json | undefined) => ways.reduce(withoutEmpty, value)
    if (!isSame(pruned(format.readAgain(now.text)), pruned(intended))) throw unsure(path)
    return now
  })
}

/** The parsed file; undefined if it is empty. */
export function readText(format: Format, path: string, text: string): Json | undefined {
  return withPath(path, () => format.read(text))
}

function withPath<T>(path: string, work: () => T): T {
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
      hint: 'Nothing was changed. Edit the file by hand',
    },
  )
