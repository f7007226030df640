import { AppError } from '../../kernel/errors.ts'
import { CallResult } from '../../mcp/protocol/json-rpc-message.ts'

/**
 * The result of a call to a server that needs a login: a sentence with a link. Agents show it to their user, while they
 * show an error of the protocol as a bare failure. Undefined for any other error.
 */
export function loginNeededResult(error: unknown): CallResult | undefined {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof AppError) || cause.code !== 'login_needed') return undefined
  return CallResult.of({ content: [{ type: 'text', text: cause.message }], isError: true })
}
