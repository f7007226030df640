import { MASK, maskArgs, maskCommand } from '../../../kernel/secrets/mask-secrets.ts'
import type { PastExit } from '../../../kernel/server-state.ts'
import type { References } from '../../shared/definition/resolved-references.ts'
import { type Check, commandLine, type Diagnosis, explained } from '../../shared/diagnosis.ts'
import type { ServerLife } from '../instance-pool.ts'
import { type ProgramOf, programFor } from '../run-settings.ts'
import type { InstanceView, Server } from '../servers.schema.ts'
import type { TrialReport } from './actions.schema.ts'
import type { Startable, Tried } from './trial.ts'

/** The program that a start would run, or why there is none. */
export type FindProgram = (
  definition: Pick<Startable, 'command' | 'env' | 'cwd'>,
) =>
  | { readonly ok: true; readonly path: string; readonly cwd: string }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly hint: string }

/** Whether servers can run with such isolation on this computer, and why not. */
type PlaceAbilities = () => Promise<
  Readonly<
    Record<'sandbox' | 'container', { readonly problem: string | null; readonly remedy: string | null }>
  >
>

export interface DiagnosisDeps {
  readonly references: Pick<References, 'resolve'>
  readonly programOf: ProgramOf
  readonly findProgram: FindProgram
  /** The PATH of the user's login shell, which can differ from that of Toolroom. Undefined if it is not known. */
  readonly shellPath: () => Promise<string | undefined>
  readonly probe: Probe
  readonly placeAbilities: PlaceAbilities
  readonly tryOut: (tried: Tried) => Promise<TrialReport>
}

interface Current {
  readonly life: ServerLife
  /** All running processes. */
  readonly instances: readonly InstanceView[]
  readonly toolCount: number | null
  readonly sharingReason: string | null
}

/** A process of it exists, or is about to: a second one could disturb it. */
const ACTIVE: readonly string[] = ['starting', 'stopping', 'backoff']

/** What a start needs, whether it is there, and whether the server answers. One that is not running is started once. */
export async function diagnose(server: Server, current: Current, deps: DiagnosisDeps): Promise<Diagnosis> {
  const checks: Check[] = []
  const resolved = deps.references.resolve(server.id, server)
  checks.push({
    name: 'references',
    ok: resolved.ok,
    detail: resolved.ok ? 'All variables and secrets that it refers to are set' : explained(resolved.error),
  })
  const program = programFor(server, deps.programOf)
  if (server.package !== null) {
    const detail = program.ok
      ? `The package '${server.package}' is installed${skippedText(program.skippedScripts?.of)}`
      : explained(program.error)
    checks.push({ name: 'package', ok: program.ok, detail })
  }
  const { env, cwd } = resolved.ok ? resolved.definition : server
  // In a container, the command is a program of the image.
  const isLocal = server.isolation !== 'container'
  const wanted = program.ok && isLocal ? { command: program.command, env, cwd } : undefined
  const found = wanted && deps.findProgram(wanted)
  if (found) checks.push(...programChecks(found))
  checks.push(...(await placeCheck(server, deps.placeAbilities)), ...variablesCheck(env))
  checks.push(exitCheck(current.life), processCheck(server, current))
  checks.push(...(await addressCheck(current.life, { args: server.args, env }, deps.probe)))
  const canStart = checks.every(({ name, ok }) => ok || FINDINGS.includes(name))
  if (canStart) checks.push(await handshakeCheck(server, current, deps))
  const shown = program.ok ? { ...program, env: server.env, cwd: server.cwd } : server
  const isMissing = found?.ok === false && found.code === 'command_not_found' && server.package === null
  const repair = wanted && isMissing ? await repairOf(wanted, deps) : null
  return { checks, command_line: commandLineOf(shown), repair }
}

/** They may explain a failure, and do not prevent a start. */
const FINDINGS = ['exits', 'variables', 'address']

function variablesCheck(env: Startable['env']): Check[] {
  const names = Object.keys(env)
  const empty = names.filter((name) => env[name] === '')
  if (names.length === 0) return []
  if (empty.length > 0) return [{ name: 'variables', ok: false, detail: `${listed(empty)} empty` }]
  return [{ name: 'variables', ok: true, detail: `${listed(names)} set` }]
}

function listed(names: readonly string[]): string {
  const more = names.length > 3 ? ` and ${names.length - 3} more` : ''
  return `${names.slice(0, 3).join(', ')}${more} ${names.length === 1 ? 'is' : 'are'}`
}

/** Apps that are started from a desktop have another PATH than a terminal, so the login shell may find the program. */
async function repairOf(
  wanted: Parameters<FindProgram>[0],
  { findProgram, shellPath }: Pick<DiagnosisDeps, 'findProgram' | 'shellPath'>,
): Promise<Diagnosis['repair']> {
  const PATH = await shellPath()
  if (PATH === undefined) return null
  const found = findProgram({ ...wanted, env: { ...wanted.env, PATH } })
  return found.ok ? { command: found.path, detail: `Your login shell finds it at ${found.path}` } : null
}

const skippedText = (skipped: readonly string[] = []): string =>
  skipped.length === 0 ? '' : `, without the install scripts of ${skipped.slice(0, 5).join(', ')}`

