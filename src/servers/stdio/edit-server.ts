import { invalidField, pointer } from '../../kernel/errors.ts'
import type { Isolation } from '../../kernel/isolation-options.ts'
import { MASK } from '../../kernel/secrets/mask-secrets.ts'
import { isOnlyReference } from '../../kernel/secrets/references.ts'
import { npxPackage } from '../shared/definition/npx-package.ts'
import { keepMaskedArgs, keepMaskedCommand, keepMaskedValues } from '../shared/masked-values.ts'
import { changedOffer } from '../shared/tool-settings.ts'
import type { TrialInput } from './actions/actions.schema.ts'
import { checkIsolation } from './isolation-settings.ts'
import { DEFAULT_SETTINGS, settingsOver } from './run-settings.ts'
import type { Server, ServerPatch } from './servers.schema.ts'

/** What decides about fields that an input leaves out. */
export interface InputDeps {
  readonly packages: {
    /** The program of the package to run. Throws when there is no such program, or several and no name is given. */
    readonly binOf: (name: string, program: string | undefined) => string
  }
  /** The isolation of new servers. */
  readonly defaultIsolation: Isolation['isolation']
}

/** The fields of an input that decide what a start runs, and how. */
export function startedBy(input: Omit<TrialInput, 'type'>, { packages, defaultIsolation }: InputDeps) {
  const { env = {}, args = [], cwd = null, package: from = null } = input
  const kept = { env: keepMaskedValues('env', env, {}), args: keepMaskedArgs(args, []) }
  const given = input.command && keepMaskedCommand(input.command, undefined)
  const command = from === null ? given : packages.binOf(from, given)
  if (command === undefined) throw invalidField('/command', 'is required unless package is set')
  const settings = settingsOver({ ...DEFAULT_SETTINGS, isolation: defaultIsolation }, input)
  const started = { command, package: from, ...kept, cwd, ...settings }
  checkIsolation(started)
  return started
}

/** With a package, the patch has its program, and the arguments that npx would pass on to it. */
export function runBy(
  current: Server,
  patch: ServerPatch,
  { packages }: Pick<InputDeps, 'packages'>,
): ServerPatch {
  const { package: from, command, args } = patch
  if (from === undefined) return patch
  if (from === null && command === undefined)
    throw invalidField('/package', 'can be null only with a command')
  if (from === null) return patch
  const npx = npxPackage(current)
  const kept = args === undefined && npx?.name === from && { args: [...npx.args] }
  return { ...patch, ...kept, command: packages.binOf(from, command) }
}

/** The fields of a server after a change of some of them. `isForeign`: others have written them, as in an import. */
export function edited(current: Server, patch: ServerPatch, isForeign = false): Partial<Server> {
  const { auto_start: _, start_mode: __, ...fields } = patch
  const next = {
    ...fields,
    ...settingsOver(current, patch),
    ...changedOffer(current, patch),
    ...(patch.command && { command: keepMaskedCommand(patch.command, current.command) }),
    ...(patch.env && { env: keepMaskedValues('env', patch.env, current.env) }),
    ...(patch.args && { args: keepMaskedArgs(patch.args, current.args) }),
  }
  checkIsolation({ ...current, ...next })
  if (isForeign) refuseOthersSecrets(current, { ...current, ...next }, patch)
  return next
}

/** Stored values stay with the program that they were saved for, as those of headers stay with their origin. */
function refuseOthersSecrets(current: Server, next: Server, { env, args }: ServerPatch): void {
  const runs = ({ command, args, package: from, cwd, isolation, isolation_options }: Server) =>
    JSON.stringify([command, args, from, cwd, isolation, isolation_options])
  if (runs(current) === runs(next)) return
  const kept = Object.keys(next.env).find(
    (name) => (env === undefined || env[name] === MASK) && !isOnlyReference(next.env[name] ?? ''),
  )
  const arg = (args ?? []).findIndex((each, index) => each.includes(MASK) && next.args[index] !== each)
  const at = kept === undefined ? (arg === -1 ? undefined : `/args/${arg}`) : `/env/${pointer(kept)}`
  if (at === undefined) return
  const message = 'is a stored secret of the old command, which is not given to another one'
  throw invalidField(at, message, 'Send the values in full, or change the server itself')
}
