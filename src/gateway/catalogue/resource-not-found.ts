import { CODES, RpcError } from '../endpoint/json-rpc.ts'

/** The old revisions have a code of their own for a resource that is not there. */
export const LEGACY_NOT_FOUND = -32_002

export function notFound(uri: string, era: 'legacy' | 'modern'): RpcError {
  const code = era === 'legacy' ? LEGACY_NOT_FOUND : CODES.params
  return new RpcError(code, 'Resource not found', { data: { uri } })
}
