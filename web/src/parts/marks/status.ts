import type { Server } from '../../data/servers.ts'
import { texts } from '../../i18n/texts.ts'
import type { GlyphName, Tone } from './Glyph.tsx'

/** How a status is shown: glyph, word and colour, the same words as on the command line. */
export interface Shown {
  readonly glyph: GlyphName
  readonly word: string
  readonly tone: Tone
}

const t = texts('status', {
  running: 'Running',
  degraded: 'Degraded',
  starting: 'Starting',
  stopping: 'Stopping',
  idle: 'Idle',
  stopped: 'Stopped',
  backoff: 'Crashed',
  failed: 'Failed',
  connected: 'Connected',
  auth_required: 'Needs sign-in',
  unreachable: 'Unreachable',
  error: 'Error',
  disabled: 'Disabled',
  unknown: 'Not checked',
})

const STATUS: Record<Server['status'], Shown> = {
  running: { glyph: 'run', word: t('running'), tone: 'ok' },
  starting: { glyph: 'work', word: t('starting'), tone: 'info' },
  stopping: { glyph: 'work', word: t('stopping'), tone: 'info' },
  idle: { glyph: 'idle', word: t('idle'), tone: 'idle' },
  stopped: { glyph: 'stop', word: t('stopped'), tone: 'idle' },
  backoff: { glyph: 'err', word: t('backoff'), tone: 'err' },
  failed: { glyph: 'err', word: t('failed'), tone: 'err' },
  connected: { glyph: 'run', word: t('connected'), tone: 'ok' },
  degraded: { glyph: 'look', word: t('degraded'), tone: 'warn' },
  auth_required: { glyph: 'look', word: t('auth_required'), tone: 'warn' },
  unreachable: { glyph: 'err', word: t('unreachable'), tone: 'err' },
  error: { glyph: 'err', word: t('error'), tone: 'err' },
  disabled: { glyph: 'stop', word: t('disabled'), tone: 'idle' },
  unknown: { glyph: 'unknown', word: t('unknown'), tone: 'idle' },
}

export function shownStatus({ status, health }: Pick<Server, 'status' | 'health'>): Shown {
  return status === 'running' && health.level === 'degraded' ? STATUS.degraded : STATUS[status]
}

const BROKEN: readonly Server['status'][] = ['backoff', 'failed', 'auth_required', 'unreachable', 'error']

/** A server that should work and does not. One that sleeps, is stopped or disabled is not broken. */
export const isBroken = ({ status }: Pick<Server, 'status'>): boolean => BROKEN.includes(status)

/** In dense lists, ordinary states are grey words; only states that need a person or that move are coloured. */
export const needsEyes = (server: Pick<Server, 'status' | 'health'>): boolean =>
  !['ok', 'idle'].includes(shownStatus(server).tone)
