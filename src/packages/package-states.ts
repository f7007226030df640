import type { Facts } from '../kernel/facts.ts'
import type { PackageStore } from './package-store.ts'
import { idOf } from './spec.ts'
import { isNewer } from './versions.ts'

type State = Facts['package_state']

/** The returned function publishes the state of every package whose state has changed since the last call. */
export function statePublisher(store: PackageStore, publish: (state: State) => void): () => void {
  const published = new Map<string, string>()
  return () => {
    const all = new Map(store.all().map((record) => [record.name, record]))
    for (const name of new Set([...published.keys(), ...all.keys()])) {
      const record = all.get(name)
      const version = record?.current.version ?? null
      const update = record && isNewer(record.latest, record.current.version) ? record.latest : null
      const deprecated = record?.current.deprecated ?? null
      const text = JSON.stringify([version, update, deprecated])
      if (published.get(name) === text) continue
      if (record) published.set(name, text)
      else published.delete(name)
      publish({ package_id: idOf(name), name, version, update, deprecated })
    }
  }
}
