import { AppError } from '../../../kernel/errors.ts'

/** The whole snippet cannot be parsed. Messages contain keys and positions, never values, which may be secrets. */
export function snippetError(message: string, hint: string): AppError {
  return new AppError('invalid_input', message, { hint, errors: [{ path: '/snippet', message }] })
}

/** One entry cannot be imported. */
export function refusal(reason: string): AppError {
  return new AppError('invalid_input', reason)
}

export function noServer(): AppError {
  return snippetError(
    'No server was found in the snippet',
    'Supported formats: JSON such as {"mcpServers": {"name": {"command": "npx", "args": ["-y", "package"]}}}, ' +
      'TOML such as [mcp_servers.name], one server without a name, a command such as npx -y package or ' +
      'claude mcp add name -- command, and an https URL. YAML is not supported',
  )
}

/** A part of the text cannot be parsed. The caller, which has the whole text, adds line and column. */
export class Fault extends Error {
  readonly what: string
  readonly offset: number

  constructor(what: string, offset: number, message: string) {
    super(message)
    this.what = what
    this.offset = offset
  }
}

/** Line and column of an offset, both counted from 1. */
export function positionOf(text: string, offset: number): string {
  const column = offset - text.slice(0, offset).lastIndexOf('\n')
  return `line ${lineOf(text, offset)}, column ${column}`
}

export function lineOf(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1
  return line
}

const MAX_SHOWN = 64

/** A name from the snippet for use in a message: one line, short, without invisible characters. */
export function shown(name: string): string {
  const start = name.slice(0, MAX_SHOWN * 4).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
  return (start.length > MAX_SHOWN ? `${start.slice(0, MAX_SHOWN - 1)}…` : start).toWellFormed()
}

const MAX_LISTED = 10

/** `a, b, c and 4 more` */
export function listed(names: readonly string[]): string {
  const some = names.slice(0, MAX_LISTED).map(shown).join(', ')
  return names.length > MAX_LISTED ? `${some} and ${names.length - MAX_LISTED} more` : some
}
