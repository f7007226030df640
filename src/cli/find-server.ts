import { didYouMean } from '../kernel/did-you-mean.ts'
import { Failure } from './failure.ts'

export interface Named {
  readonly id: string
  readonly name: string
}

/** The server with this id or name, or the only one whose id or name begins with the text. */
export function findServer<S extends Named>(servers: readonly S[], given: string): S {
  const wanted = given.toLowerCase()
  const textsOf = ({ id, name }: Named) => [id, name.toLowerCase()]
  const exact = servers.find((server) => textsOf(server).includes(wanted))
  if (exact) return exact
  const begun = servers.filter((server) => textsOf(server).some((text) => text.startsWith(wanted)))
  const [only] = begun
  if (only && begun.length === 1) return only
  const names = servers.map(({ name }) => name)
  if (!only)
    throw new Failure('not_found', `No HTTP server is called '${given}'`, didYouMean(given, names) ?? null)
  const fitting = begun.map(({ name }) => name).join(', ')
  throw new Failure(
    'usage',
    `Several HTTP servers begin with '${given}': ${fitting}`,
    'Type more of the name',
  )
}
