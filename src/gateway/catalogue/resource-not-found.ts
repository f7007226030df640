import { CODES } from '../../protocol/codes.ts'
import type { Era } from '../../protocol/versions.ts'
import { RpcError } from '../endpoint/json-rpc.ts'

export const LEGACY_NOT_FOUND = CODES.resourceNotFound

export function notFound(uri: string, era: Era): RpcError {
  const code = era === 'legacy' ? LEGACY_NOT_FOUND : CODES.params
  return new RpcError(code, 'Resource not found', { data: { uri } })
}
