import { type LiveStatus, useLive } from '../../data/live/live.ts'
import { seconds } from '../../format/format.ts'
import type { GlyphName, Tone } from '../../parts/marks/Glyph.tsx'
import { Pill } from '../../parts/marks/Tag.tsx'
import { useNow } from '../../parts/marks/Time.tsx'
import { t } from '../messages.ts'

/** Is what the page shows true now? */
export function LivePill() {
  const now = useNow(1000)
  const { glyph, tone, text } = shownOf(useLive(), now)
  return (
    <span role="status">
      <Pill tone={tone} glyph={glyph}>
        {text}
      </Pill>
    </span>
  )
}

/** After this time without the service, the pill says how old the data is. */
const OFFLINE_AFTER_MS = 15_000

function shownOf(
  { connection, dataAt }: LiveStatus,
  now: number,
): { readonly glyph: GlyphName; readonly tone: Tone; readonly text: string } {
  switch (connection.state) {
    case 'live':
      return { glyph: 'run', tone: 'ok', text: t('live') }
    case 'connecting':
      return { glyph: 'idle', tone: 'idle', text: t('connecting') }
    case 'locked':
      return { glyph: 'unknown', tone: 'info', text: t('locked') }
    case 'gone': {
      const isOffline = now - (dataAt ?? 0) > OFFLINE_AFTER_MS
      if (isOffline && dataAt === undefined) return { glyph: 'stop', tone: 'idle', text: t('offlineEmpty') }
      if (isOffline) return { glyph: 'stop', tone: 'idle', text: t('offline', { at: seconds(dataAt ?? 0) }) }
      const left = Math.max(0, Math.ceil((connection.retryAt - now) / 1000))
      return { glyph: 'work', tone: 'warn', text: t('reconnecting', { seconds: left }) }
    }
  }
}
