import { memo } from '../../kernel/memo.ts'
import type { Dialect, FileFormat } from '../catalogue/agent-record.ts'
import { type Json, type Path, valueAt } from '../catalogue/json-value.ts'
import { CannotEdit, type Format, type Trace, tooLarge, unparsable } from './format.ts'
import { jsonFormat } from './json/json-format.ts'
import { tomlFormat } from './toml/toml-format.ts'
import { yamlFormat } from './yaml/yaml-format.ts'

/** Sets one value of a file; undefined removes it. */
export interface Operation {
  readonly path: Path
  readonly value: Json | undefined
}

/** With a memory, because parsing a JSON file of 10 MiB takes most of a second, and every list of agents reads it. */
export function formatOf(format: FileFormat, dialect: Dialect): Format {
  if (format === 'toml') return REMEMBERING_TOML
  if (format === 'yaml') return REMEMBERING_YAML
  return rememberingJson(dialect)
}
const rememberingJson = memo((dialect: Dialect) => jsonFormat(dialect).remembering())
const REMEMBERING_TOML = tomlFormat.remembering()
const REMEMBERING_YAML = yamlFormat.remembering()

/** The parsed file; undefined if it is empty. Errors name the file. */
export function readText(format: Format, file: string, text: string): Json | undefined {
  assertSize(format, file, text)
  return withFileName(file, () => format.read(text))
}

/** Applies all operations or throws. Each is verified by a second parser. Errors name the file. */
export function applyOperations(
  format: Format,
  file: string,
  text: string,
  operations: readonly Operation[],
  trace: Trace | undefined,
): { text: string; trace: Trace | undefined } {
  assertSize(format, file, text)
  const edited = withFileName(file, () => {
    let now = { text, trace }
    for (const { path, value } of operations) {
      if (value !== undefined) {
        const edited = format.set(now.text, path, value)
        now = { text: edited.text, trace: now.trace ?? edited.trace }
      } else if (valueAt(format.read(now.text), path) !== undefined)
        now = { text: format.remove(now.text, path, now.trace), trace: now.trace }
    }
    return now
  })
  assertSize(format, file, edited.text) // it could not be read any more
  return edited
}

/** By the format: YAML takes much longer than JSON. */
function assertSize({ maxBytes }: Format, file: string, text: string): void {
  if (text.length > maxBytes || Buffer.byteLength(text) > maxBytes) throw tooLarge(file, maxBytes)
}

function withFileName<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof CannotEdit) throw unparsable(file, error.message, error.position)
    throw error
  }
}
