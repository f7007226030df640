import { isObject } from '../../kernel/is-object.ts'
import { LOG_LINE_MAX_BYTES } from '../../protocol/frames.ts'

/** A log notification as a log line: `[warning] db: connection lost`. */
export function logNotificationText(params: unknown): string {
  const { level, logger, data } = isObject(params) ? params : {}
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
  const source = typeof logger === 'string' ? `${logger.slice(0, 100)}: ` : ''
  const severity = typeof level === 'string' ? `[${level.slice(0, 20)}] ` : ''
  return `${severity}${source}${text}`.slice(0, LOG_LINE_MAX_BYTES)
}
