import { AppError } from '../../../kernel/errors.ts'
import type { HttpClient } from '../../../net/http-client.ts'
import { objectOf } from '../foreign-json.ts'
import {
  clientFor,
  type Deadline,
  deadlineIn,
  getJson,
  type JsonResponse,
  notAPackage,
  statusError,
} from './get-registry-json.ts'
import { type Manifests, readManifests } from './manifests.ts'
import { similarNames } from './near-names.ts'
import type { NpmSettings } from './npm-settings.ts'
import { type Packument, readPackument } from './packument.ts'
import { type FoundPackage, foundIn } from './search-hit.ts'
import { type SearchInput, type SearchResult, search } from './search-npm.ts'

export { type Chosen, choose } from './choose-version.ts'
export type { Packument } from './packument.ts'
export type { SearchInput, SearchResult } from './search-npm.ts'

interface LookupOptions {
  /** Send the logins of the user's npm. */
  readonly credentials: boolean
  readonly signal?: AbortSignal
}

interface Deps {
  readonly settings: () => Promise<NpmSettings>
  readonly now: () => number
  /** For one lookup or search with all its requests. */
  readonly deadlineMs?: number
}

const DEADLINE_MS = 15_000
const HINT_MS = 3000
const MAX_RESULTS = 250 // the limit of npm's registry
const ABBREVIATED = 'application/vnd.npm.install-v1+json'
/** Statuses of registries without search. */
const NO_SEARCH = [404, 405, 501]

/** Settings, logins and deadline of one lookup or search. */
interface Context {
  readonly settings: NpmSettings
  readonly authorizationFor: (url: string) => string | undefined
  readonly deadline: Deadline
  readonly network: NpmSettings['network']
  readonly client?: HttpClient
}

export interface ManifestReader {
  /** What npm reads about a package when it resolves dependencies. Undefined when the registry does not have it. */
  readonly manifestsOf: (name: string) => Promise<Manifests | undefined>
  readonly close: () => void
}

/** The npm registries that npm is configured for. Every method rejects with an AppError, or with the signal's reason. */
export class Registry {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** All versions of a package. The full form, which is the default, includes times and people. */
  async packument(
    name: string,
    { form = 'full', ...options }: LookupOptions & { readonly form?: Packument['form'] },
  ): Promise<Packument> {
    return packumentOf(name, form, await this.#context(options))
  }

  /** For lookups of many packages, each made once, over the same connections. Close it. */
  manifestReader(options: LookupOptions): ManifestReader {
    const known = new Map<string, Promise<Manifests | undefined>>()
    const clients = new Map<string, HttpClient>()
    const read = async (name: string) => {
      const context = await this.#context(options)
      const url = new URL(context.settings.registryFor(name))
      const client = clients.get(url.origin) ?? clientFor(url, context)
      clients.set(url.origin, client)
      const { status, json, host } = await documentOf(name, 'full', { ...context, client })
      if (status === 404) return undefined
      if (status !== 200) throw statusError(status, host)
      return readManifests(objectOf(json))
    }
    return {
      manifestsOf(name) {
        const found = known.get(name) ?? read(name)
        known.set(name, found)
        return found
      },
      close() {
        for (const client of clients.values()) client.close()
      },
    }
  }

  /** True when the URL is below that of the registry of this package. */
  async contains(name: string, url: string): Promise<boolean> {
    const { registryFor } = await this.#deps.settings()
    const [{ origin, pathname }, own] = [
      new URL(registryFor(name)),
      URL.canParse(url) ? new URL(url) : undefined,
    ]
    return own !== undefined && own.origin === origin && own.pathname.startsWith(pathname)
  }

  /** npm considers only versions that were published before a date. */
  async hasDateLimit(): Promise<boolean> {
    return (await this.#deps.settings()).hasDateLimit
  }

  async search(input: SearchInput, options: LookupOptions): Promise<SearchResult> {
    const context = await this.#context(options)
    const source = {
      list: (text: string) => listed(text, MAX_RESULTS, context.settings.registry, context),
      packument: (name: string) => packumentOf(name, 'full', context),
    }
    return search(source, input, this.#deps.now())
  }

  async #context({ credentials, signal }: LookupOptions): Promise<Context> {
    const settings = await this.#deps.settings()
    const deadline = deadlineIn(this.#deps.deadlineMs ?? DEADLINE_MS, signal)
    const authorizationFor = (url: string) => (credentials ? settings.authorizationFor(url) : undefined)
    return { settings, authorizationFor, deadline, network: settings.network }
  }
}

async function packumentOf(name: string, form: Packument['form'], context: Context): Promise<Packument> {
  const { form: sent, ...response } = await documentOf(name, form, context)
  if (response.status === 404)
    throw await notFound(name, context.settings.registryFor(name), response, context)
  if (response.status !== 200) throw statusError(response.status, response.host)
  const packument = readPackument(response.json, name, sent)
  if (!packument) throw notAPackage(response.host, name)
  return packument
}

/** The registry's document about a package, with the form in which it was requested last. */
async function documentOf(
  name: string,
  form: Packument['form'],
  context: Context,
): Promise<JsonResponse & { readonly form: Packument['form'] }> {
  const accept = form === 'full' ? 'application/json' : `${ABBREVIATED}, application/json; q=0.8`
  const url = new URL(name.replace('/', '%2f'), context.settings.registryFor(name))
  try {
    return { ...(await getJson(url, { accept, ...context })), form }
  } catch (error) {
    // With thousands of versions only the other form fits.
    if (form === 'full' && isTooLarge(error)) return documentOf(name, 'abbreviated', context)
    throw error
  }
}

const isTooLarge = (error: unknown) => error instanceof AppError && error.members?.too_large === true

/** Undefined when the registry has no search. */
async function listed(
  text: string,
  size: number,
  registry: string,
  context: Context,
): Promise<FoundPackage[] | undefined> {
  const url = new URL('-/v1/search', registry)
  url.search = new URLSearchParams({ text, size: String(size), from: '0' }).toString()
  const response = await getJson(url, { accept: 'application/json', ...context })
  if (NO_SEARCH.includes(response.status)) return undefined
  if (response.status !== 200) throw statusError(response.status, response.host)
  return foundIn(response.json)
}

/** Suggests similar names in the hint. */
async function notFound(
  name: string,
  registry: string,
  { host }: JsonResponse,
  context: Context,
): Promise<AppError> {
  const known = similarNames(name)
  const names = known.length > 0 ? known : await listedNear(name, registry, context)
  const hint = names.length > 0 ? `Did you mean ${either(names)}?` : 'Check the spelling, or search for it'
  return new AppError('package_not_found', `The registry ${host} has no package called '${name}'`, { hint })
}

async function listedNear(name: string, registry: string, context: Context): Promise<string[]> {
  try {
    const deadline = deadlineIn(HINT_MS, context.deadline.signal)
    const found = await listed(name, 20, registry, { ...context, deadline })
    return similarNames(
      name,
      (found ?? []).map((one) => one.name),
    )
  } catch {
    return [] // the hint is optional
  }
}

function either(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`)
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}
