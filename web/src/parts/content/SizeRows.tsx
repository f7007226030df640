import type { ReactNode } from 'react'
import type { GatewayChange } from '../../data/agent-files.ts'
import { tokens } from '../../format/format.ts'
import { texts } from '../../i18n/texts.ts'
import { BeforeAfterRow, ChangeNote } from './BeforeAfterRow.tsx'

const t = texts('size-rows', {
  tools: 'Tools',
  same: 'same tools',
  more: { one: '{count} more', other: '{count} more' },
  less: { one: '{count} less', other: '{count} less' },
  unknown: 'not known before the first start',
  unknownOf: 'those of {names} are not known before the first start',
  tokens: 'Tokens',
  about: 'about {count}',
  longer: 'longer names',
  sameTokens: 'same size',
})

/** How many tools an agent sees before and after, and how many tokens they take. A dash while they are not known. */
export function SizeRows({ change }: { readonly change: GatewayChange }) {
  const { before, after, replaced } = change
  const isUnknown = before.tools === 0 && after.tools === 0
  const unknown = replaced.flatMap(({ name, tools }) => (tools.length === 0 ? [name] : []))
  return (
    <>
      <BeforeAfterRow
        label={t('tools')}
        before={isUnknown ? '–' : <b>{before.tools}</b>}
        after={isUnknown ? '–' : <b>{after.tools}</b>}
        note={isUnknown ? t('unknown') : toolsNote(before.tools, after.tools, unknown)}
      />
      <BeforeAfterRow
        label={t('tokens')}
        before={isUnknown ? '–' : t('about', { count: tokens(before.tokens) })}
        after={isUnknown ? '–' : t('about', { count: tokens(after.tokens) })}
        note={isUnknown ? null : tokensNote(change)}
      />
    </>
  )
}

function toolsNote(before: number, after: number, unknown: readonly string[]): ReactNode {
  if (unknown.length > 0) return t('unknownOf', { names: LIST.format(unknown) })
  if (before === after) return <ChangeNote tone="ok" text={t('same')} />
  const count = Math.abs(after - before)
  return <ChangeNote tone="warn" text={t(after > before ? 'more' : 'less', { count })} />
}

function tokensNote({ before, after, gained }: GatewayChange): string | null {
  if (after.tokens === before.tokens) return t('sameTokens')
  return after.tokens > before.tokens && gained.length === 0 ? t('longer') : null
}

const LIST = new Intl.ListFormat('en')
