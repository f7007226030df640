import { AppError, invalidField, pointer } from '../../kernel/errors.ts'
import { keepMaskedArgs, keepMaskedUrl, keepMaskedValues, originOf } from '../../kernel/secrets/write-back.ts'
import type { Definition } from '../catalogue/definition.ts'
import type { EntryInput } from './edit.schema.ts'

/** A server as Toolroom knows it. */
export interface Registered {
  readonly id: string
  readonly name: string
  readonly definition: Definition
}

/** What a caller wants an entry to be. */
export interface Wanted {
  readonly name: string
  readonly server_id: string | null
  /** What the entry says now is needed to keep values that came in masked. */
  readonly definition: (now: Definition | null) => Definition
  /** Undefined leaves it as it is. */
  readonly enabled: boolean | undefined
}

export const wantedServer = ({ id, definition }: Registered): Wanted => ({
  name: id,
  server_id: id,
  definition: () => definition,
  enabled: undefined,
})

/** `at` is where the entry stands in the body, for the sentences about it. */
export function wantedEntry(name: string, input: EntryInput, at = `/servers/${pointer(name)}`): Wanted {
  const given = transportOf(input, at)
  return {
    name,
    server_id: null,
    enabled: input.enabled,
    definition: (now) => (given.type === 'stdio' ? stdio(given, now) : remote(given, now)),
  }
}

function transportOf(input: EntryInput, at: string): Definition {
  const { type, command, args = [], env = {}, cwd = null, url, headers = {} } = input
  if ((command === undefined) === (url === undefined))
    throw invalidField(at, 'must hold either a command or a url')
  if (command !== undefined) {
    if (type !== undefined && type !== 'stdio')
      throw invalidField(`${at}/type`, 'must be stdio for a command')
    if (input.headers) throw invalidField(`${at}/headers`, 'belong to a url, not to a command')
    return { type: 'stdio', command, args, env, cwd }
  }
  if (type === 'stdio') throw invalidField(`${at}/type`, 'must be http or sse for a url')
  for (const field of ['args', 'env', 'cwd'] as const)
    if (input[field] != null) throw invalidField(`${at}/${field}`, 'belongs to a command, not to a url')
  return { type: type === 'sse' ? 'sse' : 'http', url: checkedUrl(url ?? '', at), headers }
}

function checkedUrl(url: string, at: string): string {
  if (!URL.canParse(url)) throw invalidField(`${at}/url`, 'must be a URL')
  return url
}

type Stdio = Extract<Definition, { type: 'stdio' }>
type Remote = Exclude<Definition, Stdio>

function stdio(given: Stdio, now: Definition | null): Definition {
  const before = now?.type === 'stdio' ? now : undefined
  return {
    ...given,
    args: keepMaskedArgs(given.args, before?.args ?? []),
    env: keepMaskedValues('env', given.env, before?.env ?? {}),
  }
}

/** A header goes nowhere but to the origin that it was written for. */
function remote(given: Remote, now: Definition | null): Definition {
  const before = now && now.type !== 'stdio' ? now : undefined
  const url = keepMaskedUrl(given.url, before?.url)
  const isSameOrigin = before !== undefined && originOf(before.url) === originOf(url)
  return {
    ...given,
    url,
    headers: keepMaskedValues('headers', given.headers, isSameOrigin ? before.headers : {}),
  }
}

export function unknownServer(key: string): AppError {
  return new AppError('not_found', `No server has the id or name '${key.slice(0, 100)}'`, {
    hint: 'GET /api/servers and GET /api/http-servers list what there is',
  })
}
