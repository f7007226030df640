import { shortPath } from '../run/human-readable.ts'
import { type Line, signed, toned } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'

/** One file of an agent that was changed, or would be. */
export type FileChange = Pick<
  Schemas['AgentChangeReport'],
  'agent_type' | 'path' | 'changed' | 'diff' | 'backup_id' | 'reload_hint' | 'warnings'
>

/** The file and the lines that leave and come. Secrets are masked by the service. */
export const diffLines = ({ path, diff, warnings, changed }: FileChange): Line[] =>
  [
    toned('strong', shortPath(path)) as Line[number],
    ...(changed
      ? diff.split('\n').filter((line) => line !== '' && !/^(?:---|\+\+\+) /.test(line))
      : ['  unchanged']),
    ...warnings.map((warning) => `! ${warning}`),
  ].map((line): Line => (typeof line === 'string' ? [diffSpan(line)] : [line]))

const diffSpan = (line: string): Line[number] =>
  toned(
    line.startsWith('+') ? 'ok' : line.startsWith('-') ? 'err' : line.startsWith('!') ? 'warn' : undefined,
    line,
  )

/** What was written, where the old file is, and what makes the agent read the new one. */
export const writtenLines = (changes: readonly FileChange[]): Line[] =>
  changes.flatMap(({ agent_type, path, changed, reload_hint, warnings }): Line[] => [
    changed
      ? signed(
          'ok',
          `${agent_type}  ${shortPath(path)}${reload_hint === null ? '' : `. Reload: ${reload_hint}`}`,
        )
      : signed('dim', `${agent_type}  ${shortPath(path)} was not changed`),
    ...warnings.map((warning): Line => [toned('warn', `  ! ${warning}`)]),
  ])
