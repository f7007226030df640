import { counted, shortPath } from '../run/human-readable.ts'
import { type Line, signed, toned } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'

/** One file of an agent that was changed, or would be. */
export type FileChange = Pick<
  Schemas['AgentChangeReport'],
  'agent_type' | 'path' | 'changed' | 'diff' | 'backup_id' | 'reload_hint' | 'warnings'
> &
  Partial<Pick<Schemas['AgentChangeReport'], 'gateway' | 'base_revision'>>

/** The file and the lines that leave and come. Secrets are masked by the service. */
export const diffLines = ({ path, diff, warnings, changed, gateway = null }: FileChange): Line[] => [
  ...[
    toned('strong', shortPath(path)) as Line[number],
    ...(changed
      ? diff.split('\n').filter((line) => line !== '' && !/^(?:---|\+\+\+) /.test(line))
      : ['  unchanged']),
    ...warnings.map((warning) => `! ${warning}`),
  ].map((line): Line => (typeof line === 'string' ? [diffSpan(line)] : [line])),
  ...(gateway === null ? [] : gatewayLines(gateway)),
]

/** What the agent can use before and after a change. */
function gatewayLines({ before, after, ...change }: Gateway): Line[] {
  const renamed = change.keep_names ? [] : change.replaced.filter(({ name, server_id }) => name !== server_id)
  const row = (label: string, text: string, tone?: 'warn'): Line => [
    toned('dim', `  ${label.padEnd(12)} `),
    toned(tone, text),
  ]
  const gained = change.credentials.after.filter((each) => !change.credentials.before.includes(each))
  return [
    row(
      'Servers',
      `${before.servers} → ${after.servers}${change.servers === null ? ', and all that are added later' : ''}`,
    ),
    ...(change.keep_names ? [row('Entries', 'one for each server, under its old name')] : []),
    ...(change.gained.length > 0 ? [row('It gains', change.gained.join(', '), 'warn')] : []),
    ...renamed.map(({ name, server_id }) => row('Renamed', `${name} → ${server_id}`)),
    ...change.replaced.flatMap(({ server_id, variants }) =>
      variants.flatMap((variant) =>
        [
          `${server_id} is not ${variant.server_id}${variant.agents.length > 0 ? ` (${variant.agents.join(', ')})` : ''}`,
          ...variant.values.map((value) => `  ${valueText(value)}`),
        ].map((text, n) => row(n === 0 ? 'Kept apart' : '', text)),
      ),
    ),
    row('Tools', toolsText(change.replaced, { before, after })),
    ...toolNames(change).map((text, n) => row(n === 0 ? 'Tool names' : '', text)),
    row(
      'Credentials',
      credentialText(change.credentials.after, gained),
      gained.length > 0 ? 'warn' : undefined,
    ),
    row(
      'Toolroom off',
      change.starts_toolroom ? 'its first call starts Toolroom' : NO_TOOLS,
      change.starts_toolroom ? undefined : 'warn',
    ),
    ...(change.kept.length > 0 ? [row('Stays', `${change.kept.join(', ')}: as in the file now`)] : []),
    ...(change.not_added > 0
      ? [row('Not added', `${change.not_added} other ${change.not_added === 1 ? 'server' : 'servers'}`)]
      : []),
    ...(after.servers === 0 ? [row('', 'It sees no server. --all lets it see all of them', 'warn')] : []),
  ]
}

const NO_TOOLS = 'it has no tools. To start Toolroom at every login: toolroom service install'

/** A server that has not worked yet may have any number of tools. */
function toolsText(
  replaced: Gateway['replaced'],
  { before, after }: Pick<Gateway, 'before' | 'after'>,
): string {
  const unknown = replaced.filter(({ tools }) => tools.length === 0).length
  if (unknown > 0 && before.tools === 0 && after.tools === 0) return 'not known yet'
  const counts = `${before.tools} → ${after.tools}, about ${before.tokens} → ${after.tokens} tokens`
  return unknown === 0
    ? counts
    : `${counts}, and those of ${counted(unknown, 'server')}, which are not known yet`
}

type Gateway = NonNullable<Schemas['AgentChangeReport']['gateway']>

/** `env REGION  eu, there us`. Secrets are only said to be the same or different. */
export const valueText = ({ label, own, other, secret }: ComparedValue): string =>
  secret === null
    ? `${label}  ${own ?? 'not set'}, there ${other ?? 'not set'}`
    : `${label}  ${secret === 'same' ? 'the same secret' : 'different secrets'}`

type ComparedValue = Gateway['replaced'][number]['variants'][number]['values'][number]

const credentialText = (all: readonly string[], gained: readonly string[]): string => {
  if (gained.length > 0) return `it can now use ${gained.join(', ')}`
  return all.length === 0 ? 'none' : `${all.join(', ')}; no others`
}

/** More than these are shown by the first of each entry. --json has all. */
const MAX_NAMES = 20

function toolNames({ replaced, keep_names }: Pick<Gateway, 'replaced' | 'keep_names'>): string[] {
  const all = replaced.flatMap(({ tools }) => tools)
  const changed = all.filter(({ before, after }) => before !== after)
  if (changed.length === 0) return keep_names && all.length > 0 ? ['stay as they are'] : []
  if (all.length <= MAX_NAMES) return changed.map(({ before, after }) => `${before} → ${after}`)
  return replaced.flatMap(({ tools: [first, ...others] }) => {
    if (!first) return []
    const more = others.length > 0 ? ` (and ${others.length} more)` : ''
    return [`${first.before} → ${first.after}${more}`]
  })
}

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
