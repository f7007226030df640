import type { Server } from '../../data/servers.ts'
import { Icon } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { StatusText } from '../../parts/marks/StatusText.tsx'
import { Monogram, Tag } from '../../parts/marks/Tag.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'
import css from './Parts.module.css'

const STATUSES: readonly Server['status'][] = [
  'running',
  'connected',
  'degraded',
  'auth_required',
  'starting',
  'stopping',
  'idle',
  'stopped',
  'backoff',
  'failed',
  'unreachable',
  'unknown',
]
const health = { level: 'healthy', summary: '', action: null } as const
const TONES = [
  ['ok', 'tick', 'good'],
  ['warn', 'look', 'look'],
  ['idle', 'unknown', 'unknown'],
  ['err', 'err', 'error'],
  ['info', 'work', 'working'],
] as const
const COLOURS = ['g-p50', 'g-p95', 'g-err', 'g-warn', 'g-pulse', 'g-ok', 'g-2', 'g-4'] as const

export function MarkParts() {
  return (
    <>
      <Part title={t('status')}>
        <div className={css.two}>
          {STATUSES.map((status) => (
            <StatusText key={status} server={{ status, health } as Server} detail="2 h" />
          ))}
        </div>
      </Part>
      <Part title={t('tags')}>
        <div className={css.wrap}>
          {TONES.map(([tone, glyph, word]) => (
            <Tag key={tone} tone={tone} glyph={glyph}>
              {word}
            </Tag>
          ))}
        </div>
        <div className={css.wrap}>
          {['Claude Code', 'Claude Desktop', 'Cursor', 'Codex', 'VS Code', 'Zed'].map((name) => (
            <Monogram key={name} name={name} />
          ))}
        </div>
        <div className={css.wrap}>
          {['ctrl+k', 'g s', 'Enter', 'shift+Space', 'ArrowUp', '/'].map((key) => (
            <Keys key={key} of={key} />
          ))}
          <Icon name="shield" />
          <Icon name="pin" />
        </div>
      </Part>
      <Part title={t('colours')}>
        <div className={css.two}>
          {COLOURS.map((name) => (
            <span key={name}>
              <span className={css.swatch} style={{ background: `var(--tr-${name})` }} />
              {name}
            </span>
          ))}
        </div>
      </Part>
    </>
  )
}
