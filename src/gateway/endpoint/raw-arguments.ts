import { isUtf8 } from 'node:buffer'
import { rawMember } from '../../protocol/raw-member.ts'

/** Below this size, serializing again is as fast as finding the bytes. */
const MIN_BYTES = 8 * 1024
const LF = 0x0a
const CR = 0x0d

/**
 * The bytes of the arguments in a request body, which is valid JSON. Undefined when they must be serialized again: a stdio
 * message is one line, so they must not have line breaks, and invalid UTF-8 was replaced by the parser.
 */
export function rawArgumentsIn(body: Buffer): Buffer | undefined {
  if (body.length < MIN_BYTES || !isUtf8(body)) return undefined
  const params = memberOf(body, 'params')
  const raw = params && memberOf(params, 'arguments')
  return !raw || raw.includes(LF) || raw.includes(CR) ? undefined : raw
}

function memberOf(json: Buffer, name: string): Buffer | undefined {
  const at = rawMember(json, name)
  return at && json.subarray(at.start, at.end)
}
