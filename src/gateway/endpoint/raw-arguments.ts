import { isUtf8 } from 'node:buffer'
import { rawMember } from '../../protocol/raw-member.ts'

/** Below this, writing anew is as quick as looking where it stands. */
const WORTH_IT_BYTES = 8 * 1024
const LF = 0x0a
const CR = 0x0d

/**
 * The arguments of a call as they stand in its body, which is valid JSON. Undefined where they must be written anew: a
 * server reads one line, so there may be no line break between two values, and what is no UTF-8 was mended on reading.
 */
export function rawArgumentsIn(body: Buffer): Buffer | undefined {
  if (body.length < WORTH_IT_BYTES || !isUtf8(body)) return undefined
  const params = memberOf(body, 'params')
  const raw = params && memberOf(params, 'arguments')
  return !raw || raw.includes(LF) || raw.includes(CR) ? undefined : raw
}

function memberOf(json: Buffer, name: string): Buffer | undefined {
  const at = rawMember(json, name)
  return at && json.subarray(at.start, at.end)
}
