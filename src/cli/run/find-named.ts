import { didYouMean } from '../../kernel/did-you-mean.ts'
import { Failure } from './failure.ts'

export interface Named {
  readonly id: string
  readonly name: string
}

/** The item with this id or name, or the only one whose id or name begins with the text. `noun` such as `server`. */
export function findNamed<T extends Named>(items: readonly T[], given: string, noun: string): T {
  const wanted = given.toLowerCase()
  const textsOf = ({ id, name }: Named) => [id.toLowerCase(), name.toLowerCase()]
  const exact = items.find((item) => textsOf(item).includes(wanted))
  if (exact) return exact
  const begun = items.filter((item) => textsOf(item).some((text) => text.startsWith(wanted)))
  const [only] = begun
  if (only && begun.length === 1) return only
  const names = items.flatMap(({ id, name }) => [id, name])
  if (!only)
    throw new Failure('not_found', `No ${noun} is called '${given}'`, didYouMean(given, names) ?? null)
  const fitting = begun.map(({ name }) => name).join(', ')
  throw new Failure('usage', `Several ${noun}s begin with '${given}': ${fitting}`, 'Type more of the name')
}
