import { Select, Textarea } from '@mantine/core'
import { useRef } from 'react'
import type { Tool } from '../../../data/server/server-changes.ts'
import { Act, IconAct } from '../../../parts/controls/Act.tsx'
import { argumentsOf, type DraftCall, emptyArguments } from './calls.ts'
import { t } from './messages.ts'
import css from './Trial.module.css'

interface Props {
  readonly tools: readonly Tool[]
  readonly calls: readonly DraftCall[]
  readonly onChange: (calls: readonly DraftCall[]) => void
}

/** As the API allows. */
const MOST = 10

/** Which tools are called in isolation, and with what. */
export function Calls({ tools, calls, onChange }: Props) {
  const last = useRef(0)
  const add = () => {
    last.current += 1
    onChange([...calls, { key: last.current, tool: '', text: '{}' }])
  }
  const set = (key: number, change: Partial<DraftCall>) =>
    onChange(calls.map((call) => (call.key === key ? { ...call, ...change } : call)))
  return (
    <fieldset className={css.group} aria-label={t('calls')}>
      <span>
        <b className="strong">{t('calls')}</b>{' '}
        <span className="muted sm">{tools.length === 0 ? t('noTools') : t('callsText')}</span>
      </span>
      {calls.map(({ key, tool, text }, index) => (
        <div key={key} className={css.call}>
          <div>
            <Select
              className={css.mono ?? ''}
              aria-label={t('tool', { number: index + 1 })}
              placeholder={t('pick')}
              searchable
              data={[...new Set([tool, ...tools.map(({ name }) => name)])].filter(Boolean)}
              value={tool === '' ? null : tool}
              onChange={(name) => {
                const chosen = tools.find((each) => each.name === name)
                if (name !== null) set(key, { tool: name, text: chosen ? emptyArguments(chosen) : text })
              }}
            />
          </div>
          <Textarea
            className={`${css.mono} ${css.arguments}`}
            aria-label={t('arguments', { number: index + 1 })}
            autosize
            minRows={1}
            maxRows={8}
            spellCheck={false}
            value={text}
            error={argumentsOf(text) === undefined ? t('badJson') : undefined}
            onChange={({ currentTarget }) => set(key, { text: currentTarget.value })}
          />
          <IconAct
            icon="close"
            label={t('removeCall', { number: index + 1 })}
            onClick={() => onChange(calls.filter((call) => call.key !== key))}
          />
        </div>
      ))}
      {tools.length > 0 && calls.length < MOST && (
        <div>
          <Act size="xs" icon="plus" onClick={add}>
            {t('addCall')}
          </Act>
        </div>
      )}
    </fieldset>
  )
}