function programChecks(found: ReturnType<FindProgram>): Check[] {
  if (found.ok)
    return [
      { name: 'command', ok: true, detail: `The program is ${found.path}` },
      { name: 'cwd', ok: true, detail: `It starts in ${found.cwd}` },
    ]
  return [{ name: found.code === 'cwd_not_found' ? 'cwd' : 'command', ok: false, detail: explained(found) }]
}

function exitCheck({ lastError, recentExits }: ServerLife): Check {
  const [last] = recentExits
  if (!last) return { name: 'exits', ok: true, detail: 'It has not exited since Toolroom started' }
  const times = recentExits.length === 1 ? 'once' : `${recentExits.length} times`
  const lines = last.stderr_tail.at(-1)
  const detail = `It exited ${times} lately, the last time ${exitText(last)}${lines ? `: ${lines}` : ''}`
  return { name: 'exits', ok: lastError === null, detail }
}

function exitText({ code, signal, ranMs }: PastExit): string {
  const how = signal === null ? `with code ${code}` : `by ${signal}`
  return `${how} after ${Math.round(ranMs / 100) / 10} s`
}

/** With which isolation it runs, or why it cannot. */
async function placeCheck(
  { isolation, isolation_options }: Server,
  abilities: PlaceAbilities,
): Promise<Check[]> {
  if (isolation === 'none') return []
  const { problem, remedy } = (await abilities())[isolation]
  if (problem !== null)
    return [{ name: 'place', ok: false, detail: explained({ message: problem, hint: remedy }) }]
  const { write, read, network } = isolation_options
  const paths = (list: readonly string[]) => (list.length === 0 ? 'nothing' : list.join(', '))
  const reach = `it may change ${paths(write)}, may read ${paths(read)}, and has ${network === 'full' ? 'the' : 'no'} network`
  return [{ name: 'place', ok: true, detail: `It runs in a ${isolation}: ${reach}` }]
}

/** Why it has one process or several. */
function processCheck({ sharing }: Server, { instances, sharingReason }: Current): Check {
  const rules = {
    auto: sharingReason
      ? `further sessions get a process of their own, because: ${sharingReason}`
      : 'all agents share one process',
    shared: 'all agents share one process',
    per_agent: 'each agent gets a process of its own',
    per_session: 'each session gets a process of its own',
  }
  const { length } = instances
  const count = length === 0 ? 'No process runs' : length === 1 ? '1 process runs' : `${length} processes run`
  return { name: 'processes', ok: true, detail: `${count}. sharing is ${sharing}: ${rules[sharing]}` }
}

async function handshakeCheck(
  server: Server,
  { life, toolCount }: Current,
  { tryOut }: DiagnosisDeps,
): Promise<Check> {
  const check = (ok: boolean, detail: string): Check => ({ name: 'handshake', ok, detail })
  const { status } = life.state
  if (status === 'running') {
    const problem = life.client?.listError
    return problem
      ? check(false, explained(problem))
      : check(true, `It is running with ${toolCount ?? 0} tools`)
  }
  if (ACTIVE.includes(status))
    return check(false, life.lastError ? explained(life.lastError) : `It is ${status}`)
  const { ok, duration_ms, tool_count, error } = await tryOut(server)
  if (!ok && error) return check(false, explained(error))
  return check(
    true,
    `Started on trial, it listed ${tool_count} tools within ${duration_ms} ms, and was ended`,
  )
}

/** For a terminal. */
function commandLineOf({ command, args, env, cwd }: Omit<Startable, 'confinement'>): string {
  const masked = Object.fromEntries(Object.keys(env).map((name) => [name, MASK]))
  return commandLine({ cwd, env: masked, words: [maskCommand(command), ...maskArgs(args)] })
}

/** Whether a port accepts connections now; undefined if the host must not be contacted. */
type Probe = (host: string, port: number, mayLeave: boolean) => Promise<boolean | undefined>

const REFUSED = /\bECONNREFUSED ([\w.:-]{1,255}):(\d{1,5})(?!\d)/

/**
 * The address that refused a connection, by the last words of the server. It is tried again only on this computer, or
 * if the definition names it: what a server writes must not make Toolroom contact other hosts.
 */
async function addressCheck(
  { lastError, recentExits }: ServerLife,
  { args, env }: Pick<Startable, 'args' | 'env'>,
  probe: Probe,
): Promise<Check[]> {
  if (lastError === null) return []
  const lines = [lastError.message, ...(recentExits[0]?.stderr_tail ?? []).toReversed()]
  const [, host = '', port = ''] = lines.map((line) => REFUSED.exec(line)).find((found) => found) ?? []
  if (host === '' || Number(port) > 65_535) return []
  const address = `${host}:${port}`
  const isOwn = [...args, ...Object.values(env)].some((text) => text.includes(address))
  const isOpen = await probe(host, Number(port), isOwn)
  if (isOpen === undefined) return []
  const detail = isOpen
    ? `${address} accepts connections now. Start the server again`
    : `Nothing listens on ${address}. Start the program that the server connects to`
  return [{ name: 'address', ok: isOpen, detail }]
}
