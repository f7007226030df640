import type { Notice } from '../../data/api.ts'
import type { Server } from '../../data/servers.ts'
import type { Tone } from '../marks/Glyph.tsx'
import { isBroken, shownStatus } from '../marks/status.ts'
import { t } from './messages.ts'

export interface Cause {
  readonly tone: Tone
  /** What to do, or what happened. */
  readonly sentence: string
  /** The decisive line. */
  readonly evidence: string | null
  readonly code: string | null
}

/** Why a server does not work as it should, in one sentence with its evidence. Undefined for one that works. */
export function causeOf(server: Server): Cause | undefined {
  const { last_error, health } = server
  if (isDegraded(server))
    return {
      tone: 'warn',
      sentence: sentence(health.summary),
      evidence: health.action,
      code: last_error?.code ?? null,
    }
  if (!hasFailed(server)) return undefined
  const { tone } = shownStatus(server)
  const { message = health.summary, hint = health.action, code = null } = last_error ?? {}
  const line = lastLineOf(server) ?? (hint === null ? null : message)
  return { tone: tone === 'warn' ? tone : 'err', sentence: sentence(hint ?? message), evidence: line, code }
}

/** Also one that is on its next try, or has just failed again: the cause does not flicker between tries. */
const hasFailed = (server: Server): boolean =>
  isBroken(server) || (['starting', 'backoff'].includes(server.status) && server.last_error !== null)

export const isDegraded = ({ health }: Server): boolean => health.level === 'degraded'

/** The line of stderr that explains the exit: the one that the error quotes, or the last one. */
export function lastLineOf(server: Server): string | null {
  if (server.type === 'http' || !server.last_exit || !endedByItself(server)) return null
  const lines = server.last_exit.stderr_tail.filter((line) => line.trim() !== '')
  const message = server.last_error?.message ?? ''
  return lines.findLast((line) => message.includes(line.trim())) ?? lines.at(-1) ?? null
}

/** The process ran and ended; other failures happen before there is a process. */
const NO_PROCESS = ['command_not_found', 'not_executable', 'cwd_not_found', 'bad_interpreter']
export const endedByItself = (server: Server): boolean =>
  server.last_error !== null &&
  !NO_PROCESS.includes(server.last_error.code) &&
  !server.last_error.code.startsWith('package_') &&
  !lacksItsPlace(server)

/** Its sandbox or its container could not be made. Without isolation, the command may be `docker run`, which says the same. */
const NO_PLACE = ['sandbox_unavailable', 'engine_unavailable', 'image_not_found', 'container_failed']
export const lacksItsPlace = (server: Server): boolean =>
  server.type === 'stdio' && server.isolation !== 'none' && NO_PLACE.includes(server.last_error?.code ?? '')

/** `exit code 1`, `ended by SIGKILL`. */
export function exitText({
  code,
  signal,
}: {
  readonly code: number | null
  readonly signal: string | null
}): string {
  return signal === null ? t('exitCode', { code: code ?? 0 }) : t('killedBy', { signal })
}

export const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** Lists have room for one sentence; the page of the server shows all of them. */
export const firstSentence = (text: string): string => /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text

/** The open notice about changed or held tools. */
export const toolsNotice = (notices: readonly Notice[] | undefined, id: string): Notice | undefined =>
  notices?.find(({ server_id, kind }) => server_id === id && kind.startsWith('tools_'))
