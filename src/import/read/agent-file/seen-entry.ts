import { createHmac, randomBytes } from 'node:crypto'
import type { Definition } from '../../../agents/catalogue/server-definition.ts'
import { variantOf } from '../../../agents/read/server-identity.ts'
import type { Candidate, Source } from './agent-candidates.ts'

/** It comes from secrets, which a digest without a key would let a reader guess. */
const DIGEST_KEY = randomBytes(32)
export const digestOf = (definition: Definition): string =>
  createHmac('sha256', DIGEST_KEY).update(variantOf(definition)).digest('base64url')

export const placeOf = ({ agent_type, scope, project, name }: Source): string =>
  JSON.stringify([agent_type, scope, project, name])

/** Whether a file says something else by now than what was shown. */
export const hasChanged = (
  { definition, found_in }: Candidate,
  entries: readonly (Source & { readonly digest?: string })[] = [],
): boolean => {
  const places = new Set(found_in.map(placeOf))
  return entries.some(
    ({ digest, ...entry }) =>
      digest !== undefined && places.has(placeOf(entry)) && digest !== digestOf(definition),
  )
}
