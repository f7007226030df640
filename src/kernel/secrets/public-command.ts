import { isObject } from '../json/json-checks.ts'
import { MASK, maskArgs, maskCommand } from './mask-secrets.ts'

/**
 * What a reader without the token sees of a command. Whether free text is a secret cannot be known, so only what is
 * certainly none is shown: flags, paths, packages, numbers, booleans, and URLs without query and credentials.
 */
export function publicArgs(command: string, args: readonly string[]): string[] {
  const masked = maskArgs(args)
  const packageAt = packagePosition(command, args)
  return args.map((arg, index) => {
    const isRunner = index < packageAt || (index === packageAt && PACKAGE_NAME.test(arg))
    const isShown = isRunner || isHarmless(arg)
    return isShown && masked[index] === arg ? arg : MASK
  })
}

/** A program: its name or its path. Some users write its arguments there too. */
export function publicCommand(command: string): string {
  const [program = '', ...rest] = command.split(' ')
  const isShown = (PROGRAM.test(program) || isPath(program)) && maskCommand(program) === program
  return [isShown ? program : MASK, ...publicArgs(program, rest)].join(' ')
}

/** The details of an audit row: `command` and `args`, also as `{before, after}` of a change. */
export function publicDetail(detail: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { command } = detail
  const program = typeof command === 'string' ? command : ''
  return Object.fromEntries(
    Object.entries(detail).map(([key, value]) => [key, publicValue(key, value, program)]),
  )
}

function publicValue(key: string, value: unknown, program: string): unknown {
  if (key === 'command' && typeof value === 'string') return publicCommand(value)
  if (key === 'args' && Array.isArray(value)) return publicArgs(program, value.map(String))
  if (!isObject(value)) return value
  if (key !== 'command' && key !== 'args') return publicDetail(value)
  return Object.fromEntries(Object.entries(value).map(([when, each]) => [when, publicValue(key, each, '')]))
}

const PROGRAM = /^[\w.+@-]{1,64}$/
const FLAG = /^(?:--?|-[A-Za-z]|-(?![pu])[a-z]{2,12}|--[A-Za-z][A-Za-z0-9-]{0,63})$/
const NUMBER = /^[+-]?\d{1,10}(?:\.\d{1,10})?$/
const URL_WITHOUT_SECRETS = /^[a-z][a-z0-9+.-]{0,30}:\/\/[^\s?#@"'<>]+$/i
const SCOPED_PACKAGE = /^@[a-z0-9][a-z0-9._-]{0,127}\/[a-z0-9][a-z0-9._-]{0,127}(?:@[\w.^~-]{1,64})?$/
const PACKAGE_WITH_VERSION =
  /^[a-z][a-z0-9._-]{0,127}(?:@|==)(?:latest|next|v?\d+(?:\.\d+){0,3}(?:-[a-z]+[.\d]*)?)$/
const PACKAGE_NAME = /^[a-z][a-z0-9._-]{0,127}(?:\[[a-z,-]{1,64}\])?$/
/** Part of a path that is probably a key: letters and digits mixed, or a UUID. */
const KEY_IN_PATH =
  /(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}|[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-/i

/** A path of files without a part that looks like a key. */
export const isPath = (text: string): boolean =>
  /^(?:(?:~|\.{1,2}|[A-Za-z]:)?[\\/][\p{L}\p{M}\p{N}_.@+\\/~-]*|\.{1,2}|~)$/u.test(text) &&
  !KEY_IN_PATH.test(text)

function isHarmless(arg: string): boolean {
  if (arg.length > 4096) return false
  if (arg === 'true' || arg === 'false' || FLAG.test(arg) || NUMBER.test(arg) || isPath(arg)) return true
  if (SCOPED_PACKAGE.test(arg) || PACKAGE_WITH_VERSION.test(arg)) return true
  return URL_WITHOUT_SECRETS.test(arg) && !KEY_IN_PATH.test(arg)
}

const RUNNER = /(?:^|[\\/])(?:npx|pnpx|bunx|uvx|dnx|npm|pnpm|yarn|bun|uv|pipx)(?:\.exe|\.cmd)?$/
const BEFORE_PACKAGE = new Set('-y --yes -q --quiet -s --silent -- exec x dlx run tool'.split(' '))

/** Where `npx -y package` has the name of its package. A plain word anywhere else may be a secret. */
function packagePosition(command: string, args: readonly string[]): number {
  return RUNNER.test(command) ? args.findIndex((arg) => !BEFORE_PACKAGE.has(arg)) : -1
}
