import { AppError, invalidField } from '../kernel/errors.ts'
import { type Caller, slugOf } from '../kernel/rest-parts.ts'
import { hashOf } from '../servers/shared/compare-listed-definitions.ts'
import { type AllowOutgoing, allowsOf, outgoingIn } from '../servers/shared/definition/outgoing.ts'
import type { FileImportInput, FileImportReport, Imported } from './file-import.schema.ts'
import { allOrNothing, apply } from './import-apply.ts'
import { type Plan, plan, type Reasons } from './import-plan.ts'
import type { Entry, ExportFile } from './read/export-file/export-file.schema.ts'
import {
  openSecrets,
  type Secrets,
  separateSecrets,
  withoutMasked,
} from './read/export-file/export-secrets.ts'
import { type Fields, isNamed, type KnownServer, type ServerKinds } from './stdio-and-http-servers.ts'

/** A choice of servers and tools: what an agent sees, or a preset. Omitted: all of them. */
interface Choice {
  readonly servers?: readonly string[] | null
  /** Null: all tools of the server. */
  readonly tools?: Readonly<Record<string, readonly string[] | null>>
}

interface Choices {
  /** Why this is not a choice, or undefined. */
  problem(choice: unknown): string | undefined
  /** Undefined when nothing was chosen. */
  current(name: string): Choice | undefined
  /** Throws when there is no such agent, or when the name cannot be used. */
  change(name: string, choice: Choice, by: Caller): Promise<unknown>
}

interface Deps {
  readonly kinds: ServerKinds
  readonly namedSecrets: {
    current(name: string): { readonly value: string } | undefined
    set(name: string, value: string, by: Caller): Promise<unknown>
    remove(name: string, force: boolean, by: Caller): Promise<unknown>
  }
  readonly agents: Choices
  readonly presets: Choices
}

interface Server extends Entry {
  readonly name: string
}

/** A planned change, how it is done, and how it is undone. */
interface Step {
  readonly name: string
  readonly planned: Plan
  change(by: Caller): Promise<{ readonly id: string | null; readonly undo?: () => Promise<unknown> }>
}

/** Imports exported files. A whole file is checked first; nothing is started. */
export class FileImport {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async run(input: FileImportInput, by: Caller): Promise<FileImportReport> {
    const { file, passphrase, on_conflict, dry_run = false } = input
    const { kinds, agents, presets } = this.#deps
    const update = on_conflict === 'update'
    this.#checkChoices(file)
    const sealed = await secretsIn(file, passphrase)
    const servers = this.#serversIn(file, sealed.servers)
    const known = await kinds.list()
    const secretSteps = file.named_secrets.map((name) => this.#secretStep(name, sealed.named[name], update))
    const serverSteps = servers.map((server) => ({
      ...server,
      step: this.#serverStep(server, known, update, input.allow_outgoing),
    }))

    return allOrNothing(async (undos) => {
      const carryOut = async ({ name, planned, change }: Step): Promise<Imported> => {
        const { outcome, id, reason, notes } = await apply(planned, dry_run, async () => {
          const done = await change(by)
          if (done.undo) undos.push(done.undo)
          return { id: done.id }
        })
        return { name, outcome, id, reason, notes: [...notes] }
      }
      const report: FileImportReport = {
        dry_run,
        items: [],
        secrets: [],
        agents: [],
        presets: [],
        total: servers.length,
      }
      for (const step of secretSteps) report.secrets.push(await carryOut(step))
      const ids = new Map<string, string | null>()
      for (const { id, type, step, definition } of serverSteps) {
        const item = await carryOut(step)
        const isOther = dry_run || item.outcome === 'exists' || item.outcome === 'refused'
        const stored = isOther ? undefined : await kinds.outgoing(item.id)
        const outgoing = stored ?? outgoingIn(definition, input.allow_outgoing)
        report.items.push({ ...item, type, outgoing: [...outgoing] })
        ids.set(id, dry_run && item.outcome === 'created' ? slugOf(item.name) : item.id)
      }
      for (const { agent_type, linked_servers, tools } of file.agents) {
        const item = await carryOut(choiceStep(agent_type, tools && withIds(tools, ids), agents, update))
        const link = `Its files had entries for ${linked_servers.join(', ')}. Switch them on for this agent`
        report.agents.push({ ...item, notes: linked_servers.length > 0 ? [link] : [] })
      }
      for (const { name, choice } of file.presets)
        report.presets.push(await carryOut(choiceStep(name, withIds(choice, ids), presets, update)))
      return report
    })
  }

  #checkChoices(file: ExportFile): void {
    const { agents, presets } = this.#deps
    for (const [index, { tools }] of file.agents.entries()) {
      const problem = tools === null ? undefined : agents.problem(tools)
      if (problem !== undefined) throw invalid(`Agent ${index + 1}`, `/file/agents/${index}/tools`, problem)
    }
    for (const [index, { choice }] of file.presets.entries()) {
      const problem = presets.problem(choice)
      if (problem !== undefined)
        throw invalid(`Preset ${index + 1}`, `/file/presets/${index}/choice`, problem)
    }
  }

