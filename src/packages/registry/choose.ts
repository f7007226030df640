import type { Spec } from '../spec.ts'
import type { Packument } from './packument.ts'

/** The version that will be installed, and what a person should know about it. Null is what the registry does not say. */
export interface Chosen {
  readonly name: string
  readonly version: string
  /** The version or tag that was asked for. */
  readonly requested: string
  readonly latest: string | null
  readonly integrity: string | null
  readonly tarball: string | null
  readonly deprecated: string | null
  readonly license: string | null
  readonly engines: string | null
  readonly hasInstallScript: boolean | null
  readonly publishedAt: number | null
  readonly warnings: readonly string[]
}

interface Options {
  readonly now: number
  /** Refuses what is younger; 0 refuses nothing. */
  readonly minAgeDays: number
}

export function choose(_packument: Packument, _spec: Spec, _node: string, _options: Options): Chosen {
  throw new Error('not yet')
}
