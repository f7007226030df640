import type { AppError } from '../../kernel/errors.ts'
import type { Agent } from './agent-record.ts'

/** A server, independent of how any agent writes it. */
export type Definition =
  | {
      readonly type: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
      readonly cwd: string | null
    }
  | {
      readonly type: 'http' | 'sse'
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
    }

export interface RegisteredServer {
  readonly id: string
  readonly name: string
  /** Or why no entry can be written for it. */
  readonly definition: Definition | AppError
  /** The package that it runs from, and the arguments of its program. */
  readonly package?: { readonly name: string; readonly args: readonly string[] }
}

/** The agent's file cannot express this. The message says what to do instead. */
export class NotSupported extends Error {
  override readonly name = 'NotSupported'
}

const MAX_NAME = 128
/** Members of every JavaScript object. Agents that keep servers in one would misread them. */
const DANGEROUS = ['__proto__', 'constructor', 'prototype']

/** Why an entry of this agent cannot have this name; null if it can. The message never repeats unsafe characters. */
export function checkName(agent: Agent, name: string): string | null {
  if (name === '' || keyOf(agent, name) === '') return 'A server name must not be empty'
  if (name.length > MAX_NAME) return `A server name must not be longer than ${MAX_NAME} characters`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the pattern finds
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name)) {
    return 'A server name must not contain control characters or line breaks'
  }
  if (!name.isWellFormed()) return 'A server name must be valid Unicode'
  const key = keyOf(agent, name)
  if (DANGEROUS.includes(key)) return `'${key}' cannot be used as a server name. Choose another name`
  if (agent.reservedNames.includes(key)) {
    return `'${key}' has a special meaning in ${agent.name}'s file. Choose another name`
  }
  return null
}

/** The key of the entry in the file. */
export function keyOf(agent: Agent, name: string): string {
  return agent.nameRule === 'as-is' ? name : name.toLowerCase().replace(/\s+/g, '')
}
