import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { RpcError } from './json-rpc.ts'

const HOW = 'Send it as Authorization: Bearer <key>'

/** Why a request without a valid gateway key is refused. */
export const KEY_REFUSALS = {
  missing_key: `The gateway needs a gateway key. ${HOW}`,
  invalid_key: `The gateway key is wrong or was deleted. Create one with POST /api/keys, or connect the agent again`,
  management_token: `This is the management token, which does not open the gateway. Create a gateway key with POST /api/keys. ${HOW}`,
} as const

export const keyRefusal = (code: keyof typeof KEY_REFUSALS): RpcError =>
  new RpcError(CODES.noKey, KEY_REFUSALS[code], { status: 401, data: { code } })
