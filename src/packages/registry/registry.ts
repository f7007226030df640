import { AppError } from '../../kernel/errors.ts'
import { type Deadline, deadlineIn, getJson, type JsonResponse } from './get-json.ts'
import { type Found, foundIn, foundInPackument, type Hit, hitOf } from './hit.ts'
import { nearName, similarNames } from './near-names.ts'
import type { NpmSettings } from './npm-settings.ts'
import { type Packument, readPackument } from './packument.ts'
import { notAPackage, statusError } from './registry-errors.ts'
import { type SearchInput, type SearchResult, search } from './search.ts'

export { type Chosen, choose } from './choose.ts'
export type { Hit } from './hit.ts'
export type { Packument } from './packument.ts'
export type { SearchInput, SearchResult } from './search.ts'

export interface Asking {
  /** May the user's logins be sent? */
  readonly credentials: boolean
  readonly signal?: AbortSignal
}

interface Deps {
  readonly settings: () => Promise<NpmSettings>
  readonly now: () => number
  /** For one question, from the first look-up to the last byte. */
  readonly deadlineMs?: number
}

const DEADLINE_MS = 15_000
const HINT_MS = 3000
const WINDOW = 250 // the most that npm's registry lists at once
const SHORT_FORM = 'application/vnd.npm.install-v1+json'
/** What registries answer that have no search. */
const NO_SEARCH = [404, 405, 501]

/** One question's settings, logins and end. */
interface Visit {
  readonly settings: NpmSettings
  readonly authorizationFor: (url: string) => string | undefined
  readonly deadline: Deadline
  readonly network: NpmSettings['network']
}

/** Asks the registries that npm is set up for. Every method rejects with an AppError, or with the reason of the signal. */
export class Registry {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** All versions of a package. The full form knows times and people, and is what is asked for unless said. */
  async packument(
    name: string,
    { form = 'full', ...asking }: Asking & { readonly form?: Packument['form'] },
  ): Promise<Packument> {
    return packumentOf(name, form, await this.#visit(asking))
  }

  /** One package by its exact name, with all that is known for and against it. */
  async lookUp(name: string, asking: Asking): Promise<Hit> {
    const found = foundInPackument(await this.packument(name, asking))
    return hitOf(found, nearName({ name, downloads: null }), this.#deps.now())
  }

  async search(input: SearchInput, asking: Asking): Promise<SearchResult> {
    const visit = await this.#visit(asking)
    const source = {
      list: (text: string) => listed(text, WINDOW, visit.settings.registry, visit),
      packument: (name: string) => packumentOf(name, 'full', visit),
    }
    return search(source, input, this.#deps.now())
  }

  async #visit({ credentials, signal }: Asking): Promise<Visit> {
    const settings = await this.#deps.settings()
    const deadline = deadlineIn(this.#deps.deadlineMs ?? DEADLINE_MS, signal)
    const authorizationFor = (url: string) => (credentials ? settings.authorizationFor(url) : undefined)
    return { settings, authorizationFor, deadline, network: settings.network }
  }
}

async function packumentOf(name: string, form: Packument['form'], visit: Visit): Promise<Packument> {
  const registry = visit.settings.registryFor(name)
  const accept = form === 'full' ? 'application/json' : `${SHORT_FORM}, application/json; q=0.8`
  const url = new URL(name.replace('/', '%2f'), registry)
  const answer = await getJson(url, { accept, ...visit }).catch((error: unknown) => {
    if (form === 'full' && isTooLarge(error)) return undefined
    throw error
  })
  if (!answer) return packumentOf(name, 'abbreviated', visit) // thousands of versions: the short form still fits
  if (answer.status === 404) throw await notFound(name, registry, answer, visit)
  if (answer.status !== 200) throw statusError(answer.status, answer.host)
  const packument = readPackument(answer.json, name, form)
  if (!packument) throw notAPackage(answer.host, name)
  return packument
}

const isTooLarge = (error: unknown) => error instanceof AppError && error.members?.too_large === true

/** Undefined when the registry has no search. */
async function listed(
  text: string,
  size: number,
  registry: string,
  visit: Visit,
): Promise<Found[] | undefined> {
  const url = new URL('-/v1/search', registry)
  url.search = new URLSearchParams({ text, size: String(size), from: '0' }).toString()
  const answer = await getJson(url, { accept: 'application/json', ...visit })
  if (NO_SEARCH.includes(answer.status)) return undefined
  if (answer.status !== 200) throw statusError(answer.status, answer.host)
  return foundIn(answer.json)
}

/** Whoever mistyped a name is told what may have been meant. */
async function notFound(
  name: string,
  registry: string,
  { host }: JsonResponse,
  visit: Visit,
): Promise<AppError> {
  const known = similarNames(name)
  const names = known.length > 0 ? known : await listedNear(name, registry, visit)
  const hint = names.length > 0 ? `Did you mean ${either(names)}?` : 'Check the spelling, or search for it'
  return new AppError('package_not_found', `The registry ${host} has no package called '${name}'`, { hint })
}

async function listedNear(name: string, registry: string, visit: Visit): Promise<string[]> {
  try {
    const deadline = deadlineIn(HINT_MS, visit.deadline.signal)
    const found = await listed(name, 20, registry, { ...visit, deadline })
    return similarNames(
      name,
      (found ?? []).map((one) => one.name),
    )
  } catch {
    return [] // a hint is not worth an error of its own
  }
}

function either(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`)
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}
