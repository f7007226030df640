import type { Agent } from './catalogue.schema.ts'

const MAX_NAME = 128
/** Names that reach into every object of JavaScript; some agents keep their servers in one. */
const DANGEROUS = ['__proto__', 'constructor', 'prototype']

/** Why no entry of this agent can have that name; null when it can. The sentence does not repeat a name that is unsafe to show. */
export function checkName(agent: Agent, name: string): string | null {
  if (name === '' || keyOf(agent, name) === '') return 'The name of a server must not be empty'
  if (name.length > MAX_NAME) return `The name of a server must not be longer than ${MAX_NAME} characters`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name)) {
    return 'The name of a server must not hold control characters or line breaks'
  }
  if (!name.isWellFormed()) return 'The name of a server must be whole Unicode characters'
  const key = keyOf(agent, name)
  if (DANGEROUS.includes(key)) return `'${key}' cannot be the name of a server: choose another`
  if (agent.reservedNames.includes(key)) {
    return `'${key}' means something else in the file of ${agent.name}: choose another name`
  }
  return null
}

/** The name under which the entry stands. */
export function keyOf(agent: Agent, name: string): string {
  return agent.nameRule === 'as-is' ? name : name.toLowerCase().replace(/\s+/g, '')
}
