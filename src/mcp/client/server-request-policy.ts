/** The client capabilities that we declare to servers. A caller that lacks one gets the server's request refused. */
export const CLIENT_CAPABILITIES = { sampling: {}, elicitation: { form: {}, url: {} } }

/** Whether a request of a server is forwarded to the caller. */
export function isForwarded(method: string): boolean {
  return method === 'sampling/createMessage' || method === 'elicitation/create'
}

/** The result of a request that Toolroom answers itself. Roots are empty, because one server may serve many clients. */
export function ownResponse(method: string): object | undefined {
  if (method === 'ping') return {}
  return method === 'roots/list' ? { roots: [] } : undefined
}