  #serversIn({ servers }: ExportFile, secrets: Secrets['servers']): Server[] {
    const names = new Set<string>()
    return servers.map(({ id, type, definition: shown }, index) => {
      const refuse = (problem: string) =>
        invalid(`Server ${index + 1}`, `/file/servers/${index}/definition`, problem)
      const definition = { ...shown, ...(Object.hasOwn(secrets, id) ? secrets[id] : {}) }
      const problem = this.#deps.kinds.schemaProblem(type, withoutMasked(definition).rest)
      if (problem !== undefined) throw refuse(problem)
      const name = String(definition.name)
      if (names.has(slugOf(name))) throw refuse('name is used by an earlier entry')
      names.add(slugOf(name))
      return { id, type, name, definition }
    })
  }

  #serverStep(
    server: Server,
    known: readonly KnownServer[],
    update: boolean,
    allow_outgoing: AllowOutgoing = [],
  ): Step {
    const { type, name, definition } = server
    const { kinds } = this.#deps
    const allows = allowsOf(definition, allow_outgoing)
    const existing = known.find(isNamed(name))
    if (existing) {
      const isFixed = existing.type !== type
      const before: Fields = existing.definition
      return {
        name,
        planned: plan({ existing: { id: existing.id, isSame: isSame(existing, server), isFixed } }, update),
        change: async (by) => {
          if ((definition.package ?? null) !== (before.package ?? null))
            throw new AppError('invalid_input', 'The package of a server cannot be changed')
          await kinds.change(type, existing.id, definition, by, allows)
          return { id: existing.id, undo: () => kinds.change(type, existing.id, before, by, existing.allows) }
        },
      }
    }
    const { rest, missing, broken } = withoutMasked(definition)
    const contain = broken.length === 1 ? 'contains' : 'contain'
    const problem = `${broken.join(' and ')} ${contain} a secret that is not in the file. Export it with include_secrets`
    const notes = missing.map(
      (field) => `${field} is a secret that is not in the file. Set it before you start the server`,
    )
    return {
      name,
      planned: broken.length > 0 ? plan({ problem }, update) : { ...plan({}, update), notes },
      change: async (by) => {
        const added = await kinds.add(type, rest, by, allows)
        return { id: added.id, undo: () => kinds.remove(type, added.id, by) }
      },
    }
  }

  #secretStep(name: string, value: string | undefined, update: boolean): Step {
    const { namedSecrets } = this.#deps
    const before = namedSecrets.current(name)?.value
    const missing = value === undefined ? `Its value is not in the file. Set the secret ${name}` : undefined
    const reasons = { same: null, other: missing ?? 'A secret with this name has another value' }
    const existing = { id: null, isSame: before === value, isFixed: missing !== undefined }
    return {
      name,
      planned: plan(before === undefined ? { problem: missing } : { existing }, update, reasons),
      change: async (by) => {
        await namedSecrets.set(name, value ?? '', by)
        const undo = () =>
          before === undefined ? namedSecrets.remove(name, true, by) : namedSecrets.set(name, before, by)
        return { id: name, undo }
      },
    }
  }
}

const CHOICE: Reasons = { same: null, other: 'Another choice has been made here already' }

/** Null: the file has no choice. */
function choiceStep(name: string, wanted: Choice | null, choices: Choices, update: boolean): Step {
  const current = choices.current(name)
  const isSame =
    wanted === null || (current !== undefined && hashOf({ ...current }) === hashOf({ ...wanted }))
  return {
    name,
    planned: plan(current || wanted === null ? { existing: { id: null, isSame } } : {}, update, CHOICE),
    change: async (by) => {
      if (wanted) await choices.change(name, wanted, by)
      return { id: null }
    },
  }
}

async function secretsIn(file: ExportFile, passphrase: string | undefined): Promise<Secrets> {
  if (!file.secrets) return { servers: {}, named: {} }
  if (passphrase === undefined)
    throw invalidField('/passphrase', 'is required, because the file has encrypted secrets')
  return openSecrets(file.secrets, file, passphrase)
}

/** Where the file has no secret, the stored one counts as equal. */
function isSame(existing: KnownServer, { type, definition }: Server): boolean {
  if (existing.type !== type) return false
  return [existing.definition, separateSecrets(existing.definition).masked].some(
    (known) => hashOf({ ...known }) === hashOf({ ...definition }),
  )
}

/**
 * The choice with the ids that its servers have here. Servers that were not imported are left out, so that an agent never
 * sees more than before.
 */
function withIds(
  { servers = null, tools = {}, ...rest }: Choice,
  ids: ReadonlyMap<string, string | null>,
): Choice {
  const lists = Object.entries(tools).flatMap(([id, names]) => {
    const here = ids.get(id) ?? null
    return here === null || names === null ? [] : [[here, names] as const]
  })
  return {
    ...rest,
    servers: servers === null ? null : servers.flatMap((id) => ids.get(id) ?? []),
    tools: Object.fromEntries(lists),
  }
}

function invalid(what: string, path: string, problem: string): AppError {
  return new AppError('invalid_input', `${what} of the file cannot be imported: ${problem}`, {
    errors: [{ path, message: problem }],
    hint: 'Nothing was imported',
  })
}
