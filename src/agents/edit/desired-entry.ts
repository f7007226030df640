import { AppError, invalidField, pointer } from '../../kernel/errors.ts'
import {
  keepMaskedArgs,
  keepMaskedCommand,
  keepMaskedUrl,
  keepMaskedValues,
  originOf,
} from '../../servers/shared/masked-values.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import type { Agent } from '../catalogue/agent-record.ts'
import { forAgent } from '../catalogue/agent-reference-syntax.ts'
import { hashOf, isMap, type Json, type Path, withValue } from '../catalogue/json-value.ts'
import { type Definition, NotSupported, type RegisteredServer } from '../catalogue/server-definition.ts'
import { updateOf } from '../catalogue/update-entry.ts'
import { writeEntry } from '../catalogue/write-entry.ts'
import type { Operation } from '../formats/apply-operations.ts'
import type { EntryInput } from './edit.schema.ts'

/** An entry as a request asks for it. */
export interface DesiredEntry {
  readonly name: string
  readonly server_id: string | null
  /** Gets the current definition, from which values that the caller sent as `***` are kept. */
  readonly definition: (current: Definition | null) => Definition
  /** Undefined leaves the entry enabled or disabled as it is. */
  readonly enabled: boolean | undefined
}

/** Throws if the agent could not run the server, so that no agent gets an entry that does not work. */
export function desiredFromServer(
  agent: Agent,
  { id, name, definition, held }: RegisteredServer,
): DesiredEntry {
  if (definition instanceof AppError) throw definition
  // Not at once: an entry of the user's own that is switched on again needs nothing of the server.
  const written = () => {
    if (held) throw held
    return forAgent(agent, name, definition)
  }
  return { name: id, server_id: id, definition: written, enabled: undefined }
}

/** `at` is the JSON pointer of the entry in the request body, for error messages. */
export function desiredFromInput(
  name: string,
  input: EntryInput,
  at = `/servers/${pointer(name)}`,
): DesiredEntry {
  const given = definitionOf(input, at)
  return {
    name,
    server_id: null,
    enabled: input.enabled,
    definition: (current) => (given.type === 'stdio' ? stdio(given, current) : remote(given, current)),
  }
}

function definitionOf(input: EntryInput, at: string): Definition {
  const { type, command, args = [], env = {}, cwd = null, url, headers = {} } = input
  if ((command === undefined) === (url === undefined))
    throw invalidField(at, 'must have either a command or a url')
  if (command !== undefined) {
    if (type !== undefined && type !== 'stdio')
      throw invalidField(`${at}/type`, 'must be stdio for a command')
    if (input.headers) throw invalidField(`${at}/headers`, 'must not be given for a command')
    return { type: 'stdio', command, args, env, cwd }
  }
  if (type === 'stdio') throw invalidField(`${at}/type`, 'must be http or sse for a url')
  for (const field of ['args', 'env', 'cwd'] as const)
    if (input[field] != null) throw invalidField(`${at}/${field}`, 'must not be given for a url')
  if (!URL.canParse(url ?? '')) throw invalidField(`${at}/url`, 'must be a URL')
  return { type: type === 'sse' ? 'sse' : 'http', url: url ?? '', headers }
}

type Stdio = Extract<Definition, { type: 'stdio' }>
type Remote = Exclude<Definition, Stdio>

function stdio(given: Stdio, current: Definition | null): Definition {
  const before = current?.type === 'stdio' ? current : undefined
  return {
    ...given,
    command: keepMaskedCommand(given.command, before?.command),
    args: keepMaskedArgs(given.args, before?.args ?? []),
    env: keepMaskedValues('env', given.env, before?.env ?? {}),
  }
}

/** Masked headers are kept only for the origin that they were written for. */
function remote(given: Remote, current: Definition | null): Definition {
  const before = current && current.type !== 'stdio' ? current : undefined
  const url = keepMaskedUrl(given.url, before?.url)
  const isSameOrigin = before !== undefined && originOf(before.url) === originOf(url)
  return {
    ...given,
    url,
    headers: keepMaskedValues('headers', given.headers, isSameOrigin ? before.headers : {}),
  }
}

/** Fields of the old entry that are not part of a definition stay: approvals, timeouts, unknown fields. */
export function entryValue(
  { agent, platform }: ConfigTarget,
  name: string,
  before: Json | null,
  definition: Definition,
): Json {
  try {
    if (!isMap(before)) return writeEntry(agent, name, definition, platform.os)
    return updateOf(agent, name, before, definition, platform.os).reduce<Json>(
      (value, { field, value: next }) => withValue(value, field, next) ?? {},
      before,
    )
  } catch (error) {
    if (error instanceof NotSupported) throw new AppError('not_supported', error.message)
    throw error
  }
}

/** Field by field, so that comments between the fields stay. */
export function fieldChanges(path: Path, before: Json, after: Json, depth = 0): Operation[] {
  if (!isMap(before) || !isMap(after) || depth > 1)
    return hashOf(before) === hashOf(after) ? [] : [{ path, value: after }]
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name))
  return [
    ...gone.map((name) => ({ path: [...path, name], value: undefined })),
    ...Object.entries(after).flatMap(([name, value]) => {
      const old = Object.hasOwn(before, name) ? before[name] : undefined
      return old === undefined
        ? [{ path: [...path, name], value }]
        : fieldChanges([...path, name], old, value, depth + 1)
    }),
  ]
}
