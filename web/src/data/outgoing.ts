import type { Schemas } from './api.ts'

/** A variable or secret whose value a server gets, and where it goes. */
export type Outgoing = Schemas['Outgoing']

/** As `allow_outgoing` names what was shown. */
export const namedOutgoing = (shown: readonly Outgoing[]): Schemas['AllowedOutgoing'][] =>
  shown.map(({ reference, to, host, program }) => ({ reference, to, host, program }))
