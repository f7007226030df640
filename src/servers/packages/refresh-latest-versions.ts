import { AppError } from '../../kernel/errors.ts'
import type { PackageRecord, PackageStore } from './package-record.ts'
import { isNewer } from './package-spec.ts'
import type { RefreshedPackage } from './packages.schema.ts'
import type { Registry } from './registry/npm-registry.ts'
import { latestOf, type Packument } from './registry/packument.ts'

interface Deps {
  readonly store: PackageStore
  readonly registry: Pick<Registry, 'packument'>
  /** Runs work that changes a package when no other change of it is in progress. */
  readonly inTurn: (name: string, work: () => Promise<void>) => Promise<void>
}

const AT_ONCE = 4
const REFRESH_MS = 60_000

/** Asks the registry for the newest version of every package, and whether the installed one is deprecated. */
export async function refreshPackages({ store, registry, inTurn }: Deps): Promise<RefreshedPackage[]> {
  const signal = AbortSignal.timeout(REFRESH_MS)
  const refreshed = new Map<string, string | null>()
  const waiting = store.all().map(({ name }) => name)

  async function refresh(name: string): Promise<string | null> {
    try {
      const found = await registry.packument(name, { credentials: true, form: 'abbreviated', signal })
      await inTurn(name, () => save(store, name, found))
      return null
    } catch (error) {
      if (error instanceof AppError) return error.message
      if (!signal.aborted) throw error
      return `The registry was not asked: the whole refresh took longer than ${REFRESH_MS / 1000} s`
    }
  }

  const worker = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
      refreshed.set(name, await refresh(name))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return store
    .all()
    .filter(({ name }) => refreshed.has(name))
    .map((record) => viewOf(record, refreshed.get(record.name) ?? null))
}

/** The record may have changed while the registry was asked. */
async function save(store: PackageStore, name: string, packument: Packument): Promise<void> {
  const record = store.all().find((each) => each.name === name)
  if (!record) return
  const latest = latestOf(packument)?.version ?? null
  const deprecated = packument.releases.get(record.current.version)?.deprecated ?? null
  if (latest === record.latest && deprecated === record.current.deprecated) return
  await store.save({ ...record, latest, current: { ...record.current, deprecated } }, null)
}

const viewOf = ({ id, name, latest, current }: PackageRecord, error: string | null): RefreshedPackage => ({
  id,
  name,
  version: current.version,
  latest,
  update_available: isNewer(latest, current.version),
  deprecated: current.deprecated,
  error,
})
