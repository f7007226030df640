import type { Server } from '../../data/servers.ts'
import { GLYPHS, Glyph } from '../../parts/marks/Glyph.tsx'
import { ICONS, Icon, Mark } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { ShownText, StatusText } from '../../parts/marks/StatusText.tsx'
import { Monogram, Pill, Tag } from '../../parts/marks/Tag.tsx'
import { t } from './messages.ts'
import { Part } from './Part.tsx'
import css from './Parts.module.css'

const STATES: readonly Server['health']['state'][] = [
  'running',
  'connected',
  'degraded',
  'auth_required',
  'starting',
  'stopping',
  'idle',
  'stopped',
  'crashed',
  'failed',
  'unreachable',
  'not_tried',
  'not_checked',
]
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
          {STATES.map((state) => (
            <StatusText key={state} server={{ health: { state } } as Server} detail="2 h" />
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
        </div>
        <div className={css.wrap}>
          <Pill tone="ok" glyph="run">
            live
          </Pill>
          <Pill tone="warn" glyph="work">
            reconnecting in 3 s
          </Pill>
          <Pill glyph="stop">offline, data from 12:04:31</Pill>
        </div>
      </Part>
      <Part title={t('glyphs')}>
        <div className={css.wrap}>
          {GLYPHS.map((name) => (
            <Glyph key={name} name={name} />
          ))}
          <ShownText shown={{ glyph: 'tick', word: 'Installed', tone: 'ok' }} detail="0.0.83" />
        </div>
        <div className={css.wrap}>
          <Mark />
          {ICONS.map((name) => (
            <Icon key={name} name={name} />
          ))}
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
