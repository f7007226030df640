import { AppError } from '../../kernel/errors.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { maskLine, visibleText } from '../diff/masked-diff.ts'
import type { FileView } from './agents.schema.ts'
import { readFileState } from './read-entries.ts'

/** Of a masked line. Minified files are one line of several megabytes. */
const LONGEST_SHOWN = 2_000
/** Of a line before it is masked, so that 500 long lines take no longer than one. */
const LONGEST_READ = 20_000
const DEFAULT_LINES = 200

interface Range {
  readonly first_line?: number
  readonly limit?: number
}

/** Some lines of a file as they are, with their secrets masked. Also of a file that cannot be parsed. */
export function fileView(target: ConfigTarget, { first_line = 1, limit = DEFAULT_LINES }: Range): FileView {
  const { agent, config } = target
  const { content, root, entries, parseError, problem } = readFileState(target)
  if (!content && !parseError && problem === null)
    throw new AppError('not_found', `${config.path} does not exist`)
  const definitions = entries.flatMap(({ definition }) => definition ?? [])
  const names = entries.map(({ name }) => name)
  const visible = visibleText('owner', definitions, names, root === undefined ? [] : [root])
  const all = content?.text.replace(/^\uFEFF/, '').split(/\r?\n/) ?? []
  if (all.at(-1) === '') all.pop()
  const shown = (line: string) => maskLine(line.slice(0, LONGEST_READ), visible)
  return {
    agent_type: agent.type,
    scope: config.scope,
    path: config.path,
    format: config.format,
    revision: content?.revision ?? null,
    total_lines: all.length,
    lines: all.slice(first_line - 1, first_line - 1 + limit).map((line, index) => {
      const number = first_line + index
      const text = shown(line)
      const isFault = parseError?.line === number
      return {
        line: number,
        text: text.slice(0, LONGEST_SHOWN),
        cut: text.length > LONGEST_SHOWN || line.length > LONGEST_READ,
        // What is left of the fault is masked like the line, so that the mark is at the same place.
        fault_column: isFault
          ? Math.min(shown(line.slice(0, parseError.column - 1)).length, text.length) + 1
          : null,
      }
    }),
    parse_error: parseError,
    problem,
  }
}
