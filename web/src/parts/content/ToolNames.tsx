import { useState } from 'react'
import type { GatewayChange } from '../../data/agent-files.ts'
import { texts } from '../../i18n/texts.ts'
import { Act } from '../controls/Act.tsx'
import { BeforeAfterRow, ChangeNote } from './BeforeAfterRow.tsx'

const t = texts('tool-names', {
  names: 'Tool names',
  same: 'same names',
  all: { one: 'All {count} names', other: 'All {count} names' },
  fewer: 'Fewer names',
})

const FEW = 3

/** The first tool of some entries shows how names change; the others on request. */
export function ToolNames({ replaced }: Pick<GatewayChange, 'replaced'>) {
  const [isOpen, setOpen] = useState(false)
  const all = replaced.flatMap(({ name, tools }) => tools.map((tool) => ({ name, ...tool })))
  const first = replaced.flatMap(({ name, tools: [tool] }) => (tool ? [{ name, ...tool }] : [])).slice(0, FEW)
  const shown = isOpen ? all : first
  const isSame = all.every(({ before, after }) => before === after)
  return shown.map(({ name, before, after }, at) => {
    const isLast = at === shown.length - 1 && all.length > first.length
    return (
      <BeforeAfterRow
        key={`${name} ${before}`}
        label={at === 0 ? t('names') : undefined}
        before={<span className="mono">{before}</span>}
        after={<span className="mono">{after}</span>}
        note={
          <>
            {at === 0 && isSame && <ChangeNote tone="ok" text={t('same')} />}
            {isLast && (
              <Act size="xs" look="quiet" onClick={() => setOpen(!isOpen)}>
                {isOpen ? t('fewer') : t('all', { count: all.length })}
              </Act>
            )}
          </>
        }
      />
    )
  })
}
