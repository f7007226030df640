/** Answers what a server asks of whoever calls it. Rejects with what the server is told instead. */
export type OnServerRequest = (method: string, params: unknown) => Promise<unknown>

/** What a server may ask of whoever calls it. Not every caller can answer; then it is told so. */
export const CAPABILITIES = { sampling: {}, elicitation: { form: {}, url: {} } }

/** Of all that a caller can do, what it can be asked. */
export function askableIn(capabilities: object): object {
  return Object.fromEntries(
    Object.entries(capabilities).filter(([name]) => Object.hasOwn(CAPABILITIES, name)),
  )
}

const ASKED_OF_AGENTS = ['sampling/createMessage', 'elicitation/create']

export function isForAgents(method: string): boolean {
  return ASKED_OF_AGENTS.includes(method)
}

/** What we answer ourselves. There are no roots: whoever calls has them, and a server may serve many callers. */
export function ownAnswer(method: string): object | undefined {
  if (method === 'ping') return {}
  return method === 'roots/list' ? { roots: [] } : undefined
}
