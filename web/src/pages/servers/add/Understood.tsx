import { useShort } from '../../../data/live/home-folder.ts'
import { type UnderstoodItem, usePackageFacts } from '../../../data/server/add-server.ts'
import { clock } from '../../../format/format.ts'
import { Glyph, type GlyphName, type Tone } from '../../../parts/marks/Glyph.tsx'
import css from './Add.module.css'
import { t } from './messages.ts'

/** What the text means, and what was checked before anything runs. */
export function Understood({ items }: { readonly items: readonly UnderstoodItem[] }) {
  return (
    <section className={css.understood} aria-label={t('understood')}>
      {items.length > 1 && <p className="strong">{t('several', { count: items.length })}</p>}
      {items.map((item) => (
        <Item key={item.name} item={item} />
      ))}
    </section>
  )
}

function Item({ item }: { readonly item: UnderstoodItem }) {
  const short = useShort()
  const { name, type, command, args, url, outcome, reason, program, notes, can_pin } = item
  if (outcome !== 'created')
    return <Check tone="err" glyph="err" text={t('refused', { name, reason: reason ?? outcome })} />
  const bold = <b className="strong">{name}</b>
  return (
    <>
      <p>
        <span className="muted">{t('understood')} </span>
        {type === 'http' ? t.rich('remote', { name: bold }) : t.rich('local', { name: bold })}{' '}
        <span className="mono">{url ?? [command, ...args].join(' ')}</span>
      </p>
      {program && (
        <Check
          tone={program.ok ? 'ok' : 'err'}
          glyph={program.ok ? 'tick' : 'err'}
          text={short(program.detail)}
        />
      )}
      {can_pin !== null && <PackageCheck spec={can_pin} />}
      {type === 'http' && <Check tone="idle" glyph="unknown" text={t('willAsk')} />}
      {notes.map((note) => (
        <Check key={note} tone="warn" glyph="look" text={note} />
      ))}
    </>
  )
}

function PackageCheck({ spec }: { readonly spec: string }) {
  const { data, error, isPending } = usePackageFacts(spec)
  if (isPending) return <Check tone="idle" glyph="unknown" text={t('checking')} />
  if (error) return <Check tone="idle" glyph="unknown" text={t('registryGone')} />
  if (data === null) return <Check tone="idle" glyph="unknown" text={t('unknownPackage', { name: spec })} />
  const scripts = data.trust.find(({ fact }) => fact === 'install_scripts')
  const text = data.date ? t('published', { date: clock(data.date) }) : t('exists')
  const tones = { good: 'ok', look: 'warn', unknown: 'idle' } as const
  const glyphs = { good: 'tick', look: 'look', unknown: 'unknown' } as const
  return (
    <>
      <Check tone="ok" glyph="tick" text={text} />
      {scripts && <Check tone={tones[scripts.state]} glyph={glyphs[scripts.state]} text={scripts.detail} />}
    </>
  )
}

interface CheckProps {
  readonly tone: Tone
  readonly glyph: GlyphName
  readonly text: string
}
/** Good facts whisper: the tick is green, the text is grey. Warnings are coloured whole. */
function Check({ tone, glyph, text }: CheckProps) {
  return (
    <p className={`${css.check} sm ${tone === 'ok' || tone === 'idle' ? 'muted' : tone}`}>
      <span className={tone}>
        <Glyph name={glyph} />
      </span>
      {text}
    </p>
  )
}
