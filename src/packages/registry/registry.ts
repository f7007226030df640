import type { NpmSettings } from './npm-settings.ts'
import type { Packument } from './packument.ts'
import type { SearchInput, SearchResult } from './search.ts'

export { type Chosen, choose } from './choose.ts'
export type { Packument, Release } from './packument.ts'

export interface Asking {
  /** May the user's logins be sent? Only for what a person of this computer asked for. */
  readonly credentials: boolean
  readonly signal?: AbortSignal
}

interface Deps {
  readonly settings: () => Promise<NpmSettings>
  readonly now: () => number
  /** For one question, from the first look-up to the last byte. */
  readonly deadlineMs?: number
}

export class Registry {
  readonly #deps: Deps
  constructor(deps: Deps) {
    this.#deps = deps
  }
  packument(_name: string, _options: Asking & { readonly form?: Packument['form'] }): Promise<Packument> {
    throw new Error(`not yet ${this.#deps}`)
  }
  search(_input: SearchInput, _options: Asking): Promise<SearchResult> {
    throw new Error('not yet')
  }
}
