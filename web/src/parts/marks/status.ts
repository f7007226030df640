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
  crashed: 'Crashed',
  failed: 'Failed',
  connected: 'Connected',
  auth_required: 'Needs sign-in',
  unreachable: 'Unreachable',
  error: 'Error',
  disabled: 'Disabled',
  not_allowed: 'Not allowed',
  not_tried: 'Not tried',
  not_checked: 'Not checked',
})

/** The service decides which of them a server has. */
const STATES: Record<Server['health']['state'], Shown> = {
  running: { glyph: 'run', word: t('running'), tone: 'ok' },
  starting: { glyph: 'work', word: t('starting'), tone: 'info' },
  stopping: { glyph: 'work', word: t('stopping'), tone: 'info' },
  idle: { glyph: 'idle', word: t('idle'), tone: 'idle' },
  stopped: { glyph: 'stop', word: t('stopped'), tone: 'idle' },
  crashed: { glyph: 'err', word: t('crashed'), tone: 'err' },
  failed: { glyph: 'err', word: t('failed'), tone: 'err' },
  connected: { glyph: 'run', word: t('connected'), tone: 'ok' },
  degraded: { glyph: 'look', word: t('degraded'), tone: 'warn' },
  auth_required: { glyph: 'look', word: t('auth_required'), tone: 'warn' },
  unreachable: { glyph: 'err', word: t('unreachable'), tone: 'err' },
  error: { glyph: 'err', word: t('error'), tone: 'err' },
  disabled: { glyph: 'stop', word: t('disabled'), tone: 'idle' },
  not_allowed: { glyph: 'look', word: t('not_allowed'), tone: 'warn' },
  not_tried: { glyph: 'untried', word: t('not_tried'), tone: 'info' },
  not_checked: { glyph: 'unknown', word: t('not_checked'), tone: 'idle' },
}

type Judged = Pick<Server, 'health'>

export const shownStatus = ({ health }: Judged): Shown => STATES[health.state]

/** A server that should work and does not. One that sleeps, is stopped or disabled is not broken. */
export const isBroken = ({ health }: Judged): boolean => health.level === 'unhealthy' || isHeld({ health })

/** It is off until a person allows what it would get. */
export const isHeld = ({ health }: Judged): boolean => health.state === 'not_allowed'

/** It was not tried since it was added or changed. */
export const isUntried = ({ health }: Judged): boolean => health.state === 'not_tried'

/** In dense lists, ordinary states are grey words; only states that need a person or that move are coloured. */
export const needsEyes = (server: Judged): boolean => !['ok', 'idle'].includes(shownStatus(server).tone)
