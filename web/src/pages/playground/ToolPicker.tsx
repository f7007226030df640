import { Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Call, Schemas } from '../../data/api.ts'
import { useCalls } from '../../data/calls.ts'
import { useToolMetrics } from '../../data/metrics.ts'
import { type SavedCall, useForgetCall, useSavedCalls } from '../../data/playground/saved-calls.ts'
import type { Server } from '../../data/servers.ts'
import { clock, duration } from '../../format/format.ts'
import { IconAct } from '../../parts/controls/Act.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { shownStatus } from '../../parts/marks/status.ts'
import { t } from './messages.ts'
import css from './ToolPicker.module.css'

type Tool = Schemas['Tool']
const HISTORY = 8

/** Others are found by typing. */
const MOST_SERVERS = 50

interface Props {
  readonly servers: readonly Server[]
  readonly server: Server | undefined
  readonly tools: readonly Tool[] | undefined
  readonly tool: string
  readonly onServer: (id: string) => void
  readonly onTool: (name: string) => void
  readonly onSaved: (saved: SavedCall) => void
  readonly onReplay: (call: Call) => void
}

/** The server, its tools, saved calls, and what was run. */
export function ToolPicker({ servers, server, tools, tool, onServer, onTool, onSaved, onReplay }: Props) {
  const [words, setWords] = useState('')
  const [isOpen, setOpen] = useState(false)
  const { data: figures = [] } = useToolMetrics('7d', server?.id)
  const wanted = words.toLowerCase()
  const found = tools?.filter(({ name, title, description }) =>
    [name, title, description].some((text) => text?.toLowerCase().includes(wanted)),
  )
  const shown = server && shownStatus(server)
  return (
    <section
      className={css.picker}
      aria-label={t('toolList')}
      data-picked={(tool !== '' && words === '' && !isOpen) || undefined}
    >
      <div className={css.top}>
        <Select
          aria-label={t('server')}
          searchable
          limit={MOST_SERVERS}
          data={servers.map(({ id, name }) => ({ value: id, label: name }))}
          value={server?.id ?? null}
          onChange={(id) => id !== null && onServer(id)}
          leftSection={
            shown && (
              <span className={shown.tone}>
                <Glyph name={shown.glyph} />
              </span>
            )
          }
        />
        <TextInput
          data-filter
          aria-label={t('find')}
          placeholder={t('find')}
          leftSection={<Icon name="search" />}
          rightSection={<Keys of="/" />}
          value={words}
          onChange={({ currentTarget }) => setWords(currentTarget.value)}
          onKeyDown={({ key }) => key === 'Enter' && found?.[0] && onTool(found[0].name)}
        />
        {tools && <span className="xs muted">{t('tools', { count: tools.length })}</span>}
      </div>
      <ul className={css.tools} aria-label={t('find')}>
        {found?.map(({ name }) => (
          <li key={name}>
            <button
              type="button"
              className={css.tool}
              aria-current={name === tool || undefined}
              onClick={() => {
                setOpen(false)
                onTool(name)
              }}
            >
              <span className="mono cut">{name}</span>
              <span className="xs muted">
                {duration(figures.find((each) => each.tool === name)?.latency_ms.p50 ?? null)}
              </span>
            </button>
          </li>
        ))}
        {tools && tools.length > 1 && (
          <li className={css.others}>
            <button type="button" className={`info ${css.tool}`} onClick={() => setOpen(true)}>
              {t('otherTools', { count: tools.length - 1 })}
            </button>
          </li>
        )}
        {found?.length === 0 && (
          <li className={`muted ${css.none}`}>{tools?.length === 0 ? t('noTools') : t('noTool')}</li>
        )}
      </ul>
      <section className={css.rest} aria-label={t('history')}>
        <Saved onSaved={onSaved} />
        <History onReplay={onReplay} />
      </section>
    </section>
  )
}

function Saved({ onSaved }: Pick<Props, 'onSaved'>) {
  const { data: saved = [] } = useSavedCalls()
  const forget = useForgetCall()
  if (saved.length === 0) return null
  return (
    <>
      <h2 className={css.label}>{t('saved')}</h2>
      <ul>
        {saved.map((call) => (
          <li key={call.id} className={css.saved}>
            <button type="button" className={css.tool} onClick={() => onSaved(call)}>
              <Icon name="pin" size={14} />
              <span className="cut grow">{call.name}</span>
            </button>
            <IconAct
              size="xs"
              icon="close"
              changes
              label={t('forget', { name: call.name })}
              onClick={() => forget.mutate(call.id)}
            />
          </li>
        ))}
      </ul>
    </>
  )
}

/** Calls over the API, of which the Playground is one client. */
function History({ onReplay }: Pick<Props, 'onReplay'>) {
  const { data: calls = [] } = useCalls({}, 50)
  const own = calls.filter(({ agent_type, server_id }) => agent_type === null && server_id !== null)
  if (own.length === 0) return null
  return (
    <>
      <h2 className={css.label}>{t('history')}</h2>
      <ul>
        {own.slice(0, HISTORY).map((call) => (
          <li key={call.id}>
            <button type="button" className={css.tool} onClick={() => onReplay(call)}>
              <span className={call.status === 'ok' ? 'ok' : call.status === 'cancelled' ? 'idle' : 'err'}>
                <Glyph name={call.status === 'ok' ? 'run' : call.status === 'cancelled' ? 'stop' : 'err'} />
              </span>
              <span className="mono cut grow">{call.tool}</span>
              <span className={`xs muted ${css.when}`}>
                {clock(call.started_at)} · {duration(call.duration_ms)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}
