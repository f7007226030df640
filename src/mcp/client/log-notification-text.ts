import { isObject } from '../../kernel/is-object.ts'
import { LOG_LINE_MAX_BYTES } from '../../protocol/frames.ts'

/** The text of a log message of the protocol, with its level in front as programs write it: `[warning] db: gone`. */
export function saidIn(params: unknown): string {
  const { level, logger, data } = isObject(params) ? params : {}
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
  const from = typeof logger === 'string' ? `${logger.slice(0, 100)}: ` : ''
  const severity = typeof level === 'string' ? `[${level.slice(0, 20)}] ` : ''
  return `${severity}${from}${text}`.slice(0, LOG_LINE_MAX_BYTES)
}
